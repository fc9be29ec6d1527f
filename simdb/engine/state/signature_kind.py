"""Signature kind: a database of MinHash signatures, with a table for each band (LSH)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.engine.state.band_tables import BandTables, prepared
from simdb.engine.state.signature_vectors import SignatureVectors
from simdb.engine.state.view import SIGNATURES, View
from simdb.ground.bits import ALL_BITS
from simdb.index.bands import bands_of
from simdb.plan.problem import BandedPopulation, Criterion
from simdb.settings.options import MINHASH_METHODS, Options
from simdb.storage.runs.source import Source
from simdb.storage.runs.table import header_bits
from simdb.values.arrays import EMPTY, Fingerprint, Sketches
from simdb.values.signatures import Signature


class SignatureKind:
    """The kind of a database whose options name a `Minhash`."""

    stores = SIGNATURES
    methods = MINHASH_METHODS
    equal_option = "--similarity 1"

    def __init__(self, options: Options) -> None:
        """Take the bands from the options, which must be `settled`."""
        self.keying = bands_of(options)
        self.masks = [ALL_BITS] * self.keying.table_count
        self._options = options

    def make_vectors(
        self, width: int, segments: Sequence[tuple[int, npt.NDArray[np.uint8]]]
    ) -> Any:
        """Return an object that measures packed signatures."""
        return SignatureVectors(self.keying, width, segments)

    def make_tables(self, view: View, source: Source) -> Any:
        """Return the tables of all bands, ready for look-up."""
        sealed = view.sealed
        if sealed.tables is None:
            sealed.tables = [
                prepared([run.table(band, source) for run in view.runs], None, view.windows)
                for band in range(self.keying.table_count)
            ]
        return BandTables(
            self.keying, sealed.tables, view.delta, view.dead, is_part=view.windows is not None
        )

    def make_covered_tables(self, view: View, source: Source) -> Any:
        """Return the same tables, since bands need no calibration."""
        return self.make_tables(view, source)

    def population(
        self, view: View, source: Source, criterion: Criterion, *, is_swept: bool
    ) -> BandedPopulation:
        """Return what the planner must know of a view; `is_swept`: to find all pairs."""
        counts = [run.info.entry_count for run in view.runs]
        return BandedPopulation(
            sum(counts) + len(view.delta.searchable),
            self.keying,
            header_bits(max(counts, default=0), source.header_offset),
            source.width,
            is_swept,
        )

    def empty_population(self, *, has_weights: bool) -> BandedPopulation:
        """Return what the planner must know of an empty database."""
        width = self._options.sketch.vector_bytes if has_weights else 0
        return BandedPopulation(0, self.keying, 0, width)

    def shown(self, similarities: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Return the similarities as they are measured."""
        return similarities

    def shown_one(self, similarity: float | None) -> float | None:
        """Return the similarity as it is measured."""
        return similarity

    def fingerprint_of(self, sketches: Sketches, at: int) -> Fingerprint:
        """Return the 64 bits of the signature at position `at`; they have no weights."""
        is_empty = int(sketches.states[at]) == EMPTY
        return Fingerprint(int(sketches.bits[at]), None, is_empty=is_empty)

    def signature_of(self, sketches: Sketches, at: int) -> Signature | None:
        """Return the stored signature at position `at`."""
        minima = self.keying.minima_of(sketches.vectors[at : at + 1])[0]
        return Signature(minima, self.keying.sketch, bool(sketches.states[at] == EMPTY))
