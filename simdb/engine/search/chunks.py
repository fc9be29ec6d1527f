"""Chunks: a state of the database in parts that fit into a given memory, one after the other.

A run that fits is one chunk.  A larger one is cut where its sorted tables are: a chunk is a window
of the directory entries of all tables, and what begins there lies together in the file.  Where all
volatility vectors are measured the segments of the run are the chunks, and so they are for
documents that a plan compares one by one.  Delta documents are in memory anyway and come last.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from simdb.engine.search.methods.register import method_of
from simdb.engine.state.state import State
from simdb.plans import Plan
from simdb.storage.records.delta import Delta
from simdb.storage.runs import page_cache
from simdb.storage.runs.run import Run, Source

ENTRY_BYTES = 12  # a key and an ordinal
HEADER_BYTES = 4
LEAST_ENTRIES = 1


class Chunk(NamedTuple):
    """A window of the tables of a run, None for all; or one of its `segment`s; or what is loose."""

    run: Run | None = None
    window: tuple[int, int] | None = None
    segment: int | None = None


def chunks_of(state: State, plan: Plan, size_bytes: int) -> list[Chunk]:
    """Everything that `state` holds, in chunks of which the tables or vectors take `size_bytes`.

    A chunk is larger where one header, or one segment, is.
    """
    found: list[Chunk] = []
    for run in state.runs:
        if method_of(state, plan).scans_vectors(plan) or _is_compared(state, run, plan):
            found += _segments(run, run.info.start)
            continue
        windows = list(_windows(state, run, plan, size_bytes))
        found += [Chunk(run, each) for each in windows]
        if plan.compared and windows != [None]:
            found += _segments(run, state.uncovered_from)
    if len(state.loose.batch):
        found.append(Chunk())
    return found


def _is_compared(state: State, run: Run, plan: Plan) -> bool:
    """Whether all of a run is compared, since the calibration covers none of it."""
    return plan.compared > 0 and run.info.start >= state.uncovered_from


def _segments(run: Run, first: int) -> list[Chunk]:
    """The segments of a run that have documents from the ordinal `first` on."""
    numbers = range(run.segment_count)
    return [Chunk(run, segment=at) for at in numbers if run.segment_range(at)[1] > first]


@contextmanager
def opened(chunk: Chunk, state: State, plan: Plan) -> Iterator[State]:
    """One chunk of `state`, with its pages in memory, for a `with` statement."""
    if chunk.run is None:
        yield state.only([], state.loose)
        return
    nothing = Delta(state.loose.stop, state.width, state.keying).view()
    part = state.only([chunk.run], nothing, window=chunk.window, segment=chunk.segment)
    try:
        if chunk.window is not None:
            _fetch(
                chunk.run, chunk.window, method_of(state, plan).tables(state, plan), state.source
            )
        yield part
    finally:
        chunk.run.give_back()


def give_back(state: State) -> None:
    """Take everything that is mapped out of the memory of this process."""
    for run in state.runs:
        run.give_back()


def _windows(
    state: State, run: Run, plan: Plan, size_bytes: int
) -> Iterator[tuple[int, int] | None]:
    """Windows of a run, each with so many entries that those of all tables take `size_bytes`."""
    directories = []
    for table in method_of(state, plan).tables(state, plan):
        directories.append(run.table(table, state.source).directory)
        run.give_back()  # fetching it has touched all of it
    share = size_bytes // len(directories)
    headers, entries = len(directories[0]) - 1, run.info.entry_count
    if entries * ENTRY_BYTES + headers * HEADER_BYTES <= share:
        yield None
        return
    # Half of the memory is for entries and half for the directory, whichever is full first.
    most = max(share // 2 // ENTRY_BYTES, LEAST_ENTRIES)
    most_headers = max(share // 2 // HEADER_BYTES, 1)
    start = 0
    while start < headers:
        ends = [np.searchsorted(each, int(each[start]) + most, "right") - 1 for each in directories]
        stop = min(max(int(min(ends)), start + 1), start + most_headers, headers)
        yield start, stop
        start = stop


def _fetch(run: Run, window: tuple[int, int], tables: Sequence[int], source: Source) -> None:
    """Have what the window holds of some tables in memory."""
    start, stop = window
    for number in tables:
        table = run.table(number, source)
        first, last = int(table.directory[start]), int(table.directory[stop])
        for part in (table.directory[start : stop + 1], table.keys[first:last]):
            page_cache.fetch(part)
        page_cache.fetch(table.ordinals[first:last])
