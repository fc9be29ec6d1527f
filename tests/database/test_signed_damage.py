"""Databases of MinHash signatures whose tables are damaged."""

import numpy as np
import pytest
from signature_oracle import NARROW, texts
from soundness import assert_sound
from stored_values import change_value

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


def damage(path, tables, kind, change):
    """Change an array of every run in some tables, with a valid checksum."""
    name, dtype = {layout.KEYS: (b"keys", "<u8"), layout.ORDINALS: (b"ords", "<u4")}[kind]
    with simdb.open(path, "w") as database:
        for run in database.stats().runs:
            key = layout.table_key(run.run, kind)

            def changed(value, key=key):
                array = change(codec.decode_array(name, key, value, dtype).copy())
                return codec.encode_array(name, key, array)

            for table in tables:
                change_value(database, layout.table_name(table), key, changed)


def smaller_first(keys):
    keys[0] //= 2
    return keys


def test_a_damaged_band_is_found_and_made_anew(filled):
    wanted = answers(filled)
    damage(filled, [5], layout.KEYS, smaller_first)

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
    damage(
        filled, range(NARROW.bands), layout.ORDINALS, lambda ordinals: ordinals + np.uint32(1000)
    )

    with simdb.open(filled, "r") as database:
        text = texts(1, seed=0)[0]
        for ask in (database.query, database.first):
            with pytest.raises(simdb.CorruptError):
                ask(text, search="banding")
        with pytest.raises(simdb.CorruptError):
            database.query_many([text] * 100, search="banding")
        with pytest.raises(simdb.CorruptError):
            list(database.find_all(search="banding"))
