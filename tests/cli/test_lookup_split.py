"""lookup --new and --found: the documents without a match and those with one, as they are."""

import gzip
import json
from pathlib import Path

import pytest
from led_files import NEW, ONE, THREE, TWO, records, write

FOUND, ABSENT = [0, 3, 4], [1, 2]


@pytest.fixture
def look(simdb_run):
    """Looks up five records in a database with two texts that three of them match."""
    write("old.jsonl", records([ONE, THREE], "o"))
    assert simdb_run("insert", "db", "old.jsonl").code == 0
    write("new.jsonl", records(NEW, "n"))
    return lambda *words, source="new.jsonl": simdb_run("lookup", "db", source, *words)


def lines_of(name):
    content = Path(name).read_bytes()
    lines = gzip.decompress(content) if name.endswith(".gz") else content
    return lines.splitlines(keepends=True)


def chosen(places, name="new.jsonl"):
    lines = lines_of(name)
    return [lines[place] for place in places]


def test_lines_are_copied_byte_for_byte(look):
    Path("new.jsonl").write_text(
        "".join(f'{{"text":   {json.dumps(text)}, "more": [1]}}\n' for text in NEW)
    )

    ran = look("--new", "new.out.jsonl", "--found", "found.jsonl.gz")

    assert ran.code == 0
    assert [row["match"] for row in ran.rows] == ["o0", "o1", "o0"]
    assert lines_of("new.out.jsonl") == chosen(ABSENT)
    assert lines_of("found.jsonl.gz") == chosen(FOUND)
    assert "5 documents, 3 in the database, 2 not" in ran.notes


def test_one_of_the_outputs_is_enough_and_one_can_be_standard_output(look):
    ran = look("--new", "-")

    assert ran.output.encode() == b"".join(chosen(ABSENT))
    assert look("--found", "found.jsonl", "--all", "--show", "9", "--json").code == 0
    assert lines_of("found.jsonl") == chosen(FOUND)


def test_a_folder_gets_a_file_for_each_source(look, simdb_run):
    write("b.jsonl", records([TWO], "b"))

    simdb_run("lookup", "db", "new.jsonl", "b.jsonl", "--new", "n/", "--found", "f/")

    assert lines_of("n/new.jsonl") == chosen(ABSENT)
    assert (lines_of("n/b.jsonl"), lines_of("f/b.jsonl")) == (lines_of("b.jsonl"), [])


def test_documents_that_are_files_are_listed(look):
    Path("pages").mkdir()
    for at, text in enumerate(NEW):
        Path(f"pages/{at}").write_text(text)

    look("--new", "new.txt", "--found", "found.txt", source="pages")

    assert Path("new.txt").read_text() == "pages/1\npages/2\n"
    assert Path("found.txt").read_text() == "pages/0\npages/3\npages/4\n"


def test_an_output_without_documents_is_noted(look):
    write("new.jsonl", records([ONE], "n"))

    ran = look("--new", "new.out.jsonl", "--found", "found.jsonl")

    assert "new.out.jsonl is empty: every document has a match" in ran.notes
    assert Path("new.out.jsonl").read_text() == ""
    write("new.jsonl", records([TWO], "n"))
    assert "found.jsonl is empty: nothing matches" in look("--found", "found.jsonl").notes


def test_after_an_error_both_outputs_are_as_they_were(look, monkeypatch):
    Path("n.jsonl").write_text("before\n")

    def fail(*given):
        raise OSError(28, "No space left on device")

    for place in (
        "simdb.files.survivors.SurvivorOutput._write",
        "simdb.files.write_results",
    ):
        with monkeypatch.context() as patch:
            patch.setattr(place, fail)
            assert look("--new", "n.jsonl", "--found", "f.jsonl").code != 0
        assert Path("n.jsonl").read_text() == "before\n"
        assert not Path("f.jsonl").exists()
        assert not list(Path().glob("*.partial"))
