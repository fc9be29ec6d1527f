"""Probing flips the cheap header bits, and finds the same as trying every set."""

from functools import cache

import numpy as np
import probe_oracle as probes
import pytest
import search_oracle as oracle
from over import over

from simdb.core.bits import bitmap, leading_masks

NO_ENTRIES = oracle.pair([])
HUGE = 1 << 30


def build(search, masks, runs, delta=(), dead=None):
    """Make tables of (header bits, entries) runs."""
    columns = [[oracle.column(entries, mask, bits) for mask in masks] for bits, entries in runs]
    return search.Tables(masks, columns, oracle.pair(delta), dead)


def dealt(fingerprints, seed, widths):
    """Make unequal runs with these directory widths, and a delta; ordinals are shuffled."""
    generator = np.random.default_rng(seed)
    ordinals = generator.permutation(10 * len(fingerprints))[: len(fingerprints)].tolist()
    entries = list(zip(fingerprints, ordinals, strict=True))
    limits = [len(entries) // 2 ** (n + 1) for n in range(len(widths))]
    runs, start = [], 0
    for width, count in zip(widths, limits, strict=True):
        runs.append((width, entries[start : start + count]))
        start += count
    return runs, entries[start:]


def tried(queries, levels, *stored, **given):
    """Return what trying every set finds for each query."""
    return [
        probes.matches(query, row, *stored, **given)
        for query, row in zip(queries, levels, strict=True)
    ]


@cache
def probe_case(blocks, leading, theta, cap):
    """Return arguments of `Tables`, queries, levels, costs and expected answers."""
    seed = blocks * 1000 + theta % 100 + cap
    masks = leading_masks(blocks, leading)
    runs, delta = dealt(oracle.neighbourhood(seed, 160, 5, 7), seed, (8, 5, 5, 0))
    stored = [entry for _, entries in runs for entry in entries]
    dead = {ordinal for _, ordinal in stored[::6] + delta[::5]}
    columns = [[oracle.column(part, mask, bits) for mask in masks] for bits, part in runs]
    queries = [*oracle.neighbourhood(seed, 6, 5, 4), 0]
    levels = probes.random_levels(seed, len(queries))
    costs = probes.cost_table(seed, 90)
    expected = tried(
        queries, levels, runs, delta, masks,
        costs=costs, theta=theta, cap=cap, distance_max=9, dead=dead,
    )  # fmt: skip
    marks = bitmap(np.array(sorted(dead)), 1600)
    return (masks, columns, oracle.pair(delta), marks), queries, levels, costs, expected


@over(("blocks", "leading"), [(1, 1), (4, 1), (5, 2)])
@over(("theta", "cap"), [(0, 1), (0, 65536), (35, 65536), (80, 12), (80, 3), (HUGE, 40), (HUGE, 1)])
def test_probing_finds_what_trying_every_set_finds(search, blocks, leading, theta, cap):
    arguments, queries, levels, costs, expected = probe_case(blocks, leading, theta, cap)
    tables = search.Tables(*arguments)
    options = {"costs": costs, "theta": theta, "cap": cap, "distance": 9}

    found = tables.probe(
        np.array(queries, np.uint64), levels, **options, first=False, after=None, tables=None
    )

    assert oracle.rows(found) == expected
    single = [
        tables.probe_one(query, row.tobytes(), costs.tobytes(), theta, cap, 9, False)
        for query, row in zip(queries[:3], levels, strict=False)
    ]
    first = tables.probe_one(queries[0], levels[0], costs, theta, cap, 9, True)
    assert single == expected[:3]
    assert len(first) == min(1, len(single[0]))
    assert set(first) <= set(single[0])


@over("width", [*range(13), 17, 20])
def test_any_width_of_directory_is_flipped(search, width):
    fingerprints = oracle.neighbourhood(width, 80, 3, 5)
    runs, delta = dealt(fingerprints, width, (width, 3))
    masks = [0x0F0F_0F0F_0000_1111, 0x8000_0000_0000_0001]
    levels = np.full((9, 64), 255, np.uint8)
    levels[:, np.random.default_rng(width).permutation(64)[:24]] = range(24)
    costs = np.minimum(np.arange(256) * 3, 255).astype(np.uint8)
    tables = build(search, masks, runs, delta)

    found = tables.probe(
        np.array(fingerprints[:9], np.uint64), levels,
        costs=costs, theta=60, cap=30, distance=10, first=False, after=None, tables=None,
    )  # fmt: skip

    assert oracle.rows(found) == tried(
        fingerprints[:9], levels, runs, delta, masks, costs=costs, theta=60, cap=30, distance_max=10
    )


@over("header_bits", [0, 1, 3, 4, 6, 9, 64])
@over("cap", [5, 65536])
def test_headers_of_fewer_bits_are_those_of_narrower_directories(search, header_bits, cap):
    fingerprints = oracle.neighbourhood(header_bits, 120, 4, 6)
    runs, delta = dealt(fingerprints, 5, (9, 4, 6))
    masks = leading_masks(5, 2)
    queries, levels = fingerprints[:9], probes.random_levels(6, 9)
    costs = probes.cost_table(7, 90)
    options = {"costs": costs, "theta": 70, "cap": cap, "tables": None}
    wide, asked = build(search, masks, runs, delta), {"distance": 9, "first": False, "after": None}
    narrow = build(search, masks, [(min(width, header_bits), part) for width, part in runs], delta)

    found = wide.probe(
        np.array(queries, np.uint64), levels, **options, **asked, header_bits=header_bits
    )
    expected = narrow.probe(np.array(queries, np.uint64), levels, **options, **asked)

    assert oracle.rows(found) == oracle.rows(expected)
    assert oracle.rows(found) == [
        wide.probe_one(query, row, costs, 70, cap, 9, False, None, header_bits)
        for query, row in zip(queries, levels, strict=True)
    ]
    first = wide.probe(
        np.array(queries, np.uint64), levels, **options, distance=9, first=True, after=None,
        header_bits=header_bits,
    )  # fmt: skip
    assert np.array_equal(np.diff(first[0]), np.minimum(np.diff(found[0]), 1))
    counted = wide.count_probes(levels, **options, header_bits=header_bits)
    assert np.array_equal(counted, narrow.count_probes(levels, **options))
    with pytest.raises(ValueError, match="65"):
        wide.count_probes(levels, **options, header_bits=65)


@cache
def level_case(cost, theta, cap):
    """Return masks, runs, delta, queries, levels, costs, and expected answers."""
    runs, delta = dealt(oracle.neighbourhood(3, 70, 2, 5), 3, (6, 4))
    queries = oracle.neighbourhood(3, 5, 2, 5)
    masks = leading_masks(3, 1)
    levels = probes.random_levels(4, 5)
    costs = np.full(256, cost, np.uint8)
    expected = tried(
        queries, levels, runs, delta, masks, costs=costs, theta=theta, cap=cap, distance_max=8
    )
    return masks, runs, delta, np.array(queries, np.uint64), levels, costs, expected


@over("cost", [0, 1, 254, 255])
@over("theta", [0, 254, 508, HUGE])
@over("cap", [1, 6, 7, 64])
def test_bits_of_one_cost_flip_together_or_not_at_all(search, cost, theta, cap):
    masks, runs, delta, queries, levels, costs, expected = level_case(cost, theta, cap)
    tables = build(search, masks, runs, delta)

    found = tables.probe(
        queries, levels,
        costs=costs, theta=theta, cap=cap, distance=8, first=False, after=None, tables=None,
    )  # fmt: skip

    assert oracle.rows(found) == expected


@over("is_first", [False, True])
def test_later_ordinals_and_first_matches_are_among_all_matches(search, is_first):
    fingerprints = oracle.neighbourhood(6, 150, 30, 5)
    runs, delta = dealt(fingerprints, 6, (7, 5, 5))
    queries = [*fingerprints[:60], 5, 6]
    masks = leading_masks(4, 1)
    dead = {ordinal for _, entries in runs for _, ordinal in entries[::2]}
    levels, costs = probes.random_levels(6, len(queries)), probes.cost_table(6, 60)
    after = np.random.default_rng(6).integers(0, 1300, len(queries)).astype(np.uint32)
    tables = build(search, masks, runs, delta, bitmap(np.array(sorted(dead)), 1500))

    found = tables.probe(
        np.array(queries, np.uint64), levels,
        costs=costs, theta=50, cap=20, distance=6, first=is_first, after=after, tables=3,
    )  # fmt: skip

    for query, row, last, answer in zip(queries, levels, after, oracle.rows(found), strict=True):
        allowed = probes.matches(
            query, row, runs, delta, masks[:3],
            costs=costs, theta=50, cap=20, distance_max=6, dead=dead, after=last,
        )  # fmt: skip
        if is_first:
            assert len(answer) == min(1, len(allowed))
            assert set(answer) <= set(allowed)
        else:
            assert answer == allowed


@over(("theta", "cap"), [(0, 1), (30, 50), (70, 3000)])
def test_first_of_a_batch_gives_each_query_a_match_if_it_has_any(search, theta, cap):
    generator = np.random.default_rng(10)
    stored = generator.integers(0, 1 << 63, 1500, np.uint64)
    queries = stored[generator.integers(0, 1500, 700)]
    for _ in range(3):
        queries ^= np.uint64(1) << generator.integers(30, 64, 700).astype(np.uint64)
    levels, costs = probes.random_levels(10, 700), probes.cost_table(10, 60)
    entries = list(zip(stored.tolist(), range(1500), strict=True))
    tables = build(search, leading_masks(2, 1), [(12, entries[:900]), (9, entries[900:])])
    options = {"costs": costs, "theta": theta, "cap": cap, "distance": 3, "after": None}

    every = tables.probe(queries, levels, first=False, tables=None, **options)
    first = tables.probe(queries, levels, first=True, tables=None, **options)

    assert len(first[1]) > 0
    for answer, allowed in zip(oracle.rows(first), oracle.rows(every), strict=True):
        assert len(answer) == min(1, len(allowed))
        assert set(answer) <= set(allowed)


@over("tables_used", [None, 1, 2])
@over(("theta", "cap"), [(0, 5), (40, 1000), (70, 13), (HUGE, 100)])
def test_probes_are_counted_as_they_would_be_made(search, tables_used, theta, cap):
    runs, _ = dealt(oracle.neighbourhood(9, 60, 4, 6), 9, (4, 8))
    runs.append((9, runs[0][1] * 2))
    masks = leading_masks(3, 1)
    levels, costs = probes.random_levels(9, 20), probes.cost_table(9, 60)
    tables = build(search, masks, runs)

    counts = tables.count_probes(levels, costs=costs, theta=theta, cap=cap, tables=tables_used)

    expected = []
    for row in levels:
        expected.append(0)
        for mask in masks[:tables_used]:
            bit_costs = probes.header_costs(row, costs, mask, 9)
            limit = probes.lowered(bit_costs, theta, cap)
            sums = probes.sums_of_all_sets(bit_costs)
            expected[-1] += max(1, sum(each <= limit for each in sums))
    assert counts.dtype == np.int64
    assert counts.tolist() == expected


def test_nothing_is_found_where_there_is_nothing(search):
    costs = np.zeros(256, np.uint8)
    no_runs = search.Tables(leading_masks(4, 1), [], NO_ENTRIES, None)
    empty_run = build(search, leading_masks(4, 1), [(0, []), (3, [])])
    options = {"costs": costs, "theta": 9, "cap": 9, "tables": None}

    for tables in (no_runs, empty_run):
        for count, is_first in ((0, False), (1, True), (5, False)):
            queries, levels = np.arange(count).astype(np.uint64), np.zeros((count, 64), np.uint8)
            found = tables.probe(
                queries, levels, distance=64, first=is_first, after=None, **options
            )
            assert oracle.rows(found) == [[]] * count
        assert tables.probe_one(5, bytes(64), costs, 9, 9, 64, False) == []
    assert no_runs.count_probes(np.zeros((2, 64), np.uint8), **options).tolist() == [0, 0]


def test_a_directory_that_points_beyond_the_run_is_not_followed(search):
    keys, ordinals = np.array([5, 6], np.uint64), np.array([0, 1], np.uint32)
    wild = np.array([4_000_000_000, 7, 4_000_000_000], np.uint32)
    tables = search.Tables(leading_masks(2, 1), [[(keys, ordinals, wild)] * 2], NO_ENTRIES, None)

    answer = tables.probe_one(5, bytes(64), np.zeros(256, np.uint8), 5, 5, 64, False)

    assert answer == []
