"""Peers: other libraries that search in memory, set up as their documentation advises.

A peer that is not installed is named and left out.  For `speed.py`:

fingerprints  faiss IndexBinaryMultiHash and sqlite3, exact within distance 3; all pairs by numpy.
              They must find as many as simdb
weights       faiss IndexBinaryHNSW by the 64 bits; beside the recall by bits, the share of the
              nearest by weights
signatures    rensa and datasketch, which return candidates without measuring them
"""

import gc
import sqlite3
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

import simdb
from documents import DISTANCE
from record import Record, Timing, latencies, measure, missing

U64 = npt.NDArray[np.uint64]
BLOCK_BITS, BLOCKS = 16, 4
PERMUTATIONS, BANDS = 128, 16
SLOW = 20_000  # documents for datasketch, queries for sqlite3
LINKS, BUILT, EFFORTS = 32, 40, (16, 64, 256)  # of IndexBinaryHNSW
TREES = 8  # of MinHashLSHForest


def installed(name: str) -> ModuleType | None:
    """Return a package, or name it and return None."""
    try:
        return import_module(name)
    except ImportError:
        missing(name)
        return None


def signed(
    name: str, package: Any, tokens: list[list[Any]], minima: int = PERMUTATIONS, seed: int = 1
) -> list[Any]:
    """Sign many sets of tokens by rensa or datasketch, which takes tokens as bytes."""
    if name == "rensa":
        made: list[Any] = package.RMinHash.from_token_sets(tokens, minima, seed)
        return made
    many = [[each if isinstance(each, bytes) else each.encode() for each in row] for row in tokens]
    return list(package.MinHash.bulk(many, num_perm=minima, seed=seed))


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


class Sqlite:
    """sqlite3 in memory, which favours it: one row for each of 4 blocks, clustered by block."""

    def __init__(self, _: Any) -> None:
        self._connection = sqlite3.connect(":memory:")
        self._connection.execute(
            "CREATE TABLE blocks (header INTEGER, position INTEGER, fingerprint INTEGER,"
            " PRIMARY KEY (header, position)) WITHOUT ROWID"
        )

    def insert(self, stored: U64) -> None:
        signed = stored.view(np.int64)
        for block in range(BLOCKS):
            headers = _headers(stored, block)
            order = np.argsort(headers, kind="stable")
            columns = (headers[order].tolist(), order.tolist(), signed[order].tolist())
            self._connection.executemany(
                "INSERT INTO blocks VALUES (?, ?, ?)", zip(*columns, strict=True)
            )

    def batch(self, queries: U64) -> int:
        return sum(map(self.one, queries.tolist()))

    def one(self, query: int) -> int:
        headers = [
            block << BLOCK_BITS | query >> BLOCK_BITS * block & 0xFFFF for block in range(BLOCKS)
        ]
        rows = self._connection.execute(
            "SELECT position, fingerprint FROM blocks WHERE header IN (?, ?, ?, ?)", headers
        )
        mask = 2**64 - 1
        return len({at for at, bits in rows if ((bits ^ query) & mask).bit_count() <= DISTANCE})


class Rensa:
    """rensa's index of signatures, with bands as its documentation has them for .8."""

    def __init__(self, rensa: Any) -> None:
        self._rensa = rensa
        self._index = rensa.RMinHashLSH(threshold=0.8, num_perm=PERMUTATIONS, num_bands=BANDS)

    def insert(self, signed: list[Any]) -> None:
        self._index.insert_many(signed)

    def signed(self, features: U64) -> list[Any]:
        tokens = [[f"{each:x}" for each in row] for row in features.tolist()]
        return signed("rensa", self._rensa, tokens)

    def batch(self, queries: list[Any]) -> int:
        return sum(map(len, self._index.query_all(queries)))

    def one(self, query: Any) -> int:
        return len(self._index.query(query))


class Datasketch:
    """datasketch's index of signatures."""

    def __init__(self, datasketch: Any) -> None:
        self._datasketch = datasketch
        self._index = datasketch.MinHashLSH(threshold=0.8, num_perm=PERMUTATIONS)

    def insert(self, signed: list[Any]) -> None:
        for at, each in enumerate(signed):
            self._index.insert(at, each, check_duplication=False)

    def signed(self, features: U64) -> list[Any]:
        tokens = [[each.tobytes() for each in row] for row in features]
        return signed("datasketch", self._datasketch, tokens)

    def batch(self, queries: list[Any]) -> int:
        return sum(map(self.one, queries))

    def one(self, query: Any) -> int:
        return len(self._index.query(query))


SEARCHES: dict[str, dict[str, Callable[[Any], Any]]] = {
    "fingerprints": {"faiss": MultiHash, "sqlite3": Sqlite},
    "signatures": {"rensa": Rensa, "datasketch": Datasketch},
}


def ask(bench: Any, queries: list[Any]) -> None:
    """Add what the peers take for the documents and queries of `speed.py`."""
    record: Record = bench.record
    for name, make in SEARCHES.get(bench.kind, {}).items():
        package = installed(name)
        if package is None:
            continue
        peer, stored = make(package), np.concatenate(bench.documents)
        if name == "datasketch":
            stored = stored[:SLOW]
        ready = peer.signed(stored) if bench.kind == "signatures" else stored
        gc.collect()
        timing = Timing()
        measure(partial(peer.insert, ready), timing)
        label = f"{bench.label}: {name}"
        record.add_rate(f"{label}: insert", len(stored), "documents/s", timing)
        few = queries[:SLOW]
        if bench.kind == "signatures":
            bench.source.queries(len(bench.queries))  # its features are those of the queries again
            asked = peer.signed(bench.source.features[:SLOW])
            few = asked[: len(few)]
        else:
            asked = bench.queries if name == "faiss" else bench.queries[:SLOW]
        if bench.kind == "fingerprints":
            wanted = bench.database.query_many(asked, distance=DISTANCE)
            if peer.batch(asked) != len(wanted.ordinals):
                raise ValueError(f"{name} finds other matches than simdb, {len(wanted.ordinals)}")
        timing = Timing()
        for _ in range(bench.arguments.repeats):
            found = measure(partial(peer.batch, asked), timing)
        record.add_rate(f"{label}: batch", len(asked), "queries/s", timing, f"{found} found")
        latencies(record, f"{label}: one query", peer.one, few, bench.arguments.repeats)


