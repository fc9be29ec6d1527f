"""Command dedup: groups, runs against earlier runs, survivors and errors."""

import json
import os
from itertools import count
from pathlib import Path

import pytest

import simdb
from simdb.cli.options import intake

FOX = "the quick brown fox jumps over the lazy dog and then it runs home to sleep until the morning"
SEA = "she sells sea shells on the sea shore and the shells that she sells are sea shells for sure"
SKY = "nothing but blue skies from now on said the singer to the band and the band played all night"


def record(id, text):
    return {"id": id, "text": text}


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(intake, "BATCH_DOCUMENTS", 2)


def test_many_problems_do_not_flood_and_hide_no_other_problem(simdb_run, write_lines, tmp_path):
    (tmp_path / "f" / "images").mkdir(parents=True)
    for at in range(22):
        (tmp_path / "f" / "images" / f"{at:02}.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
        (tmp_path / "f" / f"{at:02}.txt").write_bytes(b"word " * at + b"caf\xe9")
    (tmp_path / "f" / "z.txt").write_text(FOX)
    write_lines("a.jsonl", *[{"body": FOX}] * 150)

    ran = simdb_run("dedup", "f")
    records = simdb_run("dedup", "a.jsonl")

    assert ran.notes.count("binary content") == ran.notes.count("invalid utf-8") == 20
    assert "f: 2 more like f/images/00.png\n" in ran.notes
    assert "f: 2 more like f/00.txt\n" in ran.notes
    assert "44 files or records skipped" in ran.notes
    assert records.notes.count("no field 'text'") == 3
    assert "a.jsonl: 147 more like a.jsonl:1\n" in records.notes
    assert "all 150 files or records had to be skipped" in records.notes


def test_kinds_of_problems_without_end_are_counted_together(simdb_run, write_lines, monkeypatch):
    monkeypatch.setattr("simdb.cli.options.intake.KINDS_MAX", 1)
    write_lines("a.jsonl", *[{"body": FOX}] * 30, *[{"text": 1}, {"text": FOX, "id": [1]}] * 15)

    ran = simdb_run("dedup", "a.jsonl")

    assert ran.notes.count("\na.jsonl:") + 1 == 25
    assert "a.jsonl: 27 more like a.jsonl:1\n" in ran.notes
    assert "a.jsonl: 10 more like a.jsonl:31\n" in ran.notes


def test_survivors_can_replace_their_source(simdb_run, write_lines, tmp_path):
    write_lines("a.jsonl", record("x", FOX), record("y", FOX))

    ran = simdb_run("dedup", "a.jsonl", "-o", "a.jsonl", "--in-place")

    assert (tmp_path / "a.jsonl").read_text() == json.dumps(record("x", FOX)) + "\n"
    assert "a.jsonl was replaced, and its omitted documents are kept nowhere\n" in ran.notes
    assert os.listdir(tmp_path) == ["a.jsonl"]


@pytest.mark.usefixtures("small_batches")
def test_one_id_in_two_sources_makes_two_documents(simdb_run, write_lines):
    write_lines("a.jsonl", record("1", FOX), record("2", SEA), record("1", SKY))
    write_lines("b.jsonl", record("1", SKY), record("1", SKY))

    ran = simdb_run("dedup", "a.jsonl", "b.jsonl")

    (row,) = ran.rows
    assert row["representative"] == "a.jsonl:1"
    assert [each["id"] for each in row["duplicates"]] == ["b.jsonl:1", "b.jsonl:2:1"]
    assert "a.jsonl:3: the id '1' is taken; renamed to 'a.jsonl:1'" in ran.notes
    assert "3 renamed" in ran.notes


def test_another_text_with_a_seen_id_is_a_new_document(simdb_run, tmp_path):
    (tmp_path / "a.txt").write_text(FOX)
    simdb_run("dedup", "a.txt", "--db", "seen")
    (tmp_path / "a.txt").write_text(SEA)

    ran = simdb_run("dedup", "a.txt", "--db", "seen", "-o", "new.jsonl")

    assert ran.code == 0
    assert (tmp_path / "new.jsonl").read_text() == json.dumps({"id": "a.txt", "text": SEA}) + "\n"
    with simdb.open("seen", "r") as db:
        assert list(db) == ["a.txt", "a.txt#2"]


def test_the_database_in_a_folder_is_no_source(simdb_run, tmp_path):
    (tmp_path / "a.txt").write_text(FOX)

    files = ("--db", "seen", "-o", "kept.jsonl", "--groups", "groups.jsonl", "--in-place")
    simdb_run("dedup", ".", *files)
    ran = simdb_run("dedup", ".", *files)

    assert ran.code == 0
    assert "1 document, 0 new, 0 duplicates, 1 kept again" in ran.notes


@pytest.mark.parametrize("options", [[], ["--db", "seen"]])
def test_a_run_that_fails_leaves_nothing(simdb_run, write_lines, tmp_path, monkeypatch, options):
    write_lines("a.jsonl", record("x", FOX), record("y", SEA), record("z", FOX))
    (tmp_path / "kept.jsonl").write_text("of an earlier run")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(intake, "BATCH_DOCUMENTS", 2)
    counted, calls = intake.Intake._counted, count()

    def interrupted(*arguments):
        if next(calls) == 1:
            raise KeyboardInterrupt
        return counted(*arguments)

    monkeypatch.setattr(intake.Intake, "_counted", interrupted)

    ran = simdb_run("dedup", "a.jsonl", *options, "-o", "kept.jsonl")

    assert ran.code == 130
    assert (tmp_path / "kept.jsonl").read_text() == "of an earlier run"
    assert set(os.listdir(tmp_path)) <= {"a.jsonl", "kept.jsonl", "seen"}
    if options:
        with simdb.open("seen", "r") as db:
            assert len(db) == 0


def test_groups_are_the_same_however_many_documents_are_taken_at_a_time(
    simdb_run, write_lines, monkeypatch
):
    near = FOX.replace("lazy", "sleepy")
    write_lines(
        "a.jsonl", *[record(str(at), FOX) for at in range(5)], record("n", near),
        *[record(name, SEA) for name in "st"],
    )  # fmt: skip
    options = ["--similarity", "0.5", "-o"]
    whole = simdb_run("dedup", "a.jsonl", *options, "whole.jsonl").rows
    monkeypatch.setattr("simdb.jobs.deduplication.job.NAMED_DOCUMENTS", 3)
    monkeypatch.setattr("simdb.cli.options.intake.BATCH_DOCUMENTS", 2)

    rows = simdb_run("dedup", "a.jsonl", *options, "parts.jsonl").rows

    assert rows == whole
    assert [row["size"] for row in rows] == [6, 2]
    assert Path("parts.jsonl").read_bytes() == Path("whole.jsonl").read_bytes()


def test_a_pdf_is_called_a_pdf(simdb_run, tmp_path):
    """Its binary comment is no UTF-8, and the advice was to name an encoding."""
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4\n\xe2\xe3\xcf\xd3\n")

    assert "a.pdf: a PDF, not text; convert it" in simdb_run("dedup", "a.pdf").notes


def test_it_is_said_if_most_documents_are_near_duplicates(simdb_run, write_lines, monkeypatch):
    given = [{"id": at, "text": f"one two three four five {at % 3}"} for at in range(1000)]
    write_lines("a.jsonl", *given)
    write_lines("b.jsonl", *given[:999])
    shown = []
    monkeypatch.setattr(
        "simdb.cli.output.progress.Progress.show",
        lambda progress, state, share=None: shown.append(state),
    )

    many, fewer = (simdb_run("dedup", name, "--limit", "0") for name in ("a.jsonl", "b.jsonl"))
    apart = simdb_run("dedup", "a.jsonl", "--limit", "0", "--similarity", "1", "--quiet")

    assert "997 of 1,000 documents are near-duplicates of others" in many.notes
    assert "a higher --similarity" in many.notes
    assert "largest groups: 0 (334 documents), 1 (333 documents), 2 (333" in many.notes
    assert "near-duplicates of others" not in fewer.notes
    assert apart.notes == ""
    assert any(each.endswith("pairs compared") for each in shown)
