from itertools import pairwise

import pytest

from simdb.plan.compaction import merged_from


@pytest.mark.parametrize(
    ("counts", "new", "growth", "start"),
    [
        ([5], 1, 2, 0),
        ([100, 5], 1, 2, 1),
        ([10, 5], 1, 2, 1),
        ([9, 5], 1, 2, 0),
        ([40, 10, 5, 5], 1, 2, 1),
        ([19, 9, 5], 1, 2, 0),
        ([100, 5, 5, 5], 3, 2, 1),
        ([0, 0, 0], 1, 2, 2),
        ([7, 0, 0], 2, 8, 1),
    ],
)
def test_neighbours_that_are_not_much_larger_are_merged(counts, new, growth, start):
    assert merged_from(counts, new, growth) == start


@pytest.mark.parametrize("growth", [2, 3, 8])
def test_runs_stay_few_and_each_document_is_rewritten_a_bounded_number_of_times(growth):
    runs, written = [], 0
    for _ in range(1000):
        start = merged_from([*runs, 10], 1, growth)
        runs = [*runs[:start], sum(runs[start:]) + 10]
        written += runs[-1]

    assert all(left >= growth * right for left, right in pairwise(runs))
    assert len(runs) <= 10
    assert written <= 10_000 * 12 * growth
