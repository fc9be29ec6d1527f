"""Rotation finds pairs that are near in some order, and predicts how many it misses."""

import numpy as np
from over import over

from simdb.core.bits import rotated
from simdb.database.search.methods.permuted import find_neighbours
from simdb.plan.rotation import WINDOW, differing_pairs, missed


def found_pairs(bits, **options):
    chunks = list(find_neighbours(np.array(bits, np.uint64), **options))
    return [pair for left, right, far in chunks for pair in zip(left, right, far, strict=True)]


@over(("rotations", "window"), [(1, 1), (3, 2), (8, 4)])
def test_pairs_are_those_near_each_other_in_some_order_each_once(rotations, window):
    generator = np.random.default_rng(rotations)
    centres = generator.integers(0, 2**64, 12, np.uint64)
    flipped = np.uint64(1) << generator.integers(0, 64, (3, 60), np.uint64)
    bits = generator.choice(centres, 60) ^ np.bitwise_xor.reduce(flipped, axis=0)
    expected = set()
    for number in range(rotations):
        keys = rotated(bits, 64 * number // rotations).tolist()
        order = sorted(range(60), key=lambda at, keys=keys: (keys[at], at))
        for place, one in enumerate(order):
            for other in order[place + 1 : place + 1 + window]:
                apart = (int(bits[one]) ^ int(bits[other])).bit_count()
                if apart <= 5:
                    expected.add((min(one, other), max(one, other), apart))

    found = found_pairs(bits, rotations=rotations, window=window, distance=5)

    assert len(found) == len(set(found))
    assert set(found) == expected


def test_the_share_missed_is_the_predicted_one():
    """2000 pairs: five standard deviations and .015 for the sample; fails once in 10**6."""
    rotations, distance, others = 4, 6, 60_000
    left, right = differing_pairs(2000, distance, seed=3)
    noise = np.random.default_rng(4).integers(0, 2**64, others - 4000, np.uint64)
    sample = differing_pairs(8192, distance, seed=0)
    amounts = [64 * number // rotations for number in range(rotations)]
    predicted = float(np.mean(np.prod(missed(*sample, others - 2)[amounts], axis=0)))

    found = found_pairs(
        np.concatenate([left, right, noise]), rotations=rotations, window=WINDOW, distance=distance
    )

    met = {(one, other) for one, other, _ in found}
    measured = sum((at, at + 2000) not in met for at in range(2000)) / 2000
    assert 0.01 < predicted < 0.9
    assert abs(measured - predicted) < 5 * (predicted * (1 - predicted) / 2000) ** 0.5 + 0.015
