"""Distributions have the numbers of the facts, and labels that fit."""

from over import over

from simdb.core.reports import HeaderFill
from simdb.jobs.report.facts import SizeBin
from simdb.jobs.report.page import fill_label, header_shares, size_label


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


def test_the_fill_of_headers_is_a_share_for_each_kind_of_table():
    fills = [
        HeaderFill("table/00", 4, 3, 2, (2, 1, 1)),
        HeaderFill("table/01", 4, 3, 1, (1, 3)),
        HeaderFill("polytope/00", 2, 8, 4, (1, 0, 0, 1)),
        HeaderFill("polytope/01", 0, 0, 0, ()),
    ]

    shares = header_shares(fills, is_minhash=False)

    assert list(shares.items()) == [
        ("Permutation tables", [37.5, 50.0, 12.5, 0.0]),
        ("Cross-polytope tables", [50.0, 0.0, 0.0, 50.0]),
    ]
    assert header_shares([], is_minhash=True) == {}
