"""Polytope tables: the cross-polytope tables of a view, and how far a search in them must go.

Every run has tables of its own, and so a threshold of its own (`plan/polytope_reach.py`).
Documents that are in no run yet are compared one by one.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from simdb import kernel
from simdb.engine.state.view import View
from simdb.plan.polytope_reach import PolytopeRun, thresholds
from simdb.storage.records.delta import NO_DOCUMENTS
from simdb.storage.runs.run import Run
from simdb.storage.runs.source import Source
from simdb.values import WEIGHTED

F32 = npt.NDArray[np.float32]
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
    tables = range(view.kind.keying.polytopes.table_count)
    runs = [
        [_thinned(*_parts(run, table, source), is_left_out) for table in tables]
        for run in view.runs
    ]
    made = kernel.Polytopes(source.width, [], runs, NO_DOCUMENTS, None, view.windows)
    return made.over(_weighted_delta(view), view.dead, view.vectors.over(source, None))


def thresholds_of(
    view: View, source: Source, similarity: float, share: float, *, either: bool
) -> F32:
    """Return the threshold of each run that finds a share of the matches; see `polytope_reach`."""
    known = view.sealed.thresholds
    key = (similarity, share, either)
    found = known.get(key)
    if found is None:
        runs = polytope_runs(view, source)
        tables = view.kind.keying.polytopes.table_count
        each = thresholds(runs, similarity, share, tables=tables, either=either)
        found = known[key] = np.array(each, np.float32)
    return found


def polytope_runs(view: View, source: Source) -> tuple[PolytopeRun, ...]:
    """Return what the planner must know of the cross-polytope tables of each run."""
    sealed = view.sealed
    if sealed.polytope_runs is None:
        described = []
        if view.kind.keying.polytopes.table_count:
            described = [
                PolytopeRun(run.info.polytope_count, run.polytope_table(0, source).width)
                for run in view.runs
            ]
        sealed.polytope_runs = tuple(described)
    return sealed.polytope_runs


def _made(view: View, source: Source) -> Any:
    sealed = view.sealed
    if sealed.polytopes is None:
        tables = range(view.kind.keying.polytopes.table_count)
        runs = [[_parts(run, table, source) for table in tables] for run in view.runs]
        sealed.polytopes = kernel.Polytopes(
            source.width, [], runs, NO_DOCUMENTS, None, view.windows
        )
    vectors = view.vectors.over(source, None)
    return sealed.polytopes.over(_weighted_delta(view), view.dead, vectors)


def _parts(run: Run, table: int, source: Source) -> tuple[Any, Any, Any]:
    part = run.polytope_table(table, source)
    return part.keys, part.ordinals, part.directory


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
