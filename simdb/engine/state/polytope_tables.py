"""Polytope tables: the cross-polytope tables of a view, and how far a search in them must go.

Every run has tables of its own, and so a threshold of its own (`plan/polytopes.py`).  Who asks
for many documents gathers the tables of all runs in memory first, since two runs need nearly twice
the probes of one.  Documents that are in no run yet are compared one by one.
"""

from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.engine.state.view import KeptParts, View
from simdb.plan.polytopes import thresholds
from simdb.plan.problem import PolytopeRun
from simdb.running import kernel
from simdb.running.threads import mapped
from simdb.storage.records.delta import NO_DOCUMENTS
from simdb.storage.runs.source import Source
from simdb.storage.runs.table import Table, make_table, polytope_header_bits
from simdb.values.arrays import WEIGHTED

# The tables of more documents are searched run by run; a key and an ordinal are an entry.
GATHERED_BYTES = 1 << 30
# At a low similarity more tables need fewer probes in all; the kernel has rotations for so many.
GATHERED_TABLES = (8, 16)
# The keys of so many documents are made by one thread at a time.
KEYED_DOCUMENTS = 1 << 14
ENTRY_BYTES = 12

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]


def polytopes_of(view: View, source: Source) -> Any:
    """Return the cross-polytope tables of a view, ready for look-up."""
    if view.polytopes is None:
        view.polytopes = _made(view, source)
    return view.polytopes


def polytopes_without(view: View, source: Source, is_left_out: npt.NDArray[np.bool_]) -> Any:
    """Return copies of the tables, and the delta of a view, without the entries of some documents.

    `is_left_out`: by ordinal, of the documents in runs.
    """
    runs = [[_thinned(*part, is_left_out) for part in parts] for parts in _all_parts(view, source)]
    made = kernel.Polytopes(source.width, [], runs, NO_DOCUMENTS, None, view.windows)
    return made.over(_weighted_delta(view), view.dead, view.vectors.over(source, None))


def thresholds_of(
    view: View, source: Source, similarity: float, share: float, *, either: bool
) -> F32:
    """Return the threshold of each run that finds a share of the matches; see `thresholds`."""
    known = view.sealed.thresholds
    key = (similarity, share, either)
    found = known.get(key)
    if found is None:
        runs = polytope_runs(view, source)
        each = thresholds(runs, similarity, share, tables=table_count(view), either=either)
        found = known[key] = np.array(each, np.float32)
    return found


def gathered(view: View, source: Source, tables: int, ordinals: U32, threads: int) -> View:
    """Return the same view, with `tables` cross-polytope tables of all its runs in memory.

    `ordinals`: the documents of the runs that have weights.  Returns `view` itself if it has so
    many tables, and its runs are searched one by one; see `swept_runs`.
    """
    stored = view.kind.keying.polytopes.table_count
    if tables == stored and swept_runs(view, source) is polytope_runs(view, source):
        return view
    width = polytope_header_bits(view.sealed.entry_count)
    columns = (
        _joined(view, source)
        if tables == stored
        else _keyed(view, source, tables, ordinals, threads)
    )
    sealed = copy(view.sealed)
    sealed.gathered = list(mapped(lambda column: make_table(*column, width), columns, threads))
    sealed.polytopes, sealed.polytope_runs, sealed.thresholds = None, None, {}
    kept = KeptParts(sealed, view.plans)
    return View(view.runs, view.delta, view.dead, view.kind, view.calibration, kept=kept)


def polytope_runs(view: View, source: Source) -> tuple[PolytopeRun, ...]:
    """Return what the planner must know of the cross-polytope tables of each run."""
    sealed = view.sealed
    if sealed.polytope_runs is None:
        described: list[PolytopeRun] = []
        if sealed.gathered is not None:
            described = [PolytopeRun(len(table.keys), table.width) for table in sealed.gathered[:1]]
        elif view.kind.keying.polytopes.table_count:
            described = [
                PolytopeRun(run.info.polytope_count, run.polytope_table(0, source).width)
                for run in view.runs
            ]
        sealed.polytope_runs = tuple(described)
    return sealed.polytope_runs


def swept_runs(view: View, source: Source) -> tuple[PolytopeRun, ...]:
    """Return what the planner must know of the tables in which all documents are looked up.

    That is one run if there are several, and their tables fit into `GATHERED_BYTES` together.
    """
    runs = polytope_runs(view, source)
    if len(runs) < 2 or not _fits(view, runs, view.kind.keying.polytopes.table_count):
        return runs
    count = sum(run.count for run in runs)
    return (PolytopeRun(count, polytope_header_bits(count)),)


