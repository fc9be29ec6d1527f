"""Distances of whole hashes are those of their bits in every variant, wherever they lie."""

import numpy as np
import pytest
import search_oracle as oracle
from over import over
from test_search_vectors import segmented

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
    ):
        with pytest.raises(ValueError, match=r"need|offsets|length"):
            call()
