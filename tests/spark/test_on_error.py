"""on_error="skip" on Spark: rows that cannot be read are in no result, and are listed."""

import json

import pytest
from click.testing import CliRunner

import simdb
from simdb import spark as ss
from simdb.cli.app import app

FOX = "the quick brown fox jumps over the lazy dog near the river bank today"
BIRDS = "an entirely different text about birds and their nests in early spring"
ROWS = [
    ("a", FOX.encode()),
    (None, BIRDS.encode()),
    ("c", b"\x81 is no text"),
    ("d", FOX.encode()),
    ("e", None),
    ("f", BIRDS.encode()),
]
LEFT_OUT = {(None, "no id"), ("c", "not valid UTF-8")}


@pytest.fixture(scope="module")
def documents(spark):
    return spark.createDataFrame(ROWS, "id string, text binary").repartition(2).cache()


def left_out(result):
    return {(row["id"], row["reason"]) for row in result.skipped.collect()}


def test_rows_are_kept_removed_or_listed_as_left_out(documents):
    result = ss.drop_duplicates(documents, on_error="skip")

    assert {row["id"] for row in result.collect()} == {"a", "e", "f"}
    assert {row["id"] for row in result.removed.collect()} == {"d"}
    assert left_out(result) == LEFT_OUT
    result.removed.unpersist()
    with pytest.raises(simdb.OptionError):
        ss.drop_duplicates(documents, on_error="ignore")


def test_sketches_and_look_ups_leave_the_same_rows_out(documents, tmp_path):
    with simdb.open(tmp_path / "d") as db:
        db.insert("stored", FOX)

    sketches = ss.fingerprints(documents, on_error="skip")
    signed = ss.signatures(documents, on_error="skip", on_null="drop")
    found = ss.query(documents, tmp_path / "d", on_error="skip")

    assert {row["id"] for row in sketches.collect()} == {"a", "d", "e", "f"}
    assert {row["id"] for row in signed.collect()} == {"a", "d", "f"}
    assert {(row["id"], row["match"]) for row in found.collect()} == {
        ("a", "stored"), ("d", "stored"),
    }  # fmt: skip
    for each in (sketches, signed, found):
        assert left_out(each) == LEFT_OUT
    assert not hasattr(ss.fingerprints(documents.where("id = 'a'")), "skipped")


def test_the_command_counts_rows_without_an_id_or_refuses_them(spark, tmp_path):
    lines = [{"id": "a", "text": FOX}, {"id": None, "text": BIRDS}, {"id": "b", "text": FOX}]
    source = tmp_path / "in.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in lines), encoding="utf-8")

    def run(target, *words):
        arguments = ["spark", "dedup", str(source), str(tmp_path / target), *words]
        return CliRunner().invoke(app, arguments)

    skipped, refused = run("kept.jsonl"), run("none.jsonl", "--on-error", "raise")

    assert skipped.exit_code == 1, skipped.stderr
    assert "row None: no id" in skipped.stderr
    assert "1 row removed, of 1 group" in skipped.stderr
    assert "; 1 row skipped" in skipped.stderr
    assert refused.exit_code == 2
    assert not (tmp_path / "none.jsonl").exists()
