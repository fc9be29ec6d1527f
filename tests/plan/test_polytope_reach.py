"""Thresholds of cross-polytope tables: universal ones, and those learnt from a sample."""

import math

import numpy as np
import pytest

from simdb.plan.polytope_reach import (
    DOCUMENTS_LEAST,
    SAMPLING_RECALL,
    PolytopeRun,
    Sample,
    probe_count,
    thresholds,
    universal,
)
from simdb.plan.polytope_table import COSTS, LEAST_COSTS, PROBES, SHARES, SIMILARITIES

WIDTHS = (7, 13, 18, 22)


def sample(*, documents, matches=1, costs=None, similarity=0.9, least=0.88):
    """Return the sample of `documents` with `matches` each.

    Their costs lie evenly between 0 and 1, those of every few documents in a row as well.
    """
    count = documents * matches
    costs = np.arange(count) * 0.6180339887 % 1 if costs is None else costs
    rows = np.empty((count, 4), np.float32)
    rows[:, 0] = np.repeat(np.arange(documents), matches)
    rows[:, 1] = similarity
    rows[:, 2] = costs
    rows[:, 3] = costs
    return Sample(rows, least)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("table", [COSTS, LEAST_COSTS])
def test_costs_rise_with_the_share_and_fall_with_the_similarity(table, width):
    rows = np.array(table[width])

    assert rows.shape == (len(SIMILARITIES), len(SHARES))
    assert (np.diff(rows, axis=1) >= 0).all()
    assert (np.diff(rows, axis=0) <= 0).all()


@pytest.mark.parametrize("width", WIDTHS)
def test_the_smaller_of_two_costs_is_smaller(width):
    assert (np.array(LEAST_COSTS[width]) <= np.array(COSTS[width])).all()


@pytest.mark.parametrize("width", WIDTHS)
def test_probes_rise_with_the_threshold_from_the_own_header(width):
    counts = [probe_count(threshold, width) for threshold in np.arange(0, 4, 0.1)]

    assert 1 <= counts[0] < 1.2
    assert (np.diff(counts) > 0).all()
    assert counts[-1] <= PROBES[width][-1]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("either", [False, True])
def test_a_universal_threshold_falls_with_more_tables(width, either):
    found = [
        universal(0.88, 0.95, width=width, tables=tables, either=either) for tables in (1, 2, 4, 8)
    ]

    assert found == sorted(found, reverse=True)
    assert found[0] < math.inf


def test_a_universal_threshold_of_one_table_is_in_the_table():
    row = np.array(COSTS[18][SIMILARITIES.index(0.88)])
    below = np.array(COSTS[18][SIMILARITIES.index(0.84)])

    found = universal(0.88, 0.95, width=18, tables=1, either=False)

    at = SHARES.index(0.95)
    assert row[at] <= found <= row[at] + 0.1 * (below[at] - row[at])


@pytest.mark.parametrize(("similarity", "share"), [(0.4, 0.9), (0.88, 0.9999)])
def test_what_was_not_simulated_has_no_threshold(similarity, share):
    assert universal(similarity, share, width=13, tables=1, either=False) == math.inf


def test_a_learnt_threshold_reaches_the_share_with_a_margin():
    found = sample(documents=400).threshold(0.88, 0.9, either=False)

    wanted = 0.9 / SAMPLING_RECALL
    assert wanted < found < wanted + 2 * math.sqrt(0.1 * 0.9 / 400)


def test_documents_inserted_later_are_not_hidden_by_those_before_them():
    # The last quarter of the documents has matches that cost 1, the others have free ones.
    costs = np.repeat([0.0, 0.0, 0.0, 1.0], 500)

    assert sample(documents=2000, costs=costs).threshold(0.88, 0.7, either=False) == 1.0


def test_few_documents_of_another_kind_are_not_hidden_by_many():
    # The last tenth of the documents has matches that cost 1, the others have free ones.
    costs = np.repeat([0.0, 1.0], [900, 100])

    assert sample(documents=1000, costs=costs).threshold(0.88, 0.5, either=False) == 1.0


def test_of_many_parts_the_hardest_needs_no_margin():
    found = sample(documents=1600).threshold(0.88, 0.9, either=False)

    wanted = 0.9 / SAMPLING_RECALL
    assert wanted < found < wanted + 2 * math.sqrt(0.1 * 0.9 / 1600)


def test_a_small_sample_has_a_wider_margin():
    few = sample(documents=DOCUMENTS_LEAST).threshold(0.88, 0.9, either=False)
    many = sample(documents=4 * DOCUMENTS_LEAST).threshold(0.88, 0.9, either=False)

    assert few > many


@pytest.mark.parametrize(
    ("documents", "similarity", "share"),
    [
        (DOCUMENTS_LEAST - 1, 0.88, 0.9),  # too few documents
        (1000, 0.87, 0.9),  # less similar than what was looked up
        (1000, 0.95, 0.9),  # no match is so similar
        (1000, 0.88, 0.995),  # more than the sample can tell
    ],
)
def test_too_small_a_sample_teaches_nothing(documents, similarity, share):
    assert sample(documents=documents).threshold(similarity, share, either=False) == math.inf


def test_one_document_with_many_matches_does_not_hide_the_others():
    # One document has 10,000 matches that cost nothing, 200 have one each that costs 1.
    rows = np.zeros((10_200, 4), np.float32)
    rows[10_000:, 0] = np.arange(1, 201)
    rows[:, 1] = 0.9
    rows[10_000:, 2:] = 1.0

    assert Sample(rows, 0.88).threshold(0.88, 0.9, either=False) == 1.0


def test_many_documents_with_one_match_do_not_hide_a_large_group():
    # 200 documents have one match each that costs nothing; one has 10,000 that cost 1.
    rows = np.zeros((10_200, 4), np.float32)
    rows[:200, 0] = np.arange(1, 201)
    rows[:, 1] = 0.9
    rows[200:, 2:] = 1.0

    assert Sample(rows, 0.88).threshold(0.88, 0.9, either=False) == 1.0


def test_for_either_direction_the_smaller_cost_counts():
    rows = np.zeros((400, 4), np.float32)
    rows[:, 0] = np.arange(400)
    rows[:, 1] = 0.9
    rows[:, 2] = 2.0
    rows[:, 3] = 1.0

    learnt = Sample(rows, 0.88)

    assert learnt.threshold(0.88, 0.9, either=False) == 2.0
    assert learnt.threshold(0.88, 0.9, either=True) == 1.0


def test_every_run_has_a_threshold_of_its_own():
    safe = universal(0.88, 0.9, width=13, tables=4, either=False)
    easy = sample(documents=1000, costs=np.zeros(1000))
    hard = sample(documents=1000, costs=np.full(1000, 100.0))
    runs = [PolytopeRun(5000, 13), PolytopeRun(5000, 13, easy), PolytopeRun(5000, 13, hard)]

    assert thresholds(runs, 0.88, 0.9, tables=4, either=False) == [safe, 0.0, safe]
