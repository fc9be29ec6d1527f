"""Command dedup --report: a page with what was removed."""

import gzip
import sys
from pathlib import Path

import pytest
from whole_pages import assert_whole

from simdb.jobs.report import page

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
    assert parsed.texts["del"] == ["words", "two more of them"]
    assert parsed.texts["ins"] == ["words", "one"]
    assert parsed.texts["dd"] == ["4", "2", "2", "2"]
    assert "exact Jaccard similarity of their texts is at least 0.8" in parsed.text("p")
    assert len(Path("kept.jsonl").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    "options", [["--verify", "estimate"], ["--policy", "connected"], ["--distance", 10]]
)
@pytest.mark.parametrize("end", ["", ".gz"])
def test_every_way_to_decide_has_a_page(simdb_run, write_lines, options, end):
    source = write_lines("a.jsonl", *RECORDS)
    if end:
        Path("a.jsonl.gz").write_bytes(gzip.compress(Path(source).read_bytes()))

    ran = simdb_run("dedup", f"a.jsonl{end}", "--report", "page.html", "--quiet", *options)

    _, pairs = shown()
    assert ran.code == 0
    assert sorted(pairs) == [("b", "a"), ("d", "a")]


def test_a_preferred_document_is_the_one_that_stays(simdb_run, source):
    simdb_run("dedup", source, "--report", "page.html", "--keep", "longest")

    assert sorted(shown()[1]) == [("a", "b"), ("d", "b")]


@pytest.mark.few(1)
@pytest.mark.parametrize("show", [[], ["--show", 5]])
def test_matches_of_a_database_have_their_texts_if_they_are_known(
    simdb_run, source, write_lines, show
):
    simdb_run("dedup", source, "--db", "d", "--report", "page.html", *show)
    assert sorted(shown()[1]) == [("b", "a"), ("d", "a")]
    assert shown()[0].texts["del"][1:] == ["two more of them"]
    later = write_lines("later.jsonl", {"id": "e", "text": f"{WORDS} three"})

    simdb_run("dedup", later, "--db", "d", "--report", "page.html", *show)
    parsed, pairs = shown()
    assert pairs == [("e", "a")]
    assert parsed.text("p").count("Its text is not at hand.") == 1

    again = ["dedup", later, "--db", "d", "--report", "page.html", "--texts", source]
    simdb_run(*again, *show)
    parsed, pairs = shown()
    assert pairs == [("e", "a")]
    assert parsed.texts["del"] == ["words", "three"]


def test_the_page_is_bounded(simdb_run, source, monkeypatch):
    monkeypatch.setattr(page, "SHOWN_PAIRS", 1)

    simdb_run("dedup", source, "--report", "page.html")

    parsed, pairs = shown()
    assert pairs == [("b", "a")]
    assert "1 more are left out" in " ".join(parsed.text("p").split())


def test_nothing_removed_has_a_page(simdb_run, write_lines):
    simdb_run("dedup", write_lines("a.jsonl", RECORDS[0]), "--report", "page.html")

    assert "No document was removed." in shown(script=False)[0].text("p")


@pytest.mark.parametrize(
    ("page", "message"),
    [("-", "--report names a file"), ("none/page.html", "cannot be written: there is no folder")],
)
def test_a_place_that_is_none_is_refused_before_anything_is_read(simdb_run, source, page, message):
    ran = simdb_run("dedup", source, "--report", page, "--db", "d")

    assert ran.code == 2
    assert message in ran.notes
    assert not Path("d").exists()


def test_without_jinja_nothing_is_read(simdb_run, source, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)

    ran = simdb_run("dedup", source, "--report", "page.html")

    assert (ran.code, ran.notes) == (2, "simdb: a report needs jinja2: pip install jinja2\n")
