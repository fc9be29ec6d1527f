"""Kinds: the kind of a database for its options, and the kind of fingerprints.

A database of fingerprints has tables by block permutations (BPHS, PSM).  Databases of signatures
are in `signature_kind.py`.

Every run has its own cross-polytope tables, and so its own threshold (`plan/polytopes.py`).  A
search of all documents first gathers the tables of all runs in memory, since two runs need nearly
twice the probes of one.  It gathers the tables in portions that fit into the memory for them.  In
gathered tables, whole fingerprints replace the keys, since the directory already has the codes.  So
64 bits judge a candidate instead of 42, and at most a tenth of the candidates pass; each of these
costs a read of a vector.  Documents that are in no run yet are compared one by one.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from threading import Lock
from typing import Any, NamedTuple, Protocol, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from simdb import plan
from simdb.core import kernel
from simdb.core.arrays import EMPTY, WEIGHTED, Fingerprint, Sketches
from simdb.core.dtypes import F32, I64, U32, U64, Bools
from simdb.core.options import USUAL_HEADER_OFFSET, Options
from simdb.core.threads import mapped, run_all
from simdb.core.vector_form import unpack
from simdb.database import state
from simdb.database.state.crowds import HeaderCrowds
from simdb.database.state.view import FINGERPRINTS, GatheredTables, KeptParts, Kind, Sealed, View
from simdb.plan import thresholds
from simdb.storage import (
    ENTRY_BYTES,
    NO_DOCUMENTS,
    Run,
    Source,
    Table,
    header_bits,
    layout,
    make_table,
    merge as merges,
    polytope_header_bits,
    sorted_table,
)

# Memory for the tables that are gathered at a time, and the least number of tables: each search
# takes some time even with few tables.  A key and an ordinal are an entry.
GATHERED_BYTES = 1 << 30
GATHERED_AT_ONCE = 3
# Memory for the tables of the usual cut, at most this part of all memory.
MADE_BYTES = 1 << 30
MADE_PART = 4
MADE_SECONDS = 50e-9  # making one entry of such a table
# At a low similarity, more tables need fewer probes in all; the kernel has rotations for these.
GATHERED_TABLES = (8, 16)
# Documents whose keys one thread makes in one step, and keys that are overwritten in one step.
KEYED_DOCUMENTS = 1 << 14
REPLACED_KEYS = 1 << 18

Item = TypeVar("Item")


class PolytopeLimits(NamedTuple):
    """The reach of a search: the threshold of each run, and the least similarity of a match.

    `signs`: limits on the signs of a candidate that differ; see `sign_limits`.
    """

    thresholds: F32
    least: float
    signs: tuple[tuple[int, int, float], tuple[int, int, float]]


class SourcedView(Protocol):
    """A view under a transaction, such as a state: its source is made when it is needed."""

    view: View

    @property
    def source(self) -> Source:
        """The read transaction, from which stored values are fetched."""

    def chosen_of(self, tables: Any) -> Any:
        """Return tables without the documents that are not searched."""


def polytopes_of(state: SourcedView) -> Any:
    """Return the cross-polytope tables of a view, ready for look-up."""
    view, sealed = state.view, state.view.sealed
    if view.polytopes is None:
        source = state.source
        if sealed.polytopes is None:
            sealed.polytopes = _prepared(view, source, _all_parts(view, source))
        vectors = view.vectors.over(source, None)
        view.polytopes = sealed.polytopes.over(_weighted_delta(view), view.dead, vectors)
    return state.chosen_of(view.polytopes)


def polytopes_without(view: View, source: Source, is_left_out: Bools) -> Any:
    """Return copies of the tables of a view, and its delta, without the entries of some documents.

    `is_left_out`: a mask by ordinal, for the documents in runs.
    """
    runs = [[_thinned(*part, is_left_out) for part in parts] for parts in _all_parts(view, source)]
    made = _prepared(view, source, runs)
    return made.over(_weighted_delta(view), view.dead, view.vectors.over(source, None))


def limits_of(state: SourcedView, criterion: plan.Criterion, *, either: bool) -> PolytopeLimits:
    """Return the reach of a search by similarity; `either`: see `EITHER`."""
    known = state.view.sealed.limits
    key = (criterion.similarity, criterion.floor, criterion.recall, either)
    found = known.get(key)
    if found is None:
        found = known[key] = _limits(state.view, state.source, criterion, either)
    return found


def gathered(
    view: View, source: Source, tables: int, ordinals: U32, threads: int
) -> Iterator[View]:
    """Yield views with some of `tables` cross-polytope tables of all runs in memory.

    Each table is in one view, which loses it when the next view is asked for.  `ordinals`: the
    documents of the runs that have weights.  Yields `view` itself if it is a part of a run.
    """
    stored = view.kind.keying.polytopes.table_count
    if not view.runs or not _is_whole(view):
        yield view
        return
    fingerprints = _fingerprints(view, source)
    at_once = max(GATHERED_BYTES // max(len(ordinals) * ENTRY_BYTES, 1), GATHERED_AT_ONCE)
    for first in range(0, tables, at_once):
        numbers = range(first, min(first + at_once, tables))
        made = (
            _joined(view, source, numbers, threads)
            if tables == stored
            else _keyed(view, source, numbers, ordinals, threads)
        )
        made = _of_each(partial(with_fingerprints, fingerprints), made, threads)
        sealed = _with_tables(view, made, first, tables)
        part = with_sealed(view, sealed)
        yield part
        # The caller may still hold this view when it asks for the next one.
        part.polytopes, sealed.polytopes, sealed.gathered = None, None, None
        made.clear()


def gathered_whole(view: View, source: Source, tables: int, threads: int) -> Sealed | None:
    """Return the runs of a view with `tables` cross-polytope tables of all documents in memory.

    Tables that are not stored are made.  Returns None if the view has no tables or is a part of a
    run, or if the tables do not fit into memory.
    """
    stored = view.kind.keying.polytopes.table_count
    if not _held_tables(view, (tables,)):
        return None
    made = _joined(view, source, range(stored), threads)
    if tables > stored:
        made += _keyed(view, source, range(stored, tables), np.sort(made[0].ordinals), threads)
    made = _of_each(partial(with_fingerprints, _fingerprints(view, source)), made, threads)
    return _with_tables(view, made, 0, tables)


def looked_up(population: Any, view: View, source: Source, expected: float) -> Any:
    """Return the population of a view as the planner needs it for `gathered_whole`.

    `expected`: the number of documents that will be looked up.
    """
    tables, runs = _held_tables(view, gathered_tables(view, source)), swept_runs(view, source)
    share = sum(run.count for run in runs) / max(expected, 1.0)
    return replace(population, gathered_tables=tables, polytope_runs=runs, gathered_share=share)


def with_sealed(view: View, sealed: Sealed) -> View:
    """Return a view with its runs as in `sealed`."""
    kept = KeptParts(sealed, view.plans)
    return View(view.runs, view.delta, view.dead, view.kind, view.calibration, kept=kept)


def polytope_runs(view: View, source: Source) -> tuple[plan.PolytopeRun, ...]:
    """Return the planner's description of the cross-polytope tables of each run."""
    sealed = view.sealed
    if sealed.polytope_runs is None:
        described: list[plan.PolytopeRun] = []
        if sealed.gathered is not None:
            table = sealed.gathered.tables[0]
            described = [plan.PolytopeRun(len(table.keys), table.width)]
        elif view.kind.keying.polytopes.table_count:
            described = [
                plan.PolytopeRun(run.info.polytope_count, run.polytope_table(0, source).width)
                for run in view.runs
            ]
        sealed.polytope_runs = tuple(described)
    return sealed.polytope_runs


