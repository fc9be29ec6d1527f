"""The sweep: every pair of stored documents that match, in chunks of bounded size.

For a distance that the tables serve, each table is walked once: documents with equal headers are
compared with each other, and a pair is given by the first table whose header it shares.  By
rotation, all are sorted several times and compared with their neighbours.  Otherwise each document
is looked up among those after it, by its stored weights where the plan probes.
Pairs for a similarity are candidates by distance, measured by the stored volatility vectors.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from simdb import kernel
from simdb.bits import ALL_BITS, FINGERPRINT_BITS, is_set
from simdb.engine.search.lookup import search
from simdb.engine.search.rows import Rows
from simdb.engine.state.documents import stored_sketches
from simdb.engine.state.view import View
from simdb.index.bands import Bands
from simdb.index.rotation import find_neighbours
from simdb.plan.question import Criterion
from simdb.plan.rotation import WINDOW
from simdb.reports import Plan
from simdb.signatures import differing
from simdb.storage import layout
from simdb.storage.records.tombstones import is_deleted
from simdb.storage.runs.merge import merge_tables
from simdb.storage.runs.run import Source, Table
from simdb.values import EMPTY, WEIGHTED, PairArrays, object_array

CHUNK_PAIRS = 1 << 16
LOOKUP_QUERIES = 1 << 13
LOOKUP_QUERIES_FIRST = 1 << 6

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
F32 = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Couples:
    """Pairs by ordinal, left below right; `similarities` NaN where not known."""

    left: U32
    right: U32
    distances: U8
    similarities: F32

    def __len__(self) -> int:
        """Number of pairs."""
        return len(self.left)

    def chosen(self, which: npt.NDArray[np.bool_]) -> "Couples":
        """Those where `which` is true."""
        return Couples(
            self.left[which], self.right[which], self.distances[which], self.similarities[which]
        )


@dataclass(frozen=True, slots=True)
class Searched:
    """Live documents with features: `fingerprints` uint64[n], `ordinals` uint32[n], ascending."""

    fingerprints: U64
    ordinals: U32


def find_couples(view: View, source: Source, criterion: Criterion) -> Iterator[Couples]:
    """Every matching pair once, in chunks, with its similarity where that can be told."""
    for couples in find_links(view, source, criterion):
        is_told = criterion.similarity is not None or not len(couples)
        yield couples if is_told else _estimated(view, source, couples)


def find_links(view: View, source: Source, criterion: Criterion) -> Iterator[Couples]:
    """Every matching pair once, in chunks; similarities only where the criterion asks for one."""
    plan = view.plan(criterion, source, is_swept=True)
    if plan.method == "banding":
        yield from _sweep_bands(view, source, criterion)
        return
    if plan.method == "bphs" and plan.flips == 0:
        tables = partial(whole_table, view, source)
        swept = sweep_tables(tables, view.permutations.masks, plan.distance)
    elif plan.method == "exhaustive" and plan.distance < FINGERPRINT_BITS:
        every = searched(view, source, is_measured=criterion.similarity is not None)
        table = Table(every.fingerprints, every.ordinals, np.empty(0, np.uint32))
        swept = sweep_table(table, [0], plan.distance)
    elif plan.method == "rotation":
        every = searched(view, source, is_measured=criterion.similarity is not None)
        swept = _sweep_rotations(every, plan)
    else:
        yield from _look_up_all(view, source, criterion, plan)
        return
    for couples in swept:
        yield measured(view, source, couples, criterion)


def _sweep_bands(view: View, source: Source, criterion: Criterion) -> Iterator[Couples]:
    """Pairs that agree in some band, each from the first of them."""
    for band in range(view.bands.table_count):
        table = whole_table(view, source, band)
        for couples in sweep_table(table, [ALL_BITS], 0):
            yield first_in_band(view, source, couples, band, criterion)


def first_in_band(
    view: View, source: Source, couples: Couples, band: int, criterion: Criterion
) -> Couples:
    """The couples with equal keys in a band that match, and agree in no band before it."""
    found = measured(view, source, couples, criterion)
    shared = view.vectors(source).shared_bands(found.left, found.right)
    found = found.chosen(shared[:, band] & ~shared[:, :band].any(axis=1))
    distances = differing(found.similarities, view.bands.sketch)
    return Couples(found.left, found.right, distances, found.similarities)


def _sweep_rotations(every: Searched, plan: Plan) -> Iterator[Couples]:
    """Pairs that some rotation brings together."""
    for left, right, distances in find_neighbours(
        every.fingerprints, rotations=plan.tables, window=WINDOW, distance=plan.distance
    ):
        unknown = np.full(len(left), np.nan, np.float32)
        yield Couples(every.ordinals[left], every.ordinals[right], distances, unknown)


def measured(view: View, source: Source, couples: Couples, criterion: Criterion) -> Couples:
    """The couples that are as similar as `criterion` asks; all where it asks for none."""
    if criterion.similarity is None:
        return couples
    known = _estimated(view, source, couples)
    return known.chosen(known.similarities >= np.float32(criterion.similarity))


def sweep_tables(
    table: Callable[[int], Table], masks: list[int], distance: int
) -> Iterator[Couples]:
    """Pairs within `distance` that share a header, table by table."""
    for number in range(len(masks)):
        yield from sweep_table(table(number), masks, distance, number)


def sweep_table(
    table: Table, masks: list[int], distance: int, number: int = 0
) -> Iterator[Couples]:
    """Pairs within `distance` that share a header of table `number`, and of none before it."""
    left, right = np.empty(CHUNK_PAIRS, np.uint32), np.empty(CHUNK_PAIRS, np.uint32)
    distances = np.empty(CHUNK_PAIRS, np.uint8)
    row, column = 0, 1
    while row < len(table.keys):
        count, row, column = kernel.sweep(
            table.keys, table.ordinals, masks, number, distance, (row, column),
            left, right, distances,
        )  # fmt: skip
        if count:
            unknown = np.full(count, np.nan, np.float32)
            yield Couples(
                left[:count].copy(), right[:count].copy(), distances[:count].copy(), unknown
            )


def searched(view: View, source: Source, *, is_measured: bool) -> Searched:
    """The fingerprints of all live documents that have features; `is_measured`: weights too."""
    fingerprints, ordinals = [np.empty(0, np.uint64)], [np.empty(0, np.uint32)]
    for piece in view.pieces:
        states = piece.column(layout.STATE, source)
        every = np.arange(piece.start, piece.start + len(states), dtype=np.uint32)
        kept = states == WEIGHTED if is_measured else states != EMPTY
        if view.dead is not None:
            kept &= ~is_deleted(view.dead, every)
        whole = bool(kept.all())
        bits = piece.column(layout.FINGERPRINT, source)
        fingerprints.append(bits if whole else bits[kept])
        ordinals.append(every if whole else every[kept])
    return Searched(np.concatenate(fingerprints), np.concatenate(ordinals))


def table_of_equals(view: View, source: Source) -> Table:
    """Live documents with features in an order in which those of equal fingerprints are neighbours.

    The keys say which these are.
    """
    if not isinstance(view.keying, Bands):
        return whole_table(view, source, 0)
    every = searched(view, source, is_measured=False)
    keys, ordinals = every.fingerprints.copy(), every.ordinals.copy()
    kernel.sort(keys, ordinals)
    return Table(keys, ordinals, np.empty(0, np.uint32))


def whole_table(view: View, source: Source, number: int) -> Table:
    """One table over all live documents, merged from runs and loose ones."""
    runs = [run.table(number, source) for run in view.runs]
    loose = view.loose
    if len(loose.searchable) or not runs:
        keys = np.empty(len(loose.searchable), np.uint64)
        view.keying.write_keys(loose.searchable, keys, number)
        ordinals = loose.ordinals.copy()
        kernel.sort(keys, ordinals)
        runs.append(Table(keys, ordinals, np.empty(0, np.uint32)))
    merged = merge_tables(runs)
    view.check_known(merged.ordinals)
    if view.dead is None:
        return merged
    keys, ordinals = np.empty_like(merged.keys), np.empty_like(merged.ordinals)
    count = kernel.keep(merged.keys, merged.ordinals, view.dead, keys, ordinals)
    return Table(keys[:count], ordinals[:count], merged.directory)


def as_pairs(view: View, source: Source, couples: Couples) -> PairArrays:
    """`couples` with the users' ids; each id is made once."""
    ordinals, positions = np.unique(
        np.concatenate([couples.left, couples.right]), return_inverse=True
    )
    ids = object_array(view.identifiers(source, ordinals).decode(ordinals))[positions]
    count = len(couples)
    return PairArrays(ids[:count], ids[count:], couples.distances, couples.similarities)


