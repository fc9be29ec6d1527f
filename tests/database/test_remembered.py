"""Remembered pairs, compared with a dict."""

import numpy as np
from over import over

from simdb.database.search.judge import Remembered


def added(remembered, pairs):
    left, right = np.array(list(pairs), np.uint32).reshape(-1, 2).T
    remembered.add(left, right, np.array(list(pairs.values()), np.float32))


@over("most", [0, 1, 7, 100])
def test_the_first_pairs_are_found_in_both_directions(most):
    chance = np.random.default_rng(most)
    remembered, known = Remembered(most), {}
    for _ in range(5):
        some = {
            tuple(map(int, chance.choice(2**32, 2, replace=False))): float(np.float32(value))
            for value in chance.random(6)
        }
        added(remembered, some)
        known |= some
        kept = dict(list(known.items())[:most])
        wanted = [*known, (1, 2)]
        left, right = np.array(wanted, np.uint32).T

        for one, two in ((left, right), (right, left)):
            found = [None if np.isnan(each) else each for each in remembered.find(one, two)]
            assert found == [kept.get(pair) for pair in wanted]


def test_a_pair_keeps_the_similarity_that_came_first():
    remembered = Remembered()
    added(remembered, {(1, 2): 0.5})
    added(remembered, {(2, 1): 0.25, (3, 1): 1.0})

    assert remembered.find(np.uint32([1, 1]), np.uint32([2, 3])).tolist() == [0.5, 1.0]
