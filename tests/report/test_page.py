"""The page is whole in itself, and shows what users have stored as text and nothing else."""

import re
from datetime import datetime

import pytest
from whole_pages import assert_whole

from simdb.database.search.question import Question
from simdb.jobs.report import facts as facts_module, page
from simdb.jobs.report.facts import Limits, gather

pytest.importorskip("jinja2")

SCRIPT = "<script>alert(1)</script>"
HOSTILE = [
    SCRIPT, '"><img src=x onerror=alert(1)>', "</style><style>@import url(http://evil/x.css)</style>",
    "<svg onload=alert(1)>", "{{ 70707 * 7 }}{% raw %}", "javascript:alert(1)",
    "<a href=http://evil>x</a>", "&lt;b&gt; & 'quotes' \"too\"", "]]><!-- -->",
    "\u202eevil\u202c", "\x00\x1b[31m",
]  # fmt: skip


def rendered(database, texts=None, *, limits=None, **asked):
    facts = gather(database, Question(**asked), limits=limits, texts=texts)
    return facts, page.render(facts, is_minhash=database.options.is_minhash)


@pytest.fixture
def hostile(open_database, tmp_path):
    """A database with hostile ids and texts, in a directory with a hostile name."""
    database = open_database(tmp_path / "<script>alert(2)<-script>&db")
    ids = [f"{each}{copy}" for each in HOSTILE for copy in "ab"]
    base = "many words that every document of this group has in common with the others "
    texts = [f"{base * 3} {each} {'end' if at % 2 else 'stop'}" for at, each in
             enumerate(each for each in HOSTILE for _ in "ab")]  # fmt: skip
    database.insert_many(ids, texts)
    return database, dict(zip(ids, texts, strict=True))


def test_hostile_ids_and_texts_are_shown_as_text(hostile, monkeypatch):
    monkeypatch.setattr(facts_module, "SHOWN_MEMBERS", len(HOSTILE) * 2)
    database, texts = hostile

    facts, text = rendered(
        database, lambda ids: {id: texts[id] for id in ids}, similarity=0.5, recall=1.0
    )

    parsed = assert_whole(text)
    shown = parsed.text("bdi", "ins", "del", "p")
    members = {member.id for group in facts.groups.largest for member in group.members}
    assert members == set(texts)
    for group in facts.groups.largest:
        for member in group.members:
            assert page.shown_id(member.id) in shown
            for piece in member.pieces:
                assert piece.text.strip() in shown
    assert "alert(2)" in parsed.text("bdi")
    assert "\x00" not in text
    assert "\u202e" not in text
    assert "494949" not in parsed.text("ins", "bdi")


def test_each_table_has_a_name_and_each_number_of_a_distribution_a_bar(database):
    database.insert_many(range(50), [f"text number {at // 2} of some words" for at in range(50)])

    facts, text = rendered(database)

    parsed = assert_whole(text)
    assert len(parsed.all("caption")) == len(parsed.all("table")) == 6
    bars = [each["style"] for each in parsed.all("td") if each.get("class") == "bar"]
    assert all(re.fullmatch(r"--part: (100|\d\d?)\.\d%", each) for each in bars)
    assert bars[:2] == ["--part: 100.0%"] * 2
    shares = page.header_shares(facts.headers, is_minhash=False)
    rows = [*facts.groups.sizes * 2, *facts.drawn.bins, *facts.sections]
    assert len(bars) == len(rows) + sum(map(len, shares.values()))
    assert {each["scope"] for each in parsed.all("th")} == {"row", "col"}
    referred = {each["href"][1:] for each in parsed.all("a")}
    labels = {each["aria-labelledby"] for _, each in parsed.tags if "aria-labelledby" in each}
    assert referred | labels <= set(parsed.ids)


def test_the_share_of_a_sample_has_an_error_and_that_of_all_documents_has_none(database):
    database.insert_many(range(400), [f"text number {at // 2} of words" for at in range(400)])

    few = gather(database, Question(similarity=0.999), limits=Limits(sample=4)).drawn
    many = gather(database, Question(similarity=0.999), limits=Limits(sample=396)).drawn
    every = gather(database, Question(similarity=0.999)).drawn

    assert few.matching_share == many.matching_share == 1.0
    assert page.sampling_error(few) == pytest.approx(2 * (0.75 * 0.25 / 8) ** 0.5)
    assert 0 < page.sampling_error(many) < 0.02
    assert page.sampling_error(every) == 0


def test_an_empty_database_has_a_page(database):
    _, text = rendered(database)

    parsed = assert_whole(text)
    assert "There are no near-duplicates" in parsed.text("p")


def test_a_time_is_told_to_the_minute_and_no_time_is_unknown():
    assert page.moment(datetime(2024, 5, 6, 7, 8, 59)) == "2024-05-06 07:08"
    assert page.moment(None) == "unknown"
