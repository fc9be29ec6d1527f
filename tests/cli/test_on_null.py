"""--on-null: what becomes of records without a text."""

from led_files import ids_in
from over import over

import simdb

TEXT = "the quick brown fox jumps over the lazy dog near the river bank"
RECORDS = [
    {"id": "a", "text": TEXT},
    {"id": "b", "text": None},
    {"id": "c"},
    {"id": "d", "text": TEXT},
]


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
    assert ids_in("k.jsonl") == ["a", *kept]


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
