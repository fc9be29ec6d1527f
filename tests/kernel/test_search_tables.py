"""Lookups and scans answer like a double loop, whatever the variant, tables and runs."""

import random
from functools import cache

import numpy as np
import pytest
import search_oracle as oracle
from over import over

from simdb.core.bits import ALL_BITS, bitmap, leading_masks

NO_ENTRIES = oracle.pair([])


def split(fingerprints, seed, parts):
    """Deal (fingerprint, ordinal) entries with shuffled ordinals to `parts` lists."""
    generator = random.Random(seed)
    ordinals = generator.sample(range(10 * len(fingerprints) + 1), len(fingerprints))
    dealt = [[] for _ in range(parts)]
    for entry in zip(fingerprints, ordinals, strict=True):
        generator.choice(dealt).append(entry)
    return dealt


def build(search, masks, runs, delta=(), dead=None, header_bits=6):
    columns = [[oracle.column(entries, mask, header_bits) for mask in masks] for entries in runs]
    return search.Tables(masks, columns, oracle.pair(delta), dead)


@cache
def lookup_case(blocks, leading, flips, header_bits):
    """Return arguments of `Tables`, queries and expected answers, for one number of blocks."""
    seed = blocks * 100 + flips * 10 + header_bits
    *runs, delta = split(oracle.neighbourhood(seed, 160, 6, 6), seed, 4)
    stored = [entry for run in runs for entry in run]
    masks = leading_masks(blocks, leading)
    dead = {ordinal for _, ordinal in stored[::7] + delta[::5]}
    columns = [[oracle.column(entries, mask, header_bits) for mask in masks] for entries in runs]
    queries = [*oracle.neighbourhood(seed, 6, 6, 4), 0, ALL_BITS]
    expected = [
        oracle.matches(query, stored, delta, masks, distance_max=7, flips=flips, dead=dead)
        for query in queries
    ]
    later = [[match for match in row if match[0] > 700] for row in expected]
    marks = bitmap(np.array(sorted(dead)), 2000)
    return (masks, columns, oracle.pair(delta), marks), queries, expected, later


# Tables whose headers are the same bits are read once, as those of (6, 3) and (12, 2).
LAYOUTS = [(4, 1), (5, 2), (2, 1), (1, 1), (4, 3)]
CASES = [
    (layout, flips, (0, 3, 9)[(at + flips) % 3])
    for at, layout in enumerate(LAYOUTS)
    for flips in range(3)
]
CASES += [((6, 3), 0, 10), ((12, 2), 0, 10), ((6, 3), 1, 7)]


@over(("layout", "flips", "header_bits"), CASES)
def test_a_lookup_finds_what_a_double_loop_finds(search, layout, flips, header_bits):
    arguments, queries, expected, later = lookup_case(*layout, flips, header_bits)
    tables = search.Tables(*arguments)

    found, last = (
        tables.lookup(
            np.array(queries, np.uint64), distance=7, flips=flips, first=False, after=after
        )
        for after in (None, np.full(len(queries), 700, np.uint32))
    )

    assert oracle.rows(found) == expected
    assert oracle.rows(last) == later
    assert [tables.lookup_one(query, 7, flips, False) for query in queries[:4]] == expected[:4]


@cache
def flips_case(flips, distance_max):
    """Return masks, entries of runs and delta, queries, and the expected answers."""
    *runs, delta = split(oracle.neighbourhood(3, 160, 6, 6), 3, 4)
    stored = [entry for run in runs for entry in run]
    masks = leading_masks(4, 1)
    queries = oracle.neighbourhood(3, 15, 6, 4)
    expected = [
        oracle.matches(query, stored, delta, masks, distance_max=distance_max, flips=[*flips])
        for query in queries
    ]
    return masks, runs, delta, queries, expected


@over("flips", [(1, 0, -1, 2), (-1, -1, 0, -1), (-1,) * 4, (0, 1, 1, 0)])
@over(("header_bits", "distance_max"), [(0, 7), (3, 2), (9, 7), (18, 0), (18, 7)])
def test_each_table_has_its_own_flips(search, flips, header_bits, distance_max):
    masks, runs, delta, queries, expected = flips_case(flips, distance_max)
    tables = build(search, masks, runs, delta, header_bits=header_bits)

    found = tables.lookup(
        np.array(queries, np.uint64), distance=distance_max, flips=[*flips], first=False, after=None
    )

    assert oracle.rows(found) == expected
    assert [tables.lookup_one(each, distance_max, flips, False) for each in queries] == expected


@over("header_bits", [0, 5, 15, 16, 17, 20])
@over("distance", [0, 1])
def test_bits_that_differ_outside_the_mask_hide_nothing(search, header_bits, distance):
    masks, flips = leading_masks(4, 1), [-1, 0, -1, -1]
    run = [(0, 99), *((1 << at, at) for at in range(64))]
    tables = build(search, masks, [run], header_bits=header_bits)

    found = tables.lookup_one(0, distance, flips, False)

    assert found == oracle.matches(0, run, [], masks, distance_max=distance, flips=flips)


