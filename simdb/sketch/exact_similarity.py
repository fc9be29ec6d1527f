"""Exact similarity: the comparison of documents by all features, where a sketch only estimates.

The features are the same as in the sketch.  If every feature counts once, it is the Jaccard
similarity of the two sets.  If features have weights, it is the similarity that the sketch
estimates:

* Sets ("binary", "set"): |A and B| / |A or B|.
* Weights of a `Minhash`: sum min(a, b) / sum max(a, b).
* Weights of a `Simhash`: sum a b / sqrt(sum a^2 sum b^2), the cosine.

A fingerprint estimates the cosine even of sets.  Two sets with the Jaccard similarity j have at
least the cosine 2 j / (1 + j), and exactly this if they are of equal size.

By the rule "contained", a document is removed only if a kept document has all its word 3-grams
except up to `lose` of them.  `gram_sketch` makes these 3-grams the features.

A database can store packed features for the decision.  A packed feature has the 24 highest bits of
the hash, little-endian, and, if features have weights, the weight as float32.  The order of the
features has no meaning.  Different features have equal 24 bits once in 2^24 pairs.  So two
documents with u features each that the other lacks seem to share u^2 / 2^24 more features: .00001
for documents of 100 features and a similarity of .8.
"""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from simdb.core import arrays, kernel
from simdb.core.dtypes import F32, F64, I64, U64
from simdb.core.errors import OptionError
from simdb.core.options import BAG, AnySketch, Minhash, Simhash
from simdb.core.stored_options import Resources
from simdb.core.values import dataclass, replace
from simdb.sketch import weighing
from simdb.sketch.pipeline import Counted
from simdb.sketch.sketcher import Sketcher

JACCARD, WEIGHTED_JACCARD, COSINE = ("Jaccard", "weighted Jaccard", "cosine")
HASH_BYTES, WEIGHT_BYTES = 3, 4  # of a packed feature; the weight only if features have weights
DROPPED_BITS = np.uint64(64 - 8 * HASH_BYTES)
PACKED_DOCUMENTS = 512  # documents packed together, whose features stay in the cache

Bodies = tuple[I64, U64, F32 | None]  # offsets, hashes and weights of features
# With COMMON_PAIRS pairs for each document, the features that several documents have are compared
# as bits, if they are at most COMMON_MOST times the mean features of a document.
COMMON_PAIRS, COMMON_MOST = 64, 8
COUNTED_PAIRS = 1 << 13  # pairs that are compared at a time


