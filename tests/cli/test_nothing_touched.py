"""What is wrong is said before anything is read, and a run without input leaves nothing behind."""

import json
import os
import threading
import time
from pathlib import Path

import pytest
from over import over

import simdb
from simdb.cli.output import progress
from simdb.files import content, sources

TEXT = "the quick brown fox jumps over the lazy dog and then it runs home to sleep"


@pytest.fixture
def run(simdb_run, write_lines):
    """Runs a command beside a.jsonl, bad.jsonl without texts, and the database d."""
    write_lines("a.jsonl", {"id": 1, "text": TEXT}, {"id": 2, "text": TEXT})
    write_lines("bad.jsonl", {"id": 1, "body": TEXT}, {"id": 2, "body": TEXT})
    simdb_run("insert", "d", "a.jsonl")
    return simdb_run


def contents():
    """Return the content of each file below the folder, by its path."""
    files = (Path(folder, name) for folder, _, names in os.walk(".") for name in names)
    return {str(path): path.read_bytes() for path in files if path.suffix == ".jsonl"}


@over("verb", [
    ["dedup", "a.jsonl"], ["dedup", "a.jsonl", "--db", "new"],
    ["lookup", "d", "a.jsonl"], ["insert", "new", "a.jsonl", "--match", "first"],
])  # fmt: skip
def test_wrong_options_are_refused_before_anything_is_read(run, monkeypatch, verb):
    monkeypatch.setattr(content, "CountedFile", lambda path: pytest.fail(f"{path} was read"))

    for name, value in (
        ("similarity", 80), ("similarity", 0), ("distance", 65), ("recall", 2), ("search", "fast"),
    ):  # fmt: skip
        ran = run(*verb, f"--{name}", value)

        assert ran.code == 2
        assert f"{name} must be" in ran.notes
    assert not Path("new").exists()


@over("verb", [
    ["dedup", "a.jsonl", "-o"], ["dedup", "a.jsonl", "--groups"],
    ["dedup", "a.jsonl", "--db", "new", "-o"], ["lookup", "d", "a.jsonl", "--output"],
    ["idf", "a.jsonl", "--output"],
])  # fmt: skip
def test_an_output_that_cannot_be_is_named_before_anything_is_read(run, monkeypatch, verb):
    os.makedirs("closed", exist_ok=True)
    may = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: not str(path).endswith("closed") and may(path, mode)
    )
    monkeypatch.setattr(content, "CountedFile", lambda path: pytest.fail(f"{path} was read"))

    for place, reason in (
        ("no/such/o.jsonl", "there is no folder "),
        ("a.jsonl/o.jsonl", "there is no folder "),
        ("closed/o.jsonl", "this user may not write into the folder "),
    ):
        ran = run(*verb, place)

        assert ran.code == 2
        assert f"{place} cannot be written: {reason}" in ran.notes
        assert ".partial" not in ran.notes
    assert not Path("new").exists()


@over(("verb", "place"), [(["dedup"], "k.jsonl"), (["dedup", "--db", "new"], "k/")])
def test_a_run_in_which_all_was_skipped_touches_nothing(run, verb, place):
    run("dedup", "a.jsonl", "-o", place)
    Path("k/bad.jsonl" if place == "k/" else "k.jsonl").write_text("good\n")
    before = contents()

    ran = run(*verb, "bad.jsonl", "-o", place, "--groups", "g.jsonl")

    assert ran.code == 2
    assert "bad.jsonl:1: no field 'text'; use --text-field" in ran.notes
    assert "all 2 files or records had to be skipped" in ran.notes
    assert contents() == before
    assert not Path("new").exists()


@over("verb", [
    ["dedup", "-o"], ["dedup", "--db", "new", "-o"], ["dedup", "--unit", "line", "-o"],
    ["lookup", "d", "--on-null", "keep", "--new"], ["decontaminate", "--against", "a.jsonl", "-o"],
])  # fmt: skip
def test_records_without_a_text_do_not_hide_that_every_text_was_skipped(run, verb):
    """One null row let a run succeed whose other texts were all refused: it took their place."""
    rows = [{"id": "none", "text": None}, *({"id": at, "text": at} for at in range(3))]
    Path("odd.jsonl").write_text("".join(json.dumps(each) + "\n" for each in rows))
    Path("k.jsonl").write_text("good\n")
    before = contents()

    ran = run(*verb, "k.jsonl", "odd.jsonl")

    assert ran.code == 2
    assert "all 3 files or records" in ran.notes
    assert "nothing was done or written" in ran.notes
    assert contents() == before
    assert not Path("new").exists()


