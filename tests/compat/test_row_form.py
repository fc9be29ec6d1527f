"""Hash values as minima, and back."""

import numpy as np
import pytest
from over import over

import simdb
from simdb.compat.minwise import AFFINE32, AFFINE64, LEGACY
from simdb.compat.row_form import WEIGHTED, packed, unpacked

CHOSEN = np.random.default_rng(7)
VALUES = {
    AFFINE32: np.array([0, 1, 2**32 - 1, 7], np.uint32),
    LEGACY: np.array([0, 1, 2**32 - 1, 7], np.uint64),
    AFFINE64: np.concatenate(
        [CHOSEN.integers(0, 2**64, 500, np.uint64), np.array([0, 1, 2**64 - 1], np.uint64)]
    ),
    WEIGHTED: np.array([[0, 0], [2**32 - 1, -(2**31)], [5, 2**31 - 1], [5, -1]], np.int64),
}


@over("scheme", VALUES)
def test_values_come_back(scheme) -> None:
    values = VALUES[scheme]

    minima = packed(values, scheme)
    again = unpacked(minima, scheme)

    assert minima.dtype == np.uint32
    assert again.dtype == values.dtype
    assert again.tolist() == values.tolist()


def test_different_pairs_agree_in_few_halves() -> None:
    pairs = np.stack([np.arange(5000), np.full(5000, 3)], axis=1)

    minima = packed(pairs, WEIGHTED)

    # 10,000 random numbers of 32 bits have 0.012 equal pairs on average.
    assert len(np.unique(minima)) > 9997


@over(
    ("values", "scheme"),
    [
        (np.array([2**32], np.uint64), LEGACY),
        (np.array([1.5]), AFFINE32),
        (np.array([[1]], np.uint32), AFFINE32),
        (np.array([-1]), AFFINE64),
        (np.array([[1, 2, 3]]), WEIGHTED),
        (np.array([[-1, 2]]), WEIGHTED),
        (np.array([[2**32, 2]]), WEIGHTED),
        (np.array([[1, 2**31]]), WEIGHTED),
        (np.array([[1.0, 2.0]]), WEIGHTED),
    ],
)
def test_values_that_do_not_fit_are_refused(values, scheme) -> None:
    with pytest.raises(simdb.InputError, match=r"hash value|pair"):
        packed(values, scheme)
