"""Sealed: the runs of a view, with the kernel's objects over them.

Making these objects costs more than a query, and most commits change no run.  So all views with the
same runs share one `Sealed`, and a view adds the delta and the tombstones of its own.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from simdb.plan.polytope_reach import PolytopeRun
from simdb.running import kernel
from simdb.storage import layout
from simdb.storage.records.delta import DeltaView
from simdb.storage.runs.columns import ColumnPart, LazyKernel, SealedParts
from simdb.storage.runs.run import Run
from simdb.storage.runs.source import Source
from simdb.storage.runs.table import Table


class Measuring(Protocol):
    """A kind of database that prepares stored vectors; see `Kind` in `view.py`."""

    def make_vectors(
        self, width: int, segments: Sequence[tuple[int, npt.NDArray[np.uint8]]]
    ) -> Any:
        """Return an object that measures stored vectors."""


class Sealed:
    """The runs of a view, and what was made of them so far; None for what was not needed yet."""

    def __init__(
        self,
        runs: Sequence[Run],
        kind: Measuring,
        window: tuple[int, int] | None,
        segment: int | None,
    ) -> None:
        """Take runs that follow each other; `window` and `segment`: see `View.only`."""
        self.runs = list(runs)
        self.windows = None if window is None else [window]
        self.is_segment = segment is not None
        self.entry_count = sum(run.info.entry_count for run in self.runs)
        self.largest = max((run.info.entry_count for run in self.runs), default=0)
        self.has_bare = any(run.info.weighted_count < len(run.info) for run in self.runs)
        self.parts = SealedParts(self.runs, segment)
        self.tables: Any = None
        # The first ordinal beyond the calibration, and the tables that compare what follows it.
        self.covered_tables: tuple[int, Any] = (-1, None)
        self.id_tables: Any = None
        # The cross-polytope tables of all runs in one, if they were gathered; see `gathered`.
        self.gathered: list[Table] | None = None
        # The cross-polytope tables, what is known of those of each run, and their thresholds.
        self.polytopes: Any = None
        self.polytope_runs: tuple[PolytopeRun, ...] | None = None
        self.thresholds: dict[tuple[float, float, bool], npt.NDArray[np.float32]] = {}
        self.identifiers = LazyKernel(self.parts, _make_identifiers)
        self.vectors = LazyKernel(self.parts, partial(_make_vectors, kind))

    def is_of(self, runs: Sequence[Run]) -> bool:
        """Whether these are all the runs, not only a window or a segment of one."""
        return (
            self.windows is None
            and not self.is_segment
            and list(runs) == self.runs  # a run equals only itself
        )


def follow_identifiers(before: Any, delta: DeltaView) -> Any:
    """Return the identifiers `before`, followed by the ids of the delta."""
    return before.followed_by(delta.start, delta.id_offsets, delta.batch.content)


def follow_vectors(before: Any, delta: DeltaView) -> Any:
    """Return the vectors `before`, followed by the vectors of the delta."""
    return before.followed_by(delta.start, delta.batch.vectors)


def _make_identifiers(pieces: Sequence[ColumnPart], source: Source) -> Any:
    return kernel.Identifiers(
        [
            (piece.start, piece.column(layout.OFFSET, source), piece.column(layout.ID, source))
            for piece in pieces
        ]
    )


def _make_vectors(kind: Measuring, pieces: Sequence[ColumnPart], source: Source) -> Any:
    segments = [(piece.start, piece.column(layout.VECTOR, source)) for piece in pieces]
    return kind.make_vectors(source.width, segments)
