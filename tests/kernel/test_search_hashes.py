"""Distances of whole hashes are those of their bits in every variant, wherever they lie."""

from itertools import pairwise

import numpy as np
import pytest
import search_oracle as oracle
from over import over
from test_search_vectors import segmented

from simdb.core.bits import bitmap
from simdb.core.errors import CorruptError

WIDTHS = range(4, 68, 4)


def random_hashes(seed, count, width):
    """Make hashes near a few others, from the same to the opposite, in any order."""
    generator = np.random.default_rng(seed)
    centres = generator.integers(0, 256, (3, 8 * width)) < 128
    flipped = generator.random((count, 8 * width)) < generator.random((count, 1)) ** 3
    flipped[0], flipped[1] = 0, 1
    return np.packbits(centres[generator.integers(0, 3, count)] ^ flipped, axis=1)


def distances(left, right):
    """Return the distances between hashes, bit by bit."""
    return np.unpackbits(left ^ right, axis=-1).sum(axis=-1)


def rows(found):
    """Return the (distance, ordinal) of each query's matches, in their order."""
    offsets, ordinals, measured = found
    assert (offsets.dtype, ordinals.dtype, measured.dtype) == (np.int64, np.uint32, np.uint16)
    assert len(ordinals) == len(measured) == offsets[-1]
    entries = list(zip(measured.tolist(), ordinals.tolist(), strict=True))
    return [entries[start:stop] for start, stop in pairwise(offsets.tolist())]


def compared(query, hashes, ordinals, skipped=(), after=-1):
    """Return (distance, ordinal) of all hashes that count, in order of ordinal."""
    measured = zip(distances(query, hashes).tolist(), ordinals.tolist(), strict=True)
    return [row for row in measured if row[1] not in skipped and row[1] > after]


@over("width", WIDTHS)
def test_candidates_differ_in_as_many_bits_as_an_array_of_bits_says(search, width):
    hashes = random_hashes(width, 90, width)
    segments, ordinals = segmented(hashes, [0, 1, 9, 9, 90], 3)
    stored = search.Vectors(width, segments)
    # 70 queries with one candidate each, over two blocks; then with none and with many.
    offsets = np.array([*range(71), 71, 77, 77, 110], np.int64)
    order = np.random.default_rng(1).integers(0, 90, 110)
    numbers = np.repeat(np.arange(74), np.diff(offsets))

    found = stored.differing(oracle.displaced(hashes[:74], 5), offsets, ordinals[order])

    assert found.dtype == np.uint16
    assert (found == distances(hashes[numbers], hashes[order])).all()


@over("width", WIDTHS)
def test_stored_hashes_differ_in_as_many_bits_as_an_array_of_bits_says(search, width):
    hashes = random_hashes(width, 60, width)
    segments, ordinals = segmented(hashes, [0, 30, 60], 1)
    stored = search.Vectors(width, segments)
    left, right = np.random.default_rng(2).integers(0, 60, (2, 200))

    found = stored.differing_between(ordinals[left], ordinals[right])

    assert found.dtype == np.uint16
    assert (found == distances(hashes[left], hashes[right])).all()


def test_opposite_hashes_of_512_bits_differ_in_all_of_them(search):
    stored = search.Vectors(64, [(0, np.zeros((1, 64), np.uint8))])
    query, ordinal = np.full((1, 64), 255, np.uint8), np.zeros(1, np.uint32)

    assert stored.differing(query, np.array([0, 1]), ordinal).tolist() == [512]


@over("count", [0, 1, 31, 32, 33, 64, 65])
def test_any_number_of_pairs_is_compared(search, count):
    hashes = random_hashes(count, 70, 32)
    stored = search.Vectors(32, [(0, hashes)])
    ordinals = np.arange(count, dtype=np.uint32)

    of_query = stored.differing(hashes[3:4], np.array([0, count]), ordinals)
    between = stored.differing_between(np.full(count, 3, np.uint32), ordinals)

    assert of_query.tolist() == between.tolist() == distances(hashes[3], hashes[:count]).tolist()


@over("width", WIDTHS)
@over("share", [0, 0.1, 0.5, 0.97, 1, 2])
def test_all_hashes_within_the_distance_are_found_in_order(search, width, share):
    # 700 hashes are more than are compared together, in segments of odd lengths.
    hashes = random_hashes(3, 700, width)
    hashes[600:650] = hashes[40]
    segments, ordinals = segmented(hashes, [0, 300, 301, 301, 700], 1)
    stored = search.Vectors(width, segments)
    most, skipped = int(share * 8 * width), {each for each in ordinals[::6].tolist() if each < 480}
    after = np.array([0, 50, 320, 10, 5000], np.uint32)
    queries = oracle.displaced(hashes[[0, 1, 2, 40, 5]], 3)

    # The bitmap ends before the last ordinals, which are not skipped.
    skip = bitmap(ordinals[::6], 800)[:60]
    found = stored.within(queries, distance=most, skip=skip, after=after)

    for query, least, got in zip(queries, after.tolist(), rows(found), strict=True):
        kept = compared(query, hashes, ordinals, skipped, least)
        assert got == sorted(row for row in kept if row[0] <= most)