def gathered_tables(view: View, source: Source) -> tuple[int, ...]:
    """Return numbers of tables, more than are stored, that can be made to look up all documents."""
    stored = view.kind.keying.polytopes.table_count
    runs = polytope_runs(view, source)
    return tuple(
        tables for tables in GATHERED_TABLES if 0 < stored < tables and _fits(view, runs, tables)
    )


def table_count(view: View) -> int:
    """Return how many cross-polytope tables of a view are searched."""
    gathered = view.sealed.gathered
    return view.kind.keying.polytopes.table_count if gathered is None else len(gathered)


def run_of(view: View, ordinals: U32) -> I64:
    """Return the number of the run whose tables have each of some documents."""
    if view.sealed.gathered is not None:
        return np.zeros(len(ordinals), np.int64)
    starts = np.array([run.info.start for run in view.runs], np.int64)
    return np.searchsorted(starts, ordinals, side="right") - 1


def _made(view: View, source: Source) -> Any:
    sealed = view.sealed
    if sealed.polytopes is None:
        runs = _all_parts(view, source)
        sealed.polytopes = kernel.Polytopes(
            source.width, [], runs, NO_DOCUMENTS, None, view.windows
        )
    vectors = view.vectors.over(source, None)
    return sealed.polytopes.over(_weighted_delta(view), view.dead, vectors)


def _fits(view: View, runs: tuple[PolytopeRun, ...], tables: int) -> bool:
    """Return whether so many tables of whole runs may be in memory."""
    size_bytes = sum(run.count for run in runs) * tables * ENTRY_BYTES
    return view.windows is None and not view.sealed.is_segment and size_bytes <= GATHERED_BYTES


def _joined(view: View, source: Source) -> Iterator[tuple[U64, U32]]:
    """Yield the keys and ordinals of each stored table, run by run."""
    for table in range(view.kind.keying.polytopes.table_count):
        parts = [run.polytope_table(table, source) for run in view.runs]
        keys = np.concatenate([part.keys for part in parts])
        yield keys, np.concatenate([part.ordinals for part in parts])


def _keyed(
    view: View, source: Source, tables: int, ordinals: U32, threads: int
) -> Iterator[tuple[U64, U32]]:
    """Yield the keys and ordinals of each of `tables` tables, made from the stored weights."""
    vectors = view.vectors.over(source, None)
    keys = np.empty((tables, len(ordinals)), np.uint64)

    def fill(start: int) -> None:
        some = slice(start, start + KEYED_DOCUMENTS)
        keys[:, some] = kernel.polytope_keys(vectors.gather(ordinals[some]), tables)

    for _ in mapped(fill, range(0, len(ordinals), KEYED_DOCUMENTS), threads):
        pass
    return ((each, ordinals.copy()) for each in keys)


def _all_parts(view: View, source: Source) -> list[list[Table]]:
    """Return the tables of each run, or of all together if they are gathered."""
    if view.sealed.gathered is not None:
        return [view.sealed.gathered]
    tables = range(view.kind.keying.polytopes.table_count)
    return [[run.polytope_table(table, source) for table in tables] for run in view.runs]


def _thinned(
    keys: U64, ordinals: U32, directory: U32, is_left_out: npt.NDArray[np.bool_]
) -> tuple[U64, U32, U32]:
    """Return a table without the entries of some documents; unknown ordinals stay."""
    is_kept = np.ones(len(ordinals), np.bool_)
    known = ordinals < len(is_left_out)
    is_kept[known] = ~is_left_out[ordinals[known]]
    before = np.zeros(len(keys) + 1, np.uint32)
    np.cumsum(is_kept, out=before[1:])
    moved = before[np.minimum(directory, len(keys))]
    return keys[is_kept], ordinals[is_kept], moved


def _weighted_delta(view: View) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint32]]:
    """Return the fingerprints and ordinals of the documents of the delta that have weights."""
    delta = view.delta
    if delta.weighted_count == len(delta.batch):
        return delta.batch.fingerprints, delta.ordinals
    chosen = np.flatnonzero(delta.batch.states == WEIGHTED)
    ordinals = (chosen + delta.start).astype(np.uint32)
    return np.ascontiguousarray(delta.batch.fingerprints[chosen]), ordinals
