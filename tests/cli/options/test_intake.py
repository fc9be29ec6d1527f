"""The hints that a text looks like HTML, and that a folder has files of records."""

from pathlib import Path

from over import over

import simdb
from simdb.files.content import markup_hint

PLAIN = simdb.Simhash()
HTML = simdb.Simhash(markup="html")


@over(
    "text",
    [
        "<!DOCTYPE html>\n<html>", "<HTML lang=en>", " \n<!-- a\ncomment --> <head>", "<p>text</p>",
        '<?xml version="1.0"?>\n<html xmlns="http://www.w3.org/1999/xhtml">',
    ],
)  # fmt: skip
def test_a_text_that_begins_like_html_gets_a_hint(text):
    hint = markup_hint(text, "page", PLAIN)

    assert hint is not None
    assert hint.startswith("page: this looks like HTML")
    assert markup_hint(text, "page", HTML) is None


@over("text", ["", "text <b>bold</b>", "<stdio.h>", "<pages>", "< p", "1 < 2"])
def test_other_text_gets_no_hint(text):
    assert markup_hint(text, "page", PLAIN) is None


def test_a_run_gives_the_hint_once(simdb_run, tmp_path):
    (tmp_path / "f").mkdir()
    for name in "abc":
        (tmp_path / "f" / name).write_text(f"<html><body>{name}</body></html>")

    ran = simdb_run("dedup", "f")

    assert ran.notes.count("looks like HTML") == 1
    assert "f/a: this looks like HTML" in ran.notes
    assert "HTML" not in simdb_run("dedup", "f", "--quiet").notes


@over("name", ["p.jsonl", "p.csv", "P.TSV", "p.ndjson.gz", "p.parquet", "p.jsonl.zst"])
def test_a_folder_with_files_of_records_among_others_gets_a_hint(simdb_run, name):
    Path("f").mkdir(exist_ok=True)
    for old in Path("f").iterdir():
        old.unlink()
    Path("f", name).write_text("{}")
    Path("f", "other.txt").write_text("one document")
    ending = name[1:]

    ran = simdb_run("dedup", "f")

    assert f"f: in a folder each file is one document, also those that end in {ending}" in ran.notes
    assert f"name the files: 'f/*{ending}'" in ran.notes
    assert "is one document" not in simdb_run("dedup", "f", "--quiet").notes


def test_other_folders_get_no_hint(simdb_run):
    Path("f", "g").mkdir(parents=True)
    for name in ("a.txt", "b.json", "jsonl", "csv"):
        Path("f", name).write_text("some words that are a text")
    Path("f", "g", "p.csv").write_text("id,text\n1,some words\n")

    assert "one document" not in simdb_run("dedup", "f", "f/g/p.csv").notes
