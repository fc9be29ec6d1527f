"""Alignment: runs of equal words become passages, over a few changed words, and never beyond."""

import alignment_oracle
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from over import over

from simdb.core import kernel


def of(*sides):
    """Return offsets and words."""
    return np.cumsum([0, *map(len, sides)]), np.array(
        [w for each in sides for w in each], np.uint64
    )


SMALL = st.lists(st.integers(0, 3), max_size=25)


@given(st.lists(st.tuples(SMALL, SMALL), min_size=1, max_size=3), st.integers(1, 4))
@settings(max_examples=30 * settings.default.max_examples)
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