@over("first", [1, 2, 7, 256, 100_000])
@over("most", [0, 60, 100, 256])
def test_the_first_matches_are_those_with_the_lowest_ordinals(search, first, most):
    hashes = random_hashes(4, 700, 32)
    segments, ordinals = segmented(hashes, [0, 350, 700])
    stored = search.Vectors(32, segments)
    after = np.array([0, 400, 0, 30], np.uint32)

    found = stored.within(
        hashes[:4], distance=most, skip=bitmap(ordinals[::3], 800), after=after, first=first
    )

    skipped = set(ordinals[::3].tolist())
    for query, least, got in zip(hashes, after.tolist(), rows(found), strict=False):
        kept = compared(query, hashes, ordinals, skipped, least)
        assert got == sorted([row for row in kept if row[0] <= most][:first])


@over("k", [1, 2, 7, 63, 10_000])
@over("width", WIDTHS)
def test_the_closest_hashes_are_the_first_of_all_sorted(search, width, k):
    hashes = random_hashes(width, 700, width)
    hashes[300:340] = hashes[5]
    segments, ordinals = segmented(hashes, [0, 3, 300, 300, 700], 3)
    stored = search.Vectors(width, segments)
    queries = hashes[:8]

    found = stored.closest(queries, k, bitmap(ordinals[::5], 1000))

    skipped = set(ordinals[::5].tolist())
    for query, got in zip(queries, rows(found), strict=True):
        assert got == sorted(compared(query, hashes, ordinals, skipped))[:k]


def test_many_queries_with_many_matches_are_searched_in_groups(search):
    # 600 queries are more than are compared together, and all have more matches than fit at first.
    hashes = random_hashes(9, 600, 8)
    stored, ordinals = search.Vectors(8, [(0, hashes)]), np.arange(600)

    within = rows(stored.within(hashes, distance=64, skip=None, after=None))
    closest = rows(stored.closest(hashes, 2**40, None))

    assert within == closest
    assert within[7] == sorted(compared(hashes[7], hashes, ordinals))
    assert within[599] == sorted(compared(hashes[599], hashes, ordinals))


def test_nothing_stored_and_nothing_asked_give_empty_results(search):
    nothing, hashes = search.Vectors(32, []), np.zeros((2, 32), np.uint8)
    stored = search.Vectors(32, [(0, hashes)])

    assert rows(nothing.within(hashes, distance=256, skip=None, after=None)) == [[], []]
    assert rows(nothing.closest(hashes, 3, None)) == [[], []]
    assert rows(stored.within(hashes[:0], distance=256, skip=None, after=None)) == []
    assert rows(stored.closest(hashes[:0], 3, None)) == []
    assert len(nothing.differing(hashes, np.zeros(3, np.int64), np.empty(0, np.uint32))) == 0


def test_the_last_ordinals_are_found(search):
    hashes = random_hashes(2, 300, 32)
    stored = search.Vectors(32, [(2**32 - 300, hashes)])
    after = np.array([2**32 - 2, 2**32 - 1], np.uint32)

    found = stored.within(hashes[-2:], distance=256, skip=None, after=after)
    [[nearest]] = rows(stored.closest(hashes[-1:], 1, np.full(1000, 255, np.uint8)))

    assert [[row[1] for row in each] for each in rows(found)] == [[2**32 - 1], []]
    assert nearest == min(compared(hashes[-1], hashes, np.arange(2**32 - 300, 2**32)))


@over("missing", [0, 2, 5, 8, 13, 4_294_967_295])
@over("place", [0, 31, 32, 69])
def test_an_ordinal_without_a_hash_is_refused(search, missing, place):
    hashes = random_hashes(7, 6, 32)
    stored = search.Vectors(32, [(3, hashes[:2]), (9, hashes[2:])])
    ordinals, others = np.full((2, 70), 3, np.uint32)
    ordinals[place] = missing

    for ask in (
        lambda: stored.differing(hashes[:1], np.array([0, 70]), ordinals),
        lambda: stored.differing_between(ordinals, others),
        lambda: stored.differing_between(others, ordinals),
    ):
        with pytest.raises(CorruptError, match=f"ordinal {missing} has no vector"):
            ask()


@over("width", [2, 5, 34, 68])
def test_hashes_have_whole_words_of_32_bits_up_to_512(search, width):
    hashes, ordinals = np.zeros((1, width), np.uint8), np.zeros(1, np.uint32)
    stored = search.Vectors(width, [(0, hashes)])

    for ask in (
        lambda: stored.differing(hashes, np.array([0, 1]), ordinals),
        lambda: stored.differing_between(ordinals, ordinals),
        lambda: stored.within(hashes, distance=3, skip=None, after=None),
        lambda: stored.closest(hashes, 3, None),
    ):
        with pytest.raises(ValueError, match="multiple of 4"):
            ask()


def test_arguments_that_do_not_fit_are_refused(search):
    hashes, ordinals = random_hashes(8, 4, 32), np.arange(4, dtype=np.uint32)
    stored = search.Vectors(32, [(0, hashes)])

    for call in (
        lambda: stored.differing(hashes[:, :16].copy(), np.array([0, 1, 2, 3, 4]), ordinals),
        lambda: stored.differing(hashes, np.array([0, 4]), ordinals),
        lambda: stored.differing(hashes[:1], np.array([0, 3]), ordinals),
        lambda: stored.differing_between(ordinals, ordinals[:2]),
        lambda: stored.within(hashes, distance=3, skip=None, after=ordinals[:2]),
        lambda: stored.closest(hashes, 0, None),
    ):
        with pytest.raises(ValueError, match=r"need|offsets|length|after|below 1"):
            call()
