"""Runs are merged in groups that are no longer than allowed."""

from simdb.plan.compaction import first_within, grouped


def test_neighbours_are_one_group_as_long_as_they_are_short_enough_together():
    assert grouped([3, 1, 2, 9, 1], 3) == [[0], [1, 2], [3], [4]]
    assert grouped([], 3) == []


def test_the_last_runs_that_are_short_enough_together_are_as_many_as_possible():
    assert first_within([4, 3, 1, 2], 6) == 1
    assert first_within([4, 3, 1, 2], 5) == 2
    assert first_within([7], 6) == 1
