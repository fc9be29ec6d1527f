"""Peers: other systems that give the same answers, set up as their documentation advises.

A peer that is not installed is named and left out.
"""

import sqlite3
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from record import missing
from workload import DISTANCE

try:
    import faiss
except ImportError:
    faiss = None
try:
    import duckdb
except ImportError:
    duckdb = None
try:
    import simhash
except ImportError:
    simhash = None

U64 = npt.NDArray[np.uint64]
BLOCK_BITS = 16
BLOCKS = 4


class Peer(Protocol):
    """A system that finds pairs (query, stored position) within distance 3."""

    name: str
    query_limit: int

    def build(self, stored: U64) -> None: ...

    def batch(self, queries: U64) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]: ...

    def one(self, query: Any) -> object: ...


class Faiss:
    """faiss IndexBinaryMultiHash: 2 hashes of 28 bits, with up to one flip each; exact for 3."""

    name = "faiss IndexBinaryMultiHash(64, 2, 28), nflip=1"
    query_limit = 1 << 62

    def __init__(self) -> None:
        """Use one thread."""
        faiss.omp_set_num_threads(1)
        self._index = faiss.IndexBinaryMultiHash(64, 2, 28)
        self._index.nflip = 1

    def build(self, stored: U64) -> None:
        self._index.add(_as_bytes(stored))

    def batch(self, queries: U64) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        limits, _, labels = self._index.range_search(_as_bytes(queries), DISTANCE + 1)
        return np.repeat(np.arange(len(queries)), np.diff(limits.astype(np.int64))), labels

    def one(self, query: Any) -> object:
        return self._index.range_search(_as_bytes(np.array([query], np.uint64)), DISTANCE + 1)


class Sqlite:
    """sqlite3 of the standard library: one row for each of 4 blocks, clustered by block."""

    name = "sqlite3, 4-block clustered table, bit_count in Python"
    query_limit = 5_000

    def __init__(self) -> None:
        """Open a database in memory, which favours sqlite3."""
        self._connection = sqlite3.connect(":memory:")
        self._connection.execute(
            "CREATE TABLE blocks (header INTEGER, position INTEGER, fingerprint INTEGER,"
            " PRIMARY KEY (header, position)) WITHOUT ROWID"
        )

    def build(self, stored: U64) -> None:
        signed = stored.view(np.int64)
        for block in range(BLOCKS):
            headers = _headers(stored, block)
            order = np.argsort(headers, kind="stable")
            columns = (headers[order].tolist(), order.tolist(), signed[order].tolist())
            self._connection.executemany(
                "INSERT INTO blocks VALUES (?, ?, ?)", zip(*columns, strict=True)
            )
        self._connection.commit()

    def batch(self, queries: U64) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        asked, found = [], []
        for number, query in enumerate(queries.tolist()):
            positions = self.one(query)
            asked += [number] * len(positions)
            found += positions
        return np.array(asked, np.int64), np.array(found, np.int64)

    def one(self, query: Any) -> list[int]:
        headers = [
            block << BLOCK_BITS | query >> BLOCK_BITS * block & 0xFFFF for block in range(BLOCKS)
        ]
        rows = self._connection.execute(
            "SELECT position, fingerprint FROM blocks WHERE header IN (?, ?, ?, ?)", headers
        )
        mask = 2**64 - 1
        return list({at for at, bits in rows if ((bits ^ query) & mask).bit_count() <= DISTANCE})


def available(names: list[str]) -> list[Peer]:
    """Return the peers of these names that are installed."""
    if "faiss" in names and faiss is None:
        missing("faiss")
        names = [name for name in names if name != "faiss"]
    return [KINDS[name]() for name in names]


def numpy_pairs(
    fingerprints: U64,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Find all pairs within distance 3: 4 sorts by block, neighbours compared at growing shifts."""
    left, right = [], []
    for block in range(BLOCKS):
        headers = _headers(fingerprints, block)
        order = np.argsort(headers.astype(np.uint16), kind="stable")
        sorted_headers, ordered = headers[order], fingerprints[order]
        for shift in range(1, len(order)):
            same = sorted_headers[shift:] == sorted_headers[:-shift]
            if not same.any():
                break
            near = np.bitwise_count(ordered[shift:] ^ ordered[:-shift]) <= DISTANCE
            chosen = np.flatnonzero(same & near)
            left.append(order[chosen])
            right.append(order[chosen + shift])
    first, second = np.concatenate(left), np.concatenate(right)
    size = len(fingerprints)
    joined = np.unique(np.minimum(first, second) * size + np.maximum(first, second))
    return joined // size, joined % size


def has_duckdb() -> bool:
    """Return whether `duckdb_pairs` can be called."""
    return duckdb is not None


def duckdb_pairs(
    fingerprints: U64,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Find all pairs within distance 3: one hash join for each of the 4 blocks."""
    joins = [
        "SELECT a.at AS l, b.at AS r FROM stored a JOIN stored b"
        f" ON ((a.bits >> {shift}) & 65535) = ((b.bits >> {shift}) & 65535) AND a.at < b.at"
        f" WHERE bit_count(xor(a.bits, b.bits)::BIT) <= {DISTANCE}"
        for shift in range(0, BLOCK_BITS * BLOCKS, BLOCK_BITS)
    ]
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        columns = {"at": np.arange(len(fingerprints)), "bits": fingerprints}
        connection.register("given", columns)
        connection.execute("CREATE TABLE stored AS SELECT * FROM given")
        found = connection.execute(" UNION ".join(joins)).fetchnumpy()
    return found["l"], found["r"]


def has_simhash() -> bool:
    """Return whether `simhash_pairs` can be called."""
    return simhash is not None


def simhash_pairs(hashes: list[int], blocks: int) -> set[tuple[int, int]]:
    """Find all pairs within distance 3 of distinct hashes, by simhash-pybind."""
    found: set[tuple[int, int]] = simhash.find_all(hashes, blocks, DISTANCE)
    return found


KINDS = {"faiss": Faiss, "sqlite": Sqlite}


def _headers(fingerprints: U64, block: int) -> npt.NDArray[np.int64]:
    shifted = fingerprints >> np.uint64(BLOCK_BITS * block) & np.uint64(0xFFFF)
    return shifted.astype(np.int64) | block << BLOCK_BITS


def _as_bytes(fingerprints: U64) -> npt.NDArray[np.uint8]:
    return fingerprints.view(np.uint8).reshape(-1, 8)
