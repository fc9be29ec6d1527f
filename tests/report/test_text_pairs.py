"""Pages of removed documents and of leaks show the nearest pairs first, and count the others."""

import math
import shutil
import subprocess

import numpy as np
import pytest
from whole_pages import assert_whole

import simdb
from simdb.jobs.report import page
from simdb.jobs.report.excerpts import TEXT_CHARACTERS
from simdb.jobs.report.page import (
    TextPair,
    nearest_pairs,
    render_removed,
    rule_in_words,
    shown_pair,
    shown_text,
)

pytest.importorskip("jinja2")

HOSTILE = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</script><b>", "{{ 7 * 7 }}",
    "\u202eevil\u202c", "\x00\x1b[31m",
]  # fmt: skip


def pairs_of(similarities, texts, sketch=None):
    return nearest_pairs(
        np.array(similarities, np.float32),
        lambda at: ([f"r{each}" for each in at], [f"k{each}" for each in at]),
        lambda at: ([texts[each] for each in at], ["the text"] * len(at)),
        sketch,
    )


def test_the_least_similar_pairs_come_first_and_unknown_ones_last(monkeypatch):
    monkeypatch.setattr(page, "READ_PAIRS", 2)

    found = pairs_of([0.9, math.nan, 0.8, 1.0, 0.8], ["t0", "t1", "t2", "t3", "t4"])

    assert [each.left_title for each in found] == ["r2", "r4", "r0", "r3", "r1"]
    assert [each.right_title for each in found] == ["k2", "k4", "k0", "k3", "k1"]
    assert [each.left for each in found] == ["t2", "t4", "t0", "t3", "t1"]


def test_of_html_the_page_shows_what_a_reader_sees():
    """The beginning of most pages of the web is the same head, and tells nothing of the page."""
    pytest.importorskip("selectolax")
    html = b"<html><head><script>var y</script></head><body><p>hello</p></body>"

    (found,) = pairs_of([0.9], [html], simdb.Simhash(markup="html"))

    assert (found.left, found.right) == ("hello", "the text")


def test_the_page_is_bounded_and_says_how_many_are_omitted(monkeypatch):
    monkeypatch.setattr(page, "SHOWN_PAIRS", 3)
    pairs = pairs_of([0.9, 0.8, 1.0, 0.95], ["a", "b", "c", "d"])

    text = render_removed(10, 4, rule_in_words("Jaccard", 0.8), pairs)

    parsed = assert_whole(text, script=True)
    said = " ".join(parsed.text("p").split())
    assert len(parsed.all("article")) == 3
    assert "The 3 least similar pairs are shown" in said
    assert "1 more are omitted" in said
    assert "the exact Jaccard similarity of their texts is at least 0.8" in said
    assert parsed.texts["dd"] == ["10", "6", "4", "3"]


@pytest.mark.parametrize("indentation", ["    ", "\t"])
def test_code_is_shown_in_letters_of_one_width(indentation):
    code = f"def f(x):\n{indentation}return x"
    pairs = [TextPair("a", "b", code, "def f(x): return x", 1.0)]

    parsed = assert_whole(render_removed(2, 1, "", pairs), script=True)

    kinds = [dict(each).get("class", "") for each in parsed.all("p")]
    shown = [kind for kind in kinds if kind.startswith("text")]
    assert shown == ["text lines", "text"]


def test_each_side_marks_its_own_words_and_an_unknown_text_is_named():
    pairs = [
        TextPair("a", "b", "one two three", "one two four", 0.8),
        TextPair("c", "d", "one two", "one  two", 1.0),
        TextPair("e", "f", "one two", None, math.nan),
    ]

    parsed = assert_whole(render_removed(6, 3, "", pairs), script=True)

    assert parsed.texts["del"][-1] == "three"
    assert parsed.texts["ins"][-1] == "four"
    assert "Its text is not at hand." in parsed.text("p")
    assert "similarity unknown" in parsed.text("p")
    differing = [each["data-differing"] for each in parsed.all("article")]
    assert differing == ["yes", "no", "yes"]


def test_nothing_removed_needs_no_script():
    parsed = assert_whole(render_removed(3, 0, "", []))

    assert "No document was removed." in parsed.text("p")


