"""Charts have the numbers of the facts, and labels that fit."""

import pytest
from over import over

from simdb.report.facts import Bin, Drawn, Groups, SizeBin, Threshold
from simdb.report.page import fill_label, group_chart, header_chart, pair_chart, size_label
from simdb.results.reports import HeaderFill


@over(
    ("at", "label"),
    [(0, "0"), (1, "1"), (2, "2"), (10, "512"), (11, "1k"), (20, "512k"), (21, "1M")],
)
def test_a_class_of_headers_is_called_by_its_least_number(at, label):
    assert fill_label(at) == label


@over(
    ("least", "most", "label"),
    [(2, 2, "2"), (4, 5, "4\u20135"), (101, 1000, "101\u20131,000"), (10_001, None, "10,001+")],
)
def test_sizes_that_are_counted_together_have_a_label(least, most, label):
    assert size_label(SizeBin(least, most, 1, 1)) == label


@pytest.mark.parametrize(("count", "is_log"), [(100, False), (101, True)])
def test_many_groups_have_a_logarithmic_axis_and_few_have_not(count, is_log):
    chart = group_chart(Groups(True, count, 2 * count, (SizeBin(2, 2, count, 2 * count),), ()))

    assert chart.is_log is is_log
    assert ("factor of ten" in chart.value_label) is is_log
    assert chart.series == {"groups": [count]}


def test_the_fill_of_headers_is_a_share_for_each_kind_of_table():
    fills = [
        HeaderFill("table/00", 4, 3, 2, (2, 1, 1)),
        HeaderFill("table/01", 4, 3, 1, (1, 3)),
        HeaderFill("polytope/00", 2, 8, 4, (1, 0, 0, 1)),
    ]

    chart = header_chart(fills, is_minhash=False)

    assert list(chart.series.items()) == [
        ("Permutation tables", [37.5, 50.0, 12.5, 0.0]),
        ("Cross-polytope tables", [50.0, 0.0, 0.0, 50.0]),
    ]
    assert list(chart.labels) == ["0", "1", "2", "4"]


def test_the_line_of_the_threshold_stands_between_the_bars_that_it_divides():
    """The bar of bin i reaches from i - 0.5 to i + 0.5."""
    bins = tuple(Bin(at / 100, (at + 1) / 100, 1) for at in range(78, 100))
    drawn = Drawn(9, 9, 0, "", 1, 1, "similarity", 0.78, True, bins)

    chart = pair_chart(drawn, Threshold(0.88, None, 0.95))

    assert chart.mark == pytest.approx(9.5)
    assert chart.mark_label == "0.88"
    assert pair_chart(drawn, Threshold(0.78, None, 0.95)).mark == pytest.approx(-0.5)
