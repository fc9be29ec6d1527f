"""Figures are SVG for a page: whole, without links out of it, and with numbers as text."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

from simdb.report.page import Chart, draw

pytest.importorskip("matplotlib")

STANDING = Chart("a", "Two bars.", ["one", "two"], {"s": [1, 3]}, "values", "places")


def texts(svg):
    return [each.text for each in ElementTree.fromstring(svg).iter("text")]


def test_labels_and_axes_are_text():
    found = texts(draw(STANDING))

    assert {"one", "two", "values", "places", "0", "1", "2", "3"} <= set(found)
    assert "0.5" not in found


@pytest.mark.few(1)
@pytest.mark.parametrize("is_log", [False, True])
def test_lying_bars_have_plain_numbers(is_log):
    chart = Chart(
        "b", "Bars.", ["2", "3"], {"s": [20_000, 3]}, "groups", "size", is_lying=True,
        is_log=is_log,
    )  # fmt: skip

    found = texts(draw(chart))

    assert "10,000" in found
    assert not [text for text in found if text and "10^" in text]


def test_few_groups_have_no_tick_between_whole_numbers():
    chart = Chart("c", "One bar.", ["2"], {"s": [1]}, "groups", is_lying=True)

    assert {"0", "1"} <= set(texts(draw(chart)))
    assert not [text for text in texts(draw(chart)) if text and "." in text]


def test_several_series_have_a_legend_and_one_has_none():
    both = Chart("d", "Bars.", ["x"], {"left": [1], "right": [2]}, "values")

    assert {"left", "right"} <= set(texts(draw(both)))
    assert "s" not in texts(draw(STANDING))


def test_the_legend_is_above_the_highest_bar():
    """Both numbers on the axis of values and the names of the series have a place in the figure."""
    both = Chart("d", "Bars.", ["x"], {"left": [40.0], "right": [40.0]}, "v")

    heights = {
        each.text: float(each.get("y") or re.search(r"[ ,]([-\d.]+)\)", each.get("transform"))[1])
        for each in ElementTree.fromstring(draw(both)).iter("text")
    }

    assert max(heights["left"], heights["right"]) < heights["40"] - 8


def test_the_same_chart_gives_the_same_figure_and_another_name_other_ids():
    other = Chart("z", "Two bars.", ["one", "two"], {"s": [1, 3]}, "values", "places")
    first, second = (
        {each.get("id") for each in ElementTree.fromstring(draw(chart)).iter() if each.get("id")}
        for chart in (STANDING, other)
    )

    assert draw(STANDING) == draw(STANDING)
    assert first
    assert first.isdisjoint(second)


def test_a_marked_place_has_a_line_and_its_label():
    marked = Chart("e", "Bars.", ["x", "y"], {"s": [1, 2]}, "values", mark=0.5, mark_label="here")

    assert "here" in texts(draw(marked))
    assert "var(--mark)" in draw(marked)
    assert "var(--mark)" not in draw(STANDING)


def test_a_figure_has_a_name_for_readers_who_do_not_see_it():
    root = ElementTree.fromstring(draw(STANDING))

    assert (root.get("role"), root.get("aria-label")) == ("img", "Two bars.")
    assert root.get("viewBox")
    assert not [each for each in root.iter() if "metadata" in each.tag or "{" in each.tag]
