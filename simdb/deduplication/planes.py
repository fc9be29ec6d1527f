"""Planes: which vectors may be alike, from the sides of random planes on which they lie.

Two vectors with the angle a between them lie on the same side of a random plane through the origin
with probability 1 - a / pi (Charikar 2002), so of all b planes of a band with (1 - a / pi)^b.
"""

from math import ceil, log1p, pi
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simdb.deduplication.cosines import F32, I64, U32
from simdb.deduplication.minima import Buckets, joined, shared_keys
from simdb.running.threads import mapped

PLANES_LEAST, PLANES_MOST = 4, 62  # of a band; their sides fit into a word
BANDS_MOST = 1 << 11
# The angles of vectors that are not alike are learnt from the pairs of so many.
SAMPLED_VECTORS = 512
# What is paid in nanoseconds: a coordinate of a plane; an entry of a table, and one that shares its
# key; a candidate, and a coordinate of it; a pair of a product of matrices, and a coordinate of it.
PLANE_COST, ENTRY_COST, SHARED_COST = 0.1, 60.0, 100.0
CANDIDATE_COST, CANDIDATE_COORDINATE_COST = 200.0, 5.0
PRODUCT_COST, PRODUCT_COORDINATE_COST = 3.0, 0.05
# The multiplier of Fibonacci hashing, which folds the sides of up to 62 planes into 32 bits.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
SEED = 20070612
# So many vectors are multiplied with the planes at a time.
BLOCK_ROWS = 1 << 13

F64 = npt.NDArray[np.float64]


class Bands(NamedTuple):
    """So many bands of so many planes each."""

    number: int
    planes: int


def bands_for(units: F32, similarity: float, recall: float) -> Bands | None:
    """Return the bands of least cost that make pairs of this cosine candidates, with this chance.

    `units` float32[n, d]: the vectors at length 1.  None if to compare all of them costs less, or
    if `recall` is 1.
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
            least, found = each, Bands(number, planes)
    return found


def buckets_of(units: F32, bands: Bands, threads: int) -> Buckets:
    """Return the vectors that lie on the same side of all planes of a band."""
    count, length = units.shape
    places = np.arange(count, dtype=np.uint32)

    def shared(normals: F32) -> tuple[I64, U32]:
        sides = np.zeros((count, 8), np.uint8)
        for start in range(0, count, BLOCK_ROWS):
            packed = np.packbits(units[start : start + BLOCK_ROWS] @ normals > 0, axis=1)
            sides[start : start + BLOCK_ROWS, : packed.shape[1]] = packed
        keys = sides.view(np.uint64)[:, 0] * GOLDEN >> np.uint64(32)
        return shared_keys(keys.astype(np.uint32), places)

    # They are drawn one after the other, whatever the number of threads.
    chance, shape = np.random.default_rng(SEED), (length, bands.planes)
    every = (chance.standard_normal(shape, np.float32) for _ in range(bands.number))
    return joined(list(mapped(shared, every, threads)))


def _agreeing(cosines: F64 | F32) -> F64:
    """Return with which probability a plane does not part vectors of these cosines."""
    return np.asarray(1 - np.arccos(np.clip(cosines, -1, 1), dtype=np.float64) / pi)


def _unlike(units: F32, similarity: float) -> F64:
    """Return the same of pairs, among some vectors, that are not alike."""
    chosen = np.linspace(0, len(units) - 1, min(SAMPLED_VECTORS, len(units))).astype(np.int64)
    some = units[np.unique(chosen)]
    cosines = (some @ some.T)[np.triu_indices(len(some), 1)]
    unlike = cosines[cosines < similarity]
    return _agreeing(unlike if len(unlike) else np.zeros(1))
