"""HTML: the visible text and nothing else, for any bytes and any depth."""

import pytest
from over import over

import simdb
from simdb.core.stored_options import Resources
from simdb.sketch.markup import Markup
from simdb.sketch.sketcher import sketcher_of

pytest.importorskip("selectolax")


def words(page, *, title=True, links=False, replace=False):
    options = simdb.Simhash(markup="html", html_title=title, html_links=links)
    [text] = Markup(options).apply([page], replace=replace, start=0)
    return text.split()


@over(
    ("page", "expected"),
    [
        ("<b>near</b>dup", ["neardup"]),
        ("<p>one</p>two<p>three", ["one", "two", "three"]),
        ("one<br>two<br/>three<hr>four", ["one", "two", "three", "four"]),
        ("<ul><li>one<li>two</ul>three", ["one", "two", "three"]),
        ("<table><tr><td>1<td>2<tr><th>3</table>4", ["1", "2", "3", "4"]),
        ("<div>one<div>two</div>three</div>four", ["one", "two", "three", "four"]),
        ("a<x-own>b</x-own>c <my-tag>d</my-tag>", ["abc", "d"]),
        ("a<!-- comment -->b", ["ab"]),
        ("near<wbr>dup near&shy;dup", ["neardup", "neardup"]),
        ("AT&amp;T &lt;p&gt; &#x4e2d;&#25991; &eacute;&nbsp;x &nosuch;",
         ["AT&T", "<p>", "\u4e2d\u6587", "\u00e9", "x", "&nosuch;"]),
        ("x<script>var y</script><style>p{}</style><noscript>on</noscript>z", ["xz"]),
        ("x<template><p>t</p></template><svg><title>s</title><text>v</text></svg>z", ["xz"]),
        ("<p hidden>no <b>no</b></p><p HIDDEN>no</p><p>yes<i hidden>no</i></p>", ["yes"]),
        ("<ruby>kan<rp>(</rp><rt>ji</rt><rp>)</rp></ruby>", ["kanji"]),
        ("1 < 2 && 3 > 2", ["1", "<", "2", "&&", "3", ">", "2"]),
        ("</p></div><p>open <b>and <i>never</b> closed", ["open", "and", "never", "closed"]),
        ("", []),
        ("<!doctype html><html><head></head><body></body></html>", []),
        ("\ufeff<html><head><title>T</title></head>x", ["T", "x"]),
        ("<head><noscript><img src=x></noscript><title>T</title></head>x", ["T", "x"]),
        ("a\0b", ["ab"]),
    ],
)  # fmt: skip
def test_the_visible_text_is_taken(page, expected):
    assert words(page) == expected


def test_the_title_comes_first_unless_it_is_not_wanted():
    page = "<html><head><meta charset=utf-8><title>A title</title></head><body>text</body>"

    assert words(page) == ["A", "title", "text"]
    assert words(page, title=False) == ["text"]


def test_targets_of_visible_links_are_appended_where_they_are_wanted():
    page = '<a href="/one?a&amp;b">1</a><a name=x>2</a><p hidden><a href=/no>3</a></p><p>4'

    assert words(page) == ["12", "4"]
    assert words(page, links=True) == ["12", "4", "/one?a&b"]


def test_a_lone_surrogate_is_refused_or_replaced():
    with pytest.raises(simdb.InputError, match="document 0 has a lone surrogate"):
        words("a\udc80b")

    assert words("a\udc80b", replace=True) == ["a?b"]


@over(
    "tag",
    ["<div>", "<b>", "<p><b><table><tr><td>", "<svg>", "<span hidden>", "</div>", "<a href=x>"],
)
def test_deep_and_broken_pages_neither_crash_nor_recurse(tag):
    assert words(tag * 1500 + "x") in (["x"], [])


PAGE = (
    "<html><head><title>big news</title></head><body><h1>one two</h1>"
    "<p>three <b>four</b> five</p><h2 hidden>gone</h2><h2>six <b>seven</b></h2></body></html>"
)


@over(
    ("weights", "counts"),
    [
        ((), {}),
        ({"title": 3}, {"big": 3, "news": 3}),
        ({"h1": 2, "b": 4}, {"one": 2, "two": 2, "four": 4, "seven": 4}),
        # Each element adds its own weight less one.
        (("b=4", "h2=2"), {"six": 2, "four": 4, "seven": 5}),
        ({"h1": 1, "table": 9}, {}),
    ],
)
def test_the_text_of_weighted_elements_counts_more_often(weights, counts):
    sketch = simdb.Simhash(markup="html", weighting="tf", shingle=1, html_weights=weights)

    features = sketcher_of(sketch, Resources(), ()).features(PAGE)

    every = {"big", "news", "one", "two", "three", "four", "five", "six", "seven"}
    found = dict(zip(features.shingles, features.weights.tolist(), strict=True))
    assert found == {word: counts.get(word, 1) for word in every}


def test_weights_of_elements_are_stored(tmp_path):
    sketch = simdb.Simhash(markup="html", weighting="tf", html_weights={"title": 3, "h1": 2})
    with simdb.open(tmp_path / "db", options=simdb.Options(sketch=sketch)) as database:
        database.insert("a", PAGE)

    with simdb.open(tmp_path / "db", "r") as database:
        assert database.options.sketch.html_weights == ("h1=2", "title=3")
        assert database.query(PAGE)[0].similarity == 1.0


@over("weights", [{"title": 0}, {"H1": 2}, ("h1",), {"h1": 2.5}, ("h1=2", "h1=3"), {"a b": 2}, 5])
def test_what_is_no_weight_of_an_element_is_refused(weights):
    with pytest.raises(simdb.OptionError, match="html_weights must"):
        simdb.Simhash(markup="html", weighting="tf", html_weights=weights)


def test_weights_of_elements_need_html():
    with pytest.raises(simdb.OptionError, match=r"html_weights= .* give markup='html'"):
        simdb.Simhash(weighting="tf", html_weights={"h1": 2})
