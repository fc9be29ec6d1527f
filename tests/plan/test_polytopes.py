"""Thresholds of cross-polytope tables, which hold for any documents."""

import math

import numpy as np
from over import over

from simdb.plan.chance import (
    FIRM_LEAST,
    firm_distance,
    firm_within,
    flipped_share,
)
from simdb.plan.polytopes import (
    ALL_SIGNS,
    EITHER,
    KEY_SIGNS,
    SEEN,
    probe_count,
    simulated,
    table_share,
    thresholds,
    universal,
)
from simdb.plan.problem import PolytopeRun

WIDTHS = (7, 13, 18, 22)
(SHARES,), (SIMILARITIES,) = simulated()["shares", 0], simulated()["similarities", 0]


@over("width", WIDTHS)
def test_probes_rise_with_the_threshold_from_the_own_header(width):
    counts = [probe_count(threshold, width) for threshold in np.arange(0, 4, 0.1)]

    assert 1 <= counts[0] < 1.2
    # Below the least normaliser there is only the own header.
    rises = np.diff(counts)
    first = int(np.argmax(rises > 0))
    assert 0.1 * first < 0.4
    assert (rises[:first] == 0).all()
    assert (rises[first:] > 0).all()
    assert counts[-1] <= simulated()["probes", width][0][-1]


@over("width", WIDTHS)
@over("costs", [SEEN, EITHER])
def test_a_universal_threshold_falls_with_more_tables(width, costs):
    found = [
        universal(0.88, 0.95, width=width, tables=tables, costs=costs) for tables in (1, 2, 4, 8)
    ]

    assert found == sorted(found, reverse=True)
    assert found[0] < math.inf


@over(("similarity", "share"), [(0.4, 0.9), (0.88, 0.9999)])
def test_what_was_not_simulated_has_no_threshold(similarity, share):
    assert universal(similarity, share, width=13, tables=1) == math.inf


def test_every_run_has_the_threshold_of_its_headers():
    runs = [PolytopeRun(5000, 13), PolytopeRun(70, 7)]

    found = thresholds(runs, 0.88, 0.9, tables=4, costs=SEEN)

    share = table_share(0.9)
    assert found == [universal(0.88, share, width=width, tables=4) for width in (13, 7)]


@over(("width", "costs"), [(18, SEEN), (7, EITHER)])
def test_to_ask_for_more_never_looks_less_far(width, costs):
    similarities = np.linspace(0.7, 0.99, 30)
    shares = np.linspace(0.5, 0.99, 25)

    found = np.array([
        [universal(s, share, width=width, tables=4, costs=costs) for share in shares]
        for s in similarities
    ])  # fmt: skip

    assert (np.diff(found, axis=0) <= 0).all()
    assert (np.diff(found, axis=1) >= 0).all()


def similar(similarity, signs, seed):
    """Return normal weights, and others with this correlation to them."""
    generator = np.random.default_rng(seed)
    weights = generator.standard_normal((50_000, signs), np.float32)
    noise = generator.standard_normal(weights.shape, np.float32)
    return weights, similarity * weights + math.sqrt(1 - similarity**2) * noise


@over(("similarity", "signs"), [(0.3, KEY_SIGNS), (0.6, ALL_SIGNS), (0.88, KEY_SIGNS)])
def test_as_many_similar_documents_as_planned_flip_larger_weights(similarity, signs):
    weights, others = similar(similarity, signs, seed=5)
    count = len(weights)
    sizes = np.abs(weights)
    sizes[sizes < FIRM_LEAST] = 0
    shares = (sizes * ((weights >= 0) != (others >= 0))).sum(axis=1) / sizes.sum(axis=1)

    # Six deviations of a binomial variable, and what the approximation may be wrong by.
    for loss in (0.002, 0.02):
        exceeding = int((shares > flipped_share(similarity, loss, signs)).sum())
        assert abs(exceeding - count * loss) < 6 * math.sqrt(count * loss) + 0.02 * count * loss


@over(("similarity", "signs"), [(0.0, ALL_SIGNS), (0.6, KEY_SIGNS), (0.88, ALL_SIGNS)])
def test_as_many_similar_documents_as_planned_differ_in_firm_signs(similarity, signs):
    weights, others = similar(similarity, signs, seed=6)
    count = len(weights)
    differs = ((weights >= 0) != (others >= 0)) & (np.abs(weights) >= FIRM_LEAST)
    distances = differs.sum(axis=1)

    # Six deviations of a binomial variable.
    for distance in range(0, signs, 3):
        expected = count * firm_within(similarity, distance, signs)
        most = 6 * math.sqrt(max(expected * (1 - expected / count), 1.0))
        assert abs(int((distances <= distance).sum()) - expected) < most


@over("similarity", [0.0, 0.6, 0.88, 0.97, 1.0])
def test_the_limit_of_firm_signs_loses_no_more_than_allowed_and_could_not_be_narrower(similarity):
    for loss in (0.0005, 0.01):
        distance = firm_distance(similarity, loss)

        assert 1 - firm_within(similarity, distance) <= loss
        if similarity < 0.8:
            assert 1 - firm_within(similarity, distance - 1) > loss
        # One of n features of equal weight is another; four deviations of a binomial variable.
        replaced = 0.2 * math.sqrt(1 - similarity)
        assert distance > 64 * replaced + 2 * math.sqrt(64 * replaced)
        assert firm_distance(similarity, loss, KEY_SIGNS) <= distance


@over("similarity", [1e-12, 4.0321583473510585e-09, 0.5, 0.98])
def test_the_share_of_flipped_weights_is_known_for_every_similarity_and_loss(similarity):
    shares = [flipped_share(similarity, loss, 64) for loss in (0.1, 1e-6, 5e-13)]

    assert 0 < shares[0] < shares[1] < shares[2] <= 1
    assert flipped_share(0.981, 0.001, 42) == flipped_share(1.0, 0.001, 42) == 1.0
    assert flipped_share(similarity, 0.1, 64) >= flipped_share(0.98, 0.1, 64)
