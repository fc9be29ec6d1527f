"""Matching a batch: searches many queries in all stored documents, chunk by chunk.

This is the batch mode of Sood & Loguinov 2011, section 5: each chunk of the collection is brought
into memory, searched for all queries, and released.  If the first match is enough (PSM-F), a query
with a match skips later chunks, and the search ends when no query is left.  Otherwise every query
is looked up in every chunk (PSM-A).  The paper builds a hash table over each chunk.  Here the
stored tables are sorted and have directories, so a chunk is searched in its stored form.

A run that fits into the given memory is one chunk.  A larger run is cut along its sorted tables.  A
chunk is then a window of the directory entries of all tables, whose entries lie together in the
file.  If a plan measures all volatility vectors, or compares documents one by one, the segments of
the run are the chunks instead.  The delta is in memory anyway and is the last chunk.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import numpy as np

from simdb.core.arrays import EMPTY, Sketches
from simdb.core.checks import is_one_of, is_whole, shown
from simdb.core.dtypes import I64, U32
from simdb.core.errors import OptionError
from simdb.core.matches import Matches
from simdb.core.options import Options
from simdb.core.progress import Progress, Report, ignored, report_of
from simdb.core.reports import Plan
from simdb.database.search import lookup
from simdb.database.search.filters import kept
from simdb.database.search.question import Question, criterion_of, refuse_mixed
from simdb.database.search.rows import Rows, joined, merged
from simdb.database.search.searcher import (
    Queries,
    Searcher,
    StateMatches,
    joined_matches,
    merged_matches,
)
from simdb.database.state import incoming
from simdb.database.state.state import Origin, State
from simdb.database.state.view import Sealed
from simdb.plan import Criterion, pays_in_windows
from simdb.storage import ENTRY_BYTES, Delta, Run, Source, Table, file_map

MATCHED = ("first", "all")
# A search that chooses chunks by itself uses this part of the memory, half of it for a chunk.
MEMORY_PART = 2
HEADER_BYTES = 4
# One page of a directory, or of keys: the least that is read of a file.
LEAST_HEADERS = 1 << 10
LEAST_ENTRIES = 1 << 9
# Least number of queries in a slice, since each slice reads the whole database.
LEAST_QUERIES = 1 << 6


class QueryBatch(NamedTuple):
    """The settings for matching a batch of queries.

    `first`: number of candidates of each query that suffice, see `lookup.search`; 1 for any one
    match.  `memory_bytes`: the memory of the search, half for queries and half for a chunk of
    stored documents; None lets the search choose.
    """

    question: Question
    first: int = 0
    memory_bytes: int | None = None

    @classmethod
    def checked(cls, question: Question, match: object) -> "QueryBatch":
        """Return the settings that a caller asks for.

        Raises OptionError for an invalid memory limit.
        """
        if match == "first":
            question = question._replace(limit=1)
        limit = question.how.memory_limit
        if limit is not None and not is_whole(limit, 1):
            raise OptionError(f"memory_limit of search= must be 1 byte or more, got {shown(limit)}")
        return cls(question, int(match == "first"), None if limit is None else int(limit))

    def with_limit(self, limit: int | None) -> "QueryBatch":
        """Return the settings for all matches of each query, or for at most `limit`."""
        return self._replace(question=self.question._replace(limit=limit), first=0)

    def query_count(self, width: int) -> int | None:
        """Return the number of queries in a slice, with vectors of `width` bytes; None for any.

        Two copies of each query and its 64 levels are in memory, and 64 bytes for its look-up.
        """
        if self.memory_bytes is None:
            return None
        return max(self.memory_bytes // 2 // (2 * (8 + 1 + 64 + width) + 64), LEAST_QUERIES)


def check_match(match: object) -> None:
    """Raise OptionError unless `match` is one of the two ways to match a batch."""
    if not is_one_of(match, MATCHED):
        raise OptionError(f"match must be 'first' or 'all', got {shown(match)}")


def find(searcher: Searcher, queries: Queries, batch: QueryBatch) -> Matches:
    """Return the matches of many documents; stored documents do not match themselves."""
    question = batch.question
    limit, size = question.limit, batch.query_count(searcher.store.options.sketch.vector_bytes)
    slices, stored = queries.sketched(searcher, size)
    found, start = [], 0
    known: dict[Origin, dict[int, bool]] = {}
    for sketches, criterion in _with_criteria(searcher.store.options, slices, question):
        stop = start + len(sketches)
        own = None if stored is None else stored[start:stop]
        # A stored document also finds itself.
        more = batch if own is None else batch.with_limit(None if limit is None else limit + 1)
        parts = _of_each(searcher, sketches, criterion, more, known)
        measured = np.full(len(sketches), criterion.similarity is not None)
        found.append(merged_matches(len(sketches), parts, measured, limit=limit, left_out=own))
        start = stop
    return joined_matches(found)


def _of_each(
    searcher: Searcher, sketches: Sketches, criterion: Criterion, batch: QueryBatch,
    known: dict[Origin, dict[int, bool]],
) -> list[StateMatches]:  # fmt: skip
    """Return the matches in each state; states searched at the same time share the memory.

    If one match of each query is enough, later states are not asked for a query that has one.
    """
    is_first, is_pending, parts = batch.first == 1, np.ones(len(sketches), np.bool_), []
    if batch.memory_bytes is not None and not is_first:
        outer = max(min(searcher.threads, len(searcher.numbers)), 1)
        batch = batch._replace(memory_bytes=max(batch.memory_bytes // outer, 1))

    def ask(state: State, queries: I64) -> tuple[I64, Matches]:
        queries = queries[is_pending[queries]]
        chosen = sketches if len(queries) == len(sketches) else sketches.taken(queries)
        return queries, _find(chosen, batch, known, state)

    answers = searcher.routed((sketches, criterion), ask, in_turn=is_first)
    for number, _, (queries, found) in answers:
        parts.append(StateMatches(number, queries, found))
        if is_first:
            is_pending[queries[np.diff(found.offsets) > 0]] = False
            if not is_pending.any():
                break
    return parts


def _find(
    sketches: Sketches, batch: QueryBatch, known: dict[Origin, dict[int, bool]], state: State
) -> Matches:
    """Return the matches in one state; `known`: answers of `where` about documents, by store."""
    question = batch.question
    if question.where is None:
        return lookup.as_matches(state, of_slices(state, [sketches], batch))
    rows = of_slices(state, [sketches], batch.with_limit(None))
    before = known.setdefault(state.store, {})
    return lookup.as_matches(state, kept(state, rows, question.where, question.limit, before))


def _with_criteria(
    options: Options, slices: Iterable[Sketches], question: Question, content: int = 0
) -> Iterator[tuple[Sketches, Criterion]]:
    """Yield each slice with its criterion.

    Raises InputError unless all match by the same measure.
    """
    by_similarity: set[bool] = set()
    for sketches in slices:
        criterion = criterion_of(options, sketches, question, content)
        if (sketches.states != EMPTY).any():
            by_similarity.add(criterion.similarity is not None)
        if len(by_similarity) > 1:
            refuse_mixed()
        yield sketches, criterion


def match_batch(
    state: State, slices: Iterable[Sketches], batch: QueryBatch, progress: Progress | None
) -> tuple[Rows, Sketches]:
    """Return the matches of a batch of queries in slices, and their sketches for insertion."""
    report = report_of(progress)
    collected: list[Sketches] = []

    def collecting() -> Iterator[Sketches]:
        for sketches in slices:
            collected.append(incoming.as_inserted(state.store.sketcher, sketches))
            yield sketches

    rows = of_slices(state, collecting(), batch, report)
    return rows, incoming.joined(state.store.sketcher, collected)


def of_slices(
    state: State, slices: Iterable[Sketches], batch: QueryBatch, progress: Report = ignored
) -> Rows:
    """Return the matches of queries in slices; they do not depend on the slicing."""
    found: list[Rows] = []
    done, checked = 0, map(state.checked, slices)
    asked = state.store.options, checked, batch.question, state.counts.content
    for sketches, criterion in _with_criteria(*asked):
        report = partial(_report, progress, done)
        found.append(match_stored(state, sketches, criterion, batch, report))
        done += len(sketches)
    return joined(found)


def match_stored(
    state: State,
    sketches: Sketches,
    criterion: Criterion,
    batch: QueryBatch,
    progress: Report = ignored,
) -> Rows:
    """Return the matches of every sketch, best first; see `lookup.search`.

    Without a memory limit, all documents are searched at once, unless they do not fit into memory
    and chunks are faster.  `progress` is called with the finished share of the search, as a number
    of sketches.
    """
    limit, first = batch.question.limit, batch.first
    plan = state.plan_of(criterion, 0 if batch.memory_bytes else len(sketches), sketches)
    memory_bytes = batch.memory_bytes or _memory_needed(state, plan, len(sketches))
    if memory_bytes is None:
        rows = lookup.search(state, sketches, criterion, limit=limit, first=first, plan=plan)
        progress(len(sketches))
        return rows
    chunks = chunks_of(state, plan, memory_bytes // 2)
    give_back(state)
    parts: list[tuple[I64, Rows]] = []
    pending = np.flatnonzero(sketches.states != EMPTY)  # the others match nothing
    for number, chunk in enumerate(chunks, 1):
        if not len(pending):
            break
        queries = sketches if len(pending) == len(sketches) else sketches.taken(pending)
        with opened(chunk, state, plan) as part:
            rows = lookup.search(part, queries, criterion, limit=limit, first=first, plan=plan)
        parts.append((pending, rows))
        if first == 1:
            pending = pending[np.diff(rows.offsets) == 0]
        if number < len(chunks):
            progress(len(sketches) * number // len(chunks))
    progress(len(sketches))
    found = merged(len(sketches), parts, by_similarity=criterion.similarity is not None)
    return found if limit is None else found.limited(limit)


def _memory_needed(state: State, plan: Plan, query_count: int) -> int | None:
    """Return the memory for a search in chunks; None if chunks do not pay."""
    searched_bytes = plan.bytes_per_document * state.view.sealed.entry_count
    if not pays_in_windows(plan, query_count, searched_bytes):
        return None
    return state.source.memory_bytes // MEMORY_PART


def _report(progress: Report, before: int, done: int) -> None:
    progress(before + done)


class Chunk(NamedTuple):
    """A part of a run: a `window` of its tables, None for all, or a `segment`.

    A chunk without a run is the delta.
    """

    run: Run | None = None
    window: tuple[int, int] | None = None
    segment: int | None = None


def chunks_of(state: State, plan: Plan, size_bytes: int) -> list[Chunk]:
    """Return all of `state` in chunks whose tables or vectors take at most `size_bytes`.

    A chunk with a single header or segment, or of few headers, can be larger.
    """
    found: list[Chunk] = []
    is_scanned = lookup.method_of(state, plan).scanned(state, plan) is not None
    for run in state.runs:
        if is_scanned:
            found += [Chunk(run, segment=at) for at in range(run.segment_count)]
        else:
            found += [Chunk(run, each) for each in _windows(state, run, plan, size_bytes)]
    if len(state.delta.batch):
        found.append(Chunk())
    return found


@contextmanager
def opened(chunk: Chunk, state: State, plan: Plan) -> Iterator[State]:
    """Open one chunk of `state`, with its pages in memory, for a `with` statement."""
    run, window, segment = chunk
    if run is None:
        yield state.over(state.view.only([], state.delta))
        return
    nothing = Delta(state.delta.stop, state.width, state.keying).view()
    sealed = Sealed([run], state.kind, window, segment)
    part = state.over(state.view.only(sealed, nothing))
    method, source = lookup.method_of(state, plan), state.source
    try:
        if segment is None and (window or source.is_larger_than_memory):
            _fetch(window, method.tables(state, plan, run), source)
        elif segment is not None and (column := method.scanned(state, plan)) is not None:
            run.segment(segment, source, (column,))
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
    for table in lookup.method_of(state, plan).tables(state, plan, run):
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


def _last_header(directory: U32, position: int) -> int:
    """Return the index of the last entry of a directory up to `position`, reading few pages."""
    # A number of another type would make numpy copy the whole directory.
    return int(np.searchsorted(directory, np.uint32(position), "right")) - 1


def _fetch(window: tuple[int, int] | None, tables: Iterable[Table], source: Source) -> None:
    """Load the part of `tables` under a window into memory, or the whole tables for None."""
    for table in tables:
        start, stop = window or (0, len(table.directory) - 1)
        first, last = int(table.directory[start]), int(table.directory[stop])
        for part in (table.directory[start : stop + 1], *table.stored(slice(first, last))):
            pages = source.pages_of(part)
            if pages is not None:
                file_map.fetch(pages)
