"""The page is whole in itself, and shows what users have stored as text and nothing else."""

import sys
from datetime import datetime

import pytest
from whole_pages import assert_whole

import simdb
from simdb.engine.search.question import Question
from simdb.report import gather, page, template
from simdb.report.facts import Limits

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

SCRIPT = "<script>alert(1)</script>"
HOSTILE = [
    SCRIPT, '"><img src=x onerror=alert(1)>', "</style><style>@import url(http://evil/x.css)</style>",
    "<svg onload=alert(1)>", "{{ 70707 * 7 }}{% raw %}", "javascript:alert(1)",
    "<a href=http://evil>x</a>", "&lt;b&gt; & 'quotes' \"too\"", "]]><!-- -->",
    "\u202eevil\u202c", "\x00\x1b[31m",
]  # fmt: skip


def rendered(database, texts=None, *, limits=None, **asked):
    facts = gather.gather(database, Question(**asked), limits=limits, texts=texts)
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
    monkeypatch.setattr(gather, "SHOWN_MEMBERS", len(HOSTILE) * 2)
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
            assert template.shown_id(member.id) in shown
            for piece in member.pieces:
                assert piece.text.strip() in shown
    assert "alert(2)" in parsed.text("bdi")
    assert "\x00" not in text
    assert "\u202e" not in text
    assert "494949" not in parsed.text("ins", "bdi")


@pytest.mark.more
def test_differing_words_are_marked(database):
    texts = {
        "a": "one two three four five six seven eight nine ten",
        "b": "one two three four five six seven eight nine eleven",
    }
    database.insert_many(list(texts), list(texts.values()))

    _, text = rendered(database, lambda ids: texts, similarity=0.5, recall=1.0)

    parsed = assert_whole(text)
    assert "eleven" in parsed.texts["ins"]
    assert "ten" in parsed.texts["del"]


def test_each_figure_has_a_name_and_a_table_beside_it(database):
    database.insert_many(range(50), [f"text number {at // 2} of some words" for at in range(50)])

    _, text = rendered(database)

    parsed = assert_whole(text)
    images = [each for each in parsed.all("svg") if each.get("role") == "img"]
    assert len(images) == len(parsed.all("figure")) == 4
    assert all(each["aria-label"].endswith(".") for each in images)
    assert all("viewbox" in each for each in images)
    assert len(parsed.all("table")) >= len(images)
    assert len(parsed.all("caption")) == len(parsed.all("table"))
    assert {each["scope"] for each in parsed.all("th")} == {"row", "col"}
    referred = {each["href"][1:] for each in parsed.all("a")}
    labels = {each["aria-labelledby"] for _, each in parsed.tags if "aria-labelledby" in each}
    assert referred | labels <= set(parsed.ids)


@pytest.mark.more
def test_colours_of_figures_follow_the_style_sheet(database):
    database.insert_many(range(50), [f"text number {at // 2} of some words" for at in range(50)])

    _, text = rendered(database)

    assert not [colour for colour in page.VARIABLES if colour in text]
    for name in ("ink", "faint", "series"):
        assert f"var(--{name})" in text
        assert text.count(f"--{name}: #") == 2


@pytest.mark.more
def test_the_page_says_what_was_drawn(database):
    database.insert_many(range(60), [f"text number {at // 2} of some words" for at in range(60)])

    _, text = rendered(database, limits=Limits(sample=20, seed=7, grouped_documents=10))

    parsed = assert_whole(text)
    said = " ".join(parsed.text("p").split())
    assert "For 20 of 60 documents, drawn at random (seed 7), all matches were looked up" in said
    assert "estimates from 20 drawn documents" in said
    assert "about 60" in parsed.text("dd")


def test_the_share_of_a_sample_has_an_error_and_that_of_all_documents_has_none(database):
    database.insert_many(range(400), [f"text number {at // 2} of words" for at in range(400)])

    few = gather.gather(database, Question(similarity=0.999), limits=Limits(sample=4)).drawn
    many = gather.gather(database, Question(similarity=0.999), limits=Limits(sample=396)).drawn
    every = gather.gather(database, Question(similarity=0.999)).drawn

    assert few.matching_share == many.matching_share == 1.0
    assert page.sampling_error(few) == pytest.approx(2 * (0.75 * 0.25 / 8) ** 0.5)
    assert 0 < page.sampling_error(many) < 0.02
    assert page.sampling_error(every) == 0


@pytest.mark.more
def test_advice_is_shown_with_its_remedy(database):
    database.insert_many(range(200), [f"n{at}" for at in range(200)])
    advice = list(database.advice())

    _, text = rendered(database)

    parsed = assert_whole(text)
    assert advice
    assert all(each.remedy in parsed.texts["code"] for each in advice)


@pytest.mark.more
@pytest.mark.few(1)
@pytest.mark.parametrize("sketch", [simdb.Simhash(store_volatility=False), simdb.Minhash()])
def test_every_kind_of_database_has_a_page(open_database, sketch):
    options = simdb.Options(sketch=sketch, delta_documents=4)
    database = open_database(options=options)
    database.insert_many(range(40), [f"text number {at // 2} of some words" for at in range(40)])

    _, text = rendered(database)

    assert_whole(text)


def test_an_empty_database_has_a_page(database):
    _, text = rendered(database)

    parsed = assert_whole(text)
    assert "There are no near-duplicates" in parsed.text("p")


@pytest.mark.parametrize("library", ["jinja2", "matplotlib"])
def test_a_missing_library_is_named_with_the_remedy(monkeypatch, library):
    monkeypatch.setitem(sys.modules, library, None)

    with pytest.raises(simdb.OptionError, match=f"needs {library}: pip install jinja2 matplotlib"):
        page.check_libraries()


def test_a_time_is_told_to_the_minute_and_no_time_is_unknown():
    assert template.moment(datetime(2024, 5, 6, 7, 8, 59)) == "2024-05-06 07:08"
    assert template.moment(None) == "unknown"
