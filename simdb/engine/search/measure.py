"""Candidates: the stored documents within a distance of given sketches, found as a plan says.

Where a plan goes by a calibration that does not cover all documents, the others are compared one
by one in the same call of the kernel.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from simdb import kernel
from simdb.engine.state.view import View
from simdb.reports import Plan
from simdb.storage.runs.run import Source
from simdb.values import Probing, Sketches

I64 = npt.NDArray[np.int64]
U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
# Offsets of each query's candidates, their ordinals and distances.
Candidates = tuple[I64, U32, U8]


def find_candidates(
    view: View, source: Source, sketches: Sketches, plan: Plan, first: bool, after: U32 | None
) -> Candidates:
    """Stored documents within the plan's distance, by distance and ordinal."""
    if plan.compared:
        return _covered_candidates(view, source, sketches, plan, first, after)
    tables = view.tables(source)
    if plan.method == "exhaustive":
        found = tables.scan(sketches.bits, distance=plan.distance, first=first, after=after)
    elif plan.probing is not None:
        found = _probed(tables, sketches, plan, plan.probing, first, after)
    else:
        found = tables.lookup(
            sketches.bits, distance=plan.distance, flips=plan.flips, first=first, after=after
        )
    offsets, ordinals, distances = found
    return offsets, ordinals, distances


def levels_of(sketches: Sketches) -> U8:
    """How far each bit is from flipping; of stored documents as far as their vectors tell."""
    if sketches.levels is not None:
        return sketches.levels
    return np.asarray(kernel.levels_of_vectors(sketches.vectors), np.uint8)


def _probed(
    tables: Any, sketches: Sketches, plan: Plan, probing: Probing, first: bool, after: U32 | None
) -> Candidates:
    found: Candidates = tables.probe(
        sketches.bits,
        levels_of(sketches),
        costs=probing.costs,
        theta=probing.theta,
        cap=probing.cap,
        distance=plan.distance,
        first=first,
        after=after,
        tables=probing.tables,
        header_bits=probing.header_bits,
    )
    return found


def _covered_candidates(
    view: View, source: Source, sketches: Sketches, plan: Plan, first: bool, after: U32 | None
) -> Candidates:
    """The same where the calibration does not cover all: each candidate once."""
    assert plan.probing is not None
    tables = view.covered_tables(source)
    offsets, ordinals, distances = _probed(tables, sketches, plan, plan.probing, first, after)
    # What was probed and compared stands twice, one after the other.
    again = np.flatnonzero(ordinals[1:] == ordinals[:-1]) + 1
    again = again[~np.isin(again, offsets)]
    if not len(again):
        return offsets, ordinals, distances
    fewer = np.searchsorted(again, offsets)
    return offsets - fewer, np.delete(ordinals, again), np.delete(distances, again)
