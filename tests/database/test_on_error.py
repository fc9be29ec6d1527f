"""on_error="skip": one document that cannot be read ends no call, and is named in its result."""

import pickle
import random

import numpy as np
import pytest
from over import over

import simdb

pa = pytest.importorskip("pyarrow")

GOOD = [f"the text number {at} of words that nothing else has {at * 7}" for at in range(40)]
BAD = {
    "undecodable": b"\x81 words",
    "lone surrogate": "half \ud800 of a character",
    "null": None,
    "number": 2.5,
    "flag": True,
    "odd token": ["token", 5],
    "token with a surrogate": ["token", "\udfff"],
    "vector with NaN": np.array([1.0, np.nan]),
    "number of 65 bits": 2**64,
    "a set": {1, 2},
}
BAD_IDS = [2**64, -(2**63) - 1, "x" * 1024, b"x" * 1024, "", None, 1.5, True, "\ud800", ["a"]]


def mixed(seed, rows=40, bad=8):
    """Return documents, some of which cannot be read, and the rows of these."""
    drawn = random.Random(seed)
    places = sorted(drawn.sample(range(rows), bad))
    documents = list(GOOD[:rows])
    for at in places:
        documents[at] = drawn.choice(list(BAD.values()))
    return documents, places


@over("seed", range(6))
def test_every_verb_leaves_out_what_a_loop_over_single_documents_refuses(seed):
    documents, _ = mixed(seed)
    ids = list(range(len(documents)))
    with simdb.open(None) as one:
        for id, document in zip(ids, documents, strict=True):
            try:
                one.insert(id, document)
            except simdb.InputError:
                continue
        stored = set(one)
    bad = [id for id in ids if id not in stored]
    assert bad, "the seed draws some"

    noted = []
    with simdb.open(None) as db:
        count = db.insert_many(ids, iter(documents), on_error=lambda *each: noted.append(each))
        assert (count, set(db)) == (len(stored), stored)
        assert [(row, id) for row, id, _ in noted] == [(each, each) for each in bad]
        found = db.query_many(documents, on_error="skip")
        assert found.skipped["row"].to_pylist() == bad
        assert [len(row) > 0 for row in found] == [id in stored for id in ids]
        assert all(row[0].id == at for at, row in enumerate(found) if row)
        asked = db.query_many(documents, on_error="skip", accept=lambda at, id: at == id)
        assert [[each.id for each in row] for row in asked] == [
            [id] if id in stored else [] for id in ids
        ]
        nearest = db.nearest_many(documents, 1, on_error="skip")
        assert [[each.id for each in row] for row in nearest] == [
            [id] if id in stored else [] for id in ids
        ]
    with simdb.open(None) as db:
        matched = db.insert_batch(ids, documents, on_error="skip")
        assert (len(matched), set(db)) == (len(ids), stored)
        assert matched.skipped["id"].to_pylist() == bad
    with simdb.open(None) as db:
        claimed = db.add_many_if_new(ids, documents, on_error="skip")
        assert set(db) == stored
        assert [len(row) for row in claimed] == [0] * len(ids)
        assert claimed.skipped["row"].to_pylist() == bad
        for reason in claimed.skipped["reason"].to_pylist():
            assert reason
            assert not reason.startswith("document")


def test_ids_and_metadata_that_cannot_be_stored_are_left_out_with_their_documents():
    ids = [*range(len(BAD_IDS)), *BAD_IDS, "with metadata"]
    metadata = [{"at": at} for at in range(len(ids) - 1)] + [{"at": 2**70}]
    noted = []

    with simdb.open(None) as db:
        db.insert_many(
            ids, GOOD[: len(ids)], metadata, on_error=lambda row, id, reason: noted.append(row)
        )

        assert sorted(db) == list(range(len(BAD_IDS)))
        assert noted == list(range(len(BAD_IDS), len(ids)))
        assert all(db[id].metadata == {"at": id} for id in db)
        found = db.add_many_if_new(ids[len(BAD_IDS) :], GOOD[: len(BAD_IDS) + 1], on_error="skip")
        assert found.skipped["id"].to_pylist()[0] == str(2**64)
        assert found.skipped["id"].null_count == 1


def test_a_call_whose_documents_all_cannot_be_read_stores_nothing_and_says_so():
    with simdb.open(None) as db:
        with pytest.warns(RuntimeWarning, match="2 documents left out, the first in row 0 .*'a'"):
            assert db.insert_many(["a", "b"], [None, b"\xff"], on_error="skip") == 0
        found = db.query_many([None, b"\xff"], on_error="skip")

        assert (len(db), len(found), len(found.skipped)) == (0, 2, 2)
        assert "2 skipped" in repr(found)
        again = pickle.loads(pickle.dumps(found))
        assert again.skipped == found.skipped


@over("documents", [
    np.array([[1.0, 2.0], [np.inf, 1.0], [-4.0, 1.0]]),
    pa.array([b"good words here", b"\xff", b"other words here"]),
    pa.array(["good words here", None, "other words here"]),
    {"a": GOOD[0], "b": 5.5, "c": GOOD[1]},
])  # fmt: skip
def test_columns_and_mappings_are_read_row_by_row_only_where_they_are_refused(documents):
    ids = ["a", "b", "c"]
    given = (documents,) if isinstance(documents, dict) else (ids, documents)

    with simdb.open(None) as db:
        found = db.add_many_if_new(*given, on_error="skip")

        assert sorted(db) == ["a", "c"]
        assert found.skipped["id"].to_pylist() == ["b"]


def test_what_is_no_document_still_raises():
    with simdb.open(None) as db:
        for call in (
            lambda: db.insert_many(["a"], [GOOD[0]], on_error="ignore"),
            lambda: db.insert_many(["a", "b"], [GOOD[0]], on_error="skip"),
            lambda: db.insert_many(["a", "a"], GOOD[:2], on_error="skip"),
            lambda: db.insert_many(["a"], GOOD[:1], {"a": 1}, on_error="skip"),
            lambda: db.query_many(GOOD, distance=1, contained=0.5, on_error="skip"),
        ):
            with pytest.raises((simdb.InputError, simdb.OptionError)):
                call()
        assert len(db) == 0


def test_shards_are_written_and_asked_without_unreadable_documents(tmp_path):
    documents, bad = mixed(5)
    ids = [f"id{at}" for at in range(40)]
    batches = [(ids[:25], documents[:25]), (ids[25:], documents[25:])]
    noted = []

    count = simdb.write_sharded(
        tmp_path / "s", batches, 2, on_error=lambda row, id, reason: noted.append((row, id))
    )

    assert (count, noted) == (40 - len(bad), [(at, ids[at]) for at in bad])
    with pytest.raises(simdb.InputError):
        simdb.write_sharded(tmp_path / "t", batches, 2)
    with simdb.open_sharded(tmp_path / "s") as db:
        for found in (
            db.query_many(documents, on_error="skip"),
            db.nearest_many(documents, 1, on_error="skip"),
        ):
            assert found.skipped["row"].to_pylist() == bad
            assert [[each.id for each in row] for row in found] == [
                [] if at in bad else [ids[at]] for at in range(40)
            ]
