"""The S-curve, the choice of bands by it, and real numbers of candidates against it."""

import numpy as np
import pytest
from over import over

import simdb
from simdb.core.vector_form import minimum_type
from simdb.plan.banding import (
    Background,
    Banding,
    background_of,
    band_keys,
    candidate_probability,
    choose,
    expected_candidates,
    usual_background,
)


def curve(similarity, bands, rows):
    return 1 - (1 - similarity**rows) ** bands


@over(("bands", "rows"), [(1, 1), (20, 5), (15, 5), (16, 8), (128, 1), (1, 128)])
def test_the_probability_is_the_s_curve(bands, rows):
    similarities = np.linspace(0, 1, 101)

    found = candidate_probability(similarities, Banding(bands, rows))

    np.testing.assert_allclose(found, curve(similarities, bands, rows), atol=1e-6)
    assert (found[0], found[-1]) == (pytest.approx(0, abs=1e-6), 1)
    tiny = float(candidate_probability(1e-3, Banding(bands, rows)))
    assert tiny == pytest.approx(curve(1e-3, bands, rows), rel=1e-4) or tiny < 1e-12
    by_chance = float(candidate_probability(0, Banding(bands, rows), stored_bits=8))
    assert by_chance == pytest.approx(curve(1 / 256, bands, rows), abs=1e-9)


def test_a_background_is_a_distribution():
    for background in (usual_background(), background_of([0, 0.01, 0.5, 1])):
        assert background.shares.sum() == pytest.approx(1)
        assert ((background.similarities > 0) & (background.similarities < 1)).all()
    with pytest.raises(simdb.OptionError, match="there are none"):
        background_of([])


def test_candidates_are_the_share_of_each_similarity():
    background = Background(np.array([0.1, 0.5]), np.array([0.9, 0.1]))

    found = expected_candidates(1000, Banding(20, 5), background=background)

    expected = 900 * curve(0.1, 20, 5) + 100 * curve(0.5, 20, 5)
    assert found == pytest.approx(expected)


def cost(banding, documents, stored_bits):
    """Count look-ups and candidates; a table beside minima of few bits costs 100."""
    found = expected_candidates(documents, banding, stored_bits=stored_bits)
    return banding.bands * (100 if stored_bits < 8 else 1) + found


@over("stored_bits", [1, 2, 8, 32])
@over("similarity", [0.3, 0.5, 0.8, 1.0])
@over(("recall", "documents"), [(0.5, 1e3), (0.9, 1e6), (0.99, 1e3)])
def test_the_cheapest_of_those_that_find_enough_is_chosen(
    similarity, recall, documents, stored_bits
):
    """Compare with every possible banding, one by one."""
    by_chance = 0 if stored_bits == 32 else 2.0**-stored_bits
    agreeing = similarity + (1 - similarity) * by_chance
    serving = [
        Banding(bands, rows)
        for rows in range(1, 65)
        for bands in range(1, 64 // rows + 1)
        if curve(agreeing, bands, rows) >= recall
    ]

    chosen = choose(64, similarity, recall, documents=documents, stored_bits=stored_bits)

    assert curve(agreeing, chosen.bands, chosen.rows) >= recall - 1e-9
    least = min(cost(each, documents, stored_bits) for each in serving)
    assert cost(chosen, documents, stored_bits) == pytest.approx(least)


def test_a_recall_that_cannot_be_had_says_how_much_can():
    with pytest.raises(
        simdb.OptionError, match=r"16 permutations find a share of 0\.814\d* .*0.99"
    ):
        choose(16, 0.1, 0.99)
    with pytest.raises(simdb.OptionError, match="above 0 and at most 1"):
        choose(128, 0, 0.99)


def test_bands_and_rows_by_hand_must_fit():
    Banding(25, 5).check(128)

    for bands, rows in ((26, 5), (0, 5), (5, 0), (1, 129)):
        with pytest.raises(simdb.OptionError, match=f"{bands} bands of {rows} rows"):
            Banding(bands, rows).check(128)


@over("stored_bits", [2, 8, 32])
def test_equal_bands_have_equal_keys(stored_bits):
    sketch = simdb.Minhash(permutations=16, stored_bits=stored_bits)
    places = np.arange(32)
    minima = places ^ places >> 2 ^ places >> 4  # all bands differ in their lowest bits, too
    minima = (minima % 2**stored_bits).astype(minimum_type(stored_bits)).reshape(2, 16)
    minima[1, 4:8] = minima[0, 4:8]
    minima[1, 8:12] = minima[0, 4:8]
    signatures = simdb.Signatures(minima, sketch, np.zeros(2, np.bool_))

    keys = band_keys(signatures, Banding(4, 4))

    assert keys.dtype == np.uint64
    assert (keys[0] == keys[1]).tolist() == [False, True, False, False]
    assert len(set(keys.ravel().tolist())) == 7
    with pytest.raises(simdb.OptionError, match="5 bands of 4 rows"):
        band_keys(signatures, Banding(5, 4))
