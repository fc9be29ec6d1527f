"""Command dedup --report: a page with what was removed."""

import sys
from pathlib import Path

import pytest
from whole_pages import assert_whole

pytest.importorskip("jinja2")

WORDS = " ".join(f"w{at}" for at in range(40))
RECORDS = [
    {"id": "a", "text": f"{WORDS} one"},
    {"id": "b", "text": f"{WORDS} two more of them"},
    {"id": "c", "text": "other words altogether"},
    {"id": "d", "text": f"{WORDS}  one"},
]


@pytest.fixture
def source(simdb_run, write_lines):
    return write_lines("a.jsonl", *RECORDS)


def shown(*, script=True):
    parsed = assert_whole(Path("page.html").read_text(encoding="utf-8"), script=script)
    titles = [text for text in parsed.texts.get("bdi", []) if len(text) == 1]
    return parsed, list(zip(titles[::2], titles[1::2], strict=True))


def test_each_removed_document_is_beside_the_one_that_stays(simdb_run, source):
    plain = simdb_run("dedup", source)
    ran = simdb_run("dedup", source, "--report", "page.html", "-o", "kept.jsonl")

    parsed, pairs = shown()
    assert (ran.code, ran.output) == (0, plain.output)
    assert pairs == [("b", "a"), ("d", "a")]
    assert parsed.texts["del"] == ["Marked", "two more of them"]
    assert parsed.texts["ins"] == ["marked", "one"]
    assert parsed.texts["dd"] == ["4", "2", "2", "2"]
    assert "exact Jaccard similarity of their texts is at least 0.8" in parsed.text("p")
    assert len(Path("kept.jsonl").read_text().splitlines()) == 2


def test_matches_of_a_database_have_their_texts_if_they_are_known(simdb_run, source, write_lines):
    simdb_run("dedup", source, "--db", "d", "--report", "page.html")
    assert sorted(shown()[1]) == [("b", "a"), ("d", "a")]
    assert shown()[0].texts["del"][1:] == ["two more of them"]
    later = write_lines("later.jsonl", {"id": "e", "text": f"{WORDS} three"})

    simdb_run("dedup", later, "--db", "d", "--report", "page.html")
    parsed, pairs = shown()
    assert pairs == [("e", "a")]
    assert parsed.text("p").count("Its text is not at hand.") == 1

    simdb_run("dedup", later, "--db", "d", "--report", "page.html", "--texts", source, "--show", 5)
    parsed, pairs = shown()
    assert pairs == [("e", "a")]
    assert parsed.texts["del"] == ["Marked", "three"]


def test_without_jinja_nothing_is_read(simdb_run, source, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)

    ran = simdb_run("dedup", source, "--report", "page.html")

    assert (ran.code, ran.notes) == (2, "simdb: a report needs jinja2: pip install jinja2\n")