def _look_up_all(view: View, source: Source, criterion: Criterion, plan: Plan) -> Iterator[Couples]:
    """Pairs by looking up every document among those with greater ordinals."""
    is_measured = criterion.similarity is not None
    ordinals = searched(view, source, is_measured=is_measured).ordinals
    return look_up(view, source, criterion, plan, ordinals, later_only=True)


def look_up(
    view: View, source: Source, criterion: Criterion, plan: Plan, ordinals: U32, *, later_only: bool
) -> Iterator[Couples]:
    """Each of `ordinals`, on the left, with the documents of the view that match it.

    `later_only`: with those of greater ordinals; otherwise left may be above right.

    Nobody knows how many a batch will find, so each is as large as the last one suggests, at most
    twice as large, and drawn from everywhere: a crowd of neighbours is spread over many.
    """
    ordinals = _spread(ordinals)
    start, size = 0, LOOKUP_QUERIES_FIRST
    while start < len(ordinals):
        asked = ordinals[start : start + size]
        sketches = stored_sketches(view, source, asked)
        after = asked if later_only else None
        rows = search(view, source, sketches, criterion, after=after, plan=plan)
        if len(rows.ordinals):
            view.check_known(rows.ordinals)
            yield _from_rows(rows, asked)
        start += size
        suggested = CHUNK_PAIRS * len(asked) // max(len(rows.ordinals), 1)
        size = max(1, min(LOOKUP_QUERIES, 2 * size, suggested))


def _spread(ordinals: U32) -> U32:
    """All of them in an order in which every few neighbours come from everywhere."""
    stride = -(-len(ordinals) // LOOKUP_QUERIES_FIRST)
    return np.concatenate([ordinals[:0], *(ordinals[at::stride] for at in range(stride))])


def _from_rows(rows: Rows, asked: U32) -> Couples:
    return Couples(asked[rows.queries], rows.ordinals, rows.distances, rows.similarities)


def _estimated(view: View, source: Source, couples: Couples) -> Couples:
    """The couples with their similarities, where both documents have weights."""
    if not source.width:
        return couples
    similarities = view.vectors(source).between(couples.left, couples.right)
    unweighted = view.unweighted(source)
    for ordinals in (couples.left, couples.right):
        similarities[is_set(unweighted, ordinals)] = np.nan
    return Couples(couples.left, couples.right, couples.distances, similarities)