@pytest.mark.few(1)
@over("flips", [[2, 1, 0, -1], [0, 0, 0, 0], [1, 1, 1, 1]])
@over(("blocks", "header_bits"), [(4, 6), (8, 12)])
def test_a_large_batch_is_answered_like_its_parts(search, flips, blocks, header_bits):
    # So many queries are sorted by their keys before they are looked up.
    stored = list(zip(oracle.neighbourhood(5, 400, 9, 7), range(400), strict=True))
    queries = np.array(oracle.neighbourhood(5, 1500, 9, 7), np.uint64)
    tables = build(search, leading_masks(blocks, 1), [stored], header_bits=header_bits)
    asked = {"distance": 6, "flips": (flips * 2)[:blocks], "after": None}

    whole = oracle.rows(tables.lookup(queries, first=False, **asked))
    parts = [
        row
        for start in range(0, 1500, 500)
        for row in oracle.rows(tables.lookup(queries[start : start + 500], first=False, **asked))
    ]
    first = oracle.rows(tables.lookup(queries, first=True, **asked))

    assert whole == parts
    assert [len(row) for row in first] == [min(len(row), 1) for row in whole]
    assert all(row[0] in every for row, every in zip(first, whole, strict=True) if row)


@over(("count", "distance"), [
    (300, 0), (300, 1), (300, 3), (300, 31), (300, 64),
    (0, 64), (1, 64), (7, 64), (8, 64), (9, 64), (33, 64), (65, 64),
])  # fmt: skip
def test_a_scan_compares_with_everything(search, count, distance):
    fingerprints = oracle.neighbourhood(3, count, 5, 30)
    *runs, delta = split(fingerprints, 3, 3)
    queries = [*fingerprints[:20], 0, ALL_BITS]
    tables = build(search, leading_masks(4, 2), runs, delta)
    after = np.arange(len(queries), dtype=np.uint32) * 90

    found = tables.scan(np.array(queries, np.uint64), distance=distance, first=False, after=after)

    stored = runs[0] + runs[1]
    assert oracle.rows(found) == [
        oracle.matches(query, stored, delta, None, distance_max=distance, flips=0, after=last)
        for query, last in zip(queries, after.tolist(), strict=True)
    ]


@over("enough", [1, 3])
@over("flips", [0, 2])
@over("operation", ["lookup", "scan"])
def test_first_returns_enough_of_the_matches_where_there_are_any(search, operation, flips, enough):
    fingerprints = oracle.neighbourhood(5, 120, 25, 5)
    *runs, delta = split(fingerprints, 5, 4)
    stored = [entry for run in runs for entry in run]
    masks = leading_masks(4, 2)
    dead = {ordinal for _, ordinal in stored[::2] + delta[::2]}
    tables = build(search, masks, runs, delta, bitmap(np.array(sorted(dead)), 2001))
    queries = [*fingerprints, 5, 6]
    after = np.random.default_rng(5).integers(0, 1500, len(queries)).astype(np.uint32)
    more = {"flips": flips} if operation == "lookup" else {}

    found = getattr(tables, operation)(
        np.array(queries, np.uint64), distance=6, first=enough, after=after, **more
    )

    scope = masks if operation == "lookup" else None
    for query, last, row in zip(queries, after.tolist(), oracle.rows(found), strict=True):
        allowed = oracle.matches(
            query, stored, delta, scope, distance_max=6, flips=flips, dead=dead, after=last
        )
        assert min(enough, len(allowed)) <= len(row) <= len(allowed)
        assert set(row) <= set(allowed)
        assert len(row) <= 1 or enough > 1


def test_equal_fingerprints_by_the_thousand_are_all_returned(search):
    count = 20_000
    ordinals = np.arange(count, dtype=np.uint32)
    keys = np.zeros(count, np.uint64)
    directory = np.array([0, *[count] * 64], np.uint32)
    tables = search.Tables(
        leading_masks(4, 1),
        [[(keys, ordinals, directory)] * 4],
        NO_ENTRIES,
        bitmap(ordinals[:9], count),
    )

    found = tables.lookup(np.zeros(9, np.uint64), distance=3, flips=1, first=False, after=None)
    first = tables.lookup(np.zeros(9, np.uint64), distance=3, flips=1, first=True, after=None)

    assert found[0].tolist() == [n * (count - 9) for n in range(10)]
    assert (found[1].reshape(9, -1) == ordinals[9:]).all()
    assert not found[2].any()
    assert first[0].tolist() == list(range(10))
    assert len(tables.lookup_one(0, 3, 0, False)) == count - 9


