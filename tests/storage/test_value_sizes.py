"""Data too large for one stored value are divided among several, or refused by name."""

from types import SimpleNamespace

import numpy as np
import pytest

import simdb
from simdb.core.errors import FullError
from simdb.plan.tables import Permutations
from simdb.storage import layout
from simdb.storage.delta import StoredBatch
from simdb.storage.rewriting import seal

GIB = 2**30
# Sees no column in the map of a file.
IN_MEMORY = SimpleNamespace(pages_of=lambda array: None)


@pytest.fixture
def many_gigabytes():
    """Ten documents, each with an id of a GiB, that take no memory."""
    return StoredBatch(
        np.arange(10, dtype=np.uint64),
        np.ones(10, np.uint8),
        np.zeros((10, 0), np.uint8),
        np.arange(10, dtype=np.uint64),
        np.arange(11, dtype=np.int64) * GIB,
        np.broadcast_to(np.uint8(115), (10 * GIB,)),
    )


def test_more_than_four_gibibytes_of_ids_are_sealed_whole(monkeypatch, many_gigabytes):
    monkeypatch.setattr(layout, "SEGMENT_ORDINALS", 3)
    keying = Permutations(4, 1)

    run = seal(many_gigabytes.view(0, keying), keying, -1)

    segments = [run.segment(number, IN_MEMORY) for number in range(run.segment_count)]
    assert [len(each) for each in segments] == [3, 3, 3, 1]
    assert [len(each.columns[layout.ID]) // GIB for each in segments] == [3, 3, 3, 1]
    assert [each.columns[layout.OFFSET].tolist() for each in segments] == [
        [0, GIB, 2 * GIB, 3 * GIB],
        [0, GIB, 2 * GIB, 3 * GIB],
        [0, GIB, 2 * GIB, 3 * GIB],
        [0, GIB],
    ]


def test_a_value_longer_than_lmdb_holds_is_refused_by_name_and_nothing_is_changed(
    database, monkeypatch
):
    database.insert_many(["a", "b"], [1, 2])
    monkeypatch.setattr(layout, "SEGMENT_ORDINALS", 100)  # of ids; tables are not divided
    monkeypatch.setattr(layout, "VALUE_BYTES_MAX", 5000)

    with pytest.raises(
        FullError, match=r"value under key .* have \d+ bytes.*5000 at most; nothing"
    ):
        database.insert_many(range(1000), np.arange(1000, dtype=np.uint64))

    monkeypatch.undo()
    assert list(database) == ["a", "b"]
    database.insert("c", 3)
    assert database.query(3, distance=0) == [simdb.Match("c", 0)]
