"""Exact similarity: compares documents by all their features, where a sketch only estimates.

The features are those that the sketch is made of.  If every feature counts once, the similarity is
Jaccard's, of the two sets; if features have weights, it is what the sketch estimates:

    sets ("binary", "set")       |A and B| / |A or B|
    weights, of a `Minhash`      sum min(a, b) / sum max(a, b)
    weights, of a `Simhash`      sum a b / sqrt(sum a^2 sum b^2), the cosine

A fingerprint estimates the cosine also of sets.  Two sets with the Jaccard similarity j have at
least the cosine 2 j / (1 + j), and exactly this if they have as many features.

A database can store what decides, as packed features: of each feature the 24 highest bits of its
hash, little-endian, and, unless each counts once, its weight as float32 after them.  The order of
the features has no meaning.  Two different features have the same 24 bits by chance once in 2^24
pairs of them, so documents of n features, of which each has u that the other has not, seem to share
u^2 / 2^24 too many: .00001 features of documents of 100 that are similar to .8.

`ExactPairs` compares many pairs in parts whose texts have a bounded size, side by side.  A text is
read, and its features are counted, once in a part.  Where documents are in many pairs each, as
pages of a few templates are, a part has all pairs of some left with some right documents: so a text
is read once for hundreds of its pairs.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simdb.columns.arrow import TextColumn, text_column
from simdb.ground.dtypes import F32, F64, I64, U32, U64, Bools
from simdb.ground.errors import OptionError
from simdb.running import kernel
from simdb.running.threads import mapped
from simdb.settings.options import BAG, Minhash, Simhash
from simdb.settings.stored_options import Resources
from simdb.sketch import weighing
from simdb.sketch.pipeline import Counted
from simdb.sketch.sketcher import Sketcher
from simdb.values.arrays import NO_FEATURES, PackedFeatures, Ragged, joined_ragged, offsets_of

JACCARD, WEIGHTED_JACCARD, COSINE = ("Jaccard", "weighted Jaccard", "cosine")
# A threshold that follows from a cosine is rounded to so many digits: .889 gives .8, not .80018.
THRESHOLD_DIGITS = 3
# Packed features have so many bytes of each hash, and a float32 if features have weights.
HASH_BYTES, WEIGHT_BYTES = 3, 4
DROPPED_BITS = np.uint64(64 - 8 * HASH_BYTES)
# The features of so many documents are packed together, so that they stay in the cache.
PACKED_DOCUMENTS = 512

Bodies = tuple[I64, U64, F32 | None]  # offsets, hashes and weights of features
# A part has texts of about this size, and at most this number of pairs, or of documents on a side.
PART_BYTES = 1 << 23
PART_PAIRS_FIRST, PART_PAIRS_MOST = 1 << 8, 1 << 11
SIDE_DOCUMENTS = 1 << 9
# From so many pairs for each document on, parts have sides.
DENSE = 8

# From ascending numbers of documents to their texts, and to their packed features.
Read = Callable[[U32], Sequence[Any]]
ReadFeatures = Callable[[U32], PackedFeatures]


class ExactSimilarity:
    """The exact similarity of pairs of documents that one sketch would estimate."""

    def __init__(
        self,
        sketch: Simhash | Minhash,
        resources: Resources,
        allowed: Collection[str],
        *,
        compares_numbers: bool = False,
    ) -> None:
        """Take features as `sketch` does; see `Sketcher` for the other arguments.

        `compares_numbers`: documents with different numbers have the similarity 0.
        Raises OptionError for a sketch whose features simdb cannot count.
        """
        if sketch.unit == "moz":
            raise OptionError(
                "unit='moz' has no exact similarity, because its features are windows of a hash;"
                " give verify='estimate'"
            )
        self._sketch = sketch
        self._sketcher = Sketcher(Simhash(**sketch.feature_settings), resources, allowed)
        self.compares_numbers = compares_numbers
        self.measure = _measure_of(sketch)

    def of_cosine(self, cosine: F32) -> F32:
        """Return estimates of this similarity, given what the sketch estimates."""
        return _of_cosine(self._sketch, cosine)

    def estimated(self, similarity: float) -> float:
        """Return what the sketch estimates, at least, for documents of this exact similarity."""
        if self.measure != JACCARD or isinstance(self._sketch, Minhash):
            return similarity
        return 2 * similarity / (1 + similarity)

    def least(self, similarity: float) -> float:
        """Return the threshold of this similarity for a threshold of what the sketch estimates."""
        return exact_threshold(self._sketch, similarity)

    @property
    def packed_bytes(self) -> int:
        """How many bytes a packed feature has."""
        return HASH_BYTES + (0 if self.measure == JACCARD else WEIGHT_BYTES)

    def packed(self, documents: Sequence[Any], *, errors: str, start: int = 0) -> PackedFeatures:
        """Return the packed features of texts and lists of tokens.

        Raises InputError for another document; messages number them from `start`.
        """
        parts = [
            self._packed(documents[at : at + PACKED_DOCUMENTS], errors, start + at)
            for at in range(0, len(documents), PACKED_DOCUMENTS)
        ]
        return joined_ragged(parts) or NO_FEATURES

    def of_pairs(
        self, documents: Sequence[Any], left: I64, right: I64, stored: "Stored | None" = None
    ) -> F32:
        """Return the similarity of documents left[i] and right[i]; 0 if one has no features.

        `documents`: texts and lists of tokens.  Pairs of one left document are fastest one after
        the other.  `stored`: documents of which only the packed features are known.
        """
        found = self._of_features(documents, left, right, stored)
        if self.compares_numbers:
            numbers = self._sketcher.numbers(documents)
            found[numbers[left] != numbers[right]] = 0
        return found

    def _packed(self, documents: Sequence[Any], errors: str, start: int) -> PackedFeatures:
        counted = self._sketcher.count_features(documents, errors=errors, start=start)
        offsets, hashes, _ = counted
        weights, content = self._weights(counted), np.empty((len(hashes), self.packed_bytes), "u1")
        high = (hashes >> DROPPED_BITS).astype("<u4").view(np.uint8).reshape(-1, 4)
        content[:, :HASH_BYTES] = high[:, :HASH_BYTES]
        if weights is not None:
            content[:, HASH_BYTES:] = weights.astype("<f4").view(np.uint8).reshape(-1, WEIGHT_BYTES)
        return Ragged(offsets * self.packed_bytes, content.reshape(-1))

    def _of_features(
        self, documents: Sequence[Any], left: I64, right: I64, stored: "Stored | None"
    ) -> F32:
        """Return the similarity of the features of documents left[i] and right[i]."""
        counted = self._sketcher.count_features(documents, errors="replace")
        bodies: Bodies = (*counted[:2], self._weights(counted))
        if stored is not None:
            # A pair of two texts is compared by whole hashes, in any other both are shortened.
            count = len(documents)
            is_short = np.isin(left, stored.positions) | np.isin(right, stored.positions)
            left, right = left + count * is_short, right + count * is_short
            bodies = _following(bodies, self._shortened(bodies, stored))
        offsets, hashes, weights = bodies
        is_least = self.measure == WEIGHTED_JACCARD
        shared = kernel.overlaps(offsets, hashes, weights, left, right, is_least=is_least)
        if self.measure == COSINE:
            assert weights is not None
            squares = _totals(offsets, weights.astype(np.float64) ** 2)
            return _shares(shared, np.sqrt(squares[left] * squares[right]))
        each = np.diff(offsets).astype(np.float64)
        sizes = each if weights is None else _totals(offsets, weights.astype(np.float64))
        return _shares(shared, sizes[left] + sizes[right] - shared)

    def _shortened(self, bodies: Bodies, stored: "Stored") -> Bodies:
        """Return the same documents with hashes as packed features have them, the stored ones too.

        In `bodies` the stored documents have no features.
        """
        offsets, hashes, weights = bodies
        entries = stored.features.values.reshape(-1, self.packed_bytes)
        sizes = np.diff(offsets)
        sizes[stored.positions] = np.diff(stored.features.offsets) // self.packed_bytes
        is_stored = np.zeros(len(sizes), np.bool_)
        is_stored[stored.positions] = True
        is_stored = np.repeat(is_stored, sizes)
        whole = np.zeros((len(entries), 4), np.uint8)
        whole[:, :HASH_BYTES] = entries[:, :HASH_BYTES]
        short = np.empty(len(is_stored), np.uint64)
        short[~is_stored] = hashes >> DROPPED_BITS
        short[is_stored] = whole.view("<u4").reshape(-1)
        if weights is None:
            return offsets_of(sizes), short, None
        own = np.empty(len(is_stored), np.float32)
        own[~is_stored] = weights
        own[is_stored] = np.ascontiguousarray(entries[:, HASH_BYTES:]).view("<f4").reshape(-1)
        return offsets_of(sizes), short, own

    def _weights(self, counted: Counted) -> F32 | None:
        """Return the weight of each feature; None if each counts once."""
        if self.measure == JACCARD:
            return None
        _, hashes, counts = counted
        sketch = self._sketch
        counting = "tf" if sketch.weighting == BAG else sketch.counting
        weights = weighing.weigh(hashes, counts.astype(np.int64), counting, sketch.idf)
        return (weights / weighing.UNITS).astype(np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """Documents of which only packed features are known: their positions, ascending, and these."""

    positions: I64
    features: PackedFeatures


def exact_threshold(sketch: Simhash | Minhash, similarity: float) -> float:
    """Return the least exact similarity that a threshold of what `sketch` estimates means."""
    exact = _of_cosine(sketch, np.array([similarity], np.float32))
    return round(float(exact[0]), THRESHOLD_DIGITS)


def _of_cosine(sketch: Simhash | Minhash, cosine: F32) -> F32:
    if _measure_of(sketch) != JACCARD or isinstance(sketch, Minhash):
        return cosine
    return np.asarray(cosine / (2 - cosine), np.float32)


def _measure_of(sketch: Simhash | Minhash) -> str:
    if sketch.counting == "binary" and not sketch.uses_idf:
        return JACCARD
    return WEIGHTED_JACCARD if isinstance(sketch, Minhash) else COSINE


def _following(first: Bodies, second: Bodies) -> Bodies:
    """Return the documents of both, those of the second after those of the first."""
    weights = None
    if first[2] is not None and second[2] is not None:
        weights = np.concatenate([first[2], second[2]])
    offsets = np.concatenate([first[0], first[0][-1] + second[0][1:]])
    return offsets, np.concatenate([first[1], second[1]]), weights


def _totals(offsets: I64, values: F64) -> F64:
    """Return the sum of the values of each document."""
    return np.add.reduceat(np.append(values, 0.0), offsets[:-1]) * (np.diff(offsets) > 0)


def _shares(parts: F64, wholes: F64) -> F32:
    """Return parts / wholes, and 0 where the whole is 0."""
    found = np.divide(parts, wholes, out=np.zeros_like(parts), where=wholes > 0)
    return found.astype(np.float32)


class ExactPairs:
    """Compares pairs of documents, which are given by numbers, and whose texts `read` returns.

    `read` takes ascending numbers, and returns None for a text that is not known.
    """

    def __init__(self, exact: ExactSimilarity, *, is_read_anywhere: bool = False) -> None:
        """Compare by `exact`; `is_read_anywhere`: any thread may read, not only the caller's."""
        self.exact = exact
        self._is_read_anywhere = is_read_anywhere
        self._count = PART_PAIRS_FIRST  # the pairs of the next part, if no document is in two

    def parts(
        self,
        read: Read,
        left: U32,
        right: U32,
        order: I64,
        threads: int,
        features: ReadFeatures | None = None,
    ) -> Iterator[tuple[I64, F32]]:
        """Yield positions of some pairs, and their similarities, NaN if a text is not known.

        `order`: the positions to compare.  Pairs of one left document are best one after the other.
        `features`: reads what decides in place of texts that are not known; a document of which it
        has nothing stays unknown.
        """

        def measure(part: "_Part") -> tuple[I64, F32]:
            values = self.exact.of_pairs(part.texts, part.left, part.right, part.stored)
            values[part.is_unknown[part.left] | part.is_unknown[part.right]] = np.nan
            return part.chosen, values

        portions = _portions(left, right, order, min(SIDE_DOCUMENTS, self._count))
        if not self._is_read_anywhere:
            cut = (each for one in portions for each in self._cut(read, left, right, one, features))
            yield from mapped(measure, cut, threads)
            return
        for found in mapped(
            lambda one: list(map(measure, self._cut(read, left, right, one, features))),
            portions, threads,
        ):  # fmt: skip
            yield from found

    def _cut(
        self, read: Read, left: U32, right: U32, order: I64, features: ReadFeatures | None = None
    ) -> Iterator["_Part"]:
        """Yield some pairs with their texts, in parts if these are large.

        The number of pairs of a part follows from the size of the texts of the part before it.
        """
        start, chosen = 0, order
        while start < len(order):
            numbers, positions = numbered(np.concatenate([left[chosen], right[chosen]]))
            if len(chosen) > self._count and len(numbers) > 2 * self._count:
                chosen = order[start : start + self._count]
                continue
            texts, is_unknown = _complete(read(numbers), len(numbers))
            stored, size = None, _size_bytes(texts)
            if features is not None and is_unknown.any():
                stored = _stored(numbers, is_unknown, features)
                is_unknown[stored.positions] = False
                size += len(stored.features.values)
            yield _Part(
                chosen, texts, is_unknown, positions[: len(chosen)], positions[len(chosen) :],
                stored,
            )  # fmt: skip
            start += len(chosen)
            suggested = PART_BYTES * len(numbers) // (2 * max(size, 1))
            self._count = max(1, min(PART_PAIRS_MOST, 2 * self._count, suggested))
            chosen = order[start : start + self._count]


