"""Quantisation: turns weights into fingerprints, volatility vectors and levels.

`ReadySketcher` makes sketches of fingerprints that users have, with or without weights.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import (
    BARE,
    EMPTY,
    ONE_STATE,
    WEIGHTED,
    Fingerprint,
    Fingerprints,
    Sketches,
    aligned,
    describe,
)
from simdb.core.bits import FINGERPRINT_BITS
from simdb.core.dtypes import F32, I64, U8, U64, Array
from simdb.core.errors import InputError
from simdb.core.vector_form import HALF_MAX, fingerprints_of, has_features, pack, signs_of, width

# Weights of this many queries stay in the processor's cache while they are read twice.
CACHED_ROWS = 1024
LEVEL_MAX = 255  # level of a bit without a known weight, which never flips


def columns_of(weights: Array, width: int, is_query: bool) -> tuple[U64, U8, U8 | None]:
    """Return fingerprints, volatility vectors of `width` bytes and, for queries, levels."""
    if not is_query:
        bits, vectors = kernel.quantise(weights)
        return bits, vectors if width else np.empty((len(bits), 0), np.uint8), None
    bits = np.empty(len(weights), np.uint64)
    vectors = np.empty((len(weights), width), np.uint8)
    levels = np.empty((len(weights), FINGERPRINT_BITS), np.uint8)
    for start in range(0, len(weights), CACHED_ROWS):
        part = slice(start, start + CACHED_ROWS)
        levels[part] = kernel.levels(weights[part])
        if width:
            bits[part], vectors[part] = kernel.quantise(weights[part])
        else:
            bits[part] = fingerprints_of(weights[part])
    return bits, vectors, levels


def rows_of_zeros(weights: F32) -> I64:
    """Return the positions of rows of zeros; the first weight excludes most other rows."""
    suspect = np.flatnonzero(weights[:, 0] == 0)
    return suspect[~weights[suspect].any(axis=1)]


def widened(weights: F32, dimensions: int) -> F32:
    """Return weights with `dimensions` columns: cut off, or repeated from the first column on."""
    given = weights.shape[1]
    if given >= dimensions:
        return np.ascontiguousarray(weights[:, :dimensions])
    assert given >= FINGERPRINT_BITS
    repeated: F32 = np.take(weights, np.arange(dimensions) % given, axis=1)
    return repeated


class ReadySketcher:
    """A maker of sketches for documents of `dimensions` weights, stored in `stored_bytes` bytes."""

    def __init__(self, dimensions: int, stored_bytes: int) -> None:
        """`stored_bytes`: of one vector; 0 if no vectors are stored."""
        self._dimensions = dimensions
        self._width = stored_bytes

    def known(self, is_query: bool) -> int:
        """Return the state of documents with features: queries always have weights."""
        return WEIGHTED if self._width or is_query else BARE

    def of_bits(self, bits: U64, is_query: bool) -> Sketches:
        """Make sketches of fingerprints without weights."""
        if bits.ndim != 1:
            raise InputError(f"ready fingerprints must be uint64[n], not {describe(bits)}")
        count = len(bits)
        return Sketches(
            aligned(bits, np.uint64),
            np.zeros((count, self._width), np.uint8),
            np.full(count, BARE, np.uint8),
            np.full((count, FINGERPRINT_BITS), LEVEL_MAX, np.uint8) if is_query else None,
        )

    def of_fingerprints(self, documents: Fingerprints, is_query: bool, start: int) -> Sketches:
        """Make sketches of an array of fingerprints, numbered from `start` in messages.

        Vectors are stored as they are, if they have the weights that a document needs.  The levels
        of queries come from the weights, where there are any, because these say more.
        """
        bits, weights, vectors = documents.bits, documents.weights, documents.vectors
        if vectors is not None and vectors.shape[1] == width(self._dimensions):
            sketches = self._of_vectors(bits, vectors, is_query)
            if is_query and weights is not None:
                levels = kernel.levels(widened(weights, self._dimensions))
                sketches = replace(sketches, levels=levels)
            return sketches
        if weights is not None:
            return self._of_weights(bits, weights, is_query, range(start, start + len(bits)))
        if vectors is not None:
            raise InputError(
                f"the vectors have {vectors.shape[1]} bytes, and documents here have"
                f" {width(self._dimensions)}; make them with dimensions={self._dimensions}, or give"
                " their weights"
            )
        return self.of_bits(bits, is_query)

    def of_one(
        self, bits: U64, vectors: U8, levels: U8 | None, features: int, is_query: bool
    ) -> Sketches:
        """Return the sketch of one document, of what the kernel makes of it."""
        return Sketches(
            bits, vectors, ONE_STATE[self.known(is_query) if features else EMPTY], levels
        )

    def of_list(self, documents: Sequence[Fingerprint], is_query: bool, start: int) -> Sketches:
        """Make sketches of a list of fingerprints, of which each may have weights or none."""
        only = documents[0]
        if len(documents) == 1 and only.weights is not None:
            own, vectors, levels, features = kernel.quantise_one(
                only.weights, dimensions=self._dimensions, width=self._width,
                is_rounded=only.is_rounded, is_query=is_query,
            )  # fmt: skip
            if own[0] != only.bits:
                if features or only.bits:
                    _refuse(start, only.bits, own[0])
                own[0] = 0
            return self.of_one(own, vectors, levels, 0 if only.is_empty else features, is_query)
        bits = np.array([document.bits for document in documents], np.uint64)
        sketches = self.of_bits(bits, is_query)
        by_form: dict[tuple[int, bool], list[int]] = {}
        for at, each in enumerate(documents):
            if each.weights is not None:
                by_form.setdefault((len(each.weights), each.is_rounded), []).append(at)
        for (_, is_rounded), places in by_form.items():
            weights = np.stack([documents[at].weights for at in places])  # type: ignore[misc]
            numbers = [start + at for at in places]
            part = self._of_rows(bits[places], weights, is_query, numbers, is_rounded)
            sketches.put(places, part)
        for at, each in enumerate(documents):
            if each.is_empty:
                sketches.states[at] = EMPTY
        return sketches

    def _of_vectors(self, bits: U64, vectors: U8, is_query: bool) -> Sketches:
        levels = kernel.levels_of_vectors(vectors) if is_query else None
        states = np.where(has_features(vectors), self.known(is_query), EMPTY).astype(np.uint8)
        stored = vectors if self._width else np.empty((len(bits), 0), np.uint8)
        return Sketches(bits, stored, states, levels)

    def _of_rows(
        self, bits: U64, weights: F32, is_query: bool, places: Sequence[int], is_rounded: bool
    ) -> Sketches:
        """Make sketches of fingerprints whose weights may be rounded; these are kept as they are.

        To round them again would change some of them, as the scale is that of rounded weights.
        """
        if is_rounded and weights.shape[1] == self._dimensions and _are_halves(weights):
            vectors = pack(weights.astype(np.int8))
            if (signs_of(vectors) == bits).all():
                return self._of_vectors(bits, vectors, is_query)
        return self._of_weights(bits, weights, is_query, places)

    def _of_weights(
        self, bits: U64, weights: F32, is_query: bool, places: Sequence[int]
    ) -> Sketches:
        """Make sketches of fingerprints and weights that must fit to them.

        `places`: their positions among the documents, for messages.
        """
        wide = widened(weights, self._dimensions)
        found, vectors, levels = columns_of(wide, self._width, is_query)
        # Documents without features have no signs; that of simhash-cpp is 0 then.
        empty = rows_of_zeros(weights)
        is_other = found != bits
        is_other[empty[bits[empty] == 0]] = False
        differing = np.flatnonzero(is_other)
        if len(differing):
            at = int(differing[0])
            _refuse(places[at], bits[at], found[at])
        states = np.full(len(bits), self.known(is_query), np.uint8)
        states[empty] = EMPTY
        return Sketches(np.ascontiguousarray(bits), vectors, states, levels)


def _refuse(place: int, bits: Any, found: Any) -> NoReturn:
    """Raise InputError: the fingerprint at this place does not fit to its weights."""
    raise InputError(
        f"fingerprint {place} has bits {bits:016x}, but the signs of its weights make"
        f" {found:016x} (bit j is set where weight j >= 0)"
    )


def _are_halves(weights: F32) -> bool:
    """Return whether all weights are those for which the halves of a packed vector stand."""
    halves = (weights + HALF_MAX) / 2
    return bool(((halves == np.rint(halves)) & (halves >= 0) & (halves <= HALF_MAX)).all())
