"""Windows that cover the directories of a run find every match in it, and each only once."""

from itertools import pairwise

import numpy as np
import probe_oracle as probes
import pytest
import search_oracle as oracle
from over import over

from simdb.core.bits import leading_masks

NO_ENTRIES = oracle.pair([])
HEADER_BITS = 6
DISTANCE = 8


def entries_of(seed, count=180):
    return list(zip(oracle.neighbourhood(seed, count, 5, 7), range(count), strict=True))


def columns_of(entries, masks, header_bits=HEADER_BITS):
    return [oracle.column(entries, mask, header_bits) for mask in masks]


def parts_of(search, masks, columns, windows):
    """Make tables of one run, one for each window."""
    return [search.Tables(masks, [columns], NO_ENTRIES, None, [each]) for each in windows]


def merged(parts):
    """Join the rows of several answers, in the order of a single answer."""
    rows = [[row for part in parts for row in part[at]] for at in range(len(parts[0]))]
    return [sorted(row, key=lambda match: (match[1], match[0])) for row in rows]


def cut(*places):
    """Return the windows between these places of a directory of `HEADER_BITS`."""
    bounds = [0, *places, 1 << HEADER_BITS]
    return list(pairwise(bounds))


CUTS = [cut(), cut(1), cut(7, 31, 33), cut(*range(1, 1 << HEADER_BITS))]


@over("windows", CUTS)
@over("flips", [0, 2])
def test_lookups_in_all_windows_are_one_lookup(search, windows, flips):
    masks, entries = leading_masks(5, 2), entries_of(flips)
    columns = columns_of(entries, masks)
    queries = np.array([key for key, _ in entries[::20]], np.uint64)
    asked = {"distance": DISTANCE, "flips": flips, "first": False, "after": None}

    parts = [
        oracle.rows(tables.lookup(queries, **asked))
        for tables in parts_of(search, masks, columns, windows)
    ]

    assert merged(parts) == [
        oracle.matches(query, entries, [], masks, distance_max=DISTANCE, flips=flips)
        for query in queries.tolist()
    ]


@over("windows", CUTS)
@over("header_bits", [None, 4])
@over("blocks", [1, 4])
def test_probes_in_all_windows_are_one_probe(search, windows, header_bits, blocks):
    masks, entries = leading_masks(blocks, 1), entries_of(blocks)
    columns = columns_of(entries, masks)
    queries = np.array([key for key, _ in entries[::20]], np.uint64)
    levels = probes.random_levels(5, len(queries))
    asked = {
        "costs": probes.cost_table(5, 90), "theta": 60, "cap": 50, "distance": DISTANCE,
        "first": False, "after": None, "tables": None, "header_bits": header_bits,
    }  # fmt: skip

    parts = [
        oracle.rows(tables.probe(queries, levels, **asked))
        for tables in parts_of(search, masks, columns, windows)
    ]

    whole = search.Tables(masks, [columns], NO_ENTRIES, None).probe(queries, levels, **asked)
    assert merged(parts) == oracle.rows(whole)
    assert sum(map(len, merged(parts))) > len(queries)


def test_every_run_has_a_window_of_its_own_and_the_delta_is_searched_always(search):
    masks = leading_masks(1, 1)
    high, low = [(2**63 + n, n) for n in range(4)], [(2**63 + n, 10 + n) for n in range(4)]
    columns = [columns_of(high, masks, 1), columns_of(low, masks, 3)]
    delta = [(2**63, 20)]
    tables = search.Tables(masks, columns, oracle.pair(delta), None, [(0, 1), (4, 5)])
    query = np.array([2**63], np.uint64)

    looked_up = tables.lookup(query, distance=1, flips=1, first=False, after=None)
    scanned = tables.scan(query, distance=1, first=False, after=None)

    assert {ordinal for ordinal, _ in oracle.rows(scanned)[0]} == {10, 11, 12, 20}
    assert {ordinal for ordinal, _ in oracle.rows(looked_up)[0]} == {10, 11, 12, 20}


@over("windows", [[(0, 65)], [(3, 3)], [(-1, 5)], [], [(0, 1)] * 2])
def test_windows_that_cannot_be_are_refused(search, windows):
    masks = leading_masks(1, 1)

    with pytest.raises(ValueError, match="window"):
        search.Tables(masks, [columns_of(entries_of(1), masks)], NO_ENTRIES, None, windows)
