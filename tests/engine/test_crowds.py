"""Documents in large groups are put off, and come back group by group."""

import numpy as np
import pytest

from simdb.engine.search import buckets
from simdb.engine.search.buckets import Crowds
from simdb.running import kernel


@pytest.fixture
def forest(monkeypatch):
    """Return a forest of 20 numbers in which groups of four are crowds."""
    monkeypatch.setattr(buckets, "CROWD_MIN", 4)
    monkeypatch.setattr(buckets, "CROWD_ROOTS", 0)
    monkeypatch.setattr(buckets, "COUNTED_PAIRS", 3)
    return kernel.Forest(20)


def numbers(*values):
    return np.array(values, np.uint32)


def test_members_of_crowds_are_put_off_and_others_are_not(forest):
    forest.join(numbers(1, 1, 1, 8, 8), numbers(3, 5, 7, 9, 10))
    put_off = Crowds(forest)

    left = put_off.put_off(numbers(7, 0, 9, 3, 12))

    groups = [
        (group.tolist(), np.flatnonzero(inside).tolist()) for group, inside in put_off.groups()
    ]
    assert left.tolist() == [0, 9, 12]
    assert groups == [([3, 7], [1, 3, 5, 7])]


def test_a_group_that_grew_becomes_a_crowd(forest):
    put_off = Crowds(forest)
    first = put_off.put_off(numbers(0, 1))
    forest.join(numbers(0, 1, 2), numbers(1, 2, 3))
    put_off.found(3)

    second = put_off.put_off(numbers(2, 3, 4))

    assert first.tolist() == [0, 1]
    assert second.tolist() == [4]
    assert [group.tolist() for group, _ in put_off.groups()] == [[2, 3]]


def test_groups_that_have_become_one_come_back_as_one(forest):
    forest.join(numbers(0, 0, 0, 10, 10, 10), numbers(1, 2, 3, 11, 12, 13))
    put_off = Crowds(forest)
    put_off.put_off(numbers(11, 2))
    forest.join(numbers(3), numbers(13))

    groups = [(group.tolist(), int(inside.sum())) for group, inside in put_off.groups()]

    assert groups == [([2, 11], 8)]


def test_without_crowds_nothing_comes_back(forest):
    put_off = Crowds(forest)

    left = put_off.put_off(numbers(5, 4))

    assert left.tolist() == [5, 4]
    assert list(put_off.groups()) == []
    assert list(Crowds(kernel.Forest(0)).groups()) == []
