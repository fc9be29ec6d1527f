"""--on-error: what becomes of records that cannot be read."""

from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from led_files import ids_in
from over import over

from simdb.cli.options.intake import Intake
from simdb.files.read_again import LinesAgain

LINES = [
    {"id": "a", "text": "one two three four five six"},
    {"id": "b", "text": 3},
    {"id": "c", "text": "one two three four five six"},
    {"id": "d", "text": "half \ud800 of a character"},
    {"id": "e", "text": "seven eight nine ten eleven twelve"},
]
# What each command writes, if it writes something.
COMMANDS = {
    "dedup": ("dedup", "in.jsonl", "-o", "out.jsonl"),
    "dedup by parts": ("dedup", "in.jsonl", "-o", "out.jsonl", "--unit", "line"),
    "dedup with a database": ("dedup", "in.jsonl", "-o", "out.jsonl", "--db", "made.d"),
    "insert": ("insert", "made.i", "in.jsonl"),
    "lookup": ("lookup", "known", "in.jsonl", "--new", "out.jsonl"),
    "decontaminate": ("decontaminate", "in.jsonl", "--against", "test.jsonl", "-o", "out.jsonl"),
    "idf": ("idf", "in.jsonl", "-o", "out.jsonl"),
    "calibrate": ("calibrate", "known", "--documents", "in.jsonl"),
    "fingerprint": ("fingerprint", "in.jsonl"),
    "tune": ("tune", "in.jsonl"),
}


@pytest.fixture
def given(simdb_run, write_lines):
    write_lines("in.jsonl", *LINES)
    write_lines("test.jsonl", LINES[0])
    write_lines("known.jsonl", LINES[0])
    assert simdb_run("insert", "known", "known.jsonl").code == 0
    return simdb_run


@over("name", COMMANDS)
def test_records_that_cannot_be_read_are_named_and_counted_and_the_rest_is_done(name, given):
    ran = given(*COMMANDS[name])

    assert ran.code == 1, ran.notes
    assert "in.jsonl:2: the field 'text' holds a number" in ran.notes
    assert "in.jsonl:4: " in ran.notes
    if name in ("dedup", "dedup with a database"):
        assert "2 files or records skipped" in ran.notes
        assert ids_in("out.jsonl") == ["a", "e"]


@over("name", COMMANDS)
def test_the_first_record_that_cannot_be_read_can_end_the_run_with_nothing_written(name, given):
    Path("out.jsonl").write_text("yesterday")

    ran = given(*COMMANDS[name], "--on-error", "raise")

    assert ran.code == 2, ran.notes
    assert str(ran.notes).splitlines()[-1].startswith("simdb: in.jsonl:2: the field 'text' holds")
    assert "in.jsonl:4" not in ran.notes
    assert ran.output == ""
    assert Path("out.jsonl").read_text() == "yesterday"
    for made in Path().glob("made.*"):
        assert given("stats", made, "--json").rows[0]["document_count"] == 0


def test_nulls_that_are_kept_or_dropped_are_no_errors(simdb_run, write_lines):
    write_lines("in.jsonl", LINES[0], {"id": "n", "text": None})

    for words, code in (([], 0), (["--on-null", "drop"], 0), (["--on-null", "error"], 2)):
        assert simdb_run("dedup", "in.jsonl", "--on-error", "raise", *words).code == code
    assert simdb_run("insert", "d", "in.jsonl", "--on-error", "raise").code == 2


@over("name", ["dedup", "dedup by parts", "dedup with a database", "lookup", "decontaminate"])
def test_a_record_that_is_lost_on_its_way_ends_the_run_before_anything_is_seen(name, given):
    copy = LinesAgain.copy

    def losing(self, is_kept, survivors):
        is_kept = is_kept.copy()
        is_kept[np.flatnonzero(is_kept)[-1:]] = False
        copy(self, is_kept, survivors)

    Path("out.jsonl").write_text("yesterday")
    with patch.object(LinesAgain, "copy", losing):
        ran = given(*COMMANDS[name])

    assert ran.code == 3
    assert "which does not add up" in ran.notes
    assert Path("out.jsonl").read_text() == "yesterday"
    for made in Path().glob("made.*"):
        assert given("stats", made, "--json").rows[0]["document_count"] == 0


@over("name", COMMANDS)
def test_a_document_that_is_lost_between_reading_and_the_job_ends_the_run(name, given):
    counted = Intake._counted
    with patch.object(Intake, "_counted", lambda self, batch: counted(self, batch.part(0, 2))):
        ran = given(*COMMANDS[name])

    assert ran.code == 3, ran.notes
    assert "of 3 records there are 2 passed on" in ran.notes
    for made in Path().glob("made.*"):
        assert given("stats", made, "--json").rows[0]["document_count"] == 0


def odd_tokens(text):
    """Return the words of a text; a tokeniser that fails for one of them."""
    if "seven" in text:
        raise ValueError("odd")
    return text.split()


@over("name", ["dedup", "dedup with a database", "insert", "lookup"])
def test_a_document_that_its_tokeniser_refuses_is_named_with_its_line(name, given):
    tokeniser = f"{__name__}:odd_tokens"
    words = ("--allow", tokeniser) if name == "lookup" else ("--tokeniser", tokeniser)
    if name in ("insert", "lookup"):
        assert given("create", f"made.{name}", "--tokeniser", tokeniser).code == 0
        words = ("--allow", tokeniser)
    command = [f"made.{name}" if each in ("made.i", "known") else each for each in COMMANDS[name]]

    ran = given(*command, *words)

    assert ran.code == 1, ran.notes
    assert "in.jsonl:5: the tokeniser" in ran.notes
    assert "raised ValueError: odd" in ran.notes
    if "-o" in command:
        assert ids_in("out.jsonl") == ["a"]
    if name == "insert":
        assert ran.rows == [{"inserted": 2, "skipped": 3, "stored": 2}]
    if name == "lookup":
        assert ids_in("out.jsonl") == ["a", "c"]
    assert given(*command, *words, "--on-error", "raise").code == 2


@over("words", [[], ["--match", "all"]])
def test_metadata_that_cannot_be_stored_skip_their_record(words, simdb_run, write_lines):
    write_lines("in.jsonl", {"id": "a", "text": "one two", "n": 1}, {"id": "b", "text": "three"})
    with Path("in.jsonl").open("a") as file:
        file.write('{"id": "c", "text": "four five", "n": 123456789012345678901234567890}\n')
    place = f"d{len(words)}"

    ran = simdb_run("insert", place, "in.jsonl", "--metadata", *words)

    assert ran.code == 1, ran.notes
    assert ("in.jsonl:3: " if not words else "document 'c': ") in ran.notes
    assert simdb_run("stats", place, "--json").rows[0]["document_count"] == 2
    assert simdb_run("insert", "e", "in.jsonl", "--metadata", "--on-error", "raise").code == 2
