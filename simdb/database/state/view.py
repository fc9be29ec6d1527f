"""View: the documents stored at one commit, and the kernel's objects over them.

A view joins the sealed runs, the delta (with the staged documents of a write transaction) and the
tombstones.  Making the kernel's objects over runs costs more than a query, and most commits change
no run.  So all views of the same runs share one `Sealed`, and each view adds its delta and its
tombstones to it, which takes a microsecond.
A view reads nothing by itself: `State` (`state.py`) reads it under a transaction.

The kind has everything that differs between databases of fingerprints and of signatures, except
the search itself, which is in `database/search/methods/`.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from simdb import storage
from simdb.core import kernel
from simdb.core.arrays import Fingerprint, Sketches
from simdb.core.bits import ALL_BITS
from simdb.core.cold import MadeOnce
from simdb.core.dtypes import I64, U8, U32, U64
from simdb.core.reports import Plan
from simdb.plan import (
    QUERIES_LEAST,
    AnyPopulation,
    Calibration,
    Criterion,
    FlipEvidence,
    PolytopeRun,
)

if TYPE_CHECKING:
    from simdb.core.documents import Signature

FINGERPRINTS, SIGNATURES, HASHES = "fingerprints", "signatures", "hashes"
# Any plan is fast on a database with fewer documents.
FEW = 256
# A program that always asks with new arguments must not fill the memory.
PLANS_MAX = 256
# Seconds to merge an entry of the tables of several runs, and seconds for each probe of a batch in
# a run.  Memory for the merged tables, at most this part of all memory.
JOINED_SECONDS, PROBED_SECONDS = 10e-9, 7e-9
JOINED_BYTES, JOINED_PART = 1 << 30, 4


class Extent(NamedTuple):
    """The numbers on which a plan depends.

    `entries` documents can be searched, at most `unseen` of them lie beyond the calibration, and
    the largest run has `largest` entries.
    """

    entries: int
    unseen: int
    largest: int


class KeptPlans:
    """The plans for one calibration and for about the same number of documents."""

    def __init__(
        self, extent: Extent, calibration: Calibration | None, earlier: "KeptPlans | None" = None
    ) -> None:
        """Start without plans, but with the samples of `earlier` ones for the same calibration."""
        self._extent = extent
        self._calibration = calibration
        self.of_criteria: dict[Criterion, Plan] = {}
        # Seconds that the tables of the usual cut would save a query.
        self.savings: dict[Criterion, float] = {}
        # Samples of the collection, with the number of its documents then, and the number of
        # queries.
        self.glimpses: dict[Criterion, tuple[int, int, FlipEvidence | None]] = {}
        if earlier is not None and earlier._calibration is calibration:
            self.glimpses = earlier.glimpses
        self.prepared: dict[Any, Any] = {}  # for questions about one document, see `search/one.py`

    def glimpse(
        self,
        criterion: Criterion,
        count: int,
        queries: Sketches | None,
        draw: Callable[[], FlipEvidence | None],
    ) -> FlipEvidence | None:
        """Return a sample of a collection, drawn again when it has doubled or queries say more."""
        known, _, seen = self.glimpses.get(criterion, (0, 0, None))
        if count > 2 * known or self.may_learn(criterion, queries):
            seen = draw()
            _make_room(self.glimpses)
            self.glimpses[criterion] = count, 0 if queries is None else len(queries), seen
        return seen

    def may_learn(self, criterion: Criterion, queries: Sketches | None) -> bool:
        """Return whether queries may say more than a sample without known weights."""
        if queries is None or len(queries) < QUERIES_LEAST or criterion not in self.glimpses:
            return False
        _, tried, seen = self.glimpses[criterion]
        return (seen is None or seen.lacks_weights) and len(queries) > 2 * tried

    def keep(self, criterion: Criterion, plan: Plan) -> None:
        """Keep the plan for a criterion."""
        _make_room(self.of_criteria)
        _make_room(self.savings)
        self.of_criteria[criterion] = plan

    def prepare(self, key: Any, prepared: Any) -> None:
        """Keep the planning of a question about one document, by the arguments of the query."""
        _make_room(self.prepared)
        self.prepared[key] = prepared

    def serve(self, extent: Extent, calibration: Calibration | None) -> bool:
        """Return whether the plans hold for these numbers of documents and this calibration."""
        known = self._extent
        return (
            calibration is self._calibration
            # Directories are as wide as the plans expect.
            and known.largest.bit_length() == extent.largest.bit_length()
            and (known.unseen == 0) == (extent.unseen == 0)
            and _is_near(known.entries, extent.entries)
            and _is_near(known.unseen, extent.unseen)
        )


class GatheredTables(NamedTuple):
    """Cross-polytope tables of all runs in one: `tables`, numbered from `first`, of `total`."""

    tables: list[storage.Table]
    first: int
    total: int


class SealedIds:
    """The ids of runs, ready for look-up.

    `tables`: the hashes of ids, for runs that store them; the ids of other runs are ints.
    """

    def __init__(self, runs: Sequence[storage.Run], source: storage.Source) -> None:
        """Fetch the tables."""
        hashed, self._bare, rows = [], [], []
        for run in runs:
            if run.info.ids:
                rows.append((run.info.start, len(run.info), *run.info.ids))
                continue
            table = run.named_table(storage.layout.IDS, source)
            if run.info.ids is None:
                hashed.append([(table.keys, table.ordinals, table.directory)])
            else:
                self._bare.append(table)
        self.is_hashed = bool(hashed)
        self.tables = kernel.Tables([ALL_BITS], hashed, storage.NO_DOCUMENTS, None)
        self._rows = np.array(rows, np.uint64).reshape(-1, 5)  # see `kernel.find_in_rows`

    def find_ints(
        self, form: tuple[I64, U8, U64], dead: storage.Bitmap | None, named: Callable[[U32], Any],
        found: I64,
    ) -> None:  # fmt: skip
        """Write to `found`, where it is negative, the ordinals of ids in runs without hashes.

        `form`: offsets, content and hashes of the ids.  `named` returns the ids of ordinals.
        """
        offsets, content, hashes = form
        kernel.find_in_rows(self._rows, offsets, content, dead, found)
        for table in self._bare:
            starts, ordinals = kernel.candidates(hashes, table.directory, table.ordinals, dead)
            own = named(ordinals).find(ordinals, starts, offsets, content)
            np.maximum(found, own, out=found)


class Sealed:
    """The runs of a view, and the objects made of them; None for objects not needed yet."""

    def __init__(
        self,
        runs: Sequence[storage.Run],
        kind: "Kind",
        window: tuple[int, int] | None = None,
        segment: int | None = None,
    ) -> None:
        """Take consecutive runs.

        Of a single run, `window` takes a range of its directory entries (`kernel.Tables`), and
        `segment` the columns of one segment.
        """
        self.runs = list(runs)
        self.windows = None if window is None else [window]
        self.is_segment = segment is not None
        self.entry_count = sum(run.info.entry_count for run in self.runs)
        self.largest = max((run.info.entry_count for run in self.runs), default=0)
        self.has_bare = any(run.info.weighted_count < len(run.info) for run in self.runs)
        self.parts = storage.ColumnParts.of_runs(self.runs, segment)
        self.tables: Any = None  # ready for look-up
        self.scanned: Any = None  # the columns of fingerprints, ready to be compared
        self.cut: Any = None  # the tables of the usual cut; see `CutTables`
        self.joined = 0  # the threads that merge the tables of all runs in memory; see `join`
        self._saved = 0.0
        self.ids: SealedIds | None = None
        # Some of the cross-polytope tables of all runs in one; see `gathered`.
        self.gathered: GatheredTables | None = None
        # The cross-polytope tables, descriptions of the tables of each run, and the reach of
        # searches.
        self.polytopes: Any = None
        self.polytope_runs: tuple[PolytopeRun, ...] | None = None
        self.limits: dict[tuple[float | None, float | None, float, bool], Any] = {}
        self.identifiers = storage.LazyKernel(self.parts, _make_identifiers)
        self.vectors = storage.LazyKernel(self.parts, partial(_make_vectors, kind))

    def made_ids(self, source: storage.Source) -> SealedIds:
        """Return the ids of all runs, ready for look-up."""
        if self.ids is None:
            self.ids = SealedIds(self.runs, source)
        return self.ids

    def searched(self, source: storage.Source, masks: Sequence[int], first: int = 0) -> Any:
        """Return a table for each of `masks`, numbered starting at `first`; none for a segment."""
        runs = [] if self.is_segment else self.runs
        numbers = range(first, first + len(masks))
        tables = [[run.table(number, source) for number in numbers] for run in runs]
        return self.prepared(masks, tables, source.header_offset)

    def prepared(
        self, masks: Sequence[int], runs: list[list[storage.Table]], header_offset: int
    ) -> Any:
        """Return the tables of all runs, ready for look-up; as one run if they are joined."""
        if self.joined:
            every = zip(*runs, strict=True)
            merged = [storage.merge.merge_tables(each, threads=self.joined) for each in every]
            bits = storage.header_bits(self.entry_count, header_offset)
            runs = [[storage.make_table(*each[:2], bits, is_sorted=True) for each in merged]]
        tables = [[table.searched for table in run] for run in runs]
        windows = self.windows if runs else None
        return kernel.Tables(masks, tables, storage.NO_DOCUMENTS, None, windows)

    def join(self, plan: Plan, count: int, memory_bytes: int, threads: int) -> bool:
        """Join the runs if that pays for this and earlier batches of queries, and fits into memory.

        `count`: the queries of this batch.  `threads` merge the tables of the plan.  Returns
        whether this call has joined the runs.
        """
        entries = len(plan.table_flips) * self.entry_count
        is_small = entries * storage.ENTRY_BYTES <= min(JOINED_BYTES, memory_bytes // JOINED_PART)
        if self.joined or entries <= self.entry_count or not is_small:
            return False
        self._saved += count * plan.probes * (len(self.runs) - 1) * PROBED_SECONDS
        if self._saved > entries * JOINED_SECONDS:
            self.joined, self.tables, self.cut = threads, None, None
        return self.joined > 0

    def is_of(self, runs: Sequence[storage.Run]) -> bool:
        """Return whether these are all the runs, not only a window or a segment of one."""
        return (
            self.windows is None
            and not self.is_segment
            and list(runs) == self.runs  # a run equals only itself
        )


class KeptParts(NamedTuple):
    """The parts that a view can take over from an earlier one, if runs or plans are unchanged."""

    sealed: Sealed
    plans: KeptPlans


class View:
    """Runs, delta and tombstones, with the kernel's objects over them."""

    def __init__(
        self,
        runs: Sequence[storage.Run] | Sealed,
        delta: storage.DeltaView,
        dead: storage.Bitmap | None,
        kind: "Kind",
        calibration: Calibration | None,
        *,
        kept: KeptParts | None = None,
    ) -> None:
        """`runs` cover the ordinals below delta.start; `dead` can be shorter than all ordinals.

        `kept`: parts of an earlier view, which are used if they still hold.
        """
        if isinstance(runs, Sealed):
            self.sealed = runs
        elif kept is None or not kept.sealed.is_of(runs):
            self.sealed = Sealed(runs, kind)
        else:
            self.sealed = kept.sealed
        self.runs = self.sealed.runs
        self.delta = delta
        self.dead = storage.with_room(dead, delta.stop)
        self.kind = kind
        self.calibration = calibration
        extent = self.extent
        if kept is None or not kept.plans.serve(extent, calibration):
            self.plans = KeptPlans(extent, calibration, None if kept is None else kept.plans)
        else:
            self.plans = kept.plans
        self.swept_plans: dict[Criterion, Plan] = {}
        self.tables: Any = None
        self.scanned: Any = None
        self.cut: Any = None
        self.polytopes: Any = None
        self.id_tables: Any = None
        self.passages: storage.Passages | None = None
        self.codes: U64 | None = None  # of the fields of all documents
        self.identifiers = storage.FollowedKernel(
            self.sealed.identifiers, delta, lambda: (delta.id_offsets, delta.batch.content)
        )
        self.vectors = storage.FollowedKernel(
            self.sealed.vectors, delta, lambda: (delta.batch.vectors,)
        )
        self.unweighted: tuple[storage.Bitmap | None] | None = None

    def followed(self, tables: Any) -> Any:
        """Return tables of the runs, extended by the delta and the tombstones."""
        return tables.over((self.delta.searchable, self.delta.ordinals), self.dead)

    @MadeOnce
    def pieces(self) -> storage.ColumnParts:
        """The segments of all runs, and the delta."""
        return self.sealed.parts.followed_by(self.delta)

    @property
    def kept(self) -> KeptParts:
        """The parts that the next view can take over."""
        return KeptParts(self.sealed, self.plans)

    @property
    def next_ordinal(self) -> int:
        """One more than the largest ordinal."""
        return self.delta.stop

    @property
    def windows(self) -> list[tuple[int, int]] | None:
        """The part of the directories of its single run that is searched; None for all runs."""
        return self.sealed.windows

    @property
    def uncovered_from(self) -> int:
        """The first ordinal beyond the calibration; `next_ordinal` without a calibration."""
        known = self.calibration
        return self.next_ordinal if known is None or known.noise is not None else known.covered

    @property
    def unseen(self) -> int:
        """An upper bound of the documents with features that the calibration does not cover."""
        first = self.uncovered_from
        if first >= self.next_ordinal:
            return 0
        inside = [
            min(run.info.stop - first, run.info.entry_count)
            for run in self.runs
            if run.info.stop > first
        ]
        ordinals = self.delta.ordinals
        return sum(inside) + len(ordinals) - int(np.searchsorted(ordinals, first))

    def without(self, left_out: storage.Bitmap | None) -> "View":
        """Return a view with other tombstones: documents with a set bit are omitted."""
        delta, kind, known = self.delta, self.kind, self.calibration
        return View(self.runs, delta, left_out, kind, known, kept=self.kept)

    def only(self, runs: Sequence[storage.Run] | Sealed, delta: storage.DeltaView) -> "View":
        """Return a view with only these runs and this delta."""
        return View(runs, delta, self.dead, self.kind, self.calibration)

    @property
    def extent(self) -> Extent:
        """The numbers on which plans depend."""
        sealed, delta = self.sealed, self.delta
        count = sealed.entry_count + len(delta.searchable)
        return Extent(count, self.unseen, sealed.largest)


