"""The view: what is stored at one commit, and the kernel's objects over it.

A view joins the sealed runs, the delta (with the staged documents of a write transaction) and the
tombstones.  The kernel's objects are made when first needed and kept, since making them costs more
than a query.  A view reads nothing by itself: `State` (`state.py`) reads it under a transaction.

The kind says what depends on whether documents are found by fingerprints or by signatures.  How
each kind is searched is in `engine/search/methods/`.
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
    """Runs, loose documents and tombstones, and the kernel's objects over them."""

    def __init__(
        self,
        runs: Sequence[Run],
        loose: DeltaView,
        dead: Bitmap | None,
        kind: "Kind",
        calibration: Calibration | None,
        window: tuple[int, int] | None = None,
        segment: int | None = None,
    ) -> None:
        """The runs cover 0 .. loose.start; `dead` may be shorter than all ordinals.

        A part of a state, see `only`, may have a `window` or a `segment` of its one run.
        """
        self.runs = list(runs)
        self.loose = loose
        self.dead = with_room(dead, loose.stop)
        self.kind = kind
        self.calibration = calibration
        self.bit_plans: dict[Any, Any] = {}  # for ready fingerprints, see `search/one.py`
        self.plans: dict[tuple[Criterion, bool], Plan] = {}
        self.tables: Any = None
        self.covered_tables: Any = None
        self.id_tables: Any = None
        self.windows = None if window is None else [window]
        self.is_segment = segment is not None
        self.pieces = ColumnParts(self.runs, loose, segment)
        self.identifiers = LazyKernel(self.pieces, _make_identifiers)
        self.vectors = LazyKernel(self.pieces, partial(_make_vectors, kind))
        self.unweighted: Bitmap | None = None

    @property
    def next_ordinal(self) -> int:
        """One more than the largest ordinal."""
        return self.loose.stop

    @property
    def uncovered_from(self) -> int:
        """The first ordinal that the calibration does not cover; the next one without any."""
        return self.next_ordinal if self.calibration is None else self.calibration.covered

    def live(self) -> U32:
        """The ordinals of all documents that are not deleted, ascending."""
        return live_ordinals(self.dead, 0, self.next_ordinal)

    def without(self, left_out: Bitmap | None) -> "View":
        """The same state with other tombstones: a bit for each ordinal that is not there."""
        return View(self.runs, self.loose, left_out, self.kind, self.calibration)

    def only(
        self,
        runs: Sequence[Run],
        loose: DeltaView,
        *,
        window: tuple[int, int] | None = None,
        segment: int | None = None,
    ) -> "View":
        """A part of the same state: some runs and what is loose.

        Of a single run only a `window` of its directories (`kernel.Tables`), or the columns of one
        `segment`.
        """
        dead, kind, known = self.dead, self.kind, self.calibration
        return View(runs, loose, dead, kind, known, window, segment)


class Kind(Protocol):
    """What depends on whether documents are found by fingerprints or by signatures."""

    @property
    def stores(self) -> str:
        """`FINGERPRINTS` or `SIGNATURES`."""

    @property
    def keying(self) -> Keying:
        """The keys of the tables."""

    @property
    def masks(self) -> Sequence[int]:
        """The leading bits of the key of each table."""

    @property
    def methods(self) -> Sequence[str]:
        """The names of methods that a caller can ask for."""

    @property
    def equal_option(self) -> str:
        """The option of the command line by which equal documents match."""

    def make_vectors(
        self, width: int, segments: Sequence[tuple[int, npt.NDArray[np.uint8]]]
    ) -> Any:
        """Return what measures stored vectors: by first ordinal, uint8[k, width] each."""

    def make_tables(self, view: View, source: Source) -> Any:
        """Return the tables of a view, prepared for look-up."""

    def make_covered_tables(self, view: View, source: Source) -> Any:
        """Return the tables, with documents that the calibration does not cover to be compared."""

    def population(
        self, view: View, source: Source, *, is_swept: bool
    ) -> Population | BandedPopulation:
        """Return what the planner must know of a view; `is_swept`: all pairs are asked for."""

    def empty_population(self, *, has_weights: bool) -> Population | BandedPopulation:
        """Return the same of a database that holds nothing."""

    def fingerprint_of(self, sketches: Sketches, at: int) -> Fingerprint:
        """Return the stored fingerprint of one of some documents, with its weights if kept."""

    def signature_of(self, sketches: Sketches, at: int) -> Signature | None:
        """Return the stored signature of one of some documents; None if there are fingerprints."""


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