def test_as_much_of_a_text_is_kept_as_is_looked_at():
    long = "x" * (3 * TEXT_CHARACTERS)

    assert shown_text(None) is None
    assert shown_text("caf\u00e9") == shown_text("caf\u00e9".encode()) == "caf\u00e9"
    assert shown_text(long) == shown_text(long.encode())
    pair = TextPair("a", "b", shown_text(long), "x", 0.1)
    assert shown_pair(pair)[2].endswith("among the first 1,000 words")


SCENE = """
const fields = {};
for (const name of ["controls", "words", "least", "most", "differing", "shown"])
  fields[name] = {value: "", checked: false, hidden: true, listeners: {},
                  addEventListener(kind, call) { this.listeners[kind] = call; }};
const pair = (number, differing, textContent) =>
  ({dataset: {number, differing}, textContent, hidden: false});
const pairs = [pair("0.8", "yes", "Red\\n  fox"), pair("0.95", "no", "red hen"),
               pair("nan", "yes", "blue fox")];
globalThis.document = {getElementById: (name) => fields[name], querySelectorAll: () => pairs};
require(process.argv[1]);
const choose = (given) => {
  for (const name of ["words", "least", "most"]) fields[name].value = given[name] ?? "";
  fields.differing.checked = given.differing ?? false;
  fields.controls.listeners.input();
  console.log(pairs.map((each) => (each.hidden ? 0 : 1)).join("") + " " + fields.shown.textContent);
};
console.log(fields.controls.hidden);
choose({});
choose({words: " RED fox"});
choose({least: "0.9"});
choose({most: "0.9"});
choose({differing: true});
"""


def test_the_script_chooses_by_words_similarity_and_difference():
    node = shutil.which("node")
    if node is None:
        pytest.skip("node runs the script of the page, and is not installed")

    ran = subprocess.run(
        [node, "-e", SCENE, str(page.FOLDER / "pairs.js")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert ran.stdout.splitlines() == [
        "false", "111 3 of 3 pairs shown", "100 1 of 3 pairs shown", "011 2 of 3 pairs shown",
        "101 2 of 3 pairs shown", "101 2 of 3 pairs shown",
    ]  # fmt: skip


ITEM = (
    "a train leaves the station at noon with ninety passengers and stops at every village until"
    " dusk when only four of them are left how many got off at each stop on average"
)


def test_a_passage_is_beside_its_item_and_hostile_texts_are_shown_as_text(tmp_path):
    """Ids and texts that would be tags, styles, templates or control characters of the page."""
    rows = [
        {"id": f"{each}{HOSTILE[0]}", "text": f"{each} {ITEM.replace('ninety', 'eighty')}"}
        for each in HOSTILE
    ]
    items = [{"id": HOSTILE[0], "text": f"{ITEM} {' '.join(HOSTILE)}"}]
    found = simdb.decontaminate([*rows, {"id": "y", "text": "other"}], against=items, id="id")

    found.report(tmp_path / "page.html")

    text = (tmp_path / "page.html").read_text("utf-8")
    parsed = assert_whole(text, script=True)
    assert parsed.texts["dd"] == ["1", "1", "7", "6"]
    assert "eighty" in parsed.text("del")
    assert "ninety" in parsed.text("ins")
    assert "6 documents with" in parsed.text("p")
    assert "alert(1)" in parsed.text("bdi")
    assert "\x00" not in text
    assert "\u202e" not in text
    assert "49" not in parsed.text("bdi", "del")


def test_the_least_covered_are_shown_and_others_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(page, "SHOWN_PAIRS", 2)
    half = " ".join(ITEM.split()[:24])
    found = simdb.decontaminate([ITEM, half, ITEM + " end"], against=[ITEM])

    found.report(tmp_path / "page.html")

    parsed = assert_whole((tmp_path / "page.html").read_text("utf-8"), script=True)
    articles = [dict(each) for each in parsed.all("article")]
    assert len(articles) == 2
    assert float(articles[0]["data-number"]) < 1
    assert "1 more are omitted" in " ".join(parsed.text("p").split())


def test_a_page_without_leaks_says_so(tmp_path):
    simdb.decontaminate(["other"], against=[ITEM]).report(tmp_path / "page.html")

    parsed = assert_whole((tmp_path / "page.html").read_text("utf-8"), script=False)
    assert "No item was found" in parsed.text("p")
