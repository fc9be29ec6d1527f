"""Any page has a text soon: the parser's, or the page without its tags."""

import time

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from over import over

import simdb
from simdb.sketch import markup
from simdb.sketch.markup import Markup

pytest.importorskip("selectolax")

SKETCH = simdb.Simhash(markup="html")
# A second is what the worst of them may take; ten times that may pass on a machine that is busy.
SECONDS_MOST = 10
TAGS = ["div", "span", "b", "a", "font", "nobr", "p", "li", "ul", "table", "td", "svg", "button",
        "form", "select", "template", "x-own", "h1", "ruby", "rt", "dd", "br", "html", "body",
        "title", "script", "!--", "/div", "/p", "/b", "/x"]  # fmt: skip


def text_of(page):
    [text] = Markup(SKETCH).apply([page], replace=False, start=0)
    return text.split()


def seconds_of(page):
    """Return the CPU time until the page has a text."""
    start = time.process_time()
    text_of(page)
    return time.process_time() - start


SLOW = {
    "elements in each other": "<div>x" * 40_000,
    "end tags of other elements": "<div>x</i>" * 30_000 + "<i></div>" * 30_000,
    "blocks in a formatting element": "<b><div></b>x" * 30_000,
    "formatting elements that differ": "".join(f"<font size={at}><p>x" for at in range(20_000)),
    "attributes": "<p " + " ".join(f"a{at}" for at in range(100_000)) + ">x",
    "options": "<select>" + "<option>x</option>" * 40_000 + "</select>",
    "attributes of different names": "".join(f"<p a{at}>x" for at in range(100_000)),
}


@pytest.mark.parametrize("name", SLOW)
def test_what_takes_the_parser_the_square_of_its_length_has_a_text_soon(name):
    page = f"<p>The first words.</p>{SLOW[name]}"

    assert markup.is_slow(page.encode())
    assert seconds_of(page) < SECONDS_MOST
    assert "first" in text_of(page)


SHAPES = [
    "<!-- hidden <p>no --><p>one</p>two<br>three<b>ab</b>c",
    "<script>if (a<b) x = '<p>no'</script>shown<style>p {}</style> too",
    "caf&eacute; &lt;b&gt; &#x41;&amp; soft&shy;hyphen",
    "<ul><li>one<li>two</ul><table><tr><td>a<td>b</table>",
    "<p title='a > b'>shown</p><textarea>kept</textarea><noscript>no</noscript>",
    "<head><title>A title</title></head><body><p>text</p><svg><text>no</text></svg>after",
    "x < y and <3 but not <i>this</i>",
]


@over("page", SHAPES)
def test_a_page_without_its_tags_has_the_words_that_the_parser_shows(page):
    plain = markup.without_tags(page.encode(), has_title=True)

    assert plain.split() == text_of(page)


def test_a_page_that_the_parser_refuses_has_a_text(monkeypatch):
    made = Markup(SKETCH)

    class Refusing:
        def LexborHTMLParser(self, content, scripting):  # noqa: N802
            raise ValueError("no page")

    monkeypatch.setattr(made, "_parser", Refusing())

    assert made.apply(["<p>one</p>two"], replace=False, start=0) == ["one\ntwo"]


def test_equal_slow_pages_are_duplicates_of_each_other_and_of_no_other():
    page = "<p>the quick brown fox jumps over the lazy dog</p>" + "<option>" * 5
    slow = "<select>" + "<option>the same word" * 20_000

    found = simdb.deduplicate([page, slow, slow, page], sketch=SKETCH)

    assert found.kept.tolist() == [True, True, False, False]


@pytest.mark.parametrize(
    "page",
    [
        "<p " + " ".join(f'a{at}="{at} > 0"' for at in range(200)) + ">x</p>",
        "<table>" + "<tr><td>x<td>x" * 20_000 + "</table>",
        "<script>" + "if (a<b && c<d) x = '<div>';" * 20_000 + "</script>x",
    ],
    ids=lambda page: page[:12],
)
def test_pages_as_they_are_found_pass(page):
    assert len(text_of(page)) >= 1


@settings(max_examples=12)
@given(
    pieces=st.lists(
        st.tuples(st.sampled_from(TAGS), st.sampled_from(["", " a=1", " x='>'", "/"])),
        min_size=1,
        max_size=4,
    ),
    text=st.sampled_from(["", "x"]),
    length=st.sampled_from([1000, 100_000, 300_000]),
)
def test_whatever_is_repeated_has_a_text_soon(pieces, text, length):
    unit = "".join(f"<{tag}{attributes}>{text}" for tag, attributes in pieces)

    seconds = seconds_of((unit * (length // len(unit)))[:length])

    assert seconds < SECONDS_MOST


@settings(max_examples=4)
@given(tag=st.sampled_from(TAGS), value=st.sampled_from(["", "=1", "='>'", '="a"']))
def test_whatever_is_numbered_has_a_text_soon(tag, value):
    attributes = " ".join(f"a{at}{value}" for at in range(50_000))
    elements = "".join(f"<{tag} a{at}{value}><p>x" for at in range(20_000))

    assert seconds_of(f"<{tag} {attributes}>x") < SECONDS_MOST
    assert seconds_of(elements) < SECONDS_MOST


def test_names_of_a_page_count_from_a_size_on(monkeypatch):
    page = "".join(f"<p a{at}>x" for at in range(30)).encode()
    monkeypatch.setattr(markup, "TAGS_FEW", 0)
    monkeypatch.setattr(markup, "STEPS_MAX", 10)

    assert not markup.is_slow(page)
    monkeypatch.setattr(markup, "NAMES_BYTES_FEW", 100)
    assert markup.is_slow(page)


@pytest.mark.parametrize(("limit", "is_slow"), [(9, True), (10, False)])
def test_each_tag_costs_a_step_for_each_open_element(monkeypatch, limit, is_slow):
    # The tags are below 0, 1, 2, 3 and 4 elements.
    monkeypatch.setattr(markup, "TAGS_FEW", 0)
    monkeypatch.setattr(markup, "STEPS_MAX", limit)

    assert markup.is_slow(b"<div><div><div><section><p>") == is_slow
