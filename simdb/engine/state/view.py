"""A view: one consistent state of the database, prepared for the kernel.

It joins the sealed runs with the loose documents (the delta and, in a write transaction, what was
staged) and the tombstones.  The kernel's objects are made when first asked for and kept, since
making them costs more than a query.  Whoever uses a view holds a transaction that sees its runs.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb import kernel
from simdb.bits import ALL_BITS, bitmap
from simdb.engine.state.band_tables import BandTables
from simdb.engine.state.signature_vectors import SignedVectors
from simdb.errors import CorruptError
from simdb.index.bands import Bands
from simdb.index.keying import Keying
from simdb.index.permutation import Permutations
from simdb.plan.calibration import Calibration, delays_of
from simdb.plan.planner import choose
from simdb.plan.question import BandedPopulation, Criterion, Population
from simdb.reports import Plan
from simdb.storage import layout
from simdb.storage.records.delta import LooseView
from simdb.storage.records.tombstones import Bitmap, live_ordinals, with_room
from simdb.storage.runs.columns import Gathered, Piece, Pieces
from simdb.storage.runs.run import Run, Source, Table, header_bits
from simdb.values import WEIGHTED, offsets_of

U32 = npt.NDArray[np.uint32]


class View:
    """Runs, loose documents and tombstones, and the kernel's objects over them."""

    def __init__(
        self,
        runs: Sequence[Run],
        loose: LooseView,
        dead: Bitmap | None,
        keying: Keying,
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
        self.keying = keying
        self.calibration = calibration
        self.bit_plans: dict[Any, Plan] = {}  # of queries by ready fingerprints, see lookup
        self._plans: dict[tuple[Criterion, bool], Plan] = {}
        self._tables: Any = None
        self._covered_tables: Any = None
        self._band_tables: BandTables | None = None
        self._id_tables: Any = None
        self._windows = None if window is None else [window]
        self._is_segment = segment is not None
        self.pieces = Pieces(self.runs, loose, segment)
        self._identifiers = Gathered(self.pieces, _make_identifiers)
        self._vectors = Gathered(self.pieces, partial(_make_vectors, keying))
        self._unweighted: Bitmap | None = None

    @property
    def next_ordinal(self) -> int:
        """One more than the largest ordinal."""
        return self.loose.stop

    @property
    def permutations(self) -> Permutations:
        """The block permutations of a database of fingerprints."""
        assert isinstance(self.keying, Permutations)
        return self.keying

    @property
    def bands(self) -> Bands:
        """The bands of a database of signatures."""
        assert isinstance(self.keying, Bands)
        return self.keying

    def without(self, left_out: Bitmap | None) -> "View":
        """The same state with other tombstones: a bit for each ordinal that is not there."""
        return View(self.runs, self.loose, left_out, self.keying, self.calibration)

    def only(
        self,
        runs: Sequence[Run],
        loose: LooseView,
        *,
        window: tuple[int, int] | None = None,
        segment: int | None = None,
    ) -> "View":
        """A part of the same state: some runs and what is loose.

        Of a single run only a `window` of its directories (`kernel.Tables`), or the columns of one
        `segment`.
        """
        dead, keying, known = self.dead, self.keying, self.calibration
        return View(runs, loose, dead, keying, known, window, segment)

    def tables(self, source: Source) -> Any:
        """The tables of fingerprints, for look-up."""
        if self._tables is None:
            masks = self.permutations.masks
            rows = []
            for run in self.runs:
                parts = [run.table(table, source) for table in range(len(masks))]
                rows.append([(part.keys, part.ordinals, part.directory) for part in parts])
            loose = (self.loose.searchable, self.loose.ordinals)
            self._tables = kernel.Tables(masks, rows, loose, self.dead, self._windows)
        return self._tables

    def covered_tables(self, source: Source) -> Any:
        """The tables of fingerprints, and what the calibration does not cover to be compared.

        Only for look-up by probing.  What stands in a run together with documents that are covered
        may be found twice.  A window of a run has nothing to compare, a segment nothing else.
        """
        if self._covered_tables is None:
            if self.uncovered_from >= self.loose.start:
                self._covered_tables = self.tables(source)
            else:
                self._covered_tables = self._make_covered(source)
        return self._covered_tables

    @property
    def uncovered_from(self) -> int:
        """The first ordinal that the calibration does not cover; the next one without any."""
        return self.next_ordinal if self.calibration is None else self.calibration.covered

    def _make_covered(self, source: Source) -> Any:
        masks, first = self.permutations.masks, self.uncovered_from
        probed, compared = [], []
        for run in self.runs:
            if run.info.start < first and not self._is_segment:
                parts = [run.table(table, source) for table in range(len(masks))]
                probed.append([(part.keys, part.ordinals, part.directory) for part in parts])
        if self._windows is None:
            tables = self.pieces.searchable_from(first, source)
            compared = [_of_first_table(table, len(masks)) for table in tables]
        # The window is that of the one run that has it.
        windows = self._windows if probed else None
        loose = (self.loose.searchable, self.loose.ordinals)
        return kernel.Tables(masks, [*probed, *compared], loose, self.dead, windows)

    def band_tables(self, source: Source) -> BandTables:
        """The tables of signatures, for look-up."""
        if self._band_tables is None:
            rows = [
                [run.table(table, source) for table in range(self.keying.table_count)]
                for run in self.runs
            ]
            self._band_tables = BandTables(self.bands, rows, self.loose, self.dead, self._windows)
        return self._band_tables

    def identifiers(self, source: Source, ordinals: U32 | None = None) -> Any:
        """The ids by ordinal, of at least these `ordinals`, or of all."""
        return self._identifiers.over(source, ordinals)

    def vectors(self, source: Source, ordinals: U32 | None = None) -> Any:
        """The volatility vectors by ordinal, of at least these `ordinals`, or of all."""
        return self._vectors.over(source, ordinals)

    def signed(self, source: Source, ordinals: U32) -> SignedVectors:
        """The signatures of at least these ordinals, found in a stored table."""
        self.check_known(ordinals)
        found: SignedVectors = self.vectors(source, ordinals)
        return found

    def id_of(self, ordinal: int, source: Source) -> Any:
        """The id of one document."""
        return self._identifiers.over_one(source, ordinal).decode_one(ordinal)

    def find(
        self,
        offsets: npt.NDArray[np.int64],
        content: npt.NDArray[np.uint8],
        hashes: npt.NDArray[np.uint64],
        source: Source,
    ) -> npt.NDArray[np.int64]:
        """The ordinal of each id (in its stored form, with its hash), -1 where there is none."""
        if self._id_tables is None:
            rows = []
            for run in self.runs:
                part = run.id_table(source)
                rows.append([(part.keys, part.ordinals, part.directory)])
            batch = self.loose.batch
            every = np.arange(self.loose.start, self.loose.stop, dtype=np.uint32)
            self._id_tables = kernel.Tables([ALL_BITS], rows, (batch.hashes, every), self.dead)
        starts, ordinals, _ = self._id_tables.lookup(
            hashes, distance=0, flips=0, first=False, after=None
        )
        found = np.full(len(hashes), -1, np.int64)
        if len(ordinals):
            asked = np.repeat(np.arange(len(hashes)), np.diff(starts))
            first, last = offsets[asked], offsets[asked + 1]
            same = self._equal_ids(ordinals, first, last, content, source)
            found[asked[same]] = ordinals[same]
        return found

    def check_known(self, ordinals: U32) -> None:
        """Raise CorruptError for ordinals, found in a stored table, that no document has."""
        if len(ordinals) and ordinals.max() >= self.next_ordinal:
            raise CorruptError(
                f"a table has ordinal {ordinals.max()}, and there are {self.next_ordinal}"
            )

    def column(self, column: int, ordinals: U32, source: Source) -> npt.NDArray[Any]:
        """The values of a column, layout.FINGERPRINT or layout.STATE, of some ordinals."""
        self.check_known(ordinals)
        if len(ordinals) == 1:
            only = self.pieces[self.pieces.which_one(int(ordinals[0]))]
            found: npt.NDArray[Any] = only.column(column, source)[ordinals - np.uint32(only.start)]
            return found
        values = np.empty(len(ordinals), layout.COLUMN_TYPES[column])
        which = self.pieces.which(ordinals)
        for number in np.unique(which):
            chosen = which == number
            piece = self.pieces[number]
            array = piece.column(column, source)
            values[chosen] = array[ordinals[chosen] - np.uint32(piece.start)]
        return values

    def live(self) -> U32:
        """The ordinals of all documents that are not deleted, ascending."""
        return live_ordinals(self.dead, 0, self.next_ordinal)

    def unweighted(self, source: Source) -> Bitmap:
        """A bit per ordinal: deleted, or without a volatility vector."""
        if self._unweighted is None:
            without = [
                np.flatnonzero(piece.column(layout.STATE, source) != WEIGHTED) + piece.start
                for piece in self.pieces
            ]
            positions = np.concatenate([np.empty(0, np.int64), *without])
            flags = bitmap(positions, self.next_ordinal)
            if self.dead is not None:
                flags |= self.dead[: len(flags)]
            self._unweighted = flags
        return self._unweighted

    def plan(self, criterion: Criterion, source: Source, *, is_swept: bool = False) -> Plan:
        """The planner's choice for this state, remembered; `is_swept` for all pairs."""
        key = (criterion, is_swept)
        plan = self._plans.get(key)
        if plan is None:
            population = self.population(source, is_swept=is_swept)
            plan = choose(criterion, population, self.calibration, delays_of(self.calibration))
            self._plans[key] = plan
        return plan

    def population(
        self, source: Source, *, is_swept: bool = False
    ) -> Population | BandedPopulation:
        """What the planner needs to know of this state."""
        counts = [run.info.entry_count for run in self.runs]
        if isinstance(self.keying, Bands):
            return BandedPopulation(
                sum(counts) + len(self.loose.searchable),
                self.keying,
                header_bits(max(counts, default=0), source.header_offset),
                source.width,
                is_swept,
            )
        return Population(
            sum(counts) + len(self.loose.searchable),
            self.permutations.blocks,
            self.permutations.leading,
            self.permutations.header_bits,
            header_bits(max(counts, default=0), source.header_offset),
            source.width > 0,
            is_swept,
            source.width,
            self._crowding(source) if is_swept else 1.0,
            self._uncovered_count(),
        )

    def _uncovered_count(self) -> int:
        """How many documents with features the calibration does not cover, as the runs tell."""
        first = self.uncovered_from
        if first >= self.next_ordinal:
            return 0
        inside = [
            min(run.info.stop - first, run.info.entry_count)
            for run in self.runs
            if run.info.stop > first
        ]
        return sum(inside) + int(np.count_nonzero(self.loose.ordinals >= first))

    def _crowding(self, source: Source) -> float:
        """How many times the mean the headers hold, as stored documents meet them."""
        found = [1.0]
        for run in self.runs:
            for table in range(self.keying.table_count):
                sizes = np.diff(run.table(table, source).directory.astype(np.float64))
                entries = float(sizes.sum())
                if entries >= len(sizes):  # fewer say nothing
                    found.append(float((sizes * (sizes - 1)).sum()) * len(sizes) / entries**2)
        return max(found)

    def _equal_ids(
        self,
        ordinals: U32,
        first: npt.NDArray[np.int64],
        last: npt.NDArray[np.int64],
        content: npt.NDArray[np.uint8],
        source: Source,
    ) -> npt.NDArray[np.bool_]:
        """Whether the id of each ordinal is content[first:last]: hashes may agree by chance."""
        lengths = last - first
        offsets = offsets_of(lengths)
        positions = np.arange(offsets[-1]) - np.repeat(offsets[:-1] - first, lengths)
        wanted = np.ascontiguousarray(content[positions])
        same = self.identifiers(source, ordinals).equal(ordinals, offsets, wanted)
        return np.asarray(same, np.bool_)


def _of_first_table(table: Table, table_count: int) -> list[tuple[Any, Any, Any]]:
    """A run of which only the first table has entries, for what is compared whatever it asks."""
    nothing = (table.keys[:0], table.ordinals[:0], np.zeros(2, np.uint32))
    return [(table.keys, table.ordinals, table.directory), *[nothing] * (table_count - 1)]


def _make_identifiers(pieces: Sequence[Piece], source: Source) -> Any:
    return kernel.Identifiers(
        [
            (piece.start, piece.column(layout.OFFSET, source), piece.column(layout.ID, source))
            for piece in pieces
        ]
    )


def _make_vectors(keying: Keying, pieces: Sequence[Piece], source: Source) -> Any:
    segments = [(piece.start, piece.column(layout.VECTOR, source)) for piece in pieces]
    if isinstance(keying, Bands):
        return SignedVectors(keying, source.width, segments)
    return kernel.Vectors(source.width, segments)
