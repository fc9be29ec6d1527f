"""Documents in large groups are put off, and come back group by group."""

import numpy as np
import pytest
from near_copies import near_copies

import simdb
from simdb.core import kernel
from simdb.database.search import buckets
from simdb.database.search.buckets import Crowds
from simdb.database.search.methods import exhaustive


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


def test_a_crowd_is_found_with_the_members_that_few_others_match(monkeypatch, tmp_path):
    """Copies in which one word differs: each matches most of the others, and none matches all."""
    monkeypatch.setattr(buckets, "CROWD_MIN", 64)
    monkeypatch.setattr(buckets, "CROWD_ROOTS", 0)
    monkeypatch.setattr(exhaustive, "PIVOTS", 8)
    texts, compared, sweep = near_copies(400, changes=1), [], exhaustive.sweep_table

    def swept(table, *arguments, rows, **options):
        compared.append(rows)
        return sweep(table, *arguments, rows=rows, **options)

    with simdb.open(tmp_path / "db") as database:
        database.insert_many(range(400), texts)
        database.insert_many(["far", "farther"], ["something else of its own", "and one more"])
        monkeypatch.setattr(exhaustive, "sweep_table", swept)

        found = database.find_clusters(verify="estimate")

        assert [cluster.ids for cluster in found] == [list(range(400))]
    assert compared[0] < 8
