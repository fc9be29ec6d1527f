"""Bands and partitions of LSH Ensemble, against plain sums and datasketch's own results."""

import numpy as np
import pytest

from simdb.compat.containment_choice import choose_for_ratio, choose_partitions, ratios


def plain_error(bands, rows, threshold, ratio, weights):
    """Return the weighted sum of both areas, as a sum over 10,000 containments."""
    most = min(ratio, 1.0)
    step = 1e-4
    containments = np.arange(step / 2, 1, step)
    found = 1 - (1 - (containments / (1 + ratio - containments)) ** rows) ** bands
    below = found[containments < min(threshold, ratio)].sum() * step
    above = (1 - found[(containments > threshold) & (containments < most)]).sum() * step
    return below * weights[0] + above * weights[1]


@pytest.mark.parametrize("ratio", ratios()[::3])
@pytest.mark.parametrize("weights", [(0.5, 0.5), (0.1, 0.9)])
def test_the_chosen_bands_have_the_least_error(ratio, weights) -> None:
    chosen = choose_for_ratio(0.6, 12, 4, ratio, weights)

    errors = {
        (bands, rows): plain_error(bands, rows, 0.6, ratio, weights)
        for bands in range(1, 13)
        for rows in range(1, 5)
        if bands * rows <= 12
    }
    assert errors[chosen] <= min(errors.values()) + 1e-4


def test_bands_are_those_of_datasketch() -> None:
    # MinHashLSHEnsemble(threshold=0.9, num_perm=128, m=8).params of datasketch 2.0.0
    recorded = [(1, 8), (1, 8), (1, 8), (1, 8), (1, 8), (21, 6), (21, 6), (21, 6), (21, 6), (21, 6)]

    found = [choose_for_ratio(0.9, 128, 8, ratio, (0.5, 0.5)) for ratio in ratios()]

    assert found == recorded


@pytest.mark.parametrize(
    ("sizes", "counts", "number", "expected"),
    [
        ([3, 5, 9], [1, 1, 1], 1, [(3, 9)]),
        ([3, 5, 9], [1, 1, 1], 3, [(3, 3), (5, 5), (9, 9)]),
        ([3, 5, 9], [1, 1, 1], 7, [(3, 3), (5, 5), (9, 9)]),
        ([3, 5, 9], [1, 1, 1], 2, [(3, 5), (9, 9)]),
        # Recorded from datasketch 2.0.0.  [(1, 1), (33, 34), ...] would be better.
        (
            [1, 33, 34, 49, 53, 63, 64, 68, 92], [2, 1, 2, 1, 3, 1, 1, 5, 1], 4,
            [(1, 34), (49, 53), (63, 68), (92, 92)],
        ),
        ([6, 22, 24, 29, 54], [6, 2, 2, 2, 4], 3, [(6, 24), (29, 29), (54, 54)]),
    ],
)  # fmt: skip
def test_partitions_are_those_of_datasketch(sizes, counts, number, expected) -> None:
    assert choose_partitions(np.array(sizes), np.array(counts), number) == expected


def test_partitions_hold_every_size_once() -> None:
    chosen = np.random.default_rng(3)
    for number in range(1, 12):
        sizes = np.unique(chosen.integers(1, 60, 25))
        found = choose_partitions(sizes, chosen.integers(1, 9, len(sizes)), number)

        held = [size for low, high in found for size in sizes.tolist() if low <= size <= high]
        assert held == sizes.tolist()
        assert len(found) == min(number, len(sizes))
