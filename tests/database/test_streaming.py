"""One document at a time: the answers stay right, and little is done again for each document."""

import random

import pytest
from oracle import Oracle, Stored

import simdb
from simdb.database.state import view
from simdb.database.state.store import Store
from simdb.storage.contents import Contents

TEXTS = [" ".join(f"word{(3 * at + step) % 40}" for step in range(20)) for at in range(60)]


class Streamed:
    """A database and its oracle, which are changed by the same random verbs."""

    def __init__(self, database, seed):
        self.database, self.oracle = database, Oracle()
        self.random = random.Random(seed)
        self.centres = [self.random.getrandbits(64) for _ in range(6)]

    def bits(self):
        return self.random.choice(self.centres) ^ (1 << self.random.randrange(64))

    def step(self, verbs, number):
        bits, kind = self.bits(), self.random.randrange(8)
        if kind < 3:
            id = f"id{number}"
            verbs.insert(id, bits)
            self.oracle.insert(id, Stored(bits))
        elif kind < 5:
            found = verbs.add_if_new(f"id{number}", bits, distance=2)
            wanted = self.oracle.add_if_new(f"id{number}", Stored(bits), 2)
            assert found == (None if wanted is None else simdb.Match(*wanted))
        elif kind == 5 and self.oracle.documents:
            id = self.random.choice(list(self.oracle.documents))
            verbs.delete(id)
            self.oracle.delete(id)
        elif kind == 6 and self.oracle.documents:
            id = self.random.choice(list(self.oracle.documents))
            with pytest.raises(simdb.ExistsError):
                verbs.insert(id, bits)
            verbs.insert(id, bits, on_conflict="replace")
            self.oracle.insert(id, Stored(bits))
        found = verbs.query(bits, distance=3)
        assert [(match.id, match.distance) for match in found] == self.oracle.query(bits, 3)


@pytest.mark.parametrize("seed", range(2))
def test_single_verbs_and_transactions_of_some_answer_like_a_dict(database, seed):
    streamed = Streamed(database, seed)

    for number in range(0, 150, 6):
        streamed.step(database, number)
        kept = streamed.oracle.copy()
        transaction = database.write()
        for step in range(1, 6):
            streamed.step(transaction, number + step)
        if number % 4:
            transaction.commit()
        else:
            transaction.abort()
            streamed.oracle = kept
        assert list(database) == list(streamed.oracle.documents)


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
