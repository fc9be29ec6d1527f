"""Alignment: runs of equal words become passages, over a few changed words, and never beyond."""

import alignment_oracle
import numpy as np
import pytest
from alignment_oracle import CHANGED_WORDS, Seed
from hypothesis import given, strategies as st
from over import over

from simdb.core import kernel

ITEM = list(range(40))


def run_of(document, at, length=3):
    """Return a run of the item from `at` on, where it is in a document."""
    run = ITEM[at : at + length]
    starts = range(len(document) - length + 1)
    return Seed(next(x for x in starts if document[x : x + length] == run), at, length)


def of(*sides):
    """Return offsets and words."""
    return np.cumsum([0, *map(len, sides)]), np.array(
        [w for each in sides for w in each], np.uint64
    )


def passages(document, item, runs):
    """Return the passages of one document and one item, as the oracle has them."""
    found, _, equal = kernel.align(
        of(document), of(item), np.zeros((1, 2), np.int64), np.array([0, len(runs)]),
        np.array(runs, np.int64).reshape(-1, 3),
    )  # fmt: skip
    return [tuple(each)[1:] for each in found.tolist()], set(np.flatnonzero(equal).tolist())


def only(document, *runs):
    (passage,), equal = passages(document, ITEM, list(runs))
    return passage, equal


def test_a_passage_is_as_long_as_words_are_equal():
    document = [99, 98, *ITEM[5:30], 97]

    assert only(document, run_of(document, 10)) == ((2, 27, 5, 30), set(range(5, 30)))


@over("count", range(1, CHANGED_WORDS + 1))
def test_changed_words_are_passed_over(count):
    document = [*ITEM[:10], *([99] * count), *ITEM[10 + count :]]

    passage, equal = only(document, run_of(document, 2))

    assert passage == (0, 40, 0, 40)
    assert equal == set(ITEM) - set(range(10, 10 + count))


@pytest.mark.parametrize("at", [2, 14, 30])
def test_words_put_in_and_left_out_are_passed_over(at):
    document = [*ITEM[:10], 99, 98, *ITEM[10:20], *ITEM[22:]]

    assert only(document, run_of(document, at)) == ((0, 40, 0, 40), set(ITEM) - {20, 21})


def test_more_changed_words_end_a_passage():
    document = [*ITEM[:10], *([99] * (CHANGED_WORDS + 1)), *ITEM[10 + CHANGED_WORDS + 1 :]]

    found, _ = passages(document, ITEM, [run_of(document, 2), run_of(document, 20)])

    assert found == [(0, 10, 0, 10), (14, 40, 14, 40)]


def test_one_equal_word_behind_a_change_is_not_enough():
    document = [*ITEM[:10], 99, ITEM[11], 98, 97, 96, 95]

    assert only(document, run_of(document, 2)) == ((0, 10, 0, 10), set(range(10)))


def test_a_document_that_has_an_item_twice_has_two_passages():
    document = [*ITEM, *([99] * 9), *ITEM]

    found, _ = passages(document, ITEM, [run_of(document, 0), Seed(49, 0, 3)])

    assert found == [(0, 40, 0, 40), (49, 89, 0, 40)]


SMALL = st.lists(st.integers(0, 3), max_size=25)


@given(st.lists(st.tuples(SMALL, SMALL), min_size=1, max_size=3), st.integers(1, 4))
def test_passages_are_those_of_the_oracle(texts, length):
    documents, items = zip(*texts, strict=True)
    pairs = [(x, y) for x in range(len(documents)) for y in range(len(items))]
    runs = [
        alignment_oracle.joined(alignment_oracle.seeds(documents[x], items[y], length))
        for x, y in pairs
    ]
    bounds = np.cumsum([0, *map(len, runs)])
    every = np.array([run for each in runs for run in each], np.int64).reshape(-1, 3)

    found, offsets, equal = kernel.align(
        of(*documents), of(*items), np.array(pairs, np.int64), bounds, every
    )

    for number, (x, y) in enumerate(pairs):
        wanted = alignment_oracle.passages(documents[x], items[y], runs[number])
        own = found[found["pair"] == number]
        assert [tuple(each)[1:] for each in own.tolist()] == [each[:4] for each in wanted]
        marks = np.flatnonzero(equal[offsets[number] : offsets[number + 1]]).tolist()
        assert set(marks) == set().union(*(each.equal for each in wanted))


@over(
    ("pairs", "bounds", "runs"),
    [
        ([[0, 1]], [0, 1], [[0, 0, 2]]), ([[1, 0]], [0, 1], [[0, 0, 2]]),
        ([[0, 0]], [0, 1], [[2, 0, 2]]), ([[0, 0]], [0, 1], [[0, 2, 2]]),
        ([[0, 0]], [0, 1], [[-1, 0, 2]]), ([[0, 0]], [0, 1], [[0, 0, 0]]),
        ([[0, 0]], [0, 2], [[0, 0, 2]]), ([[0, 0]], [1, 1], [[0, 0, 2]]),
        ([[0, 0]], [0], [[0, 0, 2]]), ([[0, 0, 0]], [0, 1], [[0, 0, 2]]),
    ],
)  # fmt: skip
def test_runs_that_are_not_there_are_refused(pairs, bounds, runs):
    texts = of([1, 2, 3])
    with pytest.raises(ValueError, match=r"run|pair"):
        kernel.align(
            texts, texts, np.array(pairs, np.int64), np.array(bounds), np.array(runs, np.int64)
        )
