"""--on-null: what becomes of records without a text."""

import json
from pathlib import Path

import pytest
from over import over

import simdb

TEXT = "the quick brown fox jumps over the lazy dog near the river bank"
RECORDS = [
    {"id": "a", "text": TEXT},
    {"id": "b", "text": None},
    {"id": "c"},
    {"id": "d", "text": TEXT},
]


def kept_ids():
    return [json.loads(line)["id"] for line in Path("k.jsonl").read_text().splitlines()]


@over(
    ("words", "code", "kept", "note"),
    [
        ([], 1, ["b"], "1 empty and kept"),
        (["--on-null", "keep"], 0, ["b", "c"], "2 empty and kept"),
        (["--on-null", "drop"], 0, [], "2 without a text and left out"),
    ],
)
def test_records_without_a_text_are_kept_or_left_out(
    simdb_run, write_lines, words, code, kept, note
):
    write_lines("a.jsonl", *RECORDS)

    ran = simdb_run("dedup", "a.jsonl", "-o", "k.jsonl", *words)

    assert ran.code == code, ran.notes
    assert note in ran.notes
    assert kept_ids() == ["a", *kept]


def test_the_first_record_without_a_text_can_end_the_run(simdb_run, write_lines):
    write_lines("a.jsonl", *RECORDS)

    ran = simdb_run("dedup", "a.jsonl", "--db", "d", "--on-null", "error")

    assert ran.code == 2
    assert "a.jsonl:2: null instead of a text in the field 'text'; --on-null keep" in ran.notes
    assert simdb_run("dedup", "a.jsonl", "--on-null", "skip").code == 2


def test_the_nulls_of_parquet_are_kept_in_their_rows(simdb_run):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"id": ["a", "b", "c"], "text": [TEXT, None, TEXT]})
    parquet.write_table(table, "a.parquet")

    ran = simdb_run("dedup", "a.parquet", "-o", "k.parquet", "--on-null", "keep")

    assert ran.code == 0, ran.notes
    assert parquet.read_table("k.parquet").to_pylist() == table.to_pylist()[:2]


@over(("word", "options"), [("keep", []), ("drop", ["--db", "d"])])
def test_a_field_that_no_record_has_is_an_error_and_nothing_is_written(
    simdb_run, write_lines, word, options
):
    write_lines("a.jsonl", *RECORDS)

    ran = simdb_run(
        "dedup", "a.jsonl", "-o", "k.jsonl", "--text-field", "body", "--on-null", word, *options
    )

    assert ran.code == 2
    assert "a.jsonl:1: no field 'body'; use --text-field to name" in ran.notes
    assert not Path("k.jsonl").exists()


@over(
    ("words", "code", "stored", "note"),
    [
        ([], 1, ["a", "d"], "holds null, not text"),
        (["--on-null", "keep"], 0, ["a", "b", "c", "d"], ""),
        (["--on-null", "drop"], 0, ["a", "d"], "2 records without a text left out"),
        (["--on-null", "error"], 2, [], "a.jsonl:2: null instead of a text"),
    ],
)
def test_records_without_a_text_are_inserted_or_left_out(
    simdb_run, write_lines, words, code, stored, note
):
    write_lines("a.jsonl", *RECORDS)

    place = f"d{len(words)}{note[:3]}"

    ran = simdb_run("insert", place, "a.jsonl", *words)

    assert ran.code == code, ran.notes
    assert note in ran.notes
    if stored:
        with simdb.open(place, "r") as database:
            assert list(database) == stored
            assert database.stats().empty_count == len(stored) - 2


@over(
    ("words", "code", "note"),
    [
        ([], 1, "2 documents, 2 in the database, 0 not"),
        (["--on-null", "keep"], 0, "4 documents, 2 in the database, 2 not"),
        (["--on-null", "drop"], 0, "2 documents, 2 in the database, 0 not, 2 without a text and"),
        (["--on-null", "error"], 2, "a.jsonl:2: null instead of a text"),
        (["--on-null", "skip"], 2, "'--on-null': 'skip' is not one of"),
    ],
)
def test_records_without_a_text_are_looked_up_or_left_out(
    simdb_run, write_lines, words, code, note
):
    write_lines("a.jsonl", *RECORDS)
    simdb_run("insert", "d", "a.jsonl", "--on-null", "drop", "--on-conflict", "same")

    ran = simdb_run("lookup", "d", "a.jsonl", *words)

    assert ran.code == code, ran.notes
    assert note in ran.notes
    assert {row["id"] for row in ran.rows} == (set() if code == 2 else {"a", "d"})
