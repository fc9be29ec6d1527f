"""Databases of MinHash signatures whose process is killed, or whose tables are damaged."""

import numpy as np
import pytest
from signature_oracle import NARROW, texts
from soundness import assert_sound

import simdb
from simdb.storage import codec, layout


@pytest.fixture
def filled(tmp_path):
    """Documents in several runs, in a database that is closed."""
    with simdb.open(tmp_path / "db", options=NARROW) as database:
        for start in range(0, 40, 10):
            database.insert_many(range(start, start + 10), texts(10, seed=start))
    return tmp_path / "db"


def answers(path):
    with simdb.open(path, "r") as database:
        found = database.query_many(ids=list(database), search="banding")
        return [[match.id for match in row] for row in found]


def damage(path, table):
    """Change the first key of every run in a table, with a valid checksum."""
    with simdb.open(path, "w") as database:
        environment = database._store.environment
        runs = [run.run for run in database.stats().runs]

        def write(transaction):
            handle = environment.subdatabase(layout.table_name(table))
            for run in runs:
                key = layout.table_key(run, layout.KEYS)
                value = bytes(transaction.get(key, db=handle))
                keys = codec.decode_array(b"keys", key, value, "<u8").copy()
                keys[0] = keys[0] // np.uint64(2)
                transaction.put(key, codec.encode_array(b"keys", key, keys), db=handle)

        environment.write(write)


def test_a_damaged_band_is_found_and_made_anew(filled):
    wanted = answers(filled)
    damage(filled, 5)

    with simdb.open(filled, "w") as database:
        places = [finding.place for finding in database.check(deep=True)]
        database.rebuild()

    assert places
    assert all(place.startswith("table/05") for place in places)
    assert answers(filled) == wanted
    assert_sound(filled)


def test_a_table_of_ordinals_that_are_not_there_is_no_crash(filled):
    with simdb.open(filled, "w") as database:
        database.compact()
        environment = database._store.environment
        run = database.stats().runs[0].run
        key = layout.table_key(run, layout.ORDINALS)

        def write(transaction):
            for table in range(NARROW.bands):
                handle = environment.subdatabase(layout.table_name(table))
                value = bytes(transaction.get(key, db=handle))
                ordinals = codec.decode_array(b"ords", key, value, "<u4") + np.uint32(1000)
                transaction.put(key, codec.encode_array(b"ords", key, ordinals), db=handle)

        environment.write(write)

    with simdb.open(filled, "r") as database:
        text = texts(1, seed=0)[0]
        for ask in (database.query, database.first):
            with pytest.raises(simdb.CorruptError):
                ask(text, search="banding")
        with pytest.raises(simdb.CorruptError):
            database.query_many([text] * 100, search="banding")
        with pytest.raises(simdb.CorruptError):
            list(database.find_all(search="banding"))
