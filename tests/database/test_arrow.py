"""Pairs, matches and clusters as Arrow tables, for ids of every kind."""

import sys

import pyarrow
import pytest

import simdb

TEXTS = ["the cat sat on the mat today", "the cat sat on the mat today", "quite another text"]


def made(tmp_path, ids, documents=(3, 2, 5 << 40)):
    database = simdb.open(tmp_path / "x", "x")
    database.insert_many(ids, list(documents))
    return database


@pytest.mark.parametrize(("ids", "kind"), [
    (["a", "b", "\u00e9"], pyarrow.string()),
    ([b"\xff", b"", b"c"], pyarrow.binary()),
    ([-1, 2, 3], pyarrow.int64()),
    ([1, 2**64 - 1, 3], pyarrow.uint64()),
])  # fmt: skip
def test_ids_of_one_kind_have_a_column_of_it(tmp_path, ids, kind):
    ids = [id for id in ids if id != b""] + ([b"d"] if b"" in ids else [])
    with made(tmp_path, ids) as database:
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


def test_nothing_has_a_table_without_rows(tmp_path):
    with made(tmp_path, ["a", "b", "c"], (0, 0xFFFF, 0xFFFF0000)) as database:
        pairs = database.find_all(distance=1).to_arrow()
        clusters = database.find_clusters(distance=1).to_arrow()

    assert (pairs.num_rows, clusters.num_rows) == (0, 0)
    assert pairs.schema.field("distance").type == pyarrow.uint8()
    assert clusters.schema.field("cluster").type == pyarrow.int64()


@pytest.mark.parametrize("ids", [["a", 1, 2], [1, b"x", 2], [-1, 2**64 - 1, 2]])
def test_ids_of_several_kinds_need_text(tmp_path, ids):
    with made(tmp_path, ids) as database:
        with pytest.raises(simdb.InputError, match="ids='text'"):
            database.find_all(distance=1).to_arrow()
        table = database.find_all(distance=1).to_arrow(ids="text")

    texts = [id.hex() if isinstance(id, bytes) else str(id) for id in ids]
    assert [table["left"][0].as_py(), table["right"][0].as_py()] == texts[:2]


def test_batches_are_streamed_and_similarities_told(tmp_path):
    with simdb.open(tmp_path / "x", "x") as database:
        database.insert_many(["a", "b", "c"], TEXTS)
        reader = database.find_all(similarity=0.9).to_batches()
        rows = [row for batch in reader for row in batch.to_pylist()]

    assert [(row["left"], row["right"]) for row in rows] == [("a", "b")]
    assert rows[0]["similarity"] == pytest.approx(1.0)


def test_what_is_wrong_is_said_before_anything_is_read(tmp_path, monkeypatch):
    with made(tmp_path, ["a", "b", "c"]) as database:
        pairs = database.find_all(distance=1)
        with pytest.raises(simdb.OptionError, match="ids must be one of"):
            pairs.to_arrow(ids="hex")
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        with pytest.raises(simdb.OptionError, match="pip install"):
            pairs.to_arrow()
        assert len(pairs) == 1


RESULTS = {
    "pairs": lambda database: database.find_all(distance=1),
    "matches": lambda database: database.query_many([3, 5], distance=1),
    "clusters": lambda database: database.find_clusters(distance=1),
}


@pytest.mark.parametrize("make", RESULTS.values(), ids=RESULTS)
def test_a_library_that_reads_arrow_takes_a_result_any_number_of_times(tmp_path, make):
    with made(tmp_path, ["a", "b", "c"]) as database:
        result, wanted = make(database), make(database).to_arrow()

        assert pyarrow.table(result) == wanted
        assert pyarrow.table(result) == wanted
        assert pyarrow.RecordBatchReader.from_stream(result).read_all() == wanted
        assert wanted.num_rows > 0


@pytest.mark.parametrize("make", RESULTS.values(), ids=RESULTS)
def test_a_library_that_reads_arrow_may_ask_for_types(tmp_path, make):
    with made(tmp_path, ["a", "b", "c"]) as database:
        wanted = make(database).to_arrow()
        fields = [
            pyarrow.field(each.name, pyarrow.large_string())
            if each.type == pyarrow.string()
            else each
            for each in wanted.schema
        ]
        asked = pyarrow.schema(fields)

        assert pyarrow.RecordBatchReader.from_stream(make(database), asked).schema == asked


@pytest.mark.parametrize("make", RESULTS.values(), ids=RESULTS)
def test_without_pyarrow_the_error_names_what_to_install(tmp_path, monkeypatch, make):
    with made(tmp_path, ["a", "b", "c"]) as database:
        result = make(database)
        monkeypatch.setitem(sys.modules, "pyarrow", None)

        with pytest.raises(simdb.OptionError, match="needs pyarrow: pip install pyarrow"):
            result.__arrow_c_stream__()


def test_ids_of_several_kinds_leave_the_pairs_as_they_were(tmp_path):
    with made(tmp_path, ["a", 1, 2]) as database:
        pairs = database.find_all(distance=1)
        with pytest.raises(simdb.InputError, match="ids='text'"):
            pyarrow.table(pairs)

        assert pairs.to_arrow(ids="text").to_pylist() == [
            {"left": "a", "right": "1", "distance": 1, "similarity": None}
        ]


@pytest.mark.parametrize("make", RESULTS.values(), ids=RESULTS)
def test_polars_makes_a_frame_of_a_result(tmp_path, make):
    polars = pytest.importorskip("polars")
    with made(tmp_path, ["a", "b", "c"]) as database:
        frame = polars.DataFrame(make(database))

        assert frame.to_dicts() == make(database).to_arrow().to_pylist()


@pytest.mark.parametrize("make", RESULTS.values(), ids=RESULTS)
def test_duckdb_reads_a_result_by_its_name(tmp_path, make):
    duckdb = pytest.importorskip("duckdb")
    with made(tmp_path, ["a", "b", "c"]) as database:
        result = make(database)  # noqa: F841 - found by its name
        rows = duckdb.sql("from result").fetchall()

        assert rows == [tuple(row.values()) for row in make(database).to_arrow().to_pylist()]
