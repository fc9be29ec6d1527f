"""Fields that a database indexes: create --fields, and --where, which asks by them."""

import pytest

import simdb
from simdb.cli import inspection
from simdb.cli.options.option_groups import given_where
from simdb.cli.output import render

FOX = "the quick brown fox jumps over the lazy dog near the river bank"


@pytest.fixture
def filled(simdb_run):
    assert simdb_run("create", "db", "--fields", "tenant,source").code == 0
    metadata = [{"tenant": f"t{at % 3}", "source": at} for at in range(9)]
    with simdb.open("db") as database:
        assert database.options.fields == ("tenant", "source")
        database.insert_many([f"d{at}" for at in range(9)], [FOX] * 9, metadata)
    return simdb_run


def test_where_of_an_indexed_field_asks_by_it(filled, write_lines):
    assert [row["id"] for row in filled("query", "db", FOX, "--where", "tenant=t1").rows] == [
        "d1", "d4", "d7",
    ]  # fmt: skip
    both = filled("query", "db", FOX, "--where", "tenant=t1", "--where", "source=4").rows
    assert [row["id"] for row in both] == ["d4"]
    near = filled("query", "db", FOX, "--nearest", "2", "--where", "tenant=t2").rows
    assert [row["id"] for row in near] == ["d2", "d5"]
    write_lines("a.jsonl", {"id": "x", "text": FOX})
    rows = filled("lookup", "db", "a.jsonl", "--all", "--where", "tenant=t0").rows
    assert [row["match"] for row in rows] == ["d0", "d3", "d6"]
    assert filled("delete", "db", "--where", "tenant=t0").rows == [{"deleted": 3}]
    assert filled("delete", "db", "--where", "source=1").rows == [{"deleted": 1}]
    assert filled("query", "db", FOX, "--where", "tenant=t0").rows == []


def test_only_a_value_that_means_one_thing_is_asked_by_the_field():
    fields = "tenant", "source"

    assert given_where(None, fields) is None
    assert given_where(["tenant=t1"], fields) == {"tenant": "t1"}
    assert given_where(["tenant=t1", "source=a b"], fields) == {"tenant": "t1", "source": "a b"}
    for other in (["source=4"], ["lang=en"], ["tenant=t1", "tenant=t2"], ["tenant=true"]):
        assert callable(given_where(other, fields))


def test_stats_show_the_values_that_most_documents_have(filled, monkeypatch):
    monkeypatch.setattr(inspection, "SHOWN_VALUES", 2)
    (row,) = filled("stats", "db").rows
    assert row["fields"] == {"tenant": [["t0", 3], ["t1", 3]], "source": [[0, 1], [1, 1]]}
    assert row["options"]["fields"] == ["tenant", "source"]

    monkeypatch.setattr(inspection, "is_table", lambda: not render.wants_json())
    monkeypatch.setenv("COLUMNS", "200")
    shown = filled("stats", "db").output
    assert "'t0' 3, 't1' 3 and 1 other value" in shown
    assert "0 1, 1 1 and 7 other values" in shown
    assert "'t0' 3, 't1' 3 and 1 other value" in filled("stats", "db", "--all").output


def test_stats_tell_values_apart_that_look_alike(simdb_run):
    values = [True, 1, "1", None, "None", b"1"]
    metadata = [{"source": each} for at, each in enumerate(values) for _ in values[at:]]
    ids = range(len(metadata))
    options = simdb.Options(fields=("source",))
    with simdb.open("db", options=options) as database:
        database.insert_many(ids, [FOX] * len(ids), metadata)
    simdb.write_sharded("shards", [(ids, [FOX] * len(ids), metadata)], 2, options=options)

    expected = [[True, 6], [1, 5], ["1", 4], [None, 3], ["None", 2], [{"bytes": "31"}, 1]]
    for path in ("db", "shards"):
        (row,) = simdb_run("stats", path).rows
        assert repr(row["fields"]["source"]) == repr(expected)
    assert [sum(count for _, count in each["fields"]["source"]) for each in row["shards"]] == [
        each["document_count"] for each in row["shards"]
    ]


def test_names_that_are_none_are_refused(simdb_run):
    ran = simdb_run("create", "db", "--fields", "a,,b")

    assert ran.code == 2
    assert "fields must be" in ran.notes
