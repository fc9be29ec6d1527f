"""One look-up in the tables of all bands finds what a look-up in each of them finds."""

import numpy as np
import search_oracle as oracle
from over import over

from simdb.core.bits import ALL_BITS, bitmap


def random_entries(seed, count, ordinals):
    """Make (key, ordinal) entries in which keys are often equal and of few headers."""
    generator = np.random.default_rng(seed)
    keys = generator.integers(0, 12, count).astype(np.uint64) << np.uint64(59)
    keys |= generator.integers(0, 2, count).astype(np.uint64)
    return [(int(key), int(ordinal)) for key, ordinal in zip(keys, ordinals, strict=True)]


def made(search, runs, dead, windows=None):
    """Make the tables of one band from the entries of each run."""
    rows = [[oracle.column(entries, ALL_BITS, 3 + at)] for at, entries in enumerate(runs)]
    nothing = np.empty(0, np.uint64), np.empty(0, np.uint32)
    return search.Tables([ALL_BITS], rows, nothing, dead, windows)


@over("band_count", [0, 1, 2, 5, 70])
@over("is_dead", [False, True])
def test_the_documents_with_an_equal_key_in_any_band(search, band_count, is_dead):
    dead = bitmap(np.arange(0, 90, 7), 90) if is_dead else None
    every = [
        [random_entries(band, 60, range(60)), random_entries(band + 99, 30, range(60, 90))]
        for band in range(band_count)
    ]
    bands = [made(search, runs, None) for runs in every]
    wanted = [3 << 59 | band % 2 for band in range(band_count)]

    found = search.lookup_bands(bands, np.array(wanted, np.uint64), 10_000, dead)

    expected = {
        ordinal
        for runs, key in zip(every, wanted, strict=True)
        for entries in runs
        for each, ordinal in entries
        if each == key and not (is_dead and ordinal % 7 == 0)
    }
    assert found.dtype == np.uint32
    assert found.tolist() == sorted(expected)


def test_more_entries_than_wanted_are_left_to_another_search(search):
    entries = [(5, ordinal) for ordinal in range(10)]
    bands = [made(search, [entries], None), made(search, [entries], None)]
    keys = np.array([5, 5], np.uint64)

    assert search.lookup_bands(bands, keys, 20).tolist() == list(range(10))
    assert search.lookup_bands(bands, keys, 19) is None
    assert search.lookup_bands(bands, keys, 0) is None
    assert search.lookup_bands(bands, keys + np.uint64(1), 0).tolist() == []


def test_only_the_window_is_searched(search):
    entries = [(key << 61, key) for key in range(8)]
    lower = made(search, [entries], None, [(0, 4)])

    found = [search.lookup_bands([lower], np.array([key << 61], np.uint64), 9) for key in range(8)]

    assert [ordinals.tolist() for ordinals in found] == [[0], [1], [2], [3], [], [], [], []]


def test_a_damaged_directory_leads_nowhere(search):
    keys, ordinals, directory = oracle.column([(1, 1), (2, 2)], ALL_BITS, 3)
    wrong = np.full_like(directory, 2**32 - 1)
    nothing = np.empty(0, np.uint64), np.empty(0, np.uint32)
    tables = search.Tables([ALL_BITS], [[(keys, ordinals, wrong)]], nothing, None)

    assert search.lookup_bands([tables], np.array([1], np.uint64), 9).tolist() == []
