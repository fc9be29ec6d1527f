import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as arrays
from over import over

from simdb.core.errors import CorruptError, FormatError, InputError
from simdb.plan import volatility
from simdb.plan.volatility import (
    COSINES,
    NEVER,
    STORED_STEP,
    VolatilityModel,
    cosines_within,
    costs,
    fit,
    levels,
    prior,
)


def laplace_pairs(similarity, count, seed=1):
    """Make weights of documents at a cosine, of any length, as their scale must not matter."""
    generator = np.random.default_rng(seed)
    left, noise = generator.laplace(size=(2, count, 128))
    right = similarity * left + math.sqrt(1 - similarity**2) * noise
    lengths = generator.uniform(0.1, 100, (2, count, 1))
    return left * lengths[0], right * lengths[1]


def rounded(weights):
    """Round weights as they are stored: 16 steps of 0.335 root mean squares, odd whole numbers."""
    scaled = weights / np.sqrt((weights**2).mean(axis=1, keepdims=True))
    return 2 * np.clip(np.floor(scaled / 0.335) + 8, 0, 15) - 15


def of(chances):
    return VolatilityModel(np.asarray(chances, np.float32))


def test_the_model_is_how_often_differences_exceed_a_weight():
    left, right = laplace_pairs(0.95, 3000)

    model = fit(left, right)

    scaled = [w / np.sqrt((w**2).mean(axis=1, keepdims=True)) for w in (left, right)]
    changes = np.abs(scaled[0] - scaled[1])
    flipped, at = (left[:, :64] >= 0) != (right[:, :64] >= 0), levels(left)
    for level in (0, 3, 10, 20, 40):
        share = (changes > (level + 0.5) / 64).mean() / 2
        assert model.probabilities[level] == pytest.approx(share, rel=0.02)
        # Of 3,000 pairs, a level has 300 bits at least: .15 is five standard errors of .5.
        assert share == pytest.approx(flipped[at == level].mean(), abs=0.15)


def test_stored_weights_give_nearly_the_model_of_exact_ones():
    left, right = laplace_pairs(0.9, 2000)

    exact = fit(left, right)
    stored = fit(rounded(left), rounded(right), step=STORED_STEP)

    assert stored.probabilities[:60] == pytest.approx(exact.probabilities[:60], abs=0.05)


@given(
    arrays.arrays(np.float64, (2, 5, 64), elements=st.floats(-100, 100)),
    st.sampled_from([0.0, STORED_STEP]),
)
def test_a_model_never_rises_and_neither_do_its_costs_fall(weights, step):
    weights[:, :, 0] = 1.0

    model = fit(weights[0], weights[1], step=step)

    assert model.probabilities[0] <= 0.5
    assert model.probabilities[-1] >= 0
    assert all(np.diff(model.probabilities) <= 0)
    assert all(np.diff(costs(model).astype(int)) >= 0)
    again = volatility.decode(volatility.encode(model))
    assert np.array_equal(again.probabilities, model.probabilities)


def test_beyond_what_was_seen_the_model_keeps_falling():
    # Ten pairs: the largest difference is far below level 255.
    model = fit(*laplace_pairs(0.99, 10))

    found = model.probabilities[40:100]
    assert all(np.diff(found) < 0)
    ratios = found[1:] / found[:-1]
    assert ratios == pytest.approx(np.full(59, ratios[0]), rel=1e-3)


def test_documents_without_features_are_left_out_and_no_pair_makes_no_model():
    left, right = laplace_pairs(0.9, 3)
    right[1] = 0

    model = fit(left, right)

    others = fit(left[[0, 2]], right[[0, 2]])
    assert np.array_equal(model.probabilities, others.probabilities)
    for count in (2, 0):
        with pytest.raises(InputError, match="needs similar pairs"):
            fit(np.zeros((count, 64)), np.ones((count, 64)))


def test_the_prior_is_how_often_a_weight_changes_its_sign_at_the_cosines():
    generator = np.random.default_rng(5)
    weights = generator.standard_normal(400_000)
    cosines = generator.choice(COSINES, 400_000)
    changed = cosines * weights + np.sqrt(1 - cosines**2) * generator.standard_normal(400_000)
    flipped, at = (weights >= 0) != (changed >= 0), (np.abs(weights) * 64).astype(int)

    model = prior()

    for level in (0, 3, 10, 20, 40, 60):
        # Of at least 2,000 weights a level: .05 is more than four standard errors of .5.
        share = flipped[at == level].mean()
        assert model.probabilities[level] == pytest.approx(share, abs=0.05)


@over("noise", [0.05, 0.12, 0.3])
def test_the_prior_of_a_noise_is_how_often_that_noise_exceeds_a_weight(noise):
    model = prior(noise)

    for level in (0, 5, 20):
        beyond = NormalDist(0, noise).cdf(-(level + 0.5) / 64)
        assert model.probabilities[level] == pytest.approx(beyond, rel=1e-5)


def test_the_cosines_are_evenly_spread_and_wider_for_a_long_distance():
    assert np.array_equal(cosines_within(3), COSINES)
    assert np.diff(COSINES) == pytest.approx(np.full(len(COSINES) - 1, np.diff(COSINES)[0]))
    assert cosines_within(16)[0] == pytest.approx(math.sqrt(0.5))
    assert cosines_within(64)[0] == pytest.approx(0.0)


def test_costs_are_the_logarithms_of_the_odds_against_a_flip_of_a_match():
    chances = np.zeros(256)
    chances[:6] = [0.5, 0.4999, 0.4, 0.1, 1e-3, 1e-7]

    found = costs(of(chances))

    assert found.dtype == np.uint8
    assert found[:6].tolist() == [14, 14, 18, 44, 119, 254]
    assert all(found[6:] == NEVER)


def test_levels_count_64ths_of_the_root_mean_square():
    weights = np.full((4, 128), 2.0)
    weights[1, :64] = -1.0
    weights[2:] = 0
    weights[3, 7] = 3.0

    found = levels(weights)

    assert found.shape == (4, 64)
    assert found.dtype == np.uint8
    assert set(found[0]) == {64}
    assert set(found[1]) == {math.floor(64 / math.sqrt(2.5))}
    assert set(found[2]) == {255}
    assert found[3, 6:8].tolist() == [0, 255]


@over(
    "table",
    [
        np.zeros(255, "<f4").tobytes(),
        np.linspace(0, 0.5, 256).astype("<f4").tobytes(),
        np.full(256, 0.6, "<f4").tobytes(),
        np.full(256, np.nan, "<f4").tobytes(),
        np.full(256, -0.1, "<f4").tobytes(),
        b"abc",
    ],
)
def test_a_table_that_is_none_or_of_another_version_is_not_read(table):
    stored = volatility.encode(prior()) | {"probabilities": table}

    with pytest.raises(CorruptError, match="falling table"):
        volatility.decode(stored)
    with pytest.raises(FormatError, match="version 2"):
        volatility.decode(stored | {"version": 2})
