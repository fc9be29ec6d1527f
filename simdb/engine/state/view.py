"""View: the documents stored at one commit, and the kernel's objects over them.

A view joins the sealed runs, the delta (with the staged documents of a write transaction) and the
tombstones.  The kernel's objects are made when first needed and kept, since making them costs more
than a query.  A view reads nothing by itself: `State` (`state.py`) reads it under a transaction.

The kind has everything that differs between databases of fingerprints and of signatures, except
the search itself, which is in `engine/search/methods/`.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from simdb import kernel
from simdb.plan.calibration import Calibration
from simdb.plan.problem import BandedPopulation, Criterion, Population
from simdb.plans import Plan
from simdb.signatures import Signature
from simdb.storage import layout
from simdb.storage.records.delta import DeltaView, Keying
from simdb.storage.records.tombstones import Bitmap, live_ordinals, with_room
from simdb.storage.runs.columns import ColumnPart, ColumnParts, LazyKernel
from simdb.storage.runs.run import Run, Source
from simdb.values import Fingerprint, Sketches

U32 = npt.NDArray[np.uint32]
FINGERPRINTS, SIGNATURES = "fingerprints", "signatures"


class View:
    """Runs, delta and tombstones, with the kernel's objects over them."""

    def __init__(
        self,
        runs: Sequence[Run],
        delta: DeltaView,
        dead: Bitmap | None,
        kind: "Kind",
        calibration: Calibration | None,
        window: tuple[int, int] | None = None,
        segment: int | None = None,
    ) -> None:
        """`runs` cover the ordinals below delta.start; `dead` can be shorter than all ordinals.

        For a part of a view with a single run, `window` or `segment` chooses a part of that run;
        see `only`.
        """
        self.runs = list(runs)
        self.delta = delta
        self.dead = with_room(dead, delta.stop)
        self.kind = kind
        self.calibration = calibration
        self.bit_plans: dict[Any, Any] = {}  # plans for ready fingerprints, see `search/one.py`
        self.plans: dict[tuple[Criterion, bool], Plan] = {}
        self.tables: Any = None
        self.covered_tables: Any = None
        self.id_tables: Any = None
        self.windows = None if window is None else [window]
        self.is_segment = segment is not None
        self.pieces = ColumnParts(self.runs, delta, segment)
        self.identifiers = LazyKernel(self.pieces, _make_identifiers)
        self.vectors = LazyKernel(self.pieces, partial(_make_vectors, kind))
        self.unweighted: Bitmap | None = None

    @property
    def next_ordinal(self) -> int:
        """One more than the largest ordinal."""
        return self.delta.stop

    @property
    def uncovered_from(self) -> int:
        """The first ordinal beyond the calibration; `next_ordinal` without a calibration."""
        return self.next_ordinal if self.calibration is None else self.calibration.covered

    def live(self) -> U32:
        """Return the ordinals of all documents that are not deleted, ascending."""
        return live_ordinals(self.dead, 0, self.next_ordinal)

    def without(self, left_out: Bitmap | None) -> "View":
        """Return a view with other tombstones: documents with a set bit are left out."""
        return View(self.runs, self.delta, left_out, self.kind, self.calibration)

    def only(
        self,
        runs: Sequence[Run],
        delta: DeltaView,
        *,
        window: tuple[int, int] | None = None,
        segment: int | None = None,
    ) -> "View":
        """Return a view of some of the documents: of these runs and this delta.

        Of a single run, `window` takes a range of its directory entries (`kernel.Tables`), and
        `segment` the columns of one segment.
        """
        dead, kind, known = self.dead, self.kind, self.calibration
        return View(runs, delta, dead, kind, known, window, segment)


class Kind(Protocol):
    """The kind of a database: all that differs between fingerprints and signatures."""

    @property
    def stores(self) -> str:
        """`FINGERPRINTS` or `SIGNATURES`."""

    @property
    def keying(self) -> Keying:
        """The keys of the tables."""

    @property
    def masks(self) -> Sequence[int]:
        """One mask for each table: the bits that lead its keys."""

    @property
    def methods(self) -> Sequence[str]:
        """The names of the methods that a caller can choose."""

    @property
    def equal_option(self) -> str:
        """The command-line option with which only equal documents match."""

    def make_vectors(
        self, width: int, segments: Sequence[tuple[int, npt.NDArray[np.uint8]]]
    ) -> Any:
        """Return an object that measures stored vectors.

        `segments`: the first ordinal and the vectors uint8[k, width] of each.
        """

    def make_tables(self, view: View, source: Source) -> Any:
        """Return the tables of a view, ready for look-up."""

    def make_covered_tables(self, view: View, source: Source) -> Any:
        """Return tables that compare each document the calibration does not cover."""

    def population(
        self, view: View, source: Source, *, is_swept: bool
    ) -> Population | BandedPopulation:
        """Return what the planner must know of a view; `is_swept`: to find all pairs."""

    def empty_population(self, *, has_weights: bool) -> Population | BandedPopulation:
        """Return what the planner must know of an empty database."""

    def fingerprint_of(self, sketches: Sketches, at: int) -> Fingerprint:
        """Return the stored fingerprint at position `at`, with its weights if they are stored."""

    def signature_of(self, sketches: Sketches, at: int) -> Signature | None:
        """Return the stored signature at position `at`; None if fingerprints are stored."""


def _make_identifiers(pieces: Sequence[ColumnPart], source: Source) -> Any:
    return kernel.Identifiers(
        [
            (piece.start, piece.column(layout.OFFSET, source), piece.column(layout.ID, source))
            for piece in pieces
        ]
    )


def _make_vectors(kind: "Kind", pieces: Sequence[ColumnPart], source: Source) -> Any:
    segments = [(piece.start, piece.column(layout.VECTOR, source)) for piece in pieces]
    return kind.make_vectors(source.width, segments)
