"""Chunks: the documents of a state in parts that fit into a given memory.

A run that fits is one chunk.  A larger run is cut along its sorted tables: a chunk is a window of
the directory entries of all tables, and the entries under it lie together in the file.  If a plan
measures all volatility vectors, or compares documents one by one, the segments of the run are the
chunks instead.  The delta is in memory anyway and is the last chunk.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simdb.engine.search.lookup import method_of
from simdb.engine.state.state import State
from simdb.results.reports import Plan
from simdb.settings.options import POLYTOPE
from simdb.storage import layout
from simdb.storage.environment import file_map
from simdb.storage.records.delta import Delta
from simdb.storage.runs.run import Run
from simdb.storage.runs.source import Source
from simdb.storage.runs.table import ENTRY_BYTES, Table

HEADER_BYTES = 4
LEAST_ENTRIES = 1
# A page of a directory: less is never read of a file.
LEAST_HEADERS = 1 << 10


class Chunk(NamedTuple):
    """A part of a run: a `window` of its tables, None for all, or a `segment`; or the delta.

    `lean`: the run, if all of the segment is compared because the run has no tables; another thread
    may make them after the chunks have been cut.  The chunk without a run is the delta.
    """

    run: Run | None = None
    window: tuple[int, int] | None = None
    segment: int | None = None
    lean: tuple[Run, ...] = ()


def chunks_of(state: State, plan: Plan, size_bytes: int) -> list[Chunk]:
    """Return all of `state` in chunks whose tables or vectors take at most `size_bytes`.

    A chunk with a single header or segment, or of few headers, can be larger.
    """
    found: list[Chunk] = []
    lean = state.view.sealed.lean if plan.method != POLYTOPE else ()
    for run in state.runs:
        # The calibration covers none of the run.
        is_uncovered = plan.compared > 0 and run.info.start >= state.uncovered_from
        if method_of(state, plan).scans_vectors(plan) or is_uncovered or run in lean:
            found += _segments(run, run.info.start, lean=(run,) if run in lean else ())
            continue
        windows = list(_windows(state, run, plan, size_bytes))
        found += [Chunk(run, each) for each in windows]
        if plan.compared and windows != [None]:
            found += _segments(run, state.uncovered_from)
    if len(state.delta.batch):
        found.append(Chunk())
    return found


def _segments(run: Run, first: int, lean: tuple[Run, ...] = ()) -> list[Chunk]:
    """Return the segments of a run that have documents from the ordinal `first` on."""
    numbers = range(run.segment_count)
    return [Chunk(run, segment=at, lean=lean) for at in numbers if run.segment_range(at)[1] > first]


@contextmanager
def opened(chunk: Chunk, state: State, plan: Plan) -> Iterator[State]:
    """Open one chunk of `state`, with its pages in memory, for a `with` statement."""
    run, window, segment, lean = chunk
    if run is None:
        yield state.only([], state.delta)
        return
    nothing = Delta(state.delta.stop, state.width, state.keying).view()
    part = state.only([run], nothing, window=window, segment=segment, lean=lean)
    method, source = method_of(state, plan), state.source
    try:
        if segment is None and (window or source.is_larger_than_memory):
            _fetch(window, method.tables(state, plan, run), source)
        elif segment is not None and method.scans_vectors(plan):
            run.segment(segment, source, (layout.VECTOR,))
        yield part
    finally:
        run.give_back()


def give_back(state: State) -> None:
    """Release all mapped pages of the runs from the memory of this process."""
    for run in state.runs:
        run.give_back()


def _windows(
    state: State, run: Run, plan: Plan, size_bytes: int
) -> Iterator[tuple[int, int] | None]:
    """Yield windows of a run; under each, the entries of all tables take at most `size_bytes`."""
    directories, entries = [], 0
    for table in method_of(state, plan).tables(state, plan, run):
        directories.append(table.directory)
        entries = len(table.keys)
        run.give_back()  # the first read of a table touches all of its pages
    share = size_bytes // len(directories)
    headers = len(directories[0]) - 1
    if entries * ENTRY_BYTES + headers * HEADER_BYTES <= share:
        yield None
        return
    # Half of the memory is for entries and half for the directory; a window ends when one is full.
    most = max(share // 2 // ENTRY_BYTES, LEAST_ENTRIES)
    most_headers = max(share // 2 // HEADER_BYTES, LEAST_HEADERS)
    start = 0
    while start < headers:
        ends = [_last_header(each, min(int(each[start]) + most, entries)) for each in directories]
        stop = min(max(min(ends), start + 1), start + most_headers, headers)
        yield start, stop
        start = stop


def _last_header(directory: npt.NDArray[np.uint32], position: int) -> int:
    """Return the last entry of a directory that is at most `position`; few pages are read."""
    # A number of another type would have all of the directory copied.
    return int(np.searchsorted(directory, np.uint32(position), "right")) - 1


def _fetch(window: tuple[int, int] | None, tables: Iterable[Table], source: Source) -> None:
    """Bring the part of some tables that is under a window into memory; all for None."""
    for table in tables:
        start, stop = window or (0, len(table.directory) - 1)
        first, last = int(table.directory[start]), int(table.directory[stop])
        read = (table.directory[start : stop + 1], table.keys[first:last])
        for part in (*read, table.ordinals[first:last]):
            pages = source.pages_of(part)
            if pages is not None:
                file_map.fetch(pages)
