"""Databases of MinHash signatures whose tables are damaged."""

import numpy as np
import pytest
from signature_oracle import NARROW, texts
from stored_values import change_value

import simdb
from simdb.storage import codec, layout


def test_a_table_of_ordinals_that_are_not_there_is_no_crash(tmp_path):
    with simdb.open(tmp_path / "db", options=NARROW) as database:
        database.insert_many(range(40), texts(40))
        database.compact()
        (run,) = database.stats().runs
        key = layout.table_key(run.run, layout.ORDINALS)

        def changed(value):
            ordinals = codec.decode_array(b"ords", key, value, "<u4")
            return codec.encode_array(b"ords", key, ordinals + np.uint32(1000))

        for table in range(NARROW.bands):
            change_value(database, layout.table_name(table), key, changed)

    with simdb.open(tmp_path / "db", "r") as database:
        text = texts(1)[0]
        for ask in (database.query, database.first):
            with pytest.raises(simdb.CorruptError):
                ask(text, search="banding")
        with pytest.raises(simdb.CorruptError):
            database.query_many([text] * 100, search="banding")
        with pytest.raises(simdb.CorruptError):
            list(database.find_all(search="banding"))
