"""Tables of headers find what the double loop finds, with a tag of 16 bits for each key."""

from itertools import chain

import numpy as np
import probe_oracle as probes
import pytest
import search_oracle as oracle
from over import over
from test_vosh_probe import expected_of

from simdb.core import kernel
from simdb.core.bits import ALL_BITS, bitmap, leading_masks
from simdb.core.errors import CorruptError

NO_ENTRIES = oracle.pair([])
WIDTHS = (8, 5, 3, 0)
HUGE = 1 << 30


def dealt(fingerprints, seed, widths=WIDTHS):
    """Make unequal runs of shuffled consecutive ordinals, and a delta."""
    generator = np.random.default_rng(seed)
    runs, start = [], 0
    for number, width in enumerate(widths):
        count = len(fingerprints) // 2 ** (number + 1)
        ordinals = (start + generator.permutation(count)).tolist()
        runs.append((width, list(zip(fingerprints[start : start + count], ordinals, strict=True))))
        start += count
    return runs, list(zip(fingerprints[start:], range(start, len(fingerprints)), strict=True))


def build(search, masks, runs, delta=(), dead=(), windows=None, kinds=(oracle.header_column,)):
    """Make tables; run r is made by kinds[r], and so on in turn."""
    columns = [
        [kinds[number % len(kinds)](entries, mask, bits) for mask in masks]
        for number, (bits, entries) in enumerate(runs)
    ]
    marks = bitmap(np.array(sorted(dead), np.int64), 4000)
    return search.Tables(masks, columns, oracle.pair(list(delta)), marks, windows)


MIXED = (oracle.header_column, oracle.column)


@over("blocks", [1, 4])
@over("flips", [0, 1, 3])
@over("kinds", [(oracle.header_column,), MIXED])
def test_lookups_find_what_the_double_loop_finds(search, blocks, flips, kinds):
    fingerprints = oracle.neighbourhood(blocks + flips, 260, 4, 6)
    runs, delta = dealt(fingerprints, flips)
    stored = [entry for _, entries in runs for entry in entries]
    dead = {ordinal for _, ordinal in stored[::6]}
    masks = leading_masks(blocks, 1)
    tables = build(search, masks, runs, delta, dead, kinds=kinds)
    queries = [*fingerprints[::9], 0]

    for distance in (0, 3, 9):
        asked = {"distance": distance, "flips": flips, "first": 0}
        for after in (None, np.arange(len(queries), dtype=np.uint32) * 4):
            lasts = [-1] * len(queries) if after is None else after.tolist()
            expected = [
                oracle.matches(
                    query, stored, delta, masks,
                    distance_max=distance, flips=flips, dead=dead, after=last,
                )
                for query, last in zip(queries, lasts, strict=True)
            ]  # fmt: skip
            found = tables.lookup(np.array(queries, np.uint64), **asked, after=after)
            assert oracle.rows(found) == expected
            if after is None:
                assert [tables.lookup_one(each, distance, flips, 0) for each in queries] == expected
                some = oracle.rows(
                    tables.lookup(
                        np.array(queries, np.uint64), distance=distance, flips=flips, first=2,
                        after=None,
                    )
                )  # fmt: skip
                for few, every in zip(some, expected, strict=True):
                    assert len(few) >= min(2, len(every))
                    assert set(few) <= set(every)