def swept_runs(view: View, source: Source) -> tuple[plan.PolytopeRun, ...]:
    """Return the planner's description of the tables for looking up all documents.

    Several runs are described as one.
    """
    runs = polytope_runs(view, source)
    if len(runs) < 2 or not _is_whole(view):
        return runs
    count = sum(run.count for run in runs)
    return (plan.PolytopeRun(count, polytope_header_bits(count)),)


def gathered_tables(view: View, source: Source) -> tuple[int, ...]:
    """Return numbers of tables, above the stored number, that can be made for many look-ups."""
    stored = view.kind.keying.polytopes.table_count
    return tuple(each for each in GATHERED_TABLES if 0 < stored < each and _is_whole(view))


def table_count(view: View) -> int:
    """Return the number of cross-polytope tables in this view and the others of `gathered`."""
    gathered = view.sealed.gathered
    return view.kind.keying.polytopes.table_count if gathered is None else gathered.total


def searched_tables(view: View) -> range:
    """Return the numbers of the cross-polytope tables that are searched in this view."""
    gathered = view.sealed.gathered
    if gathered is None:
        return range(view.kind.keying.polytopes.table_count)
    return range(gathered.first, gathered.first + len(gathered.tables))


def with_fingerprints(fingerprints: U64, table: Table, threads: int) -> Table:
    """Return a table with the fingerprints of its documents in place of keys.

    `fingerprints`: of all documents, by ordinal.  Keys that are not read-only are overwritten, so
    the given table must not be used any more.
    """
    keys = table.keys if table.keys.flags.writeable else np.empty_like(table.keys)

    def fill(start: int) -> None:
        some = slice(start, start + REPLACED_KEYS)
        # A damaged table may have ordinals beyond all documents.
        np.take(fingerprints, table.ordinals[some], out=keys[some], mode="clip")

    run_all(fill, range(0, len(keys), REPLACED_KEYS), threads)
    return table._replace(keys=keys)