def ask_nearest(bench: Any, what: str, chosen: slice, k: int, exact: list[Any]) -> None:
    """Add what the peers take for the nearest documents, and the share of them that they find."""
    if bench.kind in ("weights", "families") and (faiss := installed("faiss")):
        _hnsw(bench, faiss, what, chosen, k, exact)
    if bench.kind == "signatures" and (datasketch := installed("datasketch")):
        _forest(bench, datasketch, what, chosen, k, exact)


def _hnsw(bench: Any, faiss: Any, what: str, chosen: slice, k: int, exact: list[Any]) -> None:
    asked = bench.queries.bits[chosen].copy()
    faiss.omp_set_num_threads(1)
    stored = np.concatenate([each.bits for each in bench.documents])
    index = faiss.IndexBinaryHNSW(64, LINKS)
    index.hnsw.efConstruction = BUILT
    timing = Timing()
    measure(lambda: index.add(_as_bytes(stored)), timing)
    label = f"{bench.label}: faiss IndexBinaryHNSW(64, {LINKS})"
    bench.record.add_rate(f"{label}: insert", len(stored), "documents/s", timing)
    farthest = [np.partition(np.bitwise_count(stored ^ each), k - 1)[k - 1] for each in asked]
    for effort in EFFORTS:
        index.hnsw.efSearch, timing = effort, Timing()
        for _ in range(bench.arguments.repeats):
            distances, found = measure(lambda: index.search(_as_bytes(asked), k), timing)
        by_bits = float((distances <= np.array(farthest)[:, None]).mean())
        note = f"recall by bits {by_bits:.4f}, by weights {shared(found, exact):.4f}"
        name = f"{label}, efSearch={effort}: {what}, batch"
        bench.record.add_rate(name, len(asked), "queries/s", timing, note)


def _forest(
    bench: Any, datasketch: Any, what: str, chosen: slice, k: int, exact: list[Any]
) -> None:
    stored = np.concatenate(bench.documents)
    bench.source.queries(len(bench.queries))
    features = bench.source.features[chosen]
    peer = Datasketch(datasketch)
    forest, timing = datasketch.MinHashLSHForest(num_perm=PERMUTATIONS, l=TREES), Timing()
    signed = peer.signed(stored)

    def fill() -> None:
        for at, each in enumerate(signed):
            forest.add(at, each)
        forest.index()

    measure(fill, timing)
    label = f"{bench.label}: datasketch MinHashLSHForest(l={TREES})"
    bench.record.add_rate(f"{label}: insert", len(stored), "documents/s", timing)
    name, asked = f"{label}: {what}, one by one", peer.signed(features)
    found = latencies(bench.record, name, lambda query: forest.query(query, k), asked, 1)
    share = shared(found, exact[: len(found)])
    bench.record.add(f"{label}: recall of {what}", share, "", note=f"{len(found)} queries")


def shared(found: Iterable[Any], exact: list[Any]) -> float:
    """Return the share of the exact answers that were found."""
    both = sum(len(np.intersect1d(one, other)) for one, other in zip(found, exact, strict=True))
    return both / max(sum(map(len, exact)), 1)


def pair_tasks(bits: U64) -> dict[str, Callable[[int], object]]:
    """Make the task of numpy that finds all pairs; it must find as many as simdb."""
    found, wanted = len(numpy_pairs(bits)[0]), len(simdb.find_all(bits, 6, DISTANCE))
    if found != wanted:
        raise ValueError(f"numpy finds {found} pairs, simdb {wanted}")
    return {"numpy, 4 sorts": lambda _: numpy_pairs(bits)}


def numpy_pairs(bits: U64) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Find all pairs within distance 3: 4 sorts by block, neighbours compared at growing shifts."""
    left, right = [], []
    for block in range(BLOCKS):
        headers = _headers(bits, block)
        order = np.argsort(headers.astype(np.uint16), kind="stable")
        sorted_headers, ordered = headers[order], bits[order]
        for shift in range(1, len(order)):
            same = sorted_headers[shift:] == sorted_headers[:-shift]
            if not same.any():
                break
            near = np.bitwise_count(ordered[shift:] ^ ordered[:-shift]) <= DISTANCE
            chosen = np.flatnonzero(same & near)
            left.append(order[chosen])
            right.append(order[chosen + shift])
    first, second = np.concatenate(left), np.concatenate(right)
    size = len(bits)
    joined = np.unique(np.minimum(first, second) * size + np.maximum(first, second))
    return joined // size, joined % size


def _headers(fingerprints: U64, block: int) -> npt.NDArray[np.int64]:
    shifted = fingerprints >> np.uint64(BLOCK_BITS * block) & np.uint64(0xFFFF)
    return shifted.astype(np.int64) | block << BLOCK_BITS


def _as_bytes(fingerprints: U64) -> npt.NDArray[np.uint8]:
    return fingerprints.view(np.uint8).reshape(-1, 8)