def test_an_insertion_of_which_all_was_skipped_makes_no_database(run):
    made = run("insert", "new", "bad.jsonl")
    filled = run("insert", "d", "bad.jsonl")

    assert (made.code, filled.code, made.output, filled.output) == (2, 2, "", "")
    assert not Path("new").exists()
    with simdb.open("d") as database:
        assert len(database) == 2


@over(
    ("verb", "end"),
    [(["dedup", "a.jsonl", "--db"], []), (["insert"], ["a.jsonl", "--on-conflict", "same"])],
)
def test_a_new_database_is_announced_and_with_existing_none_is_made(run, verb, end):
    new = "".join(["new", *verb[:1]])
    first, second = (run(*verb, new, *end) for _ in range(2))
    typo, right = (run(*verb, name, *end, "--existing") for name in ("dd", "d"))

    assert (first.code, second.code, typo.code, right.code) == (0, 0, 3, 0)
    assert f"created the database {new}\n" in first.notes
    assert "created" not in second.notes
    assert "there is no database at dd" in typo.notes
    assert not Path("dd").exists()


@pytest.mark.parametrize(
    ("verb", "place"),
    [
        (["dedup", "a.jsonl", "--db", "new"], "jobs.deduplication.claims.Claims.decide"),
        (["insert", "new", "a.jsonl"], "cli.insert.begin_write"),
    ],
)
def test_a_first_run_that_is_interrupted_says_that_the_database_is_empty(
    run, monkeypatch, verb, place
):
    def interrupted(*given):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(f"simdb.{place}", interrupted)
        first, second = (run(*verb) for _ in range(2))
    third = run(*verb)

    assert (first.code, second.code, third.code) == (130, 130, 0)
    assert first.notes == (
        "created the database new\n"
        "the new database new is empty; run the command again to fill it, or remove the directory\n"
        "simdb: interrupted\n"
    )
    assert second.notes == "simdb: interrupted\n"
    with simdb.open("new") as database:
        assert len(database) in (1, 2)


def test_a_first_run_that_fails_after_it_has_stored_something_calls_nothing_empty(run, monkeypatch):
    def cut(*given, **named):
        raise OSError("no pipe")

    monkeypatch.setattr("simdb.cli.insert.print_one", cut)

    ran = run("insert", "new", "a.jsonl")

    assert ran.code == 2
    assert "empty" not in ran.notes
    with simdb.open("new") as database:
        assert len(database) == 2


def test_a_database_that_may_not_be_read_is_not_called_missing(run, monkeypatch):
    def closed(path, **named):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("simdb.storage.files.check_regular", closed)

    for verb in (["lookup", "d", "a.jsonl"], ["insert", "d", "a.jsonl"], ["stats", "d"]):
        ran = run(*verb)

        assert ran.code == 3
        assert "d may not be read by this user" in ran.notes


def test_a_source_that_may_not_be_read_is_not_called_missing(run, monkeypatch):
    look = os.lstat

    def closed(path, **named):
        if str(path).startswith("theirs"):
            raise PermissionError(13, "Permission denied")
        return look(path, **named)

    monkeypatch.setattr(sources.os, "lstat", closed)

    ran = run("dedup", "theirs/a.jsonl")

    assert ran.code == 2
    assert "theirs/a.jsonl may not be read by this user" in ran.notes


@pytest.mark.parametrize("verb", [["dedup", "a.jsonl", "--db", "d"], ["delete", "d", "1"]])
def test_who_waits_for_another_writer_says_so(run, monkeypatch, verb):
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", 0.01)
    begun, ended = threading.Event(), threading.Event()

    def write():
        with simdb.open("d") as database, database.write():
            begun.set()
            time.sleep(0.1)
        ended.set()

    writer = threading.Thread(target=write)
    writer.start()
    begun.wait()
    ran = run(*verb)
    writer.join()

    assert ended.is_set()
    assert "waiting until another process has written to d" in ran.notes