@over("header_bits", [None, 0, 2, 4, 7])
@over(("theta", "cap"), [(0, 1), (60, 65536), (80, 12), (HUGE, 40)])
@over("blocks", [1, 5])
def test_probes_find_what_trying_every_set_finds(search, header_bits, theta, cap, blocks):
    fingerprints = oracle.neighbourhood(cap, 200, 5, 7)
    runs, delta = dealt(fingerprints, cap)
    dead = {ordinal for _, entries in runs for _, ordinal in entries[::6]}
    masks = leading_masks(blocks, 1)
    tables = build(search, masks, runs, delta, dead, kinds=MIXED)
    queries = fingerprints[::17]
    levels, costs = probes.random_levels(cap, len(queries)), probes.cost_table(cap, 90)
    given = {"costs": costs, "theta": theta, "cap": cap, "tables": None}
    narrow = [(min(width, 64 if header_bits is None else header_bits), e) for width, e in runs]

    for distance in (2, 9):
        expected = [
            probes.matches(
                query, row, narrow, delta, masks,
                costs=costs, theta=theta, cap=cap, distance_max=distance, dead=dead,
            )
            for query, row in zip(queries, levels, strict=True)
        ]  # fmt: skip
        found = tables.probe(
            np.array(queries, np.uint64), levels, **given, distance=distance, first=False,
            after=None, header_bits=header_bits,
        )  # fmt: skip
        single = [
            tables.probe_one(query, row, costs, theta, cap, distance, False, None, header_bits)
            for query, row in zip(queries, levels, strict=True)
        ]
        first = tables.probe(
            np.array(queries, np.uint64), levels, **given, distance=distance, first=True,
            after=None, header_bits=header_bits,
        )  # fmt: skip
        assert oracle.rows(found) == expected
        assert single == expected
        assert [len(row) for row in oracle.rows(first)] == [min(1, len(row)) for row in expected]
    keyed = build(search, masks, runs, delta, dead, kinds=(oracle.column,))
    counted = [
        each.count_probes(levels, **given, header_bits=header_bits) for each in (tables, keyed)
    ]
    assert np.array_equal(*counted)


@over("cap", [1, 17, 65536])
def test_the_first_sets_of_vosh_are_probed(search, cap):
    fingerprints = oracle.neighbourhood(3, 200, 4, 6)
    runs, delta = dealt(fingerprints, 3)
    queries = oracle.neighbourhood(3, 12, 4, 3)
    levels = np.random.default_rng(cap).integers(0, 256, (12, 64)).astype(np.uint8)
    costs = probes.cost_table(7, 6)

    found = build(search, [ALL_BITS], runs, delta).probe(
        np.array(queries, np.uint64), levels,
        costs=costs, theta=None, cap=cap, distance=5, first=False, after=None, tables=None,
    )  # fmt: skip

    assert oracle.rows(found) == [
        expected_of(query, row, runs, delta, [ALL_BITS], costs=costs, cap=cap)
        for query, row in zip(queries, levels, strict=True)
    ]


@over("width", [*range(20), 24])
def test_any_width_of_directory_has_its_tags(search, width):
    fingerprints = oracle.neighbourhood(width, 60, 3, 5)
    entries = list(zip(fingerprints, range(7, 67), strict=True))
    tables = build(search, [ALL_BITS], [(width, entries)])

    found = tables.lookup(
        np.array(fingerprints, np.uint64), distance=4, flips=2, first=0, after=None
    )

    assert oracle.rows(found) == [
        oracle.matches(each, entries, [], [ALL_BITS], distance_max=4, flips=2)
        for each in fingerprints
    ]


@over("header_bits", [None, 3])
@over("windows", [[(0, 64)], [(0, 1), (1, 64)], [(0, 7), (7, 31), (31, 33), (33, 64)]])
def test_windows_divide_the_matches(search, header_bits, windows):
    fingerprints = oracle.neighbourhood(1, 180, 5, 7)
    runs = [(6, list(zip(fingerprints, range(180), strict=True)))]
    queries = np.array(fingerprints[::10], np.uint64)
    levels, costs = probes.random_levels(2, 18), probes.cost_table(3, 60)
    asked = {
        "costs": costs, "theta": 60, "cap": 40, "distance": 8, "first": False, "after": None,
        "tables": None, "header_bits": header_bits,
    }  # fmt: skip

    parts = [
        oracle.rows(build(search, [ALL_BITS], runs, windows=[each]).probe(queries, levels, **asked))
        for each in windows
    ]

    whole = oracle.rows(build(search, [ALL_BITS], runs).probe(queries, levels, **asked))
    together = [sorted(chain.from_iterable(part[at] for part in parts)) for at in range(18)]
    assert together == [sorted(row) for row in whole]
    assert sum(map(len, whole)) > 0


