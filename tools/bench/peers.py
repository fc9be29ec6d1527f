"""Peers: runs other libraries that search in memory, set up as their documentation advises.

A peer that is not installed is named and skipped.  For `speed.py`:

fingerprints  faiss IndexBinaryMultiHash, exact within distance 3.  It must find the matches of
              simdb.

signatures    rensa, which returns candidates without measuring them.
"""

import gc
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from documents import DISTANCE
from record import Timing, installed, latencies, measure

U64 = npt.NDArray[np.uint64]
PERMUTATIONS, BANDS = 128, 16


def signed(rensa: Any, tokens: list[list[str]]) -> list[Any]:
    """Sign many sets of tokens by rensa."""
    made: list[Any] = rensa.RMinHash.from_token_sets(tokens, PERMUTATIONS, 1)
    return made


class MultiHash:
    """faiss IndexBinaryMultiHash: 2 hashes of 28 bits, with up to one flip each; exact for 3."""

    def __init__(self, faiss: Any) -> None:
        """Use one thread."""
        faiss.omp_set_num_threads(1)
        self._index = faiss.IndexBinaryMultiHash(64, 2, 28)
        self._index.nflip = 1

    def insert(self, stored: U64) -> None:
        self._index.add(_as_bytes(stored))

    def batch(self, queries: U64) -> int:
        return len(self._index.range_search(_as_bytes(queries), DISTANCE + 1)[2])

    def one(self, query: int) -> int:
        return self.batch(np.array([query], np.uint64))


class Rensa:
    """rensa's index of signatures, with bands as its documentation has them for .8."""

    def __init__(self, package: Any) -> None:
        self._package = package
        self._index = package.RMinHashLSH(threshold=0.8, num_perm=PERMUTATIONS, num_bands=BANDS)

    def signed(self, features: U64) -> list[Any]:
        tokens = [[f"{each:x}" for each in row] for row in features.tolist()]
        return signed(self._package, tokens)

    def insert(self, signed: list[Any]) -> None:
        self._index.insert_many(signed)

    def batch(self, queries: list[Any]) -> int:
        return sum(map(len, self._index.query_all(queries)))

    def one(self, query: Any) -> int:
        return len(self._index.query(query))


PEERS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "fingerprints": ("faiss", MultiHash), "signatures": ("rensa", Rensa)
}  # fmt: skip


def ask(bench: Any, queries: list[Any]) -> None:
    """Add the time of a peer for the documents and queries of `speed.py`."""
    name, make = PEERS.get(bench.kind, ("", None))
    package = installed(name) if make else None
    if package is None:
        return
    record, repeats, asked, ones = bench.record, bench.arguments.repeats, bench.queries, queries
    peer, stored = make(package), np.concatenate(bench.documents)
    if bench.kind == "signatures":
        bench.source.queries(len(bench.queries))  # its features belong to the queries again
        stored, asked = peer.signed(stored), peer.signed(bench.source.features)
        ones = asked[: len(queries)]
    gc.collect()
    timing, label = Timing(), f"{bench.label}: {name}"
    measure(partial(peer.insert, stored), timing)
    record.add_rate(f"{label}: insert", len(stored), "documents/s", timing)
    if bench.kind == "fingerprints":
        wanted = bench.database.query_many(asked, distance=DISTANCE)
        if peer.batch(asked) != len(wanted.ordinals):
            raise ValueError(f"{name} finds other matches than simdb, {len(wanted.ordinals)}")
    timing = Timing()
    for _ in range(repeats):
        found = measure(partial(peer.batch, asked), timing)
    record.add_rate(f"{label}: batch", len(asked), "queries/s", timing, f"{found} found")
    latencies(record, f"{label}: one query", peer.one, ones, repeats)


def _as_bytes(fingerprints: U64) -> npt.NDArray[np.uint8]:
    return fingerprints.view(np.uint8).reshape(-1, 8)
