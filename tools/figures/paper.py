"""The paper's own programs: BPHS and PSM of Sood & Loguinov 2011, compiled from `paper.c`.

The figures that compare the two methods use these programs: the same algorithms on the same
machine, with the paper's binary search and scalar code.  simdb is compared with them.
"""

import ctypes
import itertools
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
F64 = npt.NDArray[np.float64]
FLAGS = ["-O2", "-fno-tree-vectorize", "-std=gnu11", "-shared", "-fPIC"]
DISTANCE = 3
NO_MEMORY = "no memory for the heap of flip sets"


@cache
def library() -> ctypes.CDLL:
    """Compile `paper.c` for this machine's popcount and load it."""
    source = Path(__file__).with_name("paper.c")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "paper.so"
        for extra in (["-mpopcnt"], []):  # only x86 has this option
            command = ["cc", *FLAGS, *extra, str(source), "-o", str(target)]
            if subprocess.run(command, capture_output=bool(extra), check=not extra).returncode == 0:
                break
        made = ctypes.CDLL(str(target))
        made.psm.restype = ctypes.c_int64
        return made


def _at(array: npt.NDArray[np.generic]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


@dataclass(frozen=True, slots=True)
class Searched:
    """The result of one search: matches of each query, and the processor time of a query."""

    found: U32
    seconds: float

    @property
    def matches(self) -> int:
        """All matches."""
        return int(self.found.sum(dtype=np.int64))


Pieces = Sequence[tuple[int, int]]  # first bit and width


def by_blocks(blocks: int, leading: int) -> list[Pieces]:
    """Return the leading pieces of C(blocks, leading) tables."""
    edges = [64 * each // blocks for each in range(blocks + 1)]
    pieces = [(start, stop - start) for start, stop in itertools.pairwise(edges)]
    return list(itertools.combinations(pieces, leading))


def nested(blocks: int) -> list[Pieces]:
    """Return the leading pieces of blocks^2 tables: a block, and a block of the other bits.

    With 4 blocks these are the 16 tables of Manku, Jain & Das Sarma 2007: 16 bits, then 12 of the
    other 48 bits.  The latter are cut without regard to the edges of blocks.
    """
    width = 64 // blocks
    tables: list[Pieces] = []
    for block in range(blocks):
        rest = [bit for bit in range(64) if bit // width != block]
        for inner in range(blocks):
            chosen = rest[inner * len(rest) // blocks : (inner + 1) * len(rest) // blocks]
            tables.append([(block * width, width), *_runs(chosen)])
    return tables


def _runs(bits: Sequence[int]) -> list[tuple[int, int]]:
    """Return runs of neighbouring bits as pieces."""
    pieces: list[tuple[int, int]] = []
    for bit in bits:
        if pieces and sum(pieces[-1]) == bit:
            pieces[-1] = (pieces[-1][0], pieces[-1][1] + 1)
        else:
            pieces.append((bit, 1))
    return pieces


class Bphs:
    """Several sorted copies of the fingerprints, each searched by its leading bits."""

    def __init__(self, bits: U64, leading: Sequence[Pieces]) -> None:
        """Permute and sort a copy for each item of `leading`, the pieces in front."""
        count = len(leading)
        whole = [[*lead, *_runs(_others(lead))] for lead in leading]
        self._pieces = max(map(len, whole))
        shape = count, self._pieces
        self._from, self._to = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
        self._masks = np.zeros(shape, np.uint64)
        for table, pieces in enumerate(whole):
            place = 64
            for column, (start, width) in enumerate(pieces):
                place -= width
                self._from[table, column], self._to[table, column] = start, place
                self._masks[table, column] = (1 << width) - 1
        self.header_bits = min(sum(width for _, width in lead) for lead in leading)
        fronts = np.array([_front(lead, self.header_bits) for lead in leading], np.uint64)
        self._masks_of = np.stack([self._permuted(fronts, table) for table in range(count)])
        self._tables = [np.sort(self._permuted(bits, table)) for table in range(count)]

    def _permuted(self, bits: U64, table: int) -> U64:
        out = np.empty_like(bits)
        library().permute_all(
            _at(bits), ctypes.c_int64(len(bits)), self._pieces, _at(self._from[table]),
            _at(self._to[table]), _at(self._masks[table]), _at(out),
        )  # fmt: skip
        return out

    @property
    def table_count(self) -> int:
        """T."""
        return len(self._tables)

    def search(self, queries: U64, *, first: bool = False) -> Searched:
        """Find all within distance 3, or whether there is one."""
        found = np.zeros(len(queries), np.uint32)
        pointers = (ctypes.c_void_p * len(self._tables))(
            *(each.ctypes.data for each in self._tables)
        )
        started = time.process_time()
        library().bphs(
            pointers, ctypes.c_int64(len(self._tables[0])), len(self._tables), self._pieces,
            _at(self._from), _at(self._to), _at(self._masks), _at(self._masks_of),
            self.header_bits, DISTANCE, int(first), _at(queries), ctypes.c_int64(len(queries)),
            _at(found),
        )  # fmt: skip
        return Searched(found, (time.process_time() - started) / max(len(found), 1))


class Asked(NamedTuple):
    """Fingerprints to look up, their levels uint8[m, 64], and the prices float64[256] of levels."""

    bits: U64
    levels: U8
    prices: F64


class Psm:
    """Sorted fingerprints and a table of 2^t headers."""

    def __init__(self, keys: U64, *, header_bits: int) -> None:
        """Fill the headers of sorted fingerprints."""
        self.keys = keys
        self.header_bits = header_bits
        self.headers = np.empty((1 << header_bits) + 1, np.uint32)
        library().fill_headers(
            _at(self.keys), ctypes.c_int64(len(keys)), header_bits, _at(self.headers)
        )

    @property
    def tables(self) -> float:
        """T' of (26): the memory as a multiple of the bare fingerprints, with 8-byte headers."""
        return 1 + (1 << self.header_bits) / len(self.keys)

    def search(self, asked: Asked, *, attempts: int, first: bool = False) -> Searched:
        """Try the header and `attempts` flip sets."""
        batch = Batch(asked, attempts=attempts, first=first)
        started = time.process_time()
        batch.look_up(self)
        return Searched(batch.found, (time.process_time() - started) / max(len(batch.found), 1))

    def curve(self, asked: Asked, *, most: int, first: bool = False) -> npt.NDArray[np.int64]:
        """Return the matches found with 0, 1, .. `most` flip sets; with `first`, of queries."""
        ranks = np.zeros(most + 1, np.uint64)
        Batch(asked, attempts=most, first=first).look_up(self, ranks=ranks)
        return np.cumsum(ranks.astype(np.int64))


class Batch:
    """Q, a batch of queries that is looked up in one array of fingerprints or in chunks of a file.

    With `first`, queries that found a match are not looked up again, so the file need not be read
    further when no query is `left`.  With `header_bits`, which is equal for all chunks, the flip
    sets of the queries are found once, before the first chunk.
    """

    def __init__(
        self, asked: Asked, *, attempts: int, first: bool = False, header_bits: int | None = None
    ) -> None:
        """Find flip sets if `header_bits` is given."""
        self._asked, self._attempts, self._first = asked, attempts, first
        self._waiting = np.arange(len(asked.bits), dtype=np.uint32)
        self.found = np.zeros(len(asked.bits), np.uint32)
        self._sets: U32 | None = None
        if header_bits is not None:
            self._sets = np.empty((self.left, attempts), np.uint32)
            is_done = library().prepare(
                _at(asked.levels), _at(asked.prices), header_bits, DISTANCE,
                ctypes.c_int64(self.left), ctypes.c_int64(attempts), _at(self._sets),
            )  # fmt: skip
            if not is_done:
                raise MemoryError(NO_MEMORY)

    @property
    def left(self) -> int:
        """The number of queries that would be looked up next."""
        return len(self._waiting)

    def look_up(self, psm: Psm, *, ranks: U64 | None = None) -> None:
        """Look up the queries that are left; `ranks` uint64[attempts + 1] counts by attempt."""
        left = library().psm(
            _at(psm.keys), _at(psm.headers), psm.header_bits, DISTANCE, int(self._first),
            *map(_at, self._asked), _at(self._waiting),
            ctypes.c_int64(self.left), ctypes.c_int64(self._attempts),
            None if self._sets is None else _at(self._sets), _at(self.found),
            None if ranks is None else _at(ranks),
        )  # fmt: skip
        if left < 0:
            raise MemoryError(NO_MEMORY)
        self._waiting = self._waiting[:left]


def _front(lead: Pieces, header_bits: int) -> int:
    """Return the bits by which a table is searched: the first `header_bits` of its leading ones.

    Leading bits that are behind the header do not count, or a match that differs in one of them
    would be counted again by a later table.
    """
    bits = [bit for start, width in lead for bit in range(start + width - 1, start - 1, -1)]
    return sum(1 << bit for bit in bits[:header_bits])


def _others(pieces: Pieces) -> list[int]:
    """Return the bits that are in none of the pieces."""
    taken = {bit for start, width in pieces for bit in range(start, start + width)}
    return [bit for bit in range(64) if bit not in taken]
