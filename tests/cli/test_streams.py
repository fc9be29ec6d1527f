"""Streams on the command line: every command that reads sources reads pipes as what they hold."""

import gzip
import json
import os
import threading
from pathlib import Path

import pytest
from forked import Child
from led_files import ids_in
from over import over

import simdb


def text(name):
    return " ".join(f"{name}{at}" for at in range(20))


ROWS = [{"id": f"{at}", "text": text("abc"[at % 3])} for at in range(6)]
ITEMS = [{"id": name, "question": text(name)} for name in "axyz"]


def lines(rows):
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


@pytest.fixture
def pipe():
    """Makes the name of a pipe that holds some bytes, as the shell does for <(command)."""
    opened = []

    def make(content):
        reads, writes = os.pipe()
        writer = threading.Thread(target=lambda: (os.write(writes, content), os.close(writes)))
        writer.start()
        opened.append((reads, writer))
        return f"/dev/fd/{reads}"

    yield make
    for reads, writer in opened:
        os.close(reads)
        writer.join()


def test_a_leak_is_found_whichever_side_is_a_pipe(simdb_run, pipe):
    """The items were one document, and none of them was found."""
    Path("train.jsonl").write_bytes(lines(ROWS))
    Path("items.jsonl").write_bytes(lines(ITEMS))
    asked = ["--fields", "question"]

    for name, train, items in (
        ("a", "train.jsonl", pipe(lines(ITEMS))),
        ("b", pipe(lines(ROWS)), "items.jsonl"),
    ):
        ran = simdb_run("decontaminate", train, "--against", items, *asked, "-o", f"{name}.jsonl")
        assert "1 of 4 items found in 2 of 6 documents" in ran.notes
        assert ids_in(f"{name}.jsonl") == ["1", "2", "4", "5"]


def test_other_commands_read_pipes(simdb_run, pipe):
    simdb_run("insert", "db", pipe(lines(ROWS)))

    simdb_run(
        "lookup", "db", pipe(lines([*ROWS, {"id": "n", "text": text("n")}])), "--new", "n.jsonl"
    )
    pairs = simdb_run("pairs", "db", "--verify", "exact", "--texts", pipe(lines(ROWS)))
    tuned = simdb_run("tune", pipe(lines(ROWS)))

    assert len(simdb.open("db", "r")) == 6
    assert ids_in("n.jsonl") == ["n"]
    assert len(pairs.rows) == 3
    assert tuned.rows[0]["texts"] == 6


def test_what_a_pipe_holds_is_asked_for_if_it_does_not_show(simdb_run, pipe):
    Path("kept.jsonl").write_text("of an earlier run")

    ran = simdb_run("dedup", pipe(b"Some prose.\nMore of it.\n"), "-o", "kept.jsonl", "--db", "db")
    read = simdb_run("dedup", pipe(b"Some prose.\nMore.\n"), "--format", "lines", "-o", "l.jsonl")

    assert ran.code == 2
    assert "--format jsonl, csv" in ran.notes
    assert Path("kept.jsonl").read_text() == "of an earlier run"
    listed = simdb_run("dedup", pipe(b"Some prose.\n"), "--format", "text", "-o", "list.txt")

    assert read.code == 0
    assert len(ids_in("l.jsonl")) == 2
    assert (listed.code, os.path.exists("list.txt")) == (2, False)


def test_a_run_over_a_pipe_has_no_name(simdb_run, pipe):
    """The same name of a pipe can hold anything in the next run."""
    os.mkfifo("in")

    def run(rows):
        writer = threading.Thread(target=lambda: Path("in").write_bytes(lines(rows)))
        writer.start()
        ran = simdb_run("dedup", "in", "--db", "db", "-o", "kept.jsonl")
        writer.join()
        return ran

    run(ROWS[:1])
    ran = run(ROWS[:2])

    assert "keeps again" not in ran.notes
    assert ids_in("kept.jsonl") == ["1"]


def test_one_text_is_no_file_of_records(simdb_run, pipe):
    simdb_run("insert", "db", pipe(lines(ROWS)))

    ran = simdb_run("query", "db", "--file", pipe(lines(ROWS)))
    found = simdb_run("query", "db", "--file", pipe(gzip.compress(text("a").encode())))

    assert ran.code == 2
    assert "holds records, not one text" in ran.notes
    assert [row["id"] for row in found.rows] == ["0", "3"]


def test_a_log_gets_a_hint_at_its_lines(simdb_run):
    Path("app.log").write_text("one line of it\nanother line of it\n")

    whole = simdb_run("dedup", "app.log")
    parts = simdb_run("dedup", "app.log", "--unit", "line")
    single = simdb_run("dedup", "app.log", "--format", "lines")

    assert "app.log is read as one document; a list of its lines, or --format lines" in whole.notes
    assert "is read as one document" not in parts.notes + single.notes
    assert "2 documents" in single.notes


@over(
    "words",
    [
        ("decontaminate", "-", "--against", "-", "-o", "old.jsonl"),
        ("decontaminate", "/dev/fd/0", "--against", "-", "-o", "old.jsonl"),
        ("dedup", "-", "--against", "/dev/stdin", "-o", "old.jsonl"),
        ("lookup", "db", "-", "--texts", "/dev/stdin", "--show", "5", "--new", "old.jsonl"),
    ],
)
@pytest.mark.usefixtures("simdb_run")
def test_one_stream_is_never_two_sources(words):
    """The second found nothing left: "0 of 0 documents", and the output was emptied."""
    Path("old.jsonl").write_text("an earlier result\n")
    simdb.open("db").close()

    program = Child("from simdb.cli.app import main\nmain()", *words)
    program.stdin.write('{"id": 1, "text": "one two three four"}\n')
    _, notes = program.rest()

    assert program.status == 2, notes
    assert Path("old.jsonl").read_text() == "an earlier result\n"
