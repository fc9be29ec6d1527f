"""Rotation: finds all pairs by sorting several times, with different bits in front.

Fingerprints that differ only in low bits are neighbours when all are sorted.  After a rotation by
some bits and another sort, pairs that differ in other bits are neighbours (Biswas 2017, section
3.2).  Each fingerprint is compared with the few that follow it.  A pair that is near in no rotation
is missed; `plan/rotation.py` predicts how many pairs are.  Each pair is returned once, by the first
rotation in which it is near.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from simdb.engine.search.couples import Couples, measured, searched
from simdb.engine.search.method import Method
from simdb.engine.state.state import State
from simdb.ground.bits import bit_counts, rotated, rotation_amounts
from simdb.plan.problem import Criterion
from simdb.plan.rotation import WINDOW
from simdb.results.plans import Plan
from simdb.running import kernel

# This many entries, and what is computed from them, stay in the second-level cache.
PART_ENTRIES = 1 << 14

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]


def links(state: State, criterion: Criterion, plan: Plan) -> Iterator[Couples]:
    """Yield the matching pairs that are neighbours in some rotation."""
    every = searched(state, is_measured=criterion.similarity is not None)
    for left, right, distances in find_neighbours(
        every.fingerprints, rotations=plan.tables, window=WINDOW, distance=plan.distance
    ):
        unknown = np.full(len(left), np.nan, np.float32)
        couples = Couples(every.ordinals[left], every.ordinals[right], distances, unknown)
        yield measured(state, criterion, couples)


def find_neighbours(
    fingerprints: U64, *, rotations: int, window: int, distance: int
) -> Iterator[tuple[U32, U32, U8]]:
    """Yield positions left < right and distances of the pairs within `distance`, in chunks.

    In at least one of `rotations` sorted orders, the two of a pair are at most `window` places
    apart.
    """
    earlier: list[U32] = []
    for amount in rotation_amounts(rotations):
        keys = rotated(fingerprints, amount)
        positions = np.arange(len(keys), dtype=np.uint32)
        kernel.sort(keys, positions)
        for start in range(0, len(keys), PART_ENTRIES):
            upto = start + PART_ENTRIES
            for one, other, apart in _near(keys[start : upto + window], window, distance):
                inside = one < PART_ENTRIES
                left, right = positions[start + one[inside]], positions[start + other[inside]]
                is_new = np.ones(len(left), np.bool_)
                for ranks in earlier:
                    is_new &= np.abs(ranks[left].astype(np.int64) - ranks[right]) > window
                left, right = left[is_new], right[is_new]
                if len(left):
                    yield np.minimum(left, right), np.maximum(left, right), apart[inside][is_new]
        ranks = np.empty_like(positions)
        ranks[positions] = np.arange(len(positions), dtype=np.uint32)
        earlier.append(ranks)


def _near(
    keys: U64, window: int, distance: int
) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], U8]]:
    """Yield positions and distances of keys at most `window` places apart and within `distance`."""
    for apart in range(1, min(window, len(keys) - 1) + 1):
        differing = bit_counts(keys[:-apart] ^ keys[apart:])
        found = np.flatnonzero(differing <= distance)
        yield found, found + apart, differing[found]


METHOD: Method = Method(links=links)