@over("width", [0, 1, 12])
@over("count", [1, 15, 16, 17, 3000])
def test_equal_documents_are_all_found(search, width, count):
    same = [(0xFEDC_BA98_7654_3210, ordinal) for ordinal in range(count)]
    others = [(fingerprint, count + i) for i, fingerprint in enumerate(range(0, 1 << 60, 1 << 54))]
    tables = build(search, [ALL_BITS], [(width, same + others)], dead={0})
    query = 0xFEDC_BA98_7654_3210 ^ 1 << 40

    found = tables.lookup_one(query, 1, 1, 0)
    first = tables.lookup_one(query, 1, 1, 1)

    assert found == [(ordinal, 1) for ordinal in range(1, count)]
    assert len(first) >= min(1, count - 1)
    assert set(first) <= set(found)


@over("cap", [1, 20])
def test_large_batches_find_what_tables_of_keys_find(search, cap):
    generator = np.random.default_rng(cap)
    stored = generator.integers(0, 1 << 64, 4000, np.uint64, endpoint=False)
    queries = stored[generator.integers(0, 4000, 1500)]
    for _ in range(3):
        queries ^= np.uint64(1) << generator.integers(0, 64, 1500).astype(np.uint64)
    levels, costs = probes.random_levels(cap, 1500), probes.cost_table(cap, 60)
    entries = list(zip(stored.tolist(), range(4000), strict=True))
    runs = [(7, entries[:2500]), (9, entries[2500:])]
    tables = build(search, [ALL_BITS], runs)
    keyed = build(search, [ALL_BITS], runs, kinds=(oracle.column,))
    options = {"costs": costs, "theta": HUGE, "cap": cap, "distance": 3, "after": None}

    for first in (False, True):
        found, expected = (
            oracle.rows(each.probe(queries, levels, **options, first=first, tables=None))
            for each in (tables, keyed)
        )
        assert list(map(len, found)) == list(map(len, expected))
        assert first or found == expected
    for flips in (0, 1, 2):
        looked, expected = (
            oracle.rows(each.lookup(queries, distance=2, flips=flips, first=0, after=None))
            for each in (tables, keyed)
        )
        assert looked == expected


@over("whole", [1, 16, 1 << 20])
def test_fingerprints_are_found_in_every_segment(search, whole):
    start, count = 5_000_000, whole + min(whole, 3)
    fingerprints = np.random.default_rng(4).integers(0, 1 << 64, count, np.uint64, endpoint=False)
    order = np.argsort(fingerprints).astype(np.uint32)
    directory, tags = np.empty((1 << 20) + 1, np.uint32), np.empty(count, np.uint16)
    kernel.directory(fingerprints[order], 20, directory)
    kernel.tags(fingerprints[order], 20, tags)
    segments = [fingerprints[:whole], fingerprints[whole:]]
    table = (tags, order + np.uint32(start), directory, start, segments)
    tables = search.Tables([ALL_BITS], [[table]], NO_ENTRIES, None)

    places = [0, 1, whole - 1, whole, count - 1]
    found = [tables.lookup_one(int(fingerprints[at]) ^ 1, 1, 1, 0) for at in places]

    assert found == [[(start + at, 1)] for at in places]
    gathered = np.empty(count, np.uint64)
    kernel.gather(table[1], start, segments, gathered)
    assert np.array_equal(gathered, fingerprints[order])


