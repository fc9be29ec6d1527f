"""Exact similarities of many pairs: each once, and each document read a few times or once."""

import numpy as np
import pytest
from near_copies import near_copies
from over import over

import simdb
from simdb.core.stored_options import Resources
from simdb.sketch import exact_pairs
from simdb.sketch.exact_pairs import ExactPairs, RecurringPairs, numbered
from simdb.sketch.exact_similarity import ExactSimilarity

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
    monkeypatch.setattr(exact_pairs, "PART_BYTES", part_bytes)
    monkeypatch.setattr(exact_pairs, "PART_PAIRS_FIRST", 1)
    monkeypatch.setattr(exact_pairs, "SIDE_DOCUMENTS", 16)
    monkeypatch.setattr(exact_pairs, "DENSE", 4)
    monkeypatch.setattr(exact_pairs, "PART_PAIRS_MOST", 64)
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


SKETCHES = [
    simdb.Simhash(), simdb.Minhash(), simdb.Minhash(weighting="bag"), simdb.Simhash(weighting="tf")
]  # fmt: skip


@over("sketch", SKETCHES)
@over("held", [0, 3000, 1 << 20])
def test_recurring_documents_are_compared_as_others_and_read_once(monkeypatch, sketch, held):
    monkeypatch.setattr(exact_pairs, "HELD_FEATURES", held)
    monkeypatch.setattr(exact_pairs, "COMMON_PAIRS", 2)
    monkeypatch.setattr(exact_pairs, "COUNTED_PAIRS", 50)
    exact, chance = ExactSimilarity(sketch, Resources(), ()), np.random.default_rng(7)
    texts = [None if at % 9 == 4 else text for at, text in enumerate(near_copies(150))]
    asked = []

    def read(numbers):
        asked.extend(numbers.tolist())
        return [texts[at] for at in numbers.tolist()]

    recurring = RecurringPairs(exact)
    for stop in (20, 90, 150, 150):
        left, right = (chance.integers(0, stop, 400).astype(np.uint32) for _ in range(2))
        found = np.full(len(left), 7, np.float32)
        for chosen, values in recurring.parts(read, left, right, np.arange(len(left)), 2):
            assert (found[chosen] == 7).all()
            found[chosen] = values

        known = ["" if text is None else text for text in texts]
        expected = exact.of_pairs(known, left.astype(np.int64), right.astype(np.int64))
        expected[[None in (texts[a], texts[b]) for a, b in zip(left, right, strict=True)]] = np.nan
        assert found == pytest.approx(expected, nan_ok=True)
    assert (len(asked) == len(set(asked))) == (held == 1 << 20)


@over("sketch", [simdb.Simhash(), simdb.Simhash(weighting="tf"), simdb.Minhash(weighting="bag")])
@over("share", [1, 3, 1000])
def test_recurring_documents_without_texts_are_compared_by_stored_features(sketch, share):
    exact, chance = ExactSimilarity(sketch, Resources(), ()), np.random.default_rng(7)
    every = near_copies(60)
    packed = exact.packed(every, errors="strict")
    texts = [text if at % share else None for at, text in enumerate(every)]
    left, right = (chance.integers(0, 60, 500).astype(np.uint32) for _ in range(2))

    def found_by(pairs):
        found = np.empty(len(left), np.float32)
        read = lambda numbers: [texts[at] for at in numbers.tolist()]  # noqa: E731
        stored = lambda numbers: packed.taken(numbers.astype(np.int64))  # noqa: E731
        for chosen, values in pairs.parts(read, left, right, np.arange(len(left)), 1, stored):
            found[chosen] = values
        return found.tolist()

    assert found_by(RecurringPairs(exact)) == found_by(ExactPairs(exact))


def test_documents_that_are_too_many_give_way_to_those_of_the_next_call(monkeypatch):
    monkeypatch.setattr(exact_pairs, "HELD_FEATURES", 3000)
    monkeypatch.setattr(exact_pairs, "PART_PAIRS_FIRST", 8)
    texts, asked, recurring = near_copies(120), [], RecurringPairs(EXACT)

    def read(numbers):
        asked.extend(numbers.tolist())
        return [texts[at] for at in numbers.tolist()]

    for first in (0, 40, 0, 80, 80):
        left, right = (first + each.astype(np.uint32) for each in np.triu_indices(40, 1))
        found = np.empty(len(left), np.float32)
        for chosen, values in recurring.parts(read, left, right, np.arange(len(left)), 1):
            found[chosen] = values

        assert (found == EXACT.of_pairs(texts, left.astype(int), right.astype(int))).all()
    # Of the call that no longer fits some are read before the others have given way.
    assert 160 <= len(asked) < 2 * 160
