"""What users pickle or copy comes back whole, or is refused with what to do instead."""

import copy
import pickle

import numpy as np
import pytest
from over import over

import simdb
from simdb.core import errors

TEXT = " ".join(f"w{number}" for number in range(40))
TEXTS = {"a": TEXT, "b": TEXT + " more", "c": "another text of some words"}


@pytest.fixture
def filled(open_database):
    database = open_database()
    database.insert_many(TEXTS)
    return database


def rows(pairs):
    return [(pair.left, pair.right, pair.distance, pair.similarity) for pair in pairs]


@pytest.mark.parametrize("made", [lambda pairs: pickle.loads(pickle.dumps(pairs)), copy.deepcopy])
def test_pairs_are_pickled_with_all_that_was_not_read_yet(filled, made):
    expected = rows(filled.find_all(similarity=0.5))
    pairs = filled.find_all(similarity=0.5)

    again = made(pairs)

    assert len(expected) == 1
    assert rows(again) == rows(again) == rows(pairs) == expected
    assert again.plan == pairs.plan
    assert again.to_arrow().equals(pairs.to_arrow())


def test_pairs_of_positions_are_pickled():
    pairs = simdb.find_all(np.array([1, 3, 2**40], np.uint64), 4, 3)

    again = pickle.loads(pickle.dumps(pairs))

    assert again.left.tolist() == pairs.left.tolist() == [0, 0, 1]


def test_pairs_that_were_streamed_say_so_when_they_are_pickled(filled):
    pairs = filled.find_all(similarity=0.5)
    for _ in pairs.chunks():
        pass

    with pytest.raises(simdb.ClosedError, match="call find_all again"):
        pickle.dumps(pairs)


def test_what_reads_an_open_database_is_no_copy_and_says_what_to_do(filled):
    chunks = filled.find_all(similarity=0.5).chunks()
    with filled.read() as snapshot, filled.write() as transaction:
        for each, message in [
            (snapshot, "pickle the Database, .* and take a snapshot there"),
            (transaction, "pickle the Database, .* and write there"),
            (chunks, "pickle what find_all returns"),
        ]:
            for made in (pickle.dumps, copy.copy, copy.deepcopy):
                with pytest.raises(simdb.NotPickledError, match=message):
                    made(each)
    assert isinstance(simdb.NotPickledError(), simdb.Error)
    assert issubclass(simdb.NotPickledError, TypeError)


@over("name", [name for name in simdb.__all__ if name.endswith("Error")])
def test_an_error_is_pickled_and_named_as_users_catch_it(name):
    kind = getattr(simdb, name)

    again = pickle.loads(pickle.dumps(kind("what to do")))

    assert type(again) is kind is getattr(errors, name)
    assert str(again) == "what to do"
    assert kind.__module__ == "simdb"
