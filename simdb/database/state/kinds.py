"""Kinds: the kind of a database that its options call for, and the kind of fingerprints.

A database of fingerprints has tables by block permutations (BPHS, PSM).  Databases of signatures
are in `signature_kind.py`.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import EMPTY, WEIGHTED, Fingerprint, Sketches
from simdb.core.bits import FINGERPRINT_BITS
from simdb.core.dtypes import F32, U8
from simdb.core.options import Options
from simdb.core.vector_form import corrected, corrected_one, unpack
from simdb.database import state
from simdb.database.state.polytope_tables import gathered_tables, polytope_runs, swept_runs
from simdb.database.state.view import FINGERPRINTS, Kind, Sealed, View
from simdb.plan import Criterion, Permutations, Population
from simdb.storage import NO_DOCUMENTS, Run, Source, Table, header_bits

if TYPE_CHECKING:
    from simdb.core.documents import Signature

CROWD_SAMPLE = 256  # documents of each table that tell how crowded its headers are


def kind_of(options: Options) -> Kind:
    """Return the kind of a database with these options, which must be `settled`."""
    if options.is_minhash:
        return state.signature_kind.SignatureKind(options)
    return FingerprintKind(options)


class FingerprintKind:
    """The kind of a database whose options name a `Simhash`."""

    stores = FINGERPRINTS
    equal_option = "--distance 0"

    def __init__(self, options: Options) -> None:
        """Take the block permutations from the options."""
        self.keying = Permutations(
            options.blocks, options.leading, options.polytope_count,
            may_be_lean=options.may_be_lean,
        )  # fmt: skip
        self.masks = self.keying.masks
        self._options = options
        # Runs never change, and most of them are in many views.
        self._crowds_of_runs: WeakKeyDictionary[Run, tuple[float, ...]] = WeakKeyDictionary()

    def make_vectors(self, width: int, segments: Sequence[tuple[int, U8]]) -> Any:
        """Return an object that measures volatility vectors."""
        return kernel.Vectors(width, segments)

    def make_tables(self, view: View, source: Source) -> Any:
        """Return the tables of all permutations, ready for look-up.

        Documents of lean runs are compared one by one, unless their tables have been made.
        """
        return self._tables_of_view(view, view.delta.start, source)

    def make_covered_tables(self, view: View, source: Source) -> Any:
        """Return tables for probing that compare each document the calibration does not cover.

        A document of a run that the calibration covers in part may be found twice.  Of a window of
        a run nothing is compared, and of a segment nothing is probed.
        """
        return self._tables_of_view(view, view.uncovered_from, source)

    def population(
        self, view: View, source: Source, criterion: Criterion, *, is_swept: bool
    ) -> Population:
        """Return what the planner must know of a view; `is_swept`: to find all pairs."""
        counts = [run.info.entry_count for run in view.runs]
        return Population(
            sum(counts) + len(view.delta.searchable),
            self.keying.blocks,
            self.keying.leading,
            self.keying.header_bits,
            header_bits(max(counts, default=0), source.header_offset),
            source.width > 0,
            is_swept,
            source.width,
            self._crowding(view, source) if is_swept else 1.0,
            view.unseen,
            () if criterion.distance is None else self._crowds(view, source),
            self.keying.polytopes.table_count,
            gathered_tables(view, source) if is_swept else (),
            (swept_runs if is_swept else polytope_runs)(view, source),
            len(view.delta.ordinals),
            lean_count=view.sealed.lean_count,
        )

    def empty_population(self, *, has_weights: bool) -> Population:
        """Return what the planner must know of an empty database."""
        width = self._options.sketch.vector_bytes if has_weights else 0
        keying = self.keying
        return Population(
            0, keying.blocks, keying.leading, keying.header_bits, 0, width > 0, vector_bytes=width,
            polytope_tables=keying.polytopes.table_count if has_weights else 0,
        )  # fmt: skip

    def shown(self, similarities: F32) -> F32:
        """Return similarities as users get them, corrected for the rounding of weights."""
        return corrected(similarities) if len(similarities) else similarities

    def shown_one(self, similarity: float | None) -> float | None:
        """Return one similarity as users get it; None if it is unknown."""
        return None if similarity is None else corrected_one(similarity)

    def fingerprint_of(self, sketches: Sketches, at: int) -> Fingerprint:
        """Return the stored fingerprint at position `at`, with its weights if they are stored."""
        return replace(fingerprint_of(sketches, at), is_rounded=True)

    def signature_of(self, sketches: Sketches, at: int) -> "Signature | None":
        """Return None, since fingerprints are stored and no signatures."""
        return None

    def _tables_of_view(self, view: View, first: int, source: Source) -> Any:
        sealed = view.sealed
        compared = first, sealed.lean
        tables = sealed.tables.get(compared)
        if tables is None:
            tables = sealed.tables[compared] = self._covered_tables(sealed, *compared, source)
        return tables.over((view.delta.searchable, view.delta.ordinals), view.dead)

    def _covered_tables(
        self, sealed: Sealed, first: int, lean: frozenset[Run], source: Source
    ) -> Any:
        """Return the tables of runs; `lean` and the documents from `first` on are compared."""
        probed = [
            self._tables_of(run, source)
            for run in sealed.runs
            if run.info.start < first and run not in lean and not sealed.is_segment
        ]
        compared = []
        if sealed.windows is None:
            tables = sealed.parts.searchable_from(first, lean, source)
            compared = [_of_first_table(table, len(self.masks)) for table in tables]
        # A view with a window has one run, so the window is used only if that run is probed.
        windows = sealed.windows if probed else None
        return kernel.Tables(self.masks, [*probed, *compared], NO_DOCUMENTS, None, windows)

    def _tables_of(self, run: Run, source: Source) -> list[tuple[Any, Any, Any]]:
        parts = [run.table(table, source) for table in range(len(self.masks))]
        return [(part.keys, part.ordinals, part.directory) for part in parts]

    def _crowds(self, view: View, source: Source) -> tuple[float, ...]:
        """Return how crowded the headers of each table are; see `Population.crowds`."""
        known = [run for run in view.runs if run.has_tables]
        total = sum(run.info.entry_count for run in known)
        sums = [0.0] * self.keying.table_count
        for run in known:
            crowds = self._crowds_of_runs.get(run)
            if crowds is None:
                crowds = self._crowds_of_runs[run] = self._crowds_of(run, source)
            share = run.info.entry_count / max(total, 1)
            sums = [sum + share * crowd for sum, crowd in zip(sums, crowds, strict=True)]
        return tuple(sums) if total else ()

    def _crowds_of(self, run: Run, source: Source) -> tuple[float, ...]:
        found = []
        for number, mask in enumerate(self.masks):
            found.append(_crowd(run.table(number, source), mask))
            run.give_back()  # the first read of a table touches all of its pages
        return tuple(found)

    def _crowding(self, view: View, source: Source) -> float:
        """Return the other entries under a document's header, divided by the mean of all headers.

        The result is about 1 if fingerprints are spread evenly, and never less.
        """
        found = [1.0]
        for run in view.runs:
            if not run.has_tables:
                continue
            for table in range(self.keying.table_count):
                sizes = np.diff(run.table(table, source).directory.astype(np.float64))
                entries = float(sizes.sum())
                if entries >= len(sizes):  # fewer entries show no crowding
                    found.append(float((sizes * (sizes - 1)).sum()) * len(sizes) / entries**2)
        return max(found)


def fingerprint_of(sketches: Sketches, at: int) -> Fingerprint:
    """Return the fingerprint at position `at`, with weights if it has a volatility vector."""
    state, bits = int(sketches.states[at]), int(sketches.bits[at])
    if state != WEIGHTED or not sketches.vectors.shape[1]:
        return Fingerprint(bits, None, is_empty=state == EMPTY)
    return Fingerprint(bits, weights_of(sketches, at))


def weights_of(sketches: Sketches, at: int) -> F32:
    """Return the weights at position `at` as its volatility vector has them: float32[n]."""
    return unpack(sketches.vectors[at]).astype(np.float32)


def _of_first_table(table: Table, table_count: int) -> list[tuple[Any, Any, Any]]:
    """Return the tables of a run with entries in the first only, all compared with each query."""
    nothing = (table.keys[:0], table.ordinals[:0], np.zeros(2, np.uint32))
    return [(table.keys, table.ordinals, table.directory), *[nothing] * (table_count - 1)]


def _crowd(table: Table, mask: int) -> float:
    """Return the entries beside a document under its leading bits, over the mean of all headers.

    A sample of the documents decides.  The result is about 1 if they are spread evenly, and never
    less.
    """
    count = len(table.keys)
    if not count:
        return 1.0
    width = min(mask.bit_count(), table.width)
    if width == 0:
        return 1.0
    step = np.uint64(table.width - width)
    sampled = np.arange(0, count, -(-count // CROWD_SAMPLE))
    headers = table.keys[sampled] >> np.uint64(FINGERPRINT_BITS - width)
    starts = table.directory[headers << step].astype(np.float64)
    stops = table.directory[(headers + np.uint64(1)) << step].astype(np.float64)
    beside = np.clip(stops - starts, 1, count) - 1
    return max(float(beside.mean()) * (1 << width) / count, 1.0)