def run_of(view: View, ordinals: U32) -> I64:
    """Return the number of the run whose tables have each document."""
    if view.sealed.gathered is not None:
        return np.zeros(len(ordinals), np.int64)
    starts = np.array([run.info.start for run in view.runs], np.int64)
    return np.searchsorted(starts, ordinals, side="right") - 1


def _with_tables(view: View, tables: list[Table], first: int, total: int) -> Sealed:
    """Return the runs of a view with tables in memory.

    The tables are some of `total`, numbered starting at `first`.
    """
    sealed = copy(view.sealed)
    sealed.gathered = GatheredTables(tables, first, total)
    sealed.polytopes, sealed.polytope_runs, sealed.limits = None, None, {}
    return sealed


def _prepared(view: View, source: Source, runs: Sequence[Sequence[Any]]) -> Any:
    """Return the tables `runs` of a view, ready for look-up, without vectors and delta."""
    first = searched_tables(view).start
    return kernel.Polytopes(
        source.width, [], runs, NO_DOCUMENTS, None, view.windows, first_table=first,
        are_whole=view.sealed.gathered is not None,
    )  # fmt: skip


def _limits(view: View, source: Source, criterion: plan.Criterion, either: bool) -> PolytopeLimits:
    similarity, least, recall = criterion.similarity, criterion.least, criterion.recall
    assert similarity is not None
    assert least is not None
    runs, costs = polytope_runs(view, source), plan.EITHER if either else plan.SEEN
    each = thresholds(runs, similarity, recall, tables=table_count(view), costs=costs)
    # Gathered tables have whole fingerprints in place of keys.
    signs = plan.KEY_SIGNS if view.sealed.gathered is None else plan.ALL_SIGNS
    return PolytopeLimits(np.array(each, np.float32), least, plan.sign_limits(least, recall, signs))


def _held_tables(view: View, tables: tuple[int, ...]) -> tuple[int, ...]:
    """Return the numbers of tables, for all documents of whole runs, that fit into memory."""
    count = sum(run.info.polytope_count for run in view.runs) if _is_whole(view) else 0
    return tuple(each for each in tables if 0 < each * count * ENTRY_BYTES <= GATHERED_BYTES)


def _is_whole(view: View) -> bool:
    """Return whether a view has whole runs, not a part of one."""
    return view.windows is None and not view.sealed.is_segment


def _joined(view: View, source: Source, numbers: range, threads: int) -> list[Table]:
    """Return some of the stored tables, each merged from the tables of all runs."""
    every = [[run.polytope_table(table, source) for run in view.runs] for table in numbers]
    merged = _of_each(lambda parts, few: merges.merge_tables(parts, threads=few), every, threads)
    return _with_directories(merged, threads)


def _fingerprints(view: View, source: Source) -> U64:
    """Return the fingerprints of the documents in runs, by ordinal."""
    parts = [part.column(layout.FINGERPRINT, source) for part in view.sealed.parts]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _keyed(view: View, source: Source, numbers: range, ordinals: U32, threads: int) -> list[Table]:
    """Return some tables that are not stored, made from the stored weights."""
    vectors = view.vectors.over(source, None)
    keys = [np.empty(len(ordinals), np.uint64) for _ in numbers]

    def fill(start: int) -> None:
        some = slice(start, start + KEYED_DOCUMENTS)
        some_vectors = vectors.gather(ordinals[some])
        made = kernel.polytope_keys(some_vectors, len(numbers), numbers.start)
        for own, part in zip(keys, made, strict=True):
            own[some] = part

    run_all(fill, range(0, len(ordinals), KEYED_DOCUMENTS), threads)

    def sort(at: int, few: int) -> Table:
        own, keys[at] = keys[at], keys[at][:0].copy()  # freed when they are sorted
        return sorted_table(own, ordinals, few)

    return _with_directories(_of_each(sort, range(len(keys)), threads), threads)


