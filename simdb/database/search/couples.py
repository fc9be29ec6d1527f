"""Couples: pairs of stored documents by ordinal, and walks over tables that find them."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import EMPTY, WEIGHTED, Columns, object_array
from simdb.core.bits import ALL_BITS, FINGERPRINT_BITS, flip_sets, header_mask
from simdb.core.dtypes import F32, U8, U32, U64
from simdb.core.matches import PairArrays
from simdb.core.threads import in_rounds
from simdb.core.values import dataclass
from simdb.database.search.rows import Rows
from simdb.database.state.state import State
from simdb.database.state.view import FINGERPRINTS, HASHES, SIGNATURES
from simdb.plan import Criterion
from simdb.storage import Sorting, Table, is_deleted, layout, merge as merges, sorted_table

CHUNK_PAIRS = 1 << 16
# Batch size for reading the states and fingerprints of documents.
READ_DOCUMENTS = 1 << 18
# Number of rows of a table that one thread sweeps in one step.
SWEPT_ROWS = 1 << 15
LOOKUP_QUERIES = 1 << 14
LOOKUP_QUERIES_FIRST = 1 << 6
# Parts of a batch for each thread: enough for threads to end together, with few batches waiting.
LOOKUP_PARTS = 4
# Limit on the size of a batch, relative to the batch before it.
LOOKUP_GROWTH = 4


@dataclass(frozen=True, slots=True, eq=False)
class Couples(Columns):
    """Pairs by ordinal, left below right; an unknown similarity is NaN."""

    left: U32
    right: U32
    distances: U8
    similarities: F32


def couples_of(queries: U32, rows: Rows) -> Couples:
    """Return documents and their matches as pairs; left can be above right."""
    return Couples(queries[rows.queries], rows.ordinals, rows.distances, rows.similarities)


# For each fingerprint, a mask of the bits that count, uint64[n], and the number of them in which
# others may differ, uint8[n].
Judging = tuple[U64, U8]


def judged_by(vectors: U8, distance: int, firm_distance: int | None) -> Judging | None:
    """Return the bits by which queries with these vectors judge candidates; see `Plan`.

    Returns None if all bits of every query count.
    """
    if firm_distance is None:
        return None
    counted = kernel.firm_signs(vectors)
    return counted, np.where(counted == ALL_BITS, distance, firm_distance).astype(np.uint8)


class Searched(NamedTuple):
    """Live documents with features: `fingerprints` uint64[n], ascending `ordinals` uint32[n].

    `judging`: the bits by which each judges others; see `judged_by`.
    """

    fingerprints: U64
    ordinals: U32
    judging: Judging | None = None

    def chosen(self, which: Any) -> "Searched":
        """Return the documents at the positions `which`, a mask, a slice or numbers."""
        judging = None
        if self.judging is not None:
            judging = self.judging[0][which], self.judging[1][which]
        return Searched(self.fingerprints[which], self.ordinals[which], judging)


class Batches:
    """Batches of documents to look up, each drawn from the whole range of ordinals.

    The number of pairs from a batch is not known in advance, so the size of each batch follows from
    the pairs of the batch before it.  It grows by a limited factor.  A large group of similar
    neighbours is spread over many batches.
    """

    def __init__(self, ordinals: U32, threads: int, first: int | None = None) -> None:
        """Take the ordinals of the documents, ascending; `threads` share each batch.

        `first`: the size of the first batch, if not the usual one; 1 if one document may match all
        others.
        """
        # Documents at, at + stride, at + 2 * stride, ... for each `at`: the columns of a matrix.
        stride = max(-(-len(ordinals) // LOOKUP_QUERIES_FIRST), 1)
        rows, rest = divmod(len(ordinals), stride)
        whole = ordinals[: rows * stride].reshape(rows, stride)
        longer = np.concatenate([whole[:, :rest], ordinals[None, rows * stride :]])
        self._ordinals = np.concatenate([longer.T.ravel(), whole[:, rest:].T.ravel()])
        self._last = 0
        self._size = LOOKUP_QUERIES_FIRST if first is None else first
        self._most = LOOKUP_PARTS * LOOKUP_QUERIES * threads

    def __iter__(self) -> Iterator[U32]:
        """Yield the batches; after each, `found` must be called."""
        start = 0
        while start < len(self._ordinals):
            batch = self._ordinals[start : start + self._size]
            start, self._last = start + len(batch), len(batch)
            yield batch

    def found(self, pairs: int) -> None:
        """Note the number of pairs of the last batch."""
        suggested = CHUNK_PAIRS * self._last // max(pairs, 1)
        self._size = max(1, min(self._most, LOOKUP_GROWTH * self._size, suggested))


def sweep_tables(
    table: Callable[[int], Table], masks: Sequence[int], distance: int,
    flips: Sequence[int] | None = None, *, threads: int,
) -> Iterator[Couples]:  # fmt: skip
    """Yield the pairs within `distance` that some table reaches, table by table.

    `flips`: for each table, the number of its leading bits (`masks`) in which pairs can differ; -1
    omits the table.  None means 0 for every table.
    """
    for number in range(len(masks)):
        if flips is None or flips[number] >= 0:
            yield from sweep_table(table(number), masks, distance, number, flips, threads=threads)


def sweep_table(
    table: Table, masks: Sequence[int], distance: int, number: int = 0,
    flips: Sequence[int] | None = None, *, threads: int = 1, rows: int | None = None,
    judging: Judging | None = None,
) -> Iterator[Couples]:  # fmt: skip
    """Yield the pairs within `distance` that table `number` is the first to reach.

    `rows`: only pairs with one of the first `rows` rows; None for all pairs.  `judging`: the bits
    by which each key judges later ones; None for all bits and `distance`.
    """
    of_tables = 0 if flips is None else flips
    width, sets = _headers(masks[number], distance, flips, number, len(table.keys))
    end = len(table.keys) if rows is None else rows
    starts = range(0, end, SWEPT_ROWS)
    for flipped in sets:

        def sweep(
            cursor: tuple[int, int], flipped: int = flipped
        ) -> tuple[Couples, tuple[int, int] | None]:
            """Return pairs of a part of the rows, and the cursor to continue; None if done.

            The part begins at `cursor`, or continues there.
            """
            left, right = np.empty(CHUNK_PAIRS, np.uint32), np.empty(CHUNK_PAIRS, np.uint32)
            distances = np.empty(CHUNK_PAIRS, np.uint8)
            stop = min(cursor[0] - cursor[0] % SWEPT_ROWS + SWEPT_ROWS, end)
            count, *after = kernel.sweep(
                table.keys, table.ordinals, masks, number, distance, cursor,
                left, right, distances, of_tables, flipped, width, stop, judging,
            )  # fmt: skip
            unknown = np.full(count, np.nan, np.float32)
            found = Couples(
                left[:count].copy(), right[:count].copy(), distances[:count].copy(), unknown
            )
            return found, (after[0], after[1]) if after[0] < stop else None

        for couples, rest in in_rounds(sweep, ((at, at + 1) for at in starts), threads):
            if len(couples):
                yield couples
            while rest is not None:
                couples, rest = sweep(rest)
                if len(couples):
                    yield couples


def searched(state: State, *, is_measured: bool) -> Searched:
    """Return all live documents with features; `is_measured`: only documents with weights."""
    parts = [*searched_parts(state, is_measured=is_measured)]
    return Searched(
        np.concatenate([np.empty(0, np.uint64), *(part.fingerprints for part in parts)]),
        np.concatenate([np.empty(0, np.uint32), *(part.ordinals for part in parts)]),
    )


def searched_parts(state: State, *, is_measured: bool) -> Iterator[Searched]:
    """Yield the documents of `searched` in batches."""
    for piece in state.view.pieces:
        every_state = piece.column(layout.STATE, state.source)
        every_bits = piece.column(layout.FINGERPRINT, state.source)
        for first in range(0, len(every_state), READ_DOCUMENTS):
            states = every_state[first : first + READ_DOCUMENTS]
            bits = every_bits[first : first + READ_DOCUMENTS]
            start = piece.start + first
            ordinals = np.arange(start, start + len(states), dtype=np.uint32)
            chosen = states == WEIGHTED if is_measured else states != EMPTY
            if state.left_out is not None:
                chosen &= ~is_deleted(state.left_out, ordinals)
            found = Searched(bits, ordinals)
            yield found if chosen.all() else found.chosen(chosen)


def table_of_equals(state: State) -> Table:
    """Return a table of live documents with features, in which equal fingerprints are adjacent.

    Documents have equal keys if and only if their fingerprints are equal.
    """
    if state.kind.stores == FINGERPRINTS and len(state.kind.masks) > 1:
        return whole_table(state, 0)
    every = searched(state, is_measured=False)
    return sorted_table(every.fingerprints.copy(), every.ordinals, state.threads)


def sorted_tables(
    every: Searched, masks: Sequence[int], threads: int = 1
) -> Callable[[int], Table]:
    """Return a function that makes the table of a given number, over the previous table."""
    if list(masks) == [0]:  # a table without leading bits is not sorted
        return lambda number: Table(every.fingerprints, every.ordinals)
    keys, ordinals = np.empty_like(every.fingerprints), np.empty_like(every.ordinals)
    sorting = Sorting(every.fingerprints, every.ordinals, masks, threads)

    def table(number: int) -> Table:
        sorting.write(number, keys, ordinals)
        return Table(keys, ordinals)

    return table


def whole_table(state: State, number: int) -> Table:
    """Return one table of all live documents, merged from the runs and the delta."""
    runs = [run.table(number, state.source) for run in state.runs]
    delta = state.delta
    if len(delta.searchable) or not runs:
        keys = np.empty(len(delta.searchable), np.uint64)
        state.keying.write_keys(delta.searchable, keys, number)
        runs.append(sorted_table(keys, delta.ordinals))
    merged = merges.merge_tables(runs, threads=state.threads)
    state.check_known(merged.ordinals)
    return merged if state.dead is None else merges.without(merged, state.dead)


def as_pairs(state: State, couples: Couples, *, is_exact: bool = False) -> PairArrays:
    """Return `couples` with ids in place of ordinals; each id is decoded once.

    `is_exact`: the similarities are exact, not stored estimates.
    """
    ordinals, positions = np.unique(
        np.concatenate([couples.left, couples.right]), return_inverse=True
    )
    ids = object_array(state.identifiers(ordinals).decode(ordinals))[positions]
    count = len(couples)
    similarities = couples.similarities if is_exact else state.scale.shown(couples.similarities)
    measure = state.scale.measure
    return PairArrays(ids[:count], ids[count:], couples.distances, similarities, measure=measure)


def compared(state: State, left: U32, right: U32) -> Couples:
    """Return given pairs of stored documents with their distances and similarities."""
    if state.kind.stores != SIGNATURES:
        unknown = np.full(len(left), np.nan, np.float32)
        return estimated(state, Couples(left, right, distances_of(state, left, right), unknown))
    similarities = state.vectors().between(left, right)
    return Couples(left, right, state.vectors().distances(similarities), similarities)


def distances_of(state: State, left: U32, right: U32) -> U8:
    """Return the number of bits in which the stored documents left[i] and right[i] differ."""
    if state.kind.stores == HASHES:
        found: U8 = state.vectors().differing_between(left, right)
        return found
    bits = [state.column(layout.FINGERPRINT, ordinals) for ordinals in (left, right)]
    return np.bitwise_count(bits[0] ^ bits[1])


def matching(state: State, criterion: Criterion, left: U32, right: U32) -> Couples:
    """Return the given pairs that satisfy the criterion, in their order."""
    found = compared(state, left, right)
    is_match = np.ones(len(found), np.bool_)
    if criterion.distance is not None:
        is_match &= found.distances <= criterion.distance
    if criterion.least is not None:
        is_match &= found.similarities >= np.float32(criterion.least)
    return found.taken(is_match)


def measured(state: State, criterion: Criterion, couples: Couples) -> Couples:
    """Return the couples that are similar enough; all if `criterion` has no similarity."""
    if criterion.similarity is None:
        return couples
    known = estimated(state, couples)
    return known.taken(known.similarities >= np.float32(criterion.least))


def estimated(state: State, couples: Couples) -> Couples:
    """Return the couples with similarities, NaN unless both documents have weights."""
    if not state.store.has_similarities:
        return couples
    similarities = state.vectors().between(couples.left, couples.right)
    for ordinals in (couples.left, couples.right):
        similarities[state.lack_weights(ordinals)] = np.nan
    return Couples(couples.left, couples.right, couples.distances, similarities)


def _headers(
    mask: int, distance: int, flips: Sequence[int] | None, number: int, count: int
) -> tuple[int, Iterator[int]]:
    """Return the width of the headers to group `count` keys by, and the bits to flip in them."""
    if distance == 0 and mask:  # a table without leading bits is not sorted
        return FINGERPRINT_BITS, iter([0])
    most = 0 if flips is None else flips[number]
    if most == 0:
        return mask.bit_count(), iter([0])
    # Bits that do not tell the keys apart would only add to the sets of bits to flip.
    width = min(mask.bit_count(), max(count.bit_length() - 1, 1))
    return width, flip_sets(header_mask(mask, width), most)
