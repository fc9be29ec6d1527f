"""Pairs by exact similarity: each compared once, and no text read for each pair it is in."""

import numpy as np
import pytest
from over import over

import simdb
from simdb.settings.stored_options import Resources
from simdb.sketch import exact_similarity
from simdb.sketch.exact_similarity import ExactPairs, ExactSimilarity, numbered

EXACT = ExactSimilarity(simdb.Simhash(), Resources(), ())


def compared(texts, left, right, threads=1, *, is_read_anywhere=True):
    """Return the similarity of each pair, and how many texts were read for it at a time."""
    sizes = []

    def read(positions):
        assert (np.diff(positions.astype(np.int64)) > 0).all()
        sizes.append(len(positions))
        return [texts[at] for at in positions.tolist()]

    pairs = ExactPairs(EXACT, is_read_anywhere=is_read_anywhere)
    found = np.full(len(left), np.nan, np.float32)
    order = np.arange(len(left))
    for chosen, values in pairs.parts(read, left, right, order, threads):
        assert np.isnan(found[chosen]).all()
        found[chosen] = values
    return found, sizes


def pages(count):
    """Return pages of one template, of which each has a word of its own."""
    return [f"all of these words are on each of the pages except one {at}" for at in range(count)]


@pytest.mark.parametrize("is_read_anywhere", [False, True])
def test_texts_that_are_in_many_pairs_are_read_a_few_times(is_read_anywhere):
    left, right = (each.astype(np.uint32) for each in np.triu_indices(600, 1))

    found, sizes = compared(pages(600), left, right, 2, is_read_anywhere=is_read_anywhere)

    assert (found == np.float32(10 / 12)).all()
    assert sum(sizes) <= 8 * 600


@pytest.mark.parametrize(("part_bytes", "most"), [(1, 2), (1 << 10, 128), (1 << 23, 128)])
def test_dense_and_scattered_pairs_are_each_compared_once(monkeypatch, part_bytes, most):
    monkeypatch.setattr(exact_similarity, "PART_BYTES", part_bytes)
    monkeypatch.setattr(exact_similarity, "PART_PAIRS_FIRST", 1)
    monkeypatch.setattr(exact_similarity, "SIDE_DOCUMENTS", 16)
    monkeypatch.setattr(exact_similarity, "DENSE", 4)
    monkeypatch.setattr(exact_similarity, "PART_PAIRS_MOST", 64)
    texts = [f"a b c d e {'f ' * (at % 7)} {at % 3}" for at in range(200)]
    drawn = np.random.default_rng(5)
    # A dense square among pairs of all kinds, in no order.
    left = np.concatenate([np.repeat(np.arange(40), 40), drawn.integers(0, 200, 300)])
    right = np.concatenate([np.tile(np.arange(40, 80), 40), drawn.integers(0, 200, 300)])
    mixed = drawn.permutation(len(left))
    left, right = left[mixed].astype(np.uint32), right[mixed].astype(np.uint32)

    found, sizes = compared(texts, left, right)

    expected = EXACT.of_pairs(texts, left.astype(np.int64), right.astype(np.int64))
    assert found.tolist() == expected.tolist()
    assert max(sizes) <= most


@over("values", [[], [7], [3, 3, 1, 2**32 - 1], [5, 4, 4, 9, 5], [2**32 - 1, 2**32 - 2, 2**32 - 1]])
def test_values_are_numbered_in_their_order(values):
    numbers, places = numbered(np.array(values, np.uint32))

    assert numbers.tolist() == sorted(set(values))
    assert numbers[places].tolist() == values