def test_damaged_columns_hide_entries_and_lead_nowhere_else(search):
    entries = [(5, 10), (6, 11), (7, 12)]
    tags, ordinals, directory, start, segments = oracle.header_column(entries, ALL_BITS, 1)
    wild = np.array([4_000_000_000, 7, 4_000_000_000], np.uint32)
    lost = np.array([9, 11, 13], np.uint32)

    def found(*table):
        return search.Tables([ALL_BITS], [[table]], NO_ENTRIES, None).lookup_one(5, 3, 3, 0)

    assert found(tags, ordinals, directory, start, segments) == [(10, 0), (12, 1), (11, 2)]
    assert found(tags, ordinals, wild, start, segments) == []
    assert found(tags, lost, directory, start, segments) == [(11, 2)]
    assert found(tags, lost, directory, start, []) == []


def test_a_table_of_headers_says_what_it_lacks(search):
    tags, ordinals, directory, start, segments = oracle.header_column([(5, 0)], ALL_BITS, 1)
    tables = search.Tables(
        [ALL_BITS], [[(tags, ordinals, directory, start, segments)]], NO_ENTRIES, None
    )
    over_it = tables.over(NO_ENTRIES, None)
    query = np.array([5], np.uint64)

    for each in (tables, over_it):
        assert each.lookup_one(5, 0, 0, 0) == [(0, 0)]
        with pytest.raises(ValueError, match="no keys"):
            each.scan(query, distance=3, first=0, after=None)
        with pytest.raises(ValueError, match="no keys"):
            each.nearest(query, 1)
        with pytest.raises(ValueError, match="no keys"):
            search.lookup_bands([each], query, 5)
    for lengths, message in (
        ([2, 1, 2], "segment 1 is not the last"),
        ([2, 3], "segment 1 has 3 entries, over 2"),
        ([3, 1], "3 entries, not a power of two"),
        ([0, 1], "0 entries, not a power of two"),
    ):
        wrong = [np.zeros(length, np.uint64) for length in lengths]
        with pytest.raises(ValueError, match=message):
            search.Tables([ALL_BITS], [[(tags, ordinals, directory, 0, wrong)]], NO_ENTRIES, None)
    with pytest.raises(ValueError, match="2 bytes"):
        search.Tables([ALL_BITS], [[(query, ordinals, directory, 0, segments)]], NO_ENTRIES, None)


@over("header_bits", [0, 1, 17, 28, 32])
def test_tags_are_the_bits_after_the_header(arrange, header_bits):
    generator = np.random.default_rng(header_bits)
    for count in (0, 1, 7, 100):
        keys = oracle.displaced(generator.integers(0, 1 << 64, count, np.uint64, endpoint=False))
        tags = np.empty(count, np.uint16)
        arrange.tags(keys, header_bits, tags)
        assert tags.tolist() == [int(key) >> (48 - header_bits) & 0xFFFF for key in keys]
    with pytest.raises(ValueError, match="33"):
        arrange.tags(keys, 33, tags)
    with pytest.raises(ValueError, match="room for 99 tags"):
        arrange.tags(keys, 3, tags[1:])


def test_gathering_refuses_ordinals_without_a_fingerprint(arrange):
    stored = np.arange(100, 110, dtype=np.uint64)
    out = np.empty(3, np.uint64)

    arrange.gather(np.array([9, 5, 5], np.uint32), 5, [stored], out)

    assert out.tolist() == [104, 100, 100]
    arrange.gather(np.empty(0, np.uint32), 5, [], out[:0])
    for ordinals, segments in (([4, 5, 5], [stored]), ([5, 5, 15], [stored]), ([5, 5, 5], [])):
        with pytest.raises(CorruptError, match="has no fingerprint"):
            arrange.gather(np.array(ordinals, np.uint32), 5, segments, out)
    for lengths in ([10, 10], [0, 1], [4, 3, 4], [4, 5]):
        wrong = [stored[:length] for length in lengths]
        with pytest.raises(ValueError, match="fingerprints"):
            arrange.gather(np.zeros(3, np.uint32), 0, wrong, out)