class ExactSimilarity:
    """A measure of the exact similarity of documents, by the features of one sketch."""

    def __init__(
        self,
        sketch: AnySketch,
        resources: Resources,
        allowed: Collection[str],
        *,
        compares_numbers: bool = False,
    ) -> None:
        """Take features as `sketch` does; see `Sketcher` for `resources` and `allowed`.

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
        # If set, the similarity is 0 if the left document lacks more than `lose` features of the
        # right one, or has fewer features.
        self.lose: int | None = None
        self.measure = _measure_of(sketch)

    @property
    def packed_bytes(self) -> int:
        """The number of bytes of a packed feature."""
        return HASH_BYTES + (0 if self.measure == JACCARD else WEIGHT_BYTES)

    def packed(
        self, documents: Sequence[Any], *, errors: str, start: int = 0
    ) -> arrays.PackedFeatures:
        """Return the packed features of texts and lists of tokens.

        Raises InputError for another document; messages number documents from `start`.
        """
        if isinstance(documents, arrays.Fingerprints) and len(documents):
            documents = [documents[0]]  # refused below
        parts = [
            self._packed(documents[at : at + PACKED_DOCUMENTS], errors, start + at)
            for at in range(0, len(documents), PACKED_DOCUMENTS)
        ]
        return arrays.joined_ragged(parts) or arrays.NO_BYTES

    def of_pairs(
        self, documents: Sequence[Any], left: I64, right: I64, stored: "Stored | None" = None
    ) -> F32:
        """Return the similarity of documents left[i] and right[i]; 0 if one has no features.

        `documents`: texts and lists of tokens.  Adjacent pairs of one left document are fastest.
        `stored`: documents of which only packed features are known.
        """
        found = self._of_features(documents, left, right, stored)
        if self.compares_numbers:
            numbers = self._sketcher.numbers(documents)
            found[numbers[left] != numbers[right]] = 0
        return found

    def _packed(self, documents: Sequence[Any], errors: str, start: int) -> arrays.PackedFeatures:
        counted = self._sketcher.count_features(documents, errors=errors, start=start)
        offsets, hashes, _ = counted
        weights, content = self._weights(counted), np.empty((len(hashes), self.packed_bytes), "u1")
        high = (hashes >> DROPPED_BITS).astype("<u4").view(np.uint8).reshape(-1, 4)
        content[:, :HASH_BYTES] = high[:, :HASH_BYTES]
        if weights is not None:
            content[:, HASH_BYTES:] = weights.astype("<f4").view(np.uint8).reshape(-1, WEIGHT_BYTES)
        return arrays.Ragged(offsets * self.packed_bytes, content.reshape(-1))

    def _of_features(
        self, documents: Sequence[Any], left: I64, right: I64, stored: "Stored | None"
    ) -> F32:
        """Return the similarity of the features of documents left[i] and right[i]."""
        bodies = self.bodies(documents)
        if stored is not None:
            # Two texts are compared by whole hashes; in any other pair both are shortened.
            count = len(documents)
            is_short = np.isin(left, stored.positions) | np.isin(right, stored.positions)
            left, right = left + count * is_short, right + count * is_short
            bodies = _following(bodies, self.shortened(bodies, stored))
        common = None
        if bodies[2] is None and len(left) >= COMMON_PAIRS * len(documents):
            common = common_features(*bodies[:2])
        return self.of_bodies(bodies, self.sizes(bodies), left, right, common)

    def bodies(self, documents: Sequence[Any]) -> Bodies:
        """Return the features of texts and lists of tokens."""
        counted = self._sketcher.count_features(documents, errors="replace")
        return (*counted[:2], self._weights(counted))

    def of_bodies(
        self, bodies: Bodies, sizes: F64, left: I64, right: I64, common: U64 | None = None
    ) -> F32:
        """Return the similarity of the features of documents left[i] and right[i].

        `sizes`: the result of `sizes` for `bodies`.  `common`: the result of `common_features`.
        """
        if common is not None:
            shared = np.where(left == right, sizes[left], _shared(common, left, right))
        else:
            is_least = self.measure == WEIGHTED_JACCARD
            shared = kernel.overlaps(*bodies, left, right, is_least=is_least, missing=self.lose)
        if self.measure == COSINE:
            return _shares(shared, np.sqrt(sizes[left] * sizes[right]))
        stays, goes = sizes[left], sizes[right]
        found = _shares(shared, stays + goes - shared)
        if self.lose is not None:
            found[(goes - shared > self.lose) | (goes > stays)] = 0
        return found

    def lost(self, stays: F64, goes: F64, similarities: F32) -> I64:
        """Return the number of features that removed documents lose, from their similarities.

        `stays`, `goes`: the numbers of features of the kept and of the removed documents.  The
        rounded similarities are exact enough for fewer than 2^26 features.
        """
        shares = similarities / (1 + similarities.astype(np.float64))
        return np.rint(goes - shares * (stays + goes)).clip(0, self.lose).astype(np.int64)

    def sizes(self, bodies: Bodies) -> F64:
        """Return the number of features of each document, or their sum of weights or squares."""
        offsets, _, weights = bodies
        if weights is None:
            return np.diff(offsets).astype(np.float64)
        return _totals(offsets, weights.astype(np.float64) ** (1 + (self.measure == COSINE)))

    def shortened(self, bodies: Bodies, stored: "Stored") -> Bodies:
        """Return all documents with shortened hashes, and with the features of `stored` ones.

        In `bodies`, stored documents have no features.
        """
        offsets, hashes, weights = bodies
        entries = stored.features.values.reshape(-1, self.packed_bytes)
        sizes = np.diff(offsets)
        sizes[stored.positions] = np.diff(stored.features.offsets) // self.packed_bytes
        is_stored = arrays.flags_at(stored.positions, len(sizes))
        is_stored = np.repeat(is_stored, sizes)
        whole = np.zeros((len(entries), 4), np.uint8)
        whole[:, :HASH_BYTES] = entries[:, :HASH_BYTES]
        short = np.empty(len(is_stored), np.uint64)
        short[~is_stored] = hashes >> DROPPED_BITS
        short[is_stored] = whole.view("<u4").reshape(-1)
        if weights is None:
            return arrays.offsets_of(sizes), short, None
        own = np.empty(len(is_stored), np.float32)
        own[~is_stored] = weights
        own[is_stored] = np.ascontiguousarray(entries[:, HASH_BYTES:]).view("<f4").reshape(-1)
        return arrays.offsets_of(sizes), short, own

    def _weights(self, counted: Counted) -> F32 | None:
        """Return the weight of each feature; None if each counts once."""
        if self.measure == JACCARD:
            return None
        _, hashes, counts = counted
        sketch = self._sketch
        counting = "tf" if sketch.weighting == BAG else sketch.counting
        weights = weighing.weigh(hashes, counts.astype(np.int64), counting, sketch.idf)
        return (weights / weighing.UNITS).astype(np.float32)


def gram_sketch(sketch: AnySketch) -> Any:
    """Return a sketch whose features are word 3-grams, cut as `sketch` does; each counts once.

    A shorter text has one feature: all its words.
    """
    plain: Any = {"shingle": 3, "weighting": "set" if isinstance(sketch, Minhash) else "binary"}
    unit = "words" if sketch.unit == "characters" else sketch.unit
    return replace(sketch, unit=unit, idf=None, html_weights=(), **plain)


def common_features(offsets: I64, hashes: U64) -> U64 | None:
    """Return, for each document, a bit for each feature that several have: uint64[k, n].

    None if there are no such features, or too many for bits to save time.
    """
    _, which, counts = np.unique(hashes, return_inverse=True, return_counts=True)
    is_common = counts > 1
    count, width = len(offsets) - 1, int(np.count_nonzero(is_common))
    if not 0 < width * count <= COMMON_MOST * len(hashes):
        return None
    flags = np.zeros((count, -(-width // 64) * 64), np.bool_)
    numbers = np.cumsum(is_common) - 1
    chosen = is_common[which]
    flags[np.repeat(np.arange(count), np.diff(offsets))[chosen], numbers[which[chosen]]] = True
    return np.ascontiguousarray(np.packbits(flags, axis=1).view(np.uint64).T)


def _shared(common: U64, left: I64, right: I64) -> F64:
    """Count the `common` features that the documents left[i] and right[i] share: float64[n]."""
    found = np.zeros(len(left), np.float64)
    for word in common:
        found += np.bitwise_count(word[left] & word[right])
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """Documents of which only packed features are known: their ascending positions, and these."""

    positions: I64
    features: arrays.PackedFeatures


def _measure_of(sketch: AnySketch) -> str:
    if sketch.counting == "binary" and not sketch.uses_idf:
        return JACCARD
    return WEIGHTED_JACCARD if isinstance(sketch, Minhash) else COSINE


def _following(first: Bodies, second: Bodies) -> Bodies:
    """Join two sets of documents: `first`, then `second`."""
    weights = None
    if first[2] is not None and second[2] is not None:
        weights = np.concatenate([first[2], second[2]])
    offsets = np.concatenate([first[0], first[0][-1] + second[0][1:]])
    return offsets, np.concatenate([first[1], second[1]]), weights


def _totals(offsets: I64, values: F64) -> F64:
    """Return the sum of the values of each document."""
    return np.add.reduceat(np.append(values, 0.0), offsets[:-1]) * (np.diff(offsets) > 0)


def _shares(parts: F64, wholes: F64) -> F32:
    """Return parts / wholes, or 0 if the whole is 0."""
    found = np.divide(parts, wholes, out=np.zeros_like(parts), where=wholes > 0)
    return found.astype(np.float32)
