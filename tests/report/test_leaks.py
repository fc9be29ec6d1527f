"""The page about leaks shows the least covered first, and says what it leaves out."""

import pytest
from whole_pages import assert_whole

import simdb
from simdb.report import leaks

pytest.importorskip("jinja2")

ITEM = (
    "a train leaves the station at noon with ninety passengers and stops at every village until"
    " dusk when only four of them are left how many got off at each stop on average"
)
HOSTILE = '<script>alert(1)</script> "><img src=x onerror=alert(1)> {{ 7 * 7 }}'


def test_a_passage_is_beside_its_item(tmp_path):
    rows = [{"id": "x", "text": ITEM.replace("ninety", "eighty")}, {"id": "y", "text": "other"}]
    found = simdb.decontaminate(rows, against=[{"id": "t", "text": ITEM}], id="id")

    found.report(tmp_path / "page.html")

    parsed = assert_whole((tmp_path / "page.html").read_text("utf-8"), script=True)
    assert parsed.texts["dd"] == ["1", "1", "2", "1"]
    assert "eighty" in parsed.texts["del"]
    assert "ninety" in parsed.texts["ins"]
    assert "1 document with" in parsed.text("p")


def test_the_least_covered_are_shown_and_others_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(leaks, "SHOWN_LEAKS", 2)
    half = " ".join(ITEM.split()[:24])
    found = simdb.decontaminate([ITEM, half, ITEM + " end"], against=[ITEM])

    found.report(tmp_path / "page.html")

    parsed = assert_whole((tmp_path / "page.html").read_text("utf-8"), script=True)
    articles = [dict(each) for each in parsed.all("article")]
    assert len(articles) == 2
    assert float(articles[0]["data-number"]) < 1
    assert "1 more are left out" in " ".join(parsed.text("p").split())


def test_hostile_texts_are_shown_as_text(tmp_path):
    rows = [{"id": HOSTILE, "text": f"{HOSTILE} {ITEM}"}]
    found = simdb.decontaminate(rows, against=[{"id": HOSTILE, "text": ITEM + HOSTILE}], id="id")

    found.report(tmp_path / "page.html")

    assert_whole((tmp_path / "page.html").read_text("utf-8"), script=True)
    assert "alert(1)</script> &" not in (tmp_path / "page.html").read_text("utf-8")


def test_a_page_without_leaks_says_so(tmp_path):
    simdb.decontaminate(["other"], against=[ITEM]).report(tmp_path / "page.html")

    parsed = assert_whole((tmp_path / "page.html").read_text("utf-8"), script=False)
    assert "No item was found" in parsed.text("p")