def _of_each(
    make: Callable[[Item, int], Table], given: Sequence[Item], threads: int
) -> list[Table]:
    """Return the table of `make` for each item: one thread makes each, or all threads in turn."""
    if len(given) < threads:
        return [make(each, threads) for each in given]
    return list(mapped(lambda each: make(each, 1), given, threads))


def _with_directories(tables: Sequence[Table], threads: int) -> list[Table]:
    """Return the tables, with directories where they lacked them."""

    def make(table: Table) -> Table:
        if len(table.directory):
            return table
        width = polytope_header_bits(len(table.keys))
        return make_table(table.keys, table.ordinals, width, is_sorted=True)

    return list(mapped(make, tables, threads))


def _all_parts(view: View, source: Source) -> list[list[Table]]:
    """Return the tables of each run, or of all together if they are gathered."""
    if view.sealed.gathered is not None:
        return [view.sealed.gathered.tables]
    tables = range(view.kind.keying.polytopes.table_count)
    return [[run.polytope_table(table, source) for table in tables] for run in view.runs]


def _thinned(keys: U64, ordinals: U32, directory: U32, is_left_out: Bools) -> tuple[U64, U32, U32]:
    """Return a table without the entries of some documents; unknown ordinals are kept."""
    is_kept = np.ones(len(ordinals), np.bool_)
    known = ordinals < len(is_left_out)
    is_kept[known] = ~is_left_out[ordinals[known]]
    before = np.zeros(len(keys) + 1, np.uint32)
    np.cumsum(is_kept, out=before[1:])
    moved = before[np.minimum(directory, len(keys))]
    return keys[is_kept], ordinals[is_kept], moved


def _weighted_delta(view: View) -> tuple[U64, U32]:
    """Return the fingerprints and ordinals of the documents of the delta that have weights."""
    delta = view.delta
    if delta.weighted_count == len(delta.batch):
        return delta.batch.fingerprints, delta.ordinals
    chosen = np.flatnonzero(delta.batch.states == WEIGHTED)
    ordinals = (chosen + delta.start).astype(np.uint32)
    return np.ascontiguousarray(delta.batch.fingerprints[chosen]), ordinals


def kind_of(options: Options) -> Kind:
    """Return the kind of a database with these options, which must be `settled`."""
    if options.is_minhash:
        return state.signature_kind.SignatureKind(options)
    if options.is_wide:
        return state.bits_kind.BitsKind(options)
    return FingerprintKind(options)


