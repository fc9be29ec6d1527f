"""Matching a batch: many queries against everything stored, one chunk after the other.

This is the batch mode of Sood & Loguinov 2011, section 5: a chunk of the collection is brought into
memory, all queries are looked up in it, and it is let go.  Where the first match will do a query
that has one is not asked again, and the end comes when none is left (PSM-F); otherwise every query
sees every chunk (PSM-A).  The paper builds a hash table over each chunk; here the stored tables are
sorted and have directories, so a chunk is searched as it lies in the file.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simdb.checks import called, is_one_of, shown
from simdb.engine.search import lookup
from simdb.engine.search.chunks import chunks_of, give_back, opened
from simdb.engine.search.question import Question, criterion_of, refuse_mixed
from simdb.engine.search.rows import Rows, joined, no_rows
from simdb.engine.state import incoming
from simdb.engine.state.documents import stored_sketches
from simdb.engine.state.incoming import Progress
from simdb.engine.state.state import State
from simdb.engine.state.store import Store
from simdb.errors import OptionError
from simdb.plan.problem import Criterion
from simdb.values import EMPTY, Sketches, offsets_of

MATCHED = ("first", "all")

I64 = npt.NDArray[np.int64]


class Room(NamedTuple):
    """How much memory a search may take: half for the queries, half for a chunk."""

    limit_bytes: int

    @property
    def chunk_bytes(self) -> int:
        """For what is searched."""
        return self.limit_bytes // 2

    def query_count(self, width: int) -> int:
        """How many queries with vectors of `width` bytes go at a time.

        Each is there twice, with 64 levels, and as much again while it is looked up.
        """
        each = 2 * (8 + 1 + 64 + width) + 64
        return max(self.limit_bytes // 2 // each, 1)


def check_match(match: object) -> None:
    """Raise OptionError unless it is one of the two ways to match a batch."""
    if not is_one_of(match, MATCHED):
        raise OptionError(f"match is 'first' or 'all', not {shown(match)}")


def room_of(memory_limit: object) -> Room | None:
    """The room that a memory limit in bytes leaves; None without one; OptionError for others."""
    if memory_limit is None:
        return None
    is_whole = isinstance(memory_limit, int | np.integer) and not isinstance(memory_limit, bool)
    if not is_whole or int(memory_limit) < 1:  # type: ignore[call-overload]
        raise OptionError(
            f"memory_limit is a number of bytes from 1 on, or None: {shown(memory_limit)}"
        )
    return Room(int(memory_limit))  # type: ignore[call-overload]


def match_batch(
    store: Store,
    state: State,
    slices: Iterable[Sketches],
    question: Question,
    *,
    first: bool,
    room: Room | None,
    progress: Progress | None,
) -> tuple[Rows, Sketches]:
    """The matches of a batch that comes in slices, and its sketches as they are to be stored."""
    called("progress", progress)
    kept: list[Sketches] = []

    def keeping() -> Iterator[Sketches]:
        for sketches in slices:
            kept.append(incoming.as_inserted(store.sketcher, sketches))
            yield sketches

    rows = of_slices(store, state, keeping(), question, first=first, room=room, progress=progress)
    return rows, incoming.joined(store.sketcher, kept)


def of_slices(
    store: Store,
    state: State,
    slices: Iterable[Sketches],
    question: Question,
    *,
    first: bool,
    room: Room | None,
    progress: Progress | None = None,
) -> Rows:
    """The matches of queries that come in slices; the same whatever the slices."""
    found = [no_rows(0)]
    by_similarity: set[bool] = set()
    done = 0
    for sketches in slices:
        criterion = criterion_of(store.options, sketches, question)
        if (sketches.states != EMPTY).any():
            by_similarity.add(criterion.similarity is not None)
        if len(by_similarity) > 1:
            refuse_mixed()
        tell = None if progress is None else partial(_tell, progress, done)
        rows = match_stored(
            state, sketches, criterion, limit=question.limit, first=first, room=room, progress=tell
        )
        found.append(rows)
        done += len(sketches)
    return joined(found)


def of_stored(
    store: Store,
    state: State,
    ordinals: npt.NDArray[np.uint32],
    question: Question,
    *,
    room: Room | None,
) -> Rows:
    """The matches of stored documents, themselves left out."""
    size = max(len(ordinals), 1) if room is None else room.query_count(store.width)
    slices = (
        stored_sketches(state, ordinals[start : start + size])
        for start in range(0, max(len(ordinals), 1), size)
    )
    # Each would find itself.
    limit = question.limit
    wanted = question if limit is None else replace(question, limit=limit + 1)
    rows = of_slices(store, state, slices, wanted, first=False, room=room)
    rows = rows.chosen(np.flatnonzero(rows.ordinals != ordinals[rows.queries]))
    return rows if limit is None else rows.limited(limit)


def match_stored(
    state: State,
    sketches: Sketches,
    criterion: Criterion,
    *,
    limit: int | None,
    first: bool,
    room: Room | None,
    progress: Progress | None = None,
) -> Rows:
    """The matches of every sketch, best first; see `lookup.search`.

    `room`: None for everything at once.  `progress` is called with the number of sketches that
    would be done, if they were done one after the other.
    """
    if room is None:
        rows = lookup.search(state, sketches, criterion, limit=limit, first=first)
        if progress is not None:
            progress(len(sketches))
        return rows
    plan = state.plan(criterion)
    chunks = chunks_of(state, plan, room.chunk_bytes)
    give_back(state)
    found = _Found(sketches, first)
    for number, chunk in enumerate(chunks):
        if not len(found.asking):
            break
        with opened(chunk, state, plan) as part:
            queries = found.queries
            found.add(lookup.search(part, queries, criterion, limit=limit, first=first, plan=plan))
        if progress is not None and number + 1 < len(chunks):
            progress(len(sketches) * (number + 1) // len(chunks))
    if progress is not None:
        progress(len(sketches))
    rows = found.rows(by_similarity=criterion.similarity is not None)
    return rows if limit is None else rows.limited(limit)


def _tell(progress: Progress, before: int, done: int) -> None:
    progress(before + done)


class _Found:
    """Matches of a batch so far, and which of its queries are still `asking`."""

    def __init__(self, sketches: Sketches, first: bool) -> None:
        self._all = sketches
        self._first = first
        self._parts: list[tuple[I64, Rows]] = []
        # Documents without features match nothing, and there is no need to ask.
        self.asking = np.flatnonzero(sketches.states != EMPTY)
        self.queries = self._taken()

    def add(self, rows: Rows) -> None:
        """What one chunk has for the queries that are asking."""
        self._parts.append((self.asking[rows.queries], rows))
        if self._first and len(rows.ordinals):
            self.asking = self.asking[np.diff(rows.offsets) == 0]
            self.queries = self._taken()

    def rows(self, *, by_similarity: bool) -> Rows:
        """All matches, the best of a query first."""
        empty = np.empty(0, np.int64)
        queries = np.concatenate([empty, *(part[0] for part in self._parts)])
        every = joined([no_rows(0), *(part[1] for part in self._parts)])
        far = -every.similarities if by_similarity else every.distances
        order = np.lexsort((every.ordinals, far, queries))
        # What was both probed and compared stands twice, one after the other.
        queries, ordinals = queries[order], every.ordinals[order]
        again = (np.diff(queries, prepend=-1) == 0) & (np.diff(ordinals, prepend=0) == 0)
        again[:1] = False
        order, queries = order[~again], queries[~again]
        counts = np.bincount(queries, minlength=len(self._all))
        return Rows(
            offsets_of(counts),
            every.ordinals[order],
            every.distances[order],
            every.similarities[order],
        )

    def _taken(self) -> Sketches:
        if len(self.asking) == len(self._all):
            return self._all
        return self._all.taken(self.asking)