class Kind(Protocol):
    """The kind of a database: all that differs between fingerprints, hashes and signatures.

    `stores`: `FINGERPRINTS`, `SIGNATURES` or `HASHES`.  `keying`: the keys of the tables.  `masks`:
    one for each table, the bits that lead its keys.  `cut`: the `CutTables` of a database with one
    header table; None for others.  `equal_option`: the command-line option with which only equal
    documents match.
    """

    stores: str
    keying: storage.Keying
    masks: Sequence[int]
    cut: Any = None
    equal_option: str = "--distance 0"

    def make_vectors(self, width: int, segments: Sequence[tuple[int, U8]]) -> Any:
        """Return an object that measures stored vectors.

        `segments`: (first ordinal, vectors uint8[k, width]).
        """
        return kernel.Vectors(width, segments)

    def make_tables(self, view: View, source: storage.Source) -> Any:
        """Return the tables of a view, ready for look-up."""

    def population(
        self, view: View, source: storage.Source, criterion: Criterion, *, is_swept: bool
    ) -> AnyPopulation:
        """Return the planner's description of a view; `is_swept`: for a search of all pairs."""

    def empty_population(self, *, has_weights: bool) -> AnyPopulation:
        """Return the planner's description of an empty database."""

    def fingerprint_of(self, sketches: Sketches, at: int) -> Fingerprint:
        """Return the stored fingerprint at position `at`, with its weights if they are stored."""

    def signature_of(self, sketches: Sketches, at: int) -> "Signature | None":
        """Return the stored signature at position `at`; None unless signatures are stored."""
        return None


def _make_identifiers(pieces: Sequence[storage.ColumnPart], source: storage.Source) -> Any:
    return kernel.Identifiers([piece.run.ids(piece.number, source) for piece in pieces])


def _make_vectors(
    kind: "Kind", pieces: Sequence[storage.ColumnPart], source: storage.Source
) -> Any:
    segments = [(piece.start, piece.column(storage.layout.VECTOR, source)) for piece in pieces]
    return kind.make_vectors(source.width, segments)


def _is_near(known: int, now: int) -> bool:
    return abs(now - known) <= known // 10 + FEW


def _make_room(plans: dict[Any, Any]) -> None:
    if len(plans) >= PLANS_MAX:
        plans.clear()
