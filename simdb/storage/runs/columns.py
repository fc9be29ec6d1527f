"""Columns by ordinal across all runs and the delta, fetched segment by segment.

LMDB touches every page of a value that it returns, so the first answer after opening a large
database should fetch only the segments that contain its matches.  `LazyKernel` keeps a kernel
object over the segments of runs that were needed so far, and makes it again when it needs another
segment.  `FollowedKernel` adds the delta to it, which is different in every view.
"""

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np

from simdb.core.dtypes import I64, U32, Array
from simdb.storage.records.delta import DeltaView
from simdb.storage.runs.run import Run, Segment, as_segment
from simdb.storage.runs.source import Source
from simdb.storage.runs.table import Table

# For this many ordinals or fewer, Python finds their segments faster than numpy.
FEW = 8


class ColumnPart:
    """One segment of a run, or the whole delta."""

    def __init__(self, start: int, run: Run | None, number: int, delta: Segment | None) -> None:
        """Refer to segment `number` of `run`, or to `delta`; `start` is its first ordinal."""
        self.start = start
        self._run = run
        self._number = number
        self._delta = delta

    def column(self, column: int, source: Source) -> Array:
        """Return one column of the segment."""
        if self._run is not None:
            return self._run.column(column, self._number, source)
        assert self._delta is not None
        return self._delta.columns[column]

    def searchable(self, first: int, lean: Collection[Run], source: Source) -> Table | None:
        """Return its documents with features from the ordinal `first` on; None for the delta.

        All of them if the run is one of `lean`.
        """
        if self._run is None:
            return None
        first = 0 if self._run in lean else first
        if self._run.segment_range(self._number)[1] <= first:
            return None
        return self._run.searchable(self._number, first, source)


class SealedParts(Sequence[ColumnPart]):
    """The segments of all runs, in order of ordinals."""

    def __init__(self, runs: Sequence[Run], segment: int | None = None) -> None:
        """Take runs that follow each other.

        `segment`: take only the segment with this number of each run.
        """
        self._parts = [
            ColumnPart(run.segment_range(number)[0], run, number, None)
            for run in runs
            for number in range(run.segment_count)
            if segment is None or number == segment
        ]
        self._starts = [part.start for part in self._parts]

    def __len__(self) -> int:
        """Number of segments."""
        return len(self._parts)

    def __getitem__(self, number: Any) -> Any:
        """Return one segment."""
        return self._parts[number]

    def searchable_from(self, first: int, lean: Collection[Run], source: Source) -> Iterator[Table]:
        """Yield each segment's documents with features, from the ordinal `first` on.

        Of the runs `lean` it yields all documents with features.
        """
        for part in self._parts:
            table = part.searchable(first, lean, source)
            if table is not None:
                yield table

    def which(self, ordinals: U32) -> I64:
        """Return the number of the segment that contains each ordinal."""
        return np.searchsorted(self._starts, ordinals, side="right") - 1

    def which_one(self, ordinal: int) -> int:
        """Return the number of the segment that contains one ordinal."""
        return bisect_right(self._starts, ordinal) - 1


class ColumnParts(Sequence[ColumnPart]):
    """The segments of all runs, and the delta, in order of ordinals."""

    def __init__(self, sealed: SealedParts, delta: DeltaView) -> None:
        """Take segments of runs, and the delta that follows them."""
        self._sealed = sealed
        self._delta: ColumnPart | None = None
        self._delta_start = delta.start
        if len(delta.batch):
            segment = as_segment(delta.start, delta.batch, delta.id_offsets)
            self._delta = ColumnPart(delta.start, None, 0, segment)

    def __len__(self) -> int:
        """Number of segments."""
        return len(self._sealed) + (self._delta is not None)

    def __getitem__(self, number: Any) -> Any:
        """Return one segment."""
        if self._delta is not None and number in (-1, len(self._sealed)):
            return self._delta
        return self._sealed[number]

    def which(self, ordinals: U32) -> I64:
        """Return the number of the segment that contains each ordinal."""
        found = self._sealed.which(ordinals)
        if self._delta is not None:
            found[ordinals >= self._delta_start] = len(self._sealed)
        return found

    def which_one(self, ordinal: int) -> int:
        """Return the number of the segment that contains one ordinal."""
        if self._delta is not None and ordinal >= self._delta_start:
            return len(self._sealed)
        return self._sealed.which_one(ordinal)


class LazyKernel:
    """A kernel object over the segments of runs that were needed so far."""

    def __init__(
        self, parts: SealedParts, make: Callable[[Sequence[ColumnPart], Source], Any]
    ) -> None:
        """Start without segments; `make` makes the object over a list of segments."""
        self._parts = parts
        self._make = make
        self._held: tuple[frozenset[int], Any] = (frozenset(), None)
        self.whole: Any = None  # the object once it is over all parts

    def over(self, source: Source, ordinals: U32 | None, stop: int) -> Any:
        """Return the object, over at least the segments of the ordinals below `stop`.

        `ordinals`: None means all.
        """
        if self.whole is not None:
            return self.whole
        if ordinals is None:
            return self._with(source, range(len(self._parts)))
        if len(ordinals) <= FEW:
            which = self._parts.which_one
            return self._with(source, [which(at) for at in ordinals.tolist() if at < stop])
        # np.unique would import numpy.ma, which takes longer than one query.
        counts = np.bincount(self._parts.which(ordinals[ordinals < stop]))
        return self._with(source, np.flatnonzero(counts).tolist())

    def _with(self, source: Source, numbers: Sequence[int]) -> Any:
        held, made = self._held
        if made is None or not held.issuperset(numbers):
            held = held.union(numbers)
            made = self._make([self._parts[number] for number in sorted(held)], source)
            # One assignment, so that another thread sees either the old pair or the new one.
            self._held = (held, made)
            if len(held) == len(self._parts):
                self.whole = made
        return made


class FollowedKernel:
    """A kernel object over the segments of runs that were needed so far, and over the delta."""

    def __init__(
        self, sealed: LazyKernel, delta: DeltaView, columns: Callable[[], tuple[Array, ...]]
    ) -> None:
        """Begin without an object; `columns` returns what it is over in the delta."""
        self._sealed = sealed
        self._delta = delta
        self._columns = columns
        self._held: tuple[Any, Any] = (None, None)
        self.held: Any = None  # the object over the segments that were needed so far and the delta
        self.whole: Any = None  # the object once it is over all segments and the delta

    def over(self, source: Source, ordinals: U32 | None) -> Any:
        """Return the object, over at least the segments of these ordinals; None means all."""
        if self.whole is not None:
            return self.whole
        before = self._sealed.over(source, ordinals, self._delta.start)
        known, followed = self._held
        if known is not before:
            followed = before
            if len(self._delta.batch):
                followed = before.followed_by(self._delta.start, *self._columns())
            self._held = (before, followed)
            self.held = followed
        if before is self._sealed.whole:
            self.whole = followed
        return followed