def _portions(left: U32, right: U32, order: I64, side: int) -> Iterator[I64]:
    """Yield positions of pairs that are compared together, at least a part.

    In dense ones all pairs of at most `side` left with as many right documents stay together.
    """
    stops = np.arange(PART_PAIRS_MOST, len(order), PART_PAIRS_MOST)
    if len(order) > PART_PAIRS_MOST:
        numbers, places = numbered(np.concatenate([left[order], right[order]]))
        if len(order) >= DENSE * len(numbers):
            sides = places // side
            squares = sides[: len(order)] * (1 + len(numbers) // side) + sides[len(order) :]
            by_square = np.argsort(squares, kind="stable")
            order, squares = order[by_square], squares[by_square]
            ends = np.flatnonzero(np.diff(squares)) + 1
            # Small squares are together as large as other portions, and large ones alone.
            is_far = np.diff(ends // PART_PAIRS_MOST, prepend=0) > 0
            stops = ends[is_far | np.append(is_far[1:], True)[: len(ends)]]
    yield from np.split(order, stops)


def numbered(values: U32) -> tuple[U32, I64]:
    """Return the distinct values, ascending, and the place of each value among them."""
    least = int(values.min(initial=0))
    span = int(values.max(initial=0)) - least + 1
    if span > 4 * len(values):
        return np.unique(values, return_inverse=True)
    is_there = np.zeros(span, np.bool_)
    is_there[values - np.uint32(least)] = True
    places = np.cumsum(is_there) - 1
    return np.flatnonzero(is_there).astype(np.uint32) + np.uint32(least), places[values - least]


@dataclass(frozen=True, slots=True)
class _Part:
    """Some pairs: their positions among all pairs, and the positions of their texts."""

    chosen: I64
    texts: Sequence[Any]
    is_unknown: Bools
    left: I64
    right: I64
    stored: Stored | None


def _stored(numbers: U32, is_unknown: Bools, features: ReadFeatures) -> Stored:
    """Return the packed features of documents whose texts are not known, as far as they are."""
    places = np.flatnonzero(is_unknown)
    found = features(numbers[places])
    known = np.flatnonzero(np.diff(found.offsets))
    return Stored(places[known], found.taken(known))


def _complete(texts: Any, count: int) -> tuple[Sequence[Any], Bools]:
    """Return texts that are all known, empty ones for unknown texts, and which were unknown."""
    column = text_column(texts)
    if column is not None:
        return column.filled(), column.lengths < 0
    is_unknown = np.fromiter((text is None for text in texts), np.bool_, count)
    if not is_unknown.any():
        return texts, is_unknown
    return ["" if text is None else text for text in texts], is_unknown


def _size_bytes(texts: Sequence[Any]) -> int:
    if isinstance(texts, TextColumn):
        return int(texts.lengths.sum())
    return sum(map(len, texts))
