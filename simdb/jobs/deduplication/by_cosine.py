"""By cosine: deduplication of the vectors of one run, by exact cosines and without a database.

Vectors on the same side of all random planes of a band are candidates.  If there are few vectors,
or the similarity is low, all pairs are compared.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from itertools import chain
from math import ceil, log1p, pi
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from simdb.core.arrays import random_numbers, sorted_unique
from simdb.core.choices import ErrorsName
from simdb.core.dtypes import F32, F64, I64, U32
from simdb.core.matches import Verification
from simdb.core.threads import mapped
from simdb.database import EXACT_RECALL
from simdb.jobs.deduplication.minima import BandBuckets, parts_of_keys
from simdb.jobs.deduplication.question import Decided, DedupQuestion, TextSource
from simdb.jobs.deduplication.stars import Stars, decided_in_order, find_stars
from simdb.sketch import COSINE

PLANES_LEAST, PLANES_MOST = 4, 62  # planes in a band; their sides fit in a word
BANDS_MOST = 1 << 11
# Sample size for the angles of vectors that do not match.
SAMPLED_VECTORS = 512
# Nanoseconds per coordinate of a plane, per table entry, and per entry that shares its key.
PLANE_COST, ENTRY_COST, SHARED_COST = 0.1, 60.0, 100.0
# Nanoseconds per candidate, and per coordinate of a candidate.
CANDIDATE_COST, CANDIDATE_COORDINATE_COST = 200.0, 5.0
# Nanoseconds per pair in a matrix product, and per coordinate of a pair.
PRODUCT_COST, PRODUCT_COORDINATE_COST = 3.0, 0.05
# The multiplier of Fibonacci hashing, which folds the sides of up to 62 planes into 32 bits.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
SEED = 20070612
# Vectors per product with the planes of a band.
BLOCK_ROWS = 1 << 13
# Rows and columns of a matrix product: vectors, and kept vectors.
PRODUCT_ROWS, PRODUCT_LEADERS = 1 << 9, 1 << 13

# The largest error of a cosine that is computed as a product of unit vectors in float32.
SLACK = 1e-3
COMPARED_PAIRS = 1 << 13

Floats = npt.NDArray[np.floating]


class ByCosine(ExitStack):
    """The vectors of one run, in the order of adding; `with` frees them."""

    def __init__(self, question: DedupQuestion) -> None:
        """Begin without vectors; the question has a similarity."""
        super().__init__()
        assert question.similarity is not None
        self._question, self._least = question, question.similarity
        self._units: list[F32] = []

    def add_all(
        self, parts: Iterable[Any], count: Callable[[], float], *, errors: ErrorsName
    ) -> Iterator[int]:
        """Add the vectors of all parts, none of them zero; yield their number after each part."""
        done = 0
        for part in parts:
            self._units.append(scaled(part).astype(np.float32))
            done += len(part)
            yield done

    def decide(self, order: I64 | None, texts: TextSource) -> Decided:
        """Return which vectors are removed; `texts` returns the vectors at given positions."""
        assert order is None, "they are added in the order of preference"
        counts = Verification(COSINE, self._least)
        nothing = np.empty(0, np.int64)
        if not self._units:
            return Decided(nothing, nothing, np.empty(0, np.float32), None, counts)
        units, threads = np.concatenate(self._units), self._question.threads
        self._units = []
        cosines = Cosines(units, texts, self._least, threads)
        bands = bands_for(units, self._least, max(self._question.recall or 0.0, EXACT_RECALL))
        if bands is None:
            stars = _Products(cosines).decided()
        else:
            buckets = buckets_of(units, bands, threads)
            stars = find_stars(buckets, len(units), self._least, cosines)
        removed, leaders = stars.removed.astype(np.int64), stars.leaders.astype(np.int64)
        counts.judged = cosines.compared
        return Decided(removed, leaders, stars.similarities, None, counts)


class PlaneBands(NamedTuple):
    """A number of bands, and the number of planes in each."""

    number: int
    planes: int


def bands_for(units: F32, similarity: float, recall: float) -> PlaneBands | None:
    """Return the cheapest bands that make pairs with this cosine candidates with chance `recall`.

    `units` float32[n, d]: the vectors, scaled to length 1.  Returns None if comparing all pairs is
    cheaper, or if `recall` is 1.
    """
    count, length = units.shape
    pairs = count * (count - 1) / 2
    least = pairs * (PRODUCT_COST + PRODUCT_COORDINATE_COST * length)
    found = None
    agreeing = _agreeing(np.array([min(similarity, 1.0)]))[0]
    unlike = _unlike(units, similarity)
    for planes in range(PLANES_LEAST, PLANES_MOST + 1) if recall < 1 else ():
        chance = agreeing**planes
        number = 1 if chance >= recall else ceil(log1p(-recall) / log1p(-chance))
        if number > BANDS_MOST:
            break
        by_chance = float(np.mean(unlike**planes))
        shared = count * min(1.0, by_chance * count)
        each = number * (
            count * (planes * length * PLANE_COST + ENTRY_COST)
            + shared * SHARED_COST
            + pairs * by_chance * (CANDIDATE_COST + CANDIDATE_COORDINATE_COST * length)
        )
        if each < least:
            least, found = each, PlaneBands(number, planes)
    return found


def buckets_of(units: F32, bands: PlaneBands, threads: int) -> Iterator[BandBuckets]:
    """Yield the buckets of each band, in parts: vectors on the same side of all its planes."""
    count, length = units.shape
    none = np.empty(0, np.int64)

    def shared(normals: F32) -> list[BandBuckets]:
        sides = np.zeros((count, 8), np.uint8)
        for start in range(0, count, BLOCK_ROWS):
            packed = np.packbits(units[start : start + BLOCK_ROWS] @ normals > 0, axis=1)
            sides[start : start + BLOCK_ROWS, : packed.shape[1]] = packed
        keys = sides.view(np.uint64)[:, 0] * GOLDEN >> np.uint64(32)
        return [part.shared() for part in parts_of_keys(keys.astype(np.uint32), none)]

    # The planes are drawn in sequence, so they do not depend on the number of threads.
    chance, shape = random_numbers(SEED), (length, bands.planes)
    every = (chance.standard_normal(shape, np.float32) for _ in range(bands.number))
    return chain.from_iterable(mapped(shared, every, threads))


def _agreeing(cosines: F64 | F32) -> F64:
    """Return the probability that pairs with these cosines are on the same side of a plane."""
    return np.asarray(1 - np.arccos(np.clip(cosines, -1, 1), dtype=np.float64) / pi)


def _unlike(units: F32, similarity: float) -> F64:
    """Return the probability of the same side of a plane for sampled pairs that do not match."""
    chosen = np.linspace(0, len(units) - 1, min(SAMPLED_VECTORS, len(units))).astype(np.int64)
    some = units[sorted_unique(chosen)]
    cosines = (some @ some.T)[np.triu_indices(len(some), 1)]
    unlike = cosines[cosines < similarity]
    return _agreeing(unlike if len(unlike) else np.zeros(1))


class Cosines:
    """A comparison of vectors, none of them zero, by their places."""

    def __init__(
        self, units: F32, values: Callable[[I64], Floats], least: float, threads: int
    ) -> None:
        """Let pairs match at a cosine of `least` or more.

        `units` float32[n, d]: the vectors, scaled to length 1.  `values` returns the original
        vectors at given places.
        """
        self.units, self.least, self.threads = units, np.float32(least), threads
        self._values = values
        self.compared = 0  # pairs of original vectors

    def __call__(self, left: U32, right: U32) -> F32:
        """Return the cosines of vectors left[i] and right[i]; 0 if the pair cannot match."""
        found = np.zeros(len(left), np.float32)

        def compare(start: int) -> int:
            one, other = left[start : start + COMPARED_PAIRS], right[start : start + COMPARED_PAIRS]
            near = np.einsum("ij,ij->i", self.units[one], self.units[other])
            may = np.flatnonzero(near >= self.least - SLACK)
            pair = (scaled(self._values(each[may].astype(np.int64))) for each in (one, other))
            found[start + may] = np.einsum("ij,ij->i", *pair)
            return len(may)

        starts = range(0, len(left), COMPARED_PAIRS)
        self.compared += sum(mapped(compare, starts, self.threads))
        return found

    def matching(self, left: U32, right: U32) -> tuple[U32, U32, F32]:
        """Return the pairs that match, with their cosines."""
        found = self(left, right)
        is_match = found >= self.least
        return left[is_match], right[is_match], found[is_match]


def scaled(vectors: Floats) -> F64:
    """Return vectors, scaled to length 1."""
    wide = vectors.astype(np.float64)
    # Coordinates of at most 1 have squares that do not overflow.
    wide /= np.abs(wide).max(axis=1, keepdims=True, initial=0)
    wide /= np.sqrt(np.einsum("ij,ij->i", wide, wide))[:, None]
    return wide


class _Products:
    """The decisions by matrix products; the owner of a vector is its leader, or itself."""

    def __init__(self, cosines: Cosines) -> None:
        count = len(cosines.units)
        self._cosines, self._units = cosines, cosines.units
        self._owners = np.arange(count, dtype=np.uint32)
        self._similarities = np.zeros(count, np.float32)

    def decided(self) -> Stars:
        count = len(self._units)
        places = np.arange(count, dtype=np.uint32)
        for start in range(0, count, PRODUCT_ROWS):
            block = places[start : start + PRODUCT_ROWS]
            leaders = np.flatnonzero(self._owners[:start] == places[:start]).astype(np.uint32)
            for first in range(0, len(leaders), PRODUCT_LEADERS):
                block = block[self._owners[block] == block]
                self._claim(*self._near(leaders[first : first + PRODUCT_LEADERS], block))
            block = block[self._owners[block] == block]
            left, right, found = self._near(block, block)
            chosen = decided_in_order(left, right)
            self._claim(left[chosen], right[chosen], found[chosen])
        removed = np.flatnonzero(self._owners != places).astype(np.uint32)
        return Stars(removed, self._owners[removed], self._similarities[removed])

    def _near(self, left: U32, right: U32) -> tuple[U32, U32, F32]:
        """Return the pairs of a left and a later right vector that match, in ascending order."""
        products = self._units[left] @ self._units[right].T
        one, other = np.nonzero(products >= self._cosines.least - SLACK)
        is_later = left[one] < right[other]
        return self._cosines.matching(left[one[is_later]], right[other[is_later]])

    def _claim(self, left: U32, right: U32, similarities: F32) -> None:
        """Remove the `right` vectors; the leader of each is the first of its `left` ones."""
        claimed, first = np.unique(right, return_index=True)
        self._owners[claimed] = left[first]
        self._similarities[claimed] = similarities[first]
