"""Pairs, matches and clusters as Arrow tables, for ids of every kind."""

import sys

import pyarrow
import pytest
from over import over

import simdb

TEXTS = ["the cat sat on the mat today", "the cat sat on the mat today", "quite another text"]


RESULTS = {
    "pairs": lambda database: database.find_all(distance=1),
    "matches": lambda database: database.query_many([3, 5], distance=1),
    "clusters": lambda database: database.find_clusters(distance=1),
}


def made(ids, documents=(3, 2, 5 << 40)):
    database = simdb.open(None)
    database.insert_many(ids, list(documents))
    return database


@over(("ids", "kind"), [
    (["a", "b", "\u00e9"], pyarrow.string()),
    ([b"\xff", b"d", b"c"], pyarrow.binary()),
    ([-1, 2, 3], pyarrow.int64()),
    ([1, 2**64 - 1, 3], pyarrow.uint64()),
])  # fmt: skip
def test_ids_of_one_kind_have_a_column_of_it(ids, kind):
    with made(ids) as database:
        pairs = database.find_all(distance=1).to_arrow()
        clusters = database.find_clusters(distance=1).to_arrow()
        matches = database.query_many([3], distance=1).to_arrow()

    assert pairs.schema.names == ["left", "right", "distance", "similarity"]
    assert pairs.schema.field("left").type == kind
    assert pairs.to_pylist() == [
        {"left": ids[0], "right": ids[1], "distance": 1, "similarity": None}
    ]
    assert clusters.to_pylist() == [
        {"id": id, "representative": ids[0], "cluster": 0} for id in ids[:2]
    ]
    assert matches.to_pylist() == [
        {"query": 0, "id": ids[0], "distance": 0, "similarity": None},
        {"query": 0, "id": ids[1], "distance": 1, "similarity": None},
    ]


def test_nothing_has_a_table_without_rows():
    with made(["a", "b", "c"], (0, 0xFFFF, 0xFFFF0000)) as database:
        pairs = database.find_all(distance=1).to_arrow()
        clusters = database.find_clusters(distance=1).to_arrow()

    assert (pairs.num_rows, clusters.num_rows) == (0, 0)
    assert pairs.schema.field("distance").type == pyarrow.uint8()
    assert clusters.schema.field("cluster").type == pyarrow.int64()


@over("ids", [["a", 1, 2], [1, b"x", 2], [-1, 2**64 - 1, 2]])
def test_ids_of_several_kinds_need_text_and_to_refuse_them_uses_up_no_pairs(ids):
    with made(ids) as database:
        pairs = database.find_all(distance=1)
        for read in (lambda pairs: pairs.to_arrow(), pyarrow.table):
            with pytest.raises(simdb.InputError, match="ids='text'"):
                read(pairs)
        table = pairs.to_arrow(ids="text")

    texts = [id.hex() if isinstance(id, bytes) else str(id) for id in ids]
    assert [table["left"].to_pylist(), table["right"].to_pylist()] == [texts[:1], texts[1:2]]


def test_batches_are_streamed_and_similarities_told():
    with simdb.open(None) as database:
        database.insert_many(["a", "b", "c"], TEXTS)
        reader = database.find_all(similarity=0.9).to_batches()
        rows = [row for batch in reader for row in batch.to_pylist()]

    assert [(row["left"], row["right"]) for row in rows] == [("a", "b")]
    assert rows[0]["similarity"] == pytest.approx(1.0)


@over("make", RESULTS.values())
def test_what_is_wrong_is_said_before_anything_is_read(monkeypatch, make):
    with made(["a", "b", "c"]) as database:
        result = make(database)
        with pytest.raises(simdb.OptionError, match="ids must be one of"):
            result.to_arrow(ids="hex")
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, "pyarrow", None)
            for read in (result.to_arrow, result.__arrow_c_stream__):
                with pytest.raises(simdb.OptionError, match="needs pyarrow: pip install pyarrow"):
                    read()
        assert len(result) > 0


@over("make", RESULTS.values())
def test_a_library_that_reads_arrow_takes_a_result_any_number_of_times_and_asks_for_types(make):
    with made(["a", "b", "c"]) as database:
        result, wanted = make(database), make(database).to_arrow()
        fields = [
            each.with_type(pyarrow.large_string()) if each.type == pyarrow.string() else each
            for each in wanted.schema
        ]

        asked = pyarrow.RecordBatchReader.from_stream(result, pyarrow.schema(fields))

        assert asked.schema == pyarrow.schema(fields)
        assert pyarrow.table(result) == pyarrow.table(result) == wanted
        assert wanted.num_rows > 0
