"""Columns by ordinal across all runs and the loose documents, fetched piece by piece.

LMDB touches every page of a value that it hands out, so the first answer after opening a large
database should fetch only the segments in which its matches lie.  `Gathered` keeps a kernel object
over the pieces that were needed so far, and makes it anew when another one is.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.storage.records.delta import LooseView
from simdb.storage.runs.run import Run, Segment, Source, Table, as_segment

U32 = npt.NDArray[np.uint32]


class Piece:
    """One segment of a run, or the loose documents."""

    def __init__(self, start: int, run: Run | None, number: int, loose: Segment | None) -> None:
        """Segment `number` of `run`, or `loose`; `start` is its first ordinal."""
        self.start = start
        self._run = run
        self._number = number
        self._loose = loose

    def column(self, column: int, source: Source) -> npt.NDArray[Any]:
        """One of its columns."""
        if self._run is not None:
            return self._run.column(column, self._number, source)
        assert self._loose is not None
        return self._loose.columns[column]

    def searchable(self, first: int, source: Source) -> Table | None:
        """Its documents with features from the ordinal `first` on; None for loose ones, or none."""
        if self._run is None or self._run.segment_range(self._number)[1] <= first:
            return None
        return self._run.searchable(self._number, first, source)


class Pieces(Sequence[Piece]):
    """All pieces, in order of ordinals."""

    def __init__(self, runs: Sequence[Run], loose: LooseView, segment: int | None = None) -> None:
        """The runs follow each other, and the loose documents follow them.

        `segment`: only that one of each run.
        """
        self._pieces = [
            Piece(run.segment_range(number)[0], run, number, None)
            for run in runs
            for number in range(run.segment_count)
            if segment is None or number == segment
        ]
        if len(loose.batch):
            self._pieces.append(Piece(loose.start, None, 0, as_segment(loose.start, loose.batch)))
        self._starts = [piece.start for piece in self._pieces]

    def __len__(self) -> int:
        """How many."""
        return len(self._pieces)

    def __getitem__(self, number: Any) -> Any:
        """One piece."""
        return self._pieces[number]

    def __iter__(self) -> Iterator[Piece]:
        """Each in turn."""
        return iter(self._pieces)

    def searchable_from(self, first: int, source: Source) -> Iterator[Table]:
        """The documents with features of each piece of a run, from the ordinal `first` on."""
        for piece in self._pieces:
            table = piece.searchable(first, source)
            if table is not None:
                yield table

    def which(self, ordinals: U32) -> npt.NDArray[np.int64]:
        """The number of the piece in which each ordinal lies."""
        return np.searchsorted(self._starts, ordinals, side="right") - 1

    def which_one(self, ordinal: int) -> int:
        """The number of the piece in which one ordinal lies."""
        return bisect_right(self._starts, ordinal) - 1


class Gathered:
    """A kernel object over the pieces that somebody has asked for."""

    def __init__(self, pieces: Pieces, make: Callable[[Sequence[Piece], Source], Any]) -> None:
        """`make` makes the object over some pieces."""
        self._pieces = pieces
        self._make = make
        self._held: tuple[frozenset[int], Any] = (frozenset(), None)
        self._whole: Any = None  # the object once it is over all pieces

    def over(self, source: Source, ordinals: U32 | None) -> Any:
        """The object, over the pieces of these ordinals at least, or over all."""
        if self._whole is not None:
            return self._whole
        if ordinals is None:
            return self._with(source, range(len(self._pieces)))
        return self._with(source, np.unique(self._pieces.which(ordinals)).tolist())

    def over_one(self, source: Source, ordinal: int) -> Any:
        """The object, over the piece of one ordinal at least."""
        if self._whole is not None:
            return self._whole
        held, made = self._held
        number = self._pieces.which_one(ordinal)
        return made if number in held else self._with(source, [number])

    def _with(self, source: Source, numbers: Sequence[int]) -> Any:
        held, made = self._held
        if made is None or not held.issuperset(numbers):
            held = held.union(numbers)
            made = self._make([self._pieces[number] for number in sorted(held)], source)
            # One assignment, so that another thread sees either the old or the new.
            self._held = (held, made)
            if len(held) == len(self._pieces):
                self._whole = made
        return made
