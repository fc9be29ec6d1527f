"""Packed vectors are as described and unpack to what was packed; rounded cosines are corrected."""

import math

import numpy as np
import pytest
from over import over

from simdb.core import vector_form
from simdb.core.vector_form import corrected, corrected_one, least_rounded


def test_every_byte_is_unpacked_and_packed_to_itself():
    every = np.arange(256, dtype=np.uint8)[:, None]

    weights = vector_form.unpack(every)

    assert np.array_equal(vector_form.pack(weights), every)
    assert set(np.unique(weights).tolist()) == set(range(-15, 16, 2))
    assert np.array_equal(vector_form.unpack(every[7]), weights[7])


def test_bit_j_of_a_fingerprint_is_the_sign_of_weight_j():
    weights = np.full((3, 128), -1.0)
    weights[0, [0, 5]] = 2.0
    weights[1, 63] = 0.0

    assert vector_form.fingerprints_of(weights).tolist() == [0b100001, 1 << 63, 0]
    assert vector_form.fingerprints_of(weights[:0]).tolist() == []


@pytest.mark.parametrize(("stored_bits", "row"), [(8, [1, 2]), (32, [1, 0, 0, 0, 2, 1, 0, 0])])
def test_minima_are_packed_lowest_byte_first(stored_bits, row):
    kind = vector_form.minimum_type(stored_bits)
    minima = np.array([[1, 2 if stored_bits == 8 else 258]], kind)

    packed = vector_form.pack_minima(minima)

    assert packed.tolist() == [row]
    assert not np.shares_memory(packed, minima)
    assert np.array_equal(vector_form.unpack_minima(packed, stored_bits), minima)


def test_rows_of_minima_follow_each_other_whatever_their_strides():
    # Joined with single rows, an empty part with other strides turned rows into columns.
    nothing = np.lib.stride_tricks.as_strided(np.empty(0, np.uint32), (0, 3), (0, 0))
    row = np.arange(3, dtype=np.uint32).reshape(1, 3)

    joined = np.concatenate([vector_form.pack_minima(each) for each in (row, row, nothing)])

    assert joined.flags.c_contiguous


STEP = 0.335


def rounded_cosine(cosine: float) -> float:
    """Integrate the definition in the module: the expected product of rounded normal weights."""
    x = np.linspace(-8, 8, 4001)
    density = np.exp(-x * x / 2)
    levels = 2.0 * np.arange(-8, 8) + 1
    edges = np.array([-np.inf, *(STEP * np.arange(-7, 8)), np.inf])
    spread = math.sqrt(1 - cosine * cosine)
    below = np.vectorize(lambda z: (1 + math.erf(z / math.sqrt(2))) / 2)
    shares = np.diff(below((edges - cosine * x[:, None]) / spread), axis=1)
    own = 2 * np.clip(np.floor(x / STEP), -8, 7) + 1
    return float((density * own * (shares @ levels)).sum() / (density * own * own).sum())


@pytest.mark.few(1)
@pytest.mark.parametrize("cosine", [0.05, 0.3, 0.5, 0.75, 0.88, 0.89, 0.94, 0.97, 0.985, 0.9992])
def test_the_curve_is_that_of_jointly_normal_weights(cosine: float) -> None:
    measured = np.array([rounded_cosine(cosine)])

    assert corrected(measured)[0] == pytest.approx(cosine, abs=3e-4)


def test_equal_and_opposite_weights_stay_equal_and_opposite() -> None:
    assert corrected(np.array([1.0, 0.0, -1.0], np.float32)).tolist() == [1.0, 0.0, -1.0]


def test_the_correction_never_descends_and_only_one_becomes_one() -> None:
    values = np.linspace(-1, 1, 200_001).astype(np.float32)

    found = corrected(values)

    assert (np.diff(found) >= 0).all()
    assert (found[values < 1 - 6e-5] < 1).all()


@over("similarity", [1e-9, 0.1, 0.5, 0.88, 0.889, 0.9, 0.95, 0.999, 1.0])
def test_the_least_cosine_is_the_first_that_reaches_the_similarity(similarity: float) -> None:
    least = np.float32(least_rounded(similarity))
    lower = np.nextafter(least, np.float32(-1))

    assert corrected(np.array([least]))[0] >= np.float32(similarity)
    assert corrected(np.array([lower]))[0] < np.float32(similarity)


def test_a_similarity_that_was_returned_finds_the_same_pair_again() -> None:
    measured = np.random.default_rng(1).uniform(0.01, 1, 200).astype(np.float32)

    least = np.array([least_rounded(float(each)) for each in corrected(measured)])

    assert (np.float32(least) <= measured).all()


def test_one_similarity_is_corrected_as_many_are() -> None:
    measured = np.random.default_rng(2).uniform(-0.2, 1, 5000).astype(np.float32)
    measured[:3] = 0.0, 1.0, -1.0

    found = [corrected_one(float(each)) for each in measured]

    assert found == corrected(measured).tolist()
