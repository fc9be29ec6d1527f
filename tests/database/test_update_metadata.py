"""Metadata that change after their document was stored."""

import random

import pytest

import simdb
from simdb.storage import layout
from simdb.storage.metadata import BLOCK_DOCUMENTS, decode_block


def all_metadata(database):
    return {id: document.metadata for id, document in database.items()}


def blocks(database):
    """Return how many documents each stored block of metadata has, by its first ordinal."""
    environment = database._store.environment
    handle = environment.subdatabase(layout.METADATA)
    with environment.reading() as transaction:
        return {
            layout.key_number(bytes(key)): len(decode_block(bytes(key), value))
            for key, value in transaction.cursor(handle)
        }


def test_an_unknown_id_and_metadata_that_cannot_be_stored_are_refused(database):
    database.insert("a", 1, "old")

    with pytest.raises(simdb.NotFoundError, match="no document has the id 'b'"):
        database.update_metadata("b", 1)
    with pytest.raises(simdb.InputError, match="'a'"):
        database.update_metadata("a", {1, 2})

    assert database["a"].metadata == "old"


def test_a_block_that_grows_is_split_and_one_that_empties_is_removed(database):
    database.insert_many(range(BLOCK_DOCUMENTS), range(BLOCK_DOCUMENTS), ["x"] * BLOCK_DOCUMENTS)

    with database.write() as transaction:
        for id in range(100):
            transaction.update_metadata(id, "y" * 2000)
    assert len(blocks(database)) > 2
    assert list(database.check(deep=True)) == []

    with database.write() as transaction:
        for id in range(BLOCK_DOCUMENTS):
            transaction.update_metadata(id, None)
    assert blocks(database) == {}
    assert set(all_metadata(database).values()) == {None}


def test_random_changes_equal_those_of_a_dict(tmp_path):
    chance = random.Random(1)
    options = simdb.Options(delta_documents=100)
    with simdb.open(tmp_path / "db", options=options, durability="none") as database:
        expected = {}
        for turn in range(9):
            first = turn * 150
            added = {id: chance.choice([None, id, "z" * 500]) for id in range(first, first + 150)}
            database.insert_many(list(added), list(added), list(added.values()))
            expected |= added
            with database.write() as transaction:
                for id in chance.sample(sorted(expected), chance.choice([1, 20, 140])):
                    expected[id] = chance.choice([None, [id], "w" * 3000])
                    transaction.update_metadata(id, expected[id])
            if turn % 5 == 4:
                gone = chance.sample(sorted(expected), 30)
                database.delete_many(gone)
                expected = {id: each for id, each in expected.items() if id not in gone}
                database.compact()
            assert all_metadata(database) == expected
            assert list(database.check(deep=True)) == []

        database.rebuild()
        assert all_metadata(database) == expected
