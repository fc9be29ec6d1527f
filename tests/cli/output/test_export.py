"""Pairs and clusters that are written to files, and plans of pairs."""

import csv
import json
import os

import pyarrow.ipc
import pyarrow.parquet
import pytest

import simdb


@pytest.fixture
def stored(simdb_run):
    with simdb.open("x", "x") as database:
        database.insert_many(["a", b"\xff", "c"], [3, 2, 5 << 40])
    return simdb_run


PAIR = {"left": "a", "right": "ff", "distance": 1, "similarity": None}


def test_pairs_are_written_in_every_format(stored):
    for name in ("p.parquet", "p.arrow", "p.jsonl", "p.csv"):
        ran = stored("pairs", "x", "--distance", 1, "--output", name, "--text-ids")
        assert (ran.code, ran.output) == (0, "")

    assert pyarrow.parquet.read_table("p.parquet").to_pylist() == [PAIR]
    with pyarrow.ipc.open_file("p.arrow") as file:
        assert file.read_all().to_pylist() == [PAIR]
    with open("p.jsonl", encoding="utf-8") as file:
        assert json.loads(file.read()) == {**PAIR, "right": {"bytes": "ff"}}
    with open("p.csv", encoding="utf-8") as file:
        assert list(csv.reader(file)) == [[*PAIR], ["a", "ff", "1", ""]]


def test_clusters_are_written_member_by_member(stored):
    ran = stored("clusters", "x", "--distance", 1, "--output", "c.csv")

    with open("c.csv", encoding="utf-8") as file:
        assert list(csv.reader(file)) == [
            ["id", "representative", "cluster"], ["a", "a", "0"], ["ff", "a", "0"],
        ]  # fmt: skip
    assert ran.code == 0


def test_no_pairs_are_a_file_without_rows(stored):
    for name in ("p.parquet", "p.csv"):
        assert stored("pairs", "x", "--distance", 0, "--output", name).code == 0

    assert pyarrow.parquet.read_table("p.parquet").num_rows == 0
    with open("p.csv", encoding="utf-8") as file:
        assert file.read() == "left,right,distance,similarity\n"


def test_ids_of_several_kinds_leave_no_file(stored):
    ran = stored("pairs", "x", "--distance", 1, "--output", "p.parquet")

    assert ran.code == 2
    assert "--text-ids" in ran.notes
    assert sorted(os.listdir()) == ["x"]


def test_a_file_of_unknown_kind_is_refused(stored):
    ran = stored("pairs", "x", "--output", "p.xml")

    assert ran.code == 2
    assert "--output must end in .jsonl, .ndjson, .csv, .tsv" in ran.notes


def test_rotation_is_planned_explained_and_done(stored):
    options = ("--distance", 1, "--search", "rotation,rotations=8")

    plan = stored("plan", "x", "--pairs", *options).rows[0]
    ran = stored("pairs", "x", "--explain", *options)

    assert (plan["method"], plan["tables"]) == ("rotation", 8)
    assert [row["distance"] for row in ran.rows] == [1]
    assert "rotation, recall 1: sorts in 8 rotation(s)" in ran.notes


def test_pairs_are_planned_only_with_a_database(simdb_run):
    ran = simdb_run("plan", "--documents", 1000, "--pairs")

    assert ran.code == 2
    assert "needs a database" in ran.notes
