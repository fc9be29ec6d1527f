"""dedup --against: the input is compared with texts that stay, and that are stored nowhere."""

from pathlib import Path

import pytest
from led_files import KEPT, NEW, ONE, ids_in, read, records, write
from over import over


@pytest.fixture
def run(simdb_run):
    """Runs dedup over new.jsonl, beside two files of a reference."""
    write("new.jsonl", records(NEW, "n"))
    write("old.jsonl", records(["nothing like it at all", ONE], "o"))
    write("more.jsonl", records(["a few other words"], "m"))
    return lambda *words: simdb_run("dedup", "new.jsonl", *words)


@over("against", [["old.jsonl", "more.jsonl"], ["old.jsonl", "--against", "[m]*.jsonl"]])
def test_what_matches_the_reference_is_left_out(run, against):
    ran = run("--against", *against, "-o", "kept.jsonl")

    assert ran.code == 0
    lines = Path("new.jsonl").read_text().splitlines(keepends=True)
    assert Path("kept.jsonl").read_text() == lines[1] + lines[3]
    assert [(row["representative"], row["reference"], row["size"]) for row in ran.rows] == [
        ("o1", True, 3), ("n1", False, 2),
    ]  # fmt: skip
    assert [[each["id"] for each in row["duplicates"]] for row in ran.rows] == [
        ["n0", "n4"], ["n2"],
    ]  # fmt: skip
    assert "5 documents, 2 groups, 3 duplicates, 2 of them of --against" in ran.notes


def test_tables_of_groups_say_which_leader_is_of_the_reference(run):
    run("--against", "old.jsonl", "--groups", "groups.csv", "--show", "8", "--quiet")

    rows = read("groups.csv")
    assert [(row["representative"], row["reference"], row["id"]) for row in rows] == [
        ("o1", "true", "n0"), ("o1", "true", "n4"), ("n1", "false", "n2"),
    ]  # fmt: skip
    assert rows[0]["representative_text"].startswith("w0 w1")


def test_a_database_is_a_reference_that_nothing_is_stored_in(run, simdb_run):
    assert simdb_run("insert", "db", "old.jsonl").code == 0
    before = {path.name: path.read_bytes() for path in Path("db").glob("data*")}

    ran = run("--against", "db", "-o", "kept.jsonl", "--show", "5")

    assert {path.name: path.read_bytes() for path in Path("db").glob("data*")} == before
    assert ids_in("kept.jsonl") == KEPT
    assert [(row["representative"], row["reference"], row["text"]) for row in ran.rows] == [
        ("o1", True, None), ("n1", False, "w59 w…"),
    ]  # fmt: skip
    assert "with stored documents only estimated" in ran.notes


def test_texts_of_the_database_decide_if_they_are_named(run, simdb_run):
    assert simdb_run("insert", "db", "old.jsonl").code == 0

    ran = run("--against", "db", "--texts", "old.jsonl", "--show", "5", "--verify", "numbers")

    # The other two that are alike differ in a number.
    assert [(row["representative"], row["text"]) for row in ran.rows] == [("o1", "w0 w1…")]
    assert "only estimated" not in ran.notes


def test_records_of_the_reference_that_are_skipped_are_reported(run):
    write("old.jsonl", [*records([ONE], "o"), {"id": "x"}, {"id": "y", "text": None}])

    ran = run("--against", "old.jsonl", "-o", "kept.jsonl")

    assert ran.code == 1
    assert "old.jsonl:2: no field 'text'" in ran.notes
    assert ids_in("kept.jsonl") == KEPT


def test_exit_code_timings_and_json_are_as_without_a_reference(run):
    ran = run("--against", "old.jsonl", "--exit-code", "--timings", "--json")

    assert ran.code == 1
    assert '"stage": "reading"' in ran.notes
    assert len(ran.rows) == 2
