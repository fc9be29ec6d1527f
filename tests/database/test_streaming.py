"""One document at a time: nothing is lost, and little is done again for each document."""

import pytest

import simdb
from simdb.database.state import view
from simdb.database.state.store import Store
from simdb.storage.contents import Contents

TEXTS = [" ".join(f"word{(3 * at + step) % 40}" for step in range(20)) for at in range(60)]


def test_a_process_does_not_read_what_it_has_just_committed(database, monkeypatch):
    database.insert("a", 1)
    with monkeypatch.context() as patched:
        patched.setattr(Contents, "load", None)

        for number in range(20):
            database.insert(number, number + 2)
            database.delete(number)

        assert list(database) == ["a"]


@pytest.mark.parametrize("place", ["publish", "view_of"])
def test_an_exception_after_the_commit_loses_nothing(database, monkeypatch, place):
    database.insert("a", 1)
    with monkeypatch.context() as patched:
        patched.setattr(Store, place, interrupt)
        with pytest.raises(KeyboardInterrupt):
            database.insert("b", 2)

    database.insert("c", 3)

    assert list(database) == ["a", "b", "c"]
    assert database.query(2, distance=0) == [simdb.Match("b", 0)]


def interrupt(*arguments, **settings):
    raise KeyboardInterrupt


def test_ever_new_arguments_do_not_fill_the_memory_with_plans(database, monkeypatch):
    monkeypatch.setattr(view, "PLANS_MAX", 5)
    database.insert("a", 1)

    for distance in range(12):
        database.query(1, distance=distance)
        database.query(TEXTS[0], distance=distance)

    with database.read() as snapshot:
        plans = snapshot._base.view.plans
    assert len(plans.of_criteria) <= 5
    assert len(plans.prepared) <= 5
