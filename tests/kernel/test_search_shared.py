"""Tables whose headers are the same bits are read once, and each match is still found once."""

from functools import cache

import numpy as np
import search_oracle as oracle
from over import over

from simdb.core.bits import leading_masks

LAYOUTS = [(6, 3), (5, 2), (4, 1), (12, 2)]


@cache
def shared_case(layout, widths):
    """Return masks, runs with directories of these widths, queries and entries."""
    masks = leading_masks(*layout)
    fingerprints = oracle.neighbourhood(sum(layout), 45, 5, 4)
    entries = [(each, ordinal) for ordinal, each in enumerate(fingerprints)]
    parts = np.array_split(np.arange(len(entries)), len(widths))
    runs = [
        [oracle.column([entries[at] for at in part], mask, width) for mask in masks]
        for part, width in zip(parts, widths, strict=True)
    ]
    return masks, runs, fingerprints[::3], entries


@cache
def expected_rows(layout, widths, distance, flips):
    masks, _, queries, entries = shared_case(layout, widths)
    limits = list(flips) or 0
    return [
        oracle.matches(query, entries, [], masks, distance_max=distance, flips=limits)
        for query in queries
    ]


@over("layout", LAYOUTS)
@over("widths", [(0,), (16,), (18, 7)])
@over("distance", [0, 3])
def test_tables_with_the_same_headers_find_each_match_once(search, layout, widths, distance):
    masks, runs, queries, _ = shared_case(layout, widths)
    tables = search.Tables(masks, runs, oracle.pair([]), None)
    asked = np.array(queries, np.uint64)

    found = tables.lookup(asked, distance=distance, flips=0, first=False, after=None)
    alone = [tables.lookup_one(query, distance, 0, False) for query in queries]

    expected = expected_rows(layout, widths, distance, ())
    assert oracle.rows(found) == expected
    assert alone == expected


@over("seed", range(4))
def test_tables_that_flip_or_are_not_read_are_read_for_no_other(search, seed):
    masks, runs, queries, _ = shared_case((6, 3), (18, 5))
    tables = search.Tables(masks, runs, oracle.pair([]), None)
    asked = np.array(queries, np.uint64)
    flips = np.random.default_rng(seed).choice([-1, 0, 0, 0, 1], len(masks)).tolist()

    found = tables.lookup(asked, distance=4, flips=flips, first=False, after=None)

    assert oracle.rows(found) == expected_rows((6, 3), (18, 5), 4, tuple(flips))
