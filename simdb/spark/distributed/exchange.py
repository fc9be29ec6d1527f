"""Exchange: how documents are spread over parts, so that every matching pair meets in one of them.

A document travels as a *row* of bytes: its fingerprint, its volatility vector or its packed
signature.  It goes to one part or more, which its row alone decides.  A pair can meet in several
parts; it belongs to the first of them, so each pair is reported once and no part needs to know what
another has found.

`ByVertices` is an exchange for similar volatility vectors, by cross-polytope hashes.  Each table
rotates the weights of a document; its parts are the vertices of a cross-polytope, and a document
goes to all vertices that are nearly as near as its nearest one (Andoni et al. 2015).  Few bits of a
hash are compared here, so that few copies travel; within a part, all similar pairs are found by
other tables.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from simdb.core import kernel
from simdb.core.bits import ALL_BITS, leading_masks
from simdb.core.documents import differing, estimates
from simdb.core.dtypes import F32, I64, U8, U32, U64, Array, Bools
from simdb.core.threads import mapped, parts_of
from simdb.core.vector_form import corrected, signs_of
from simdb.database import (
    Batches,
    Couples,
    Rows,
    Searched,
    couples_of,
    joined_couples,
    judged_by,
    sorted_tables,
    sweep_table,
    sweep_tables,
    with_fingerprints,
)
from simdb.plan import (
    BLOCKS_MAX,
    FINGERPRINT_BYTES,
    Bands,
    choose_tables,
    firm_distance,
    odd_distance,
    sign_limits,
    table_share,
    universal,
)
from simdb.storage import Table, make_table, polytope_header_bits

# A part is cut into at most so many blocks more than its distance, to be searched in.
BLOCKS_MORE = 4

# A part is one vertex of the first slice of a key.
VERTEX_BITS = 7
# So many rows are marked at a time.
MARKED_ROWS = 1 << 14
# So many vectors are all compared: their tables would take longer to make and to look up.
COMPARED_MAX = 1 << 14
TABLES = 4


class Exchange(Protocol):
    """A way to spread documents: `ByBlocks`, `ByBands`, or `ByVertices`."""

    @property
    def part_count(self) -> int:
        """The number of parts."""

    @property
    def row_bytes(self) -> int:
        """The length of a row."""

    def parts(self, rows: U8) -> tuple[I64, U32]:
        """Return the parts of each row, ascending: offsets int64[n + 1] and parts uint32[k]."""

    def pairs(self, part: int, rows: U8, threads: int) -> Iterator[Couples]:
        """Yield the matching pairs of rows that belong to a part, by position, left below right.

        `rows`: of documents that go to the part.  Similarities are as users get them, or NaN.
        """


@dataclass(frozen=True, slots=True, eq=False)
class PartPairs:
    """Some pairs: positions `left` and `right` int64[k], `distance` uint8[k], `similarity`.

    `similarity` float32[k] is NaN where rows are fingerprints alone.  Within one set of rows, left
    is below right; between two sets, left is a position in the first and right in the second.
    """

    left: I64
    right: I64
    distance: U8
    similarity: F32

    def __len__(self) -> int:
        """Count the pairs."""
        return len(self.left)


class ByBlocks:
    """An exchange that misses no pair within a Hamming distance, by blocks of fingerprints.

    If at most d bits of two fingerprints differ, then for one choice of d blocks all of these bits
    are in them (Manku, Jain & Das Sarma 2007).  So there is a table for each choice, as in BPHS,
    C(blocks, distance) in all; each is cut into 2^part_bits parts by the first bits of its keys.
    """

    def __init__(
        self, distance: int, blocks: int, part_bits: int, row_bytes: int, least: float | None
    ) -> None:
        """Rows are fingerprints, or volatility vectors if they are longer.

        `least`: of the rounded weights, the least similarity of a pair; None for any.
        """
        self.distance = distance
        self.row_bytes = row_bytes
        self.part_bits = part_bits
        self.masks = leading_masks(blocks, blocks - distance)
        self._least = least

    @property
    def part_count(self) -> int:
        """The number of parts."""
        return len(self.masks) << self.part_bits

    def parts(self, rows: U8) -> tuple[I64, U32]:
        """Return one part of each table for each row."""
        bits, tables = self._bits(rows), len(self.masks)
        found = np.empty((len(bits), tables), np.uint32)
        for table in range(tables):
            found[:, table] = self._numbers(bits, table)
            found[:, table] += np.uint32(table << self.part_bits)
        return np.arange(len(bits) + 1) * tables, found.ravel()

    def pairs(self, part: int, rows: U8, threads: int) -> Iterator[Couples]:
        """Yield the pairs within the distance that share no part of an earlier table."""
        bits = self._bits(rows)
        earlier = [self._numbers(bits, table) for table in range(part >> self.part_bits)]
        every = Searched(bits, np.arange(len(bits), dtype=np.uint32))
        blocks = min(self.distance + BLOCKS_MORE, BLOCKS_MAX)
        masks, flips = choose_tables(bits, blocks=blocks, distance=self.distance)
        tables = sorted_tables(every, masks, threads)
        for found in sweep_tables(tables, masks, self.distance, flips, threads=threads):
            couples = in_order(found)
            for numbers in earlier:
                is_new = numbers[couples.left] != numbers[couples.right]
                couples = chosen(couples, is_new)
            couples = self._measured(rows, couples)
            if len(couples):
                yield couples

    def _measured(self, rows: U8, couples: Couples) -> Couples:
        """Return couples with the similarities of their vectors, those that are similar enough."""
        if self.row_bytes == FINGERPRINT_BYTES or not len(couples):
            return couples
        vectors = kernel.Vectors(self.row_bytes, [(0, rows)])
        rounded = vectors.between(couples.left, couples.right)
        measured = replace(couples, similarities=corrected(rounded))
        if self._least is None:
            return measured
        return chosen(measured, rounded >= np.float32(self._least))

    def _bits(self, rows: U8) -> U64:
        if self.row_bytes == FINGERPRINT_BYTES:
            return rows.view("<u8").ravel().astype(np.uint64, copy=False)
        return signs_of(rows)

    def _numbers(self, bits: U64, table: int) -> U32:
        """Return the part of each fingerprint within a table."""
        keys = np.empty_like(bits)
        kernel.permute(bits, self.masks[table], keys)
        if not self.part_bits:
            return np.zeros(len(bits), np.uint32)
        return (keys >> np.uint64(64 - self.part_bits)).astype(np.uint32)


class ByBands:
    """An exchange for pairs of signatures that agree in a band, as a database with the same bands.

    A document goes to one part for each band, by the key of its minima there (LSH, Leskovec,
    Rajaraman & Ullman, section 3.4).  There is a table for each band, cut into 2^part_bits parts.
    """

    def __init__(self, bands: Bands, part_bits: int, least: float) -> None:
        """`least`: the least similarity of a pair."""
        self.bands = bands
        self.part_bits = part_bits
        self._least = least

    @property
    def part_count(self) -> int:
        """The number of parts."""
        return self.bands.table_count << self.part_bits

    @property
    def row_bytes(self) -> int:
        """The length of a row."""
        return self.bands.sketch.vector_bytes

    def band_keys(self, rows: U8) -> U64:
        """Return the key of each band of each row: uint64[n, bands]."""
        return self.bands.searchable(np.empty(0, np.uint64), rows)

    def parts(self, rows: U8) -> tuple[I64, U32]:
        """Return one part of each band for each row."""
        keys = self.band_keys(rows)
        numbers = np.zeros(keys.shape, np.uint32)
        if self.part_bits:
            numbers = (keys >> np.uint64(64 - self.part_bits)).astype(np.uint32)
        tables = self.bands.table_count
        first = np.arange(tables, dtype=np.uint32) << np.uint32(self.part_bits)
        return np.arange(len(rows) + 1) * tables, (numbers + first).ravel()

    def pairs(self, part: int, rows: U8, threads: int) -> Iterator[Couples]:
        """Yield the pairs that agree in the band of the part, in no earlier one, and are alike."""
        band = part >> self.part_bits
        keys = self._keys_of_band(rows, band)
        ordinals = np.arange(len(rows), dtype=np.uint32)
        kernel.sort(keys, ordinals)
        table = Table(keys, ordinals, np.empty(0, np.uint32))
        for found in sweep_table(table, [ALL_BITS], 0, threads=threads):
            couples = self._alike(rows, in_order(found))
            left, right = rows[couples.left], rows[couples.right]
            agreeing = self.bands.agreeing(left, right)[:, :band]
            couples = chosen(couples, ~np.asarray(agreeing.any(axis=1), np.bool_))
            if len(couples):
                yield couples

    def _keys_of_band(self, rows: U8, band: int) -> U64:
        """Return keys which are equal where the minima of one band are: uint64[n]."""
        length = self.bands.rows
        minima = self.bands.minima_of(rows)[:, band * length : (band + 1) * length]
        return kernel.band_keys(np.ascontiguousarray(minima), bands=1, rows=length)[:, 0].copy()

    def _alike(self, rows: U8, couples: Couples) -> Couples:
        """Return the couples whose signatures are similar enough, with their similarities."""
        sketch, minima = self.bands.sketch, self.bands.minima_of
        agreeing = kernel.agreements(minima(rows[couples.left]), minima(rows[couples.right]))
        similarities = estimates(agreeing, sketch)
        measured = replace(
            couples, distances=differing(similarities, sketch), similarities=similarities
        )
        return chosen(measured, similarities >= np.float32(self._least))


def chosen(couples: Couples, which: Array) -> Couples:
    """Return some of the couples; the same object if all are chosen."""
    return couples if which.dtype == np.bool_ and which.all() else couples.chosen(which)


def in_order(couples: Couples) -> Couples:
    """Return couples with the lower position on the left."""
    if (couples.left < couples.right).all():
        return couples
    left, right = np.minimum(couples.left, couples.right), np.maximum(couples.left, couples.right)
    return replace(couples, left=left, right=right)


@dataclass(frozen=True, eq=False)
class ByVertices:
    """Tables of 128 parts each; a document goes to the vertices that cost it at most a threshold.

    Costs are those of `polytope_costs` in `simdb_ext/_search.pyi`.  Rows are volatility vectors of
    `row_bytes` bytes.  `least`: the least similarity of the rounded weights of a pair.  `recall`:
    the share of the pairs of a part, of similarity `searched` or more, that is found in it.
    """

    tables: int
    threshold: float
    row_bytes: int
    searched: float
    least: float
    recall: float

    @property
    def part_count(self) -> int:
        """The number of parts."""
        return self.tables << VERTEX_BITS

    def parts(self, rows: U8) -> tuple[I64, U32]:
        """Return the near vertices of each row, in all tables."""
        offsets, headers = kernel.polytope_headers(rows, VERTEX_BITS, self.threshold, self.tables)
        tables = np.tile(np.arange(self.tables, dtype=np.uint32), len(rows))
        first = np.repeat(tables << np.uint32(VERTEX_BITS), np.diff(offsets))
        return offsets[:: self.tables].copy(), first + headers

    def pairs(self, part: int, rows: U8, threads: int) -> Iterator[Couples]:
        """Yield the similar pairs that share no earlier part."""
        marks = _Marks(self, rows)
        flags = np.zeros(self.part_count, np.uint8)
        flags[:part] = 1
        earlier = np.packbits(flags, bitorder="little").view(np.uint64)
        for couples in similar_pairs(
            rows, signs_of(rows), similarity=self.searched, floor=self.least,
            recall=self.recall, threads=threads,
        ):  # fmt: skip
            is_shared = marks.shared(couples.left, couples.right, earlier)
            own = chosen(couples, ~is_shared)
            if len(own):
                yield replace(own, similarities=corrected(own.similarities))


class _Marks:
    """A bit for each part of each row, made for the rows that are asked for."""

    def __init__(self, exchange: ByVertices, rows: U8) -> None:
        """Take the rows; their bits are made later."""
        self._exchange = exchange
        self._rows = rows
        self._marks = np.empty((len(rows), exchange.part_count // 64), np.uint64)
        self._is_known = np.zeros(len(rows), np.bool_)

    def shared(self, left: U32, right: U32, parts: U64) -> Bools:
        """Return which rows left[i] and right[i] both go to one of the parts that are marked."""
        asked = np.zeros(len(self._rows), np.bool_)
        asked[left] = asked[right] = True
        self._make(np.flatnonzero(asked & ~self._is_known))
        found = np.zeros(len(left), np.bool_)
        for word in np.flatnonzero(parts).tolist():
            column = self._marks[:, word]
            found |= (column[left] & column[right] & parts[word]) != 0
        return found

    def _make(self, places: I64) -> None:
        for start in range(0, len(places), MARKED_ROWS):
            some = places[start : start + MARKED_ROWS]
            offsets, parts = self._exchange.parts(self._rows[some])
            flags = np.zeros((len(some), self._exchange.part_count), np.uint8)
            flags[np.repeat(np.arange(len(some)), np.diff(offsets)), parts] = 1
            packed = np.packbits(flags, axis=1, bitorder="little")
            self._marks[some] = packed.view(np.uint64)
        self._is_known[places] = True


def similar_pairs(
    vectors: U8, bits: U64, *, similarity: float, floor: float, recall: float, threads: int
) -> Iterator[Couples]:
    """Yield the pairs of vectors that are at least `floor` alike, each once, left below right.

    `bits`: their signs.  `similarity` and `floor`, which is not above it, are those of the rounded
    weights, as `kernel.Vectors` measures them.  At least the share `recall` of the pairs of any
    similarity from `similarity` on is found.
    """
    if len(vectors) <= COMPARED_MAX:
        yield from _compared(vectors, bits, floor, recall, threads)
    else:
        yield from _looked_up(vectors, similarity, floor, recall, threads)


def _compared(
    vectors: U8, bits: U64, similarity: float, recall: float, threads: int
) -> Iterator[Couples]:
    """Compare every two vectors."""
    limit, firm = (
        each(min(similarity, 1.0), 1.0 - recall) for each in (odd_distance, firm_distance)
    )
    judging = judged_by(vectors, limit, firm)
    every = Table(bits, np.arange(len(bits), dtype=np.uint32), np.empty(0, np.uint32))
    measured = kernel.Vectors(vectors.shape[1], [(0, vectors)])
    for couples in sweep_table(every, [0], limit, threads=threads, judging=judging):
        found = measured.between(couples.left, couples.right)
        similar = replace(couples, similarities=found).chosen(found >= np.float32(similarity))
        if len(similar):
            yield similar


def _looked_up(
    vectors: U8, similarity: float, floor: float, recall: float, threads: int
) -> Iterator[Couples]:
    """Look every vector up; it is enough that one of two finds the other."""
    width = polytope_header_bits(len(vectors))
    threshold = universal(similarity, table_share(recall), width=width, tables=TABLES, either=True)
    tables = kernel.Polytopes(
        vectors.shape[1],
        [(0, vectors)],
        [list(_tables(vectors, width, threads))],
        (np.empty(0, np.uint64), np.empty(0, np.uint32)),
        None,
        are_whole=True,
    )
    limits = sign_limits(similarity, recall)
    batches = Batches(np.arange(len(vectors), dtype=np.uint32), threads)
    for batch in batches:

        def look_up(part: slice, batch: U32 = batch) -> Couples:
            asking = batch[part]
            rows = Rows(*tables.search(
                vectors[asking], thresholds=np.array([threshold], np.float32),
                similarity=floor, limits=limits, first=False, after=None,
            ))  # fmt: skip
            return couples_of(asking, rows)

        parts = parts_of(len(batch), threads, most=len(batch))
        found = joined_couples(list(mapped(look_up, parts, threads)))
        batches.found(len(found))
        yield found.chosen(_is_first(vectors, found, threshold, width))


def _is_first(vectors: U8, found: Couples, threshold: float, width: int) -> Bools:
    """Return which pairs were found from their lower position, or only from their higher one."""
    is_first: Bools = found.left < found.right
    later = np.flatnonzero(found.left > found.right)
    if len(later):
        queries, stored = vectors[found.right[later]], vectors[found.left[later]]
        is_first[later] = ~kernel.polytope_reaches(queries, stored, threshold, width, TABLES)
    return is_first


def _tables(vectors: U8, width: int, threads: int) -> Iterator[Table]:
    """Yield tables with whole fingerprints in place of keys."""
    signs = signs_of(vectors)
    for keys in kernel.polytope_keys(vectors, TABLES):
        table = make_table(keys.copy(), np.arange(len(keys), dtype=np.uint32), width)
        yield with_fingerprints(signs, table, threads)
