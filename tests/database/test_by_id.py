"""Documents by id: a database, a snapshot and a write transaction read like a dict."""

import numpy as np
import pytest
from over import over

import simdb


@pytest.fixture
def filled(database):
    database.insert_many(["a", 1, b"c"], [1, "some words of text", 3], [{"n": 1}, None, "third"])
    return database


def test_an_unknown_id_has_the_default_or_a_key_error_and_a_database_no_other_end(filled):
    assert filled.get("unknown") is None
    assert filled.get("unknown", 5) == 5
    assert dict(filled) == dict(filled.items())
    with pytest.raises(KeyError, match="no document has the id 'unknown'"):
        filled["unknown"]
    with pytest.raises(TypeError):
        reversed(filled)


@over("verb", ["delete", "explain"])
def test_an_unknown_id_that_is_a_whole_text_is_shortened_in_the_message(filled, verb):
    arguments = ("a",) if verb == "explain" else ()

    with pytest.raises(simdb.NotFoundError) as caught:
        getattr(filled, verb)(*arguments, "long " * 100)

    assert len(str(caught.value)) < 150


@over("id", [None, 1.5, ("a",), True])
def test_what_is_no_id_is_refused_and_not_missing(filled, id):
    with pytest.raises(simdb.InputError):
        filled.get(id)
    with pytest.raises(simdb.InputError):
        filled[id]


def test_items_cross_parts_and_runs(tmp_path):
    options = simdb.Options(delta_documents=700)
    with simdb.open(tmp_path / "db", options=options, durability="none") as database:
        database.insert_many(range(2500), range(2500), range(2500))
        database.delete_many(range(0, 2500, 5))

        found = {id: (each.fingerprint.bits, each.metadata) for id, each in database.items()}

        assert found == {id: (id, id) for id in range(2500) if id % 5}


def test_items_of_a_transaction_include_what_is_staged_and_allow_changes(filled):
    with filled.write() as transaction:
        transaction.insert("staged", 7, "new")
        transaction.delete("a")
        for id, _ in transaction.items():
            transaction.delete(id)

        assert len(transaction) == 0
        assert transaction.get("staged") is None
        with pytest.raises(simdb.NotFoundError):
            transaction["staged"]


def test_comparing_no_pairs_gives_empty_arrays_and_what_is_no_pair_is_refused(filled):
    found = filled.compare([], [])

    assert (len(found), found.distance.dtype, found.similarity.dtype) == (0, np.uint8, np.float32)
    with pytest.raises(
        simdb.InputError, match="left and right must have equal numbers of ids, got 2 and 1"
    ):
        filled.compare(["a", "a"], ["a"])
    with pytest.raises(simdb.NotFoundError, match="'wolf'"):
        filled.compare(["a"], ["wolf"])
