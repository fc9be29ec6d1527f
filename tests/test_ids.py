"""Ids have the type that a program names, and Any where it names none: no user needs a cast."""

import pytest

import simdb


@pytest.mark.parametrize("ids", [["a", "b"], [1, 2], [b"a", b"b"], ["a", 2]])
def test_at_run_time_ids_of_every_type_are_stored(ids, database):
    named: simdb.Database[str] = database

    named.insert_many(ids, [0, 1])

    assert list(named) == ids
    assert [match.id for match in named.query(0, distance=1)] == ids


def test_a_class_is_given_the_type_of_its_ids_at_run_time_too():
    for each in (simdb.Database, simdb.Match, simdb.Matches, simdb.Pair, simdb.Pairs):
        assert each[str].__args__ == (str,)
