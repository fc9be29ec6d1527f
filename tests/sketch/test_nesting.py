"""Ordinary pages are parsed quickly, and pages that would take very long are refused."""

import contextlib
import time

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

import simdb
from simdb.ground.errors import InputError
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
    """Return the CPU time until the page is parsed or refused."""
    start = time.process_time()
    with contextlib.suppress(InputError):
        text_of(page)
    return time.process_time() - start


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("<div>" * 40_000, "elements are nested more than 4000 deep"),
        ("<ul><li>" * 20_000, "elements are nested more than 4000 deep"),
        ("<a><nobr><b>" * 20_000, "elements are nested more than 4000 deep"),
        ("".join(f"<font size={size}><p>" for size in range(20_000)), "formatting elements"),
        ("<p " + " ".join(f"a{at}" for at in range(300_000)) + ">", "300000 attributes, more than"),
        ("<p " + " ".join(f"a{at}='>'" for at in range(5_000)) + ">", "5000 attributes, more than"),
    ],
)
def test_what_takes_the_square_of_its_length_is_refused_by_place_and_limit(page, message):
    with pytest.raises(InputError, match=f"document 1 cannot be read as HTML.*{message}"):
        simdb.fingerprints(["<p>fine</p>", page], SKETCH)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "page",
    [
        "<div>" * 500 + "x" + "</div>" * 500,
        "<p " + " ".join(f'a{at}="{at} > 0"' for at in range(200)) + ">x</p>",
        "<font size=1><font size=2><b>" + "<p>x" * 5000,
        "<p>x<br>" * 20_000,
        "<ul>" + "<li>x<img src=a>" * 20_000 + "</ul>",
        "<table>" + "<tr><td>x<td>x" * 20_000 + "</table>",
        "<script>" + "if (a<b && c<d) x = '<div>';" * 20_000 + "</script>x",
        "<!--" + "<div>" * 20_000 + "-->x",
        "<div>x</div>" * 20_000,
        "<DIV><IMG>x</DIV>" * 20_000,
        "x" * 100_000,
        "x < y " * 20_000,
    ],
    ids=lambda page: page[:12],
)
def test_pages_as_they_are_found_pass(page):
    assert len(text_of(page)) >= 1


@settings(max_examples=20)
@given(
    pieces=st.lists(
        st.tuples(st.sampled_from(TAGS), st.sampled_from(["", " a=1", " x='>'", "/"])),
        min_size=1,
        max_size=4,
    ),
    text=st.sampled_from(["", "x"]),
    length=st.sampled_from([1000, 100_000, 300_000]),
)
def test_whatever_is_repeated_is_parsed_or_refused_soon(pieces, text, length):
    unit = "".join(f"<{tag}{attributes}>{text}" for tag, attributes in pieces)

    seconds = seconds_of((unit * (length // len(unit)))[:length])

    assert seconds < SECONDS_MOST


@settings(max_examples=8)
@given(tag=st.sampled_from(TAGS), value=st.sampled_from(["", "=1", "='>'", '="a"']))
def test_whatever_is_numbered_is_parsed_or_refused_soon(tag, value):
    attributes = " ".join(f"a{at}{value}" for at in range(50_000))
    elements = "".join(f"<{tag} a{at}{value}><p>x" for at in range(20_000))

    assert seconds_of(f"<{tag} {attributes}>x") < SECONDS_MOST
    assert seconds_of(elements) < SECONDS_MOST


def refused(page):
    try:
        markup.check_nesting(page, 0)
    except simdb.InputError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("count", [1, 5, 6, 40])
def test_a_tag_has_at_most_so_many_attributes(monkeypatch, count):
    monkeypatch.setattr(markup, "ATTRIBUTES_MAX", 5)
    monkeypatch.setattr(markup, "TAG_BYTES_FEW", 3)
    page = b"<p " + b" ".join(b"a%d=1" % at for at in range(count)) + b">x</p>"

    assert (f"a tag has {count} attributes, more than 5" in refused(page)) == (count > 5)


@pytest.mark.parametrize("blocks", [1, 5, 6, 30])
def test_formatting_elements_are_opened_again_so_often_at_most(monkeypatch, blocks):
    monkeypatch.setattr(markup, "REOPENED_MAX", 10)
    monkeypatch.setattr(markup, "UNCLOSED_FEW", 0)
    page = b"<b><i>" + b"<div>x</div>" * blocks

    # The second formatting element is below the first, and each block below both.
    assert ("never closed extend over too many" in refused(page)) == (1 + 2 * blocks > 10)


@pytest.mark.parametrize(("limit", "value"), [("UNCLOSED_FEW", 3), ("TAG_BYTES_FEW", 10)])
def test_only_a_page_with_a_sign_of_it_is_read_tag_by_tag(monkeypatch, limit, value):
    read = []
    monkeypatch.setattr(markup, limit, value)
    monkeypatch.setattr(markup._Reading, "problem", lambda self: read.append(self._page))
    pages = {
        "UNCLOSED_FEW": (b"<div>" * 3 + b"x", b"<div>" * 4 + b"x"),
        "TAG_BYTES_FEW": (b"<p>12345</p>", b"<p>1234567890</p>"),
    }[limit]

    for page in pages:
        markup.check_nesting(page, 0)

    assert read == [pages[1]]