class CutTables:
    """The tables of the usual cut of a database with one header table, made in memory.

    A look-up by distance in the one table flips many bits.  Four tables are made when they could
    have saved exact look-ups more seconds than making them takes.  Runs never change, and most of
    them are in many views, so the tables of each run are kept as long as the run is.
    """

    def __init__(self, masks: Sequence[int]) -> None:
        """Start without tables; `masks`: the leading bits of each table."""
        self._masks = masks
        self._of_runs: WeakKeyDictionary[Run, list[Table]] = WeakKeyDictionary()
        self._making = Lock()
        self._saved = 0.0

    def are_made(self, view: View) -> bool:
        """Return whether the tables of all runs of a view are there."""
        return bool(view.runs) and all(run in self._of_runs for run in view.runs)

    def make(self, state: SourcedView, saved: float) -> bool:
        """Make the tables of all runs if they pay and fit into memory; return whether they do.

        `saved`: the further seconds that they could have saved look-ups.
        """
        self._saved += saved
        missing = [run for run in state.view.runs if run not in self._of_runs]
        entries = len(self._masks) * sum(run.info.entry_count for run in missing)
        if self._saved < MADE_SECONDS * entries:
            return False
        self._saved = 0.0
        size = len(self._masks) * state.view.sealed.entry_count * ENTRY_BYTES
        is_small = size <= min(MADE_BYTES, state.source.memory_bytes // MADE_PART)
        for run in missing if is_small else ():
            self.of_run(run, state)
        return is_small

    def of_run(self, run: Run, state: SourcedView) -> list[Table]:
        """Return the tables of one run, which are made if they are missing."""
        with self._making:
            if run not in self._of_runs:
                self._of_runs[run] = self._made(run, state)
            return self._of_runs[run]

    def over(self, state: SourcedView) -> Any:
        """Return the tables of a view, ready for look-up; they are made if they are missing."""
        sealed = state.view.sealed
        found = sealed.cut
        if found is None:
            runs = [self.of_run(run, state) for run in sealed.runs]
            found = sealed.cut = sealed.prepared(self._masks, runs, USUAL_HEADER_OFFSET)
        return state.view.followed(found)

    def _made(self, run: Run, state: SourcedView) -> list[Table]:
        parts = [run.searchable(number, state.source) for number in range(run.segment_count)]
        words, ordinals = (np.concatenate([part[at] for part in parts]) for at in (0, 1))
        width, found = header_bits(len(words), USUAL_HEADER_OFFSET), []
        for mask in self._masks:
            keys = np.empty_like(words)
            kernel.permute(words, mask, keys)
            table = sorted_table(keys, ordinals)  # in one thread: others may wait for it
            found.append(make_table(table.keys, table.ordinals, width, is_sorted=True))
        return found


class FingerprintKind(Kind):
    """The kind of a database whose options name a `Simhash`."""

    stores = FINGERPRINTS
    keying: plan.Permutations

    def __init__(self, options: Options) -> None:
        """Take the block permutations from the options."""
        self.keying = plan.Permutations(options.blocks, options.leading, options.polytope_count)
        self.masks = self.keying.masks
        self.cut = CutTables(plan.swept_masks(self.masks)) if len(self.masks) == 1 else None
        self._crowds = HeaderCrowds(self.masks)
        self._options = options

    def make_tables(self, view: View, source: Source) -> Any:
        """Return the tables of all permutations, ready for look-up; none for a segment."""
        found = view.sealed.tables
        if found is None:
            found = view.sealed.tables = view.sealed.searched(source, self.masks)
        return view.followed(found)

    def population(
        self, view: View, source: Source, criterion: plan.Criterion, *, is_swept: bool
    ) -> plan.Population:
        """Return the planner's description of a view; `is_swept`: for a search of all pairs."""
        counts = [run.info.entry_count for run in view.runs]
        return plan.Population(
            sum(counts) + len(view.delta.searchable), self.keying.blocks, self.keying.leading,
            header_bits(max(counts, default=0), source.header_offset), source.width > 0, is_swept,
            source.width, self._crowding(view, source) if is_swept else 1.0, view.unseen,
            () if criterion.distance is None else self._crowds.of(view, source),
            self.keying.polytopes.table_count, gathered_tables(view, source) if is_swept else (),
            (swept_runs if is_swept else polytope_runs)(view, source), len(view.delta.ordinals),
            is_cut=criterion.similarity is None and self.cut is not None
            and self.cut.are_made(view),
        )  # fmt: skip

    def empty_population(self, *, has_weights: bool) -> plan.Population:
        """Return the planner's description of an empty database."""
        width = self._options.sketch.vector_bytes if has_weights else 0
        keying = self.keying
        return plan.Population(
            0, keying.blocks, keying.leading, 0, width > 0, vector_bytes=width,
            polytope_tables=keying.polytopes.table_count if has_weights else 0,
        )  # fmt: skip

    def fingerprint_of(self, sketches: Sketches, at: int) -> Fingerprint:
        """Return the stored fingerprint at position `at`, with its weights if they are stored."""
        measure = self._options.sketch.scale_of(sketches.content).measure
        return replace(fingerprint_of(sketches, at), is_rounded=True, measure=measure)

    def _crowding(self, view: View, source: Source) -> float:
        """Return the crowding: other entries under a document's header, over the mean of headers.

        The result is about 1 if fingerprints are spread evenly, and never less.
        """
        found = [1.0]
        for run in view.runs:
            for table in range(self.keying.table_count):
                sizes = np.diff(run.table(table, source).directory.astype(np.float64))
                entries = float(sizes.sum())
                if entries >= len(sizes):  # fewer entries show no crowding
                    found.append(float((sizes * (sizes - 1)).sum()) * len(sizes) / entries**2)
        return max(found)


def fingerprint_of(sketches: Sketches, at: int) -> Fingerprint:
    """Return the fingerprint at position `at`, with weights if it has a volatility vector."""
    state, bits = int(sketches.states[at]), int(sketches.bits[at])
    if state != WEIGHTED or not sketches.vectors.shape[1]:
        return Fingerprint(bits, None, is_empty=state == EMPTY)
    return Fingerprint(bits, weights_of(sketches, at))


def weights_of(sketches: Sketches, at: int) -> F32:
    """Return the weights at position `at` as its volatility vector has them: float32[n]."""
    return unpack(sketches.vectors[at]).astype(np.float32)
