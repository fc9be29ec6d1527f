"""The commands query and pairs with --contained."""

import json

import pytest
from over import over

import simdb

POEM = " ".join(
    f"line{number} of a long poem about the sea and number {number}" for number in range(20)
)
PART = " ".join(POEM.split()[30:80])


@pytest.fixture
def db(simdb_run, write_lines):
    """A database with passages, and a.jsonl with the texts in it."""
    write_lines(
        "a.jsonl",
        {"id": "whole", "text": f"An introduction. {POEM} And notes.", "kind": "book"},
        {"id": "part", "text": f"As he says: {PART}!"},
        {"id": "other", "text": "quite another text that has nothing of it at all, not one line"},
    )
    assert simdb_run("create", "db", "--passages").code == 0
    assert simdb_run("insert", "db", "a.jsonl", "--metadata").code == 0
    return "db"


def test_query_shows_what_contains_a_text(simdb_run, db):
    ran = simdb_run("query", db, PART, "--contained", "0.8")

    assert ran.code == 0
    assert [(row["id"], row["containment"]) for row in ran.rows] == [("whole", 1.0), ("part", 1.0)]
    assert all("spans" not in row for row in ran.rows)
    assert simdb_run("query", db, "--id", "whole", "--contained", ".8").rows == []


def test_texts_measure_and_give_the_passages(simdb_run, db):
    ran = simdb_run(
        "query", db, f"{PART} and words of its own", "--contained", "0.5", "--texts", "a.jsonl",
        "--where", "kind=book",
    )  # fmt: skip

    (row,) = ran.rows
    ((start, stop, other, end),) = row["spans"]
    assert (start, stop) == (0, len(PART))
    assert f"An introduction. {POEM} And notes."[other:end] == PART
    assert 0.8 < row["containment"] < 1


@over("texts", [[], ["--texts", "a.jsonl"]])
def test_pairs_name_the_part_left_and_the_whole_right(simdb_run, db, texts):
    ran = simdb_run("pairs", db, "--contained", "0.8", *texts)

    (row,) = ran.rows
    assert (row["left"], row["right"]) == ("part", "whole")
    assert row["containment"] > 0.8


def test_pairs_are_exported_with_their_containment(simdb_run, db, tmp_path):
    assert simdb_run("pairs", db, "--contained", "0.8", "-o", "pairs.csv").code == 0
    assert (tmp_path / "pairs.csv").read_text().splitlines()[0] == (
        "left,right,distance,similarity,containment"
    )
    assert simdb_run("pairs", db, "--contained", "0.8", "-o", "pairs.jsonl").code == 0
    (line,) = (tmp_path / "pairs.jsonl").read_text().splitlines()
    assert json.loads(line)["containment"] > 0.8


def test_a_sharded_database_answers_by_the_passages_of_its_shards(simdb_run, tmp_path):
    words = " ".join(f"word{number}" for number in range(40))
    batches = [([1, 2, 3], [words, f"before {words} and after", "something else"])]
    options = simdb.Options(passages=True)
    simdb.write_sharded(tmp_path / "sharded", batches, 3, options=options)
    simdb.write_sharded(tmp_path / "plain", batches, 3)

    found = simdb_run("query", "sharded", words, "--contained", "0.8", "--json")
    pairs = simdb_run("pairs", "sharded", "--contained", "0.8", "--json")
    refused = simdb_run("query", "plain", "text", "--contained", "0.8")

    assert sorted(row["id"] for row in found.rows) == [1, 2]
    assert [(row["left"], row["right"]) for row in pairs.rows] == [(1, 2)]
    assert refused.code == 2
    assert "has no passages" in refused.notes