def test_one_query_with_more_matches_than_wanted_makes_no_list(search):
    ordinals = np.arange(100, dtype=np.uint32)
    keys, directory = np.zeros(100, np.uint64), np.array([0, *[100] * 64], np.uint32)
    run = [(keys, ordinals, directory)] * 4
    tables = search.Tables(leading_masks(4, 1), [run], NO_ENTRIES, bitmap(ordinals[:9], 100))
    levels, costs = bytes(64), np.full(256, 255, np.uint8)

    looked_up = [tables.lookup_one(0, 3, 0, False, most) for most in (90, 91, 0, -1)]
    probed = [
        tables.probe_one(0, levels, costs, 9, 9, 3, False, None, None, most)
        for most in (90, 91, 0, -1)
    ]

    expected = [(ordinal, 0) for ordinal in range(9, 100)]
    assert looked_up == probed == [None, expected, None, None]


def test_nothing_stored_and_nothing_asked_give_empty_results(search):
    masks = leading_masks(4, 1)
    empty = search.Tables(masks, [], NO_ENTRIES, None)
    hollow = build(search, masks, [[], []], header_bits=0)
    queries = np.array([0, 1, ALL_BITS], np.uint64)

    for tables in (empty, hollow):
        for count in (0, 3):
            looked_up = tables.lookup(
                queries[:count], distance=64, flips=2, first=False, after=None
            )
            scanned = tables.scan(queries[:count], distance=64, first=True, after=None)
            assert oracle.rows(looked_up) == oracle.rows(scanned) == [[]] * count
        assert tables.lookup_one(5, 64, 3, False) == []


def test_ordinals_beyond_the_bits_of_the_dead_are_alive(search):
    masks = leading_masks(4, 1)
    tables = build(
        search, masks, [[(1, 7), (1, 8), (1, 4_294_967_295)]], [(1, 9)], bitmap(np.array([7]), 8)
    )

    assert tables.lookup_one(1, 0, 0, False) == [(8, 0), (9, 0), (4_294_967_295, 0)]


def test_a_directory_that_points_beyond_the_run_is_not_followed(search):
    masks = leading_masks(2, 1)
    keys, ordinals = np.array([5, 6], np.uint64), np.array([0, 1], np.uint32)
    wild = np.array([4_000_000_000, 7, 4_000_000_000], np.uint32)

    tables = search.Tables(masks, [[(keys, ordinals, wild)] * 2], NO_ENTRIES, None)

    assert tables.lookup_one(5, 64, 2, False) == []


def test_wrong_arguments_are_refused(search):
    masks = leading_masks(2, 1)
    keys, ordinals, directory = oracle.column([(5, 0), (6, 1)], masks[0], 1)
    tables = search.Tables(masks, [[(keys, ordinals, directory)] * 2], NO_ENTRIES, None)
    queries = np.array([1, 2], np.uint64)
    options = {"distance": 3, "flips": 0, "first": False, "after": None}

    wrong_runs = [
        [(keys, ordinals, directory)],
        [(keys[:1], ordinals, directory)] * 2,
        [(keys, ordinals, np.zeros(4, np.uint32))] * 2,
        [(keys[::-1], ordinals, directory)] * 2,
        [(np.frombuffer(bytes(20), np.uint64, 2, 4 - 1), ordinals, directory)] * 2,
    ]
    for run in wrong_runs:
        with pytest.raises((ValueError, TypeError)):
            search.Tables(masks, [run], NO_ENTRIES, None)
    for wrong_masks in ([0, 1], [1 << 64, 1], []):
        with pytest.raises((ValueError, OverflowError)):
            search.Tables(wrong_masks, [], NO_ENTRIES, None)
    for wrong in (
        {"distance": 65}, {"distance": -1}, {"flips": 65}, {"flips": [0]}, {"flips": [0, -2]},
        {"after": ordinals[:1]},
    ):  # fmt: skip
        with pytest.raises((ValueError, TypeError)):
            tables.lookup(queries, **{**options, **wrong})
    for wrong_queries in ([1, 2], queries.astype(np.int32), queries.reshape(1, 2), queries[::-1]):
        with pytest.raises((ValueError, TypeError)):
            tables.lookup(wrong_queries, **options)
    for wrong_query in (-1, 1 << 64):
        with pytest.raises((ValueError, OverflowError)):
            tables.lookup_one(wrong_query, 3, 0, False)
    with pytest.raises(ValueError, match="delta"):
        tables.over((np.zeros(2, np.uint64), np.zeros(1, np.uint32)), None)


def test_tables_over_another_delta_find_its_documents_and_spare_its_dead(search):
    masks, runs = leading_masks(4, 1), [[(5, 0), (6, 1)], [(5, 2)]]
    tables = build(search, masks, runs, delta=[(5, 3)], dead=bitmap(np.array([0]), 8))

    found = tables.over(oracle.pair([(5, 7)]), None)
    found = found.over(oracle.pair([(7, 4), (5, 5)]), bitmap(np.array([2, 5]), 8))

    assert found.lookup_one(5, 1, 0, False) == [(0, 0), (4, 1)]
    assert tables.lookup_one(5, 0, 0, False) == [(2, 0), (3, 0)]
