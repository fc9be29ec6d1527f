"""Matches and pairs unpack like named tuples, and stay small frozen values."""

import copy
import dataclasses
import pickle

import pytest

import simdb

RECORDS = {
    simdb.Match("a", 3, 0.5): {"id": "a", "distance": 3, "similarity": 0.5},
    simdb.Match(1, 2): {"id": 1, "distance": 2, "similarity": None},
    simdb.Pair("a", b"b", 0): {"left": "a", "right": b"b", "distance": 0, "similarity": None},
}


@pytest.mark.parametrize("record", RECORDS, ids=repr)
def test_a_record_unpacks_in_the_order_of_its_fields(record):
    values = RECORDS[record]

    assert list(record) == list(record[:]) == list(values.values())
    assert record[0] == next(iter(values.values()))
    with pytest.raises(IndexError):
        record[len(values)]
    assert record._asdict() == dataclasses.asdict(record) == values
    assert type(record)(*record) == record
    assert type(record)(**record._asdict()) == record


@pytest.mark.parametrize("record", RECORDS, ids=repr)
def test_a_record_is_copied_and_pickled_and_has_no_other_attributes(record):
    assert pickle.loads(pickle.dumps(record)) == copy.copy(record) == record
    assert not hasattr(record, "__dict__")
    with pytest.raises(dataclasses.FrozenInstanceError):
        record.distance = 7


@pytest.mark.parametrize("name", ["pandas", "polars"])
def test_matches_become_columns_of_a_data_frame(name):
    library = pytest.importorskip(name)

    frame = library.DataFrame([simdb.Match("a", 3, 0.5), simdb.Match("b", 4, 0.25)])

    assert list(frame.columns) == ["id", "distance", "similarity"]
    assert list(frame["id"]) == ["a", "b"]
