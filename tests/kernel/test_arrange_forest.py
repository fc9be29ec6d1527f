"""Joined numbers have the label that a search of the graph would give them."""

import random

import arrange_oracle as oracle
import numpy as np
import pytest
from arrange_oracle import odd
from over import over


def columns(pairs):
    return odd([left for left, _ in pairs], np.uint32), odd(
        [right for _, right in pairs], np.uint32
    )


@over("seed", range(5))
def test_labels_are_the_smallest_members_of_the_components(arrange, seed):
    generator = random.Random(seed)
    pairs = [(generator.randrange(90), generator.randrange(90)) for _ in range(20 * seed)]
    forest = arrange.Forest(90)

    assert forest.labels().tolist() == list(range(90))
    for start in range(0, len(pairs), 30):
        forest.join(*columns(pairs[start : start + 30]))
        assert forest.labels().tolist() == oracle.components(90, pairs[: start + 30])
    assert forest.labels().dtype == np.uint32


@over("step", [1, -1])
def test_a_chain_of_many_becomes_one_component(arrange, step):
    numbers = np.arange(200_000, dtype=np.uint32)[::step]
    forest = arrange.Forest(200_000)

    forest.join(numbers[:-1].copy(), numbers[1:].copy())

    assert not forest.labels().any()


@over("pair", [(0, 5), (5, 0), (2**32 - 1, 1)])
def test_numbers_beyond_the_forest_are_refused(arrange, pair):
    forest = arrange.Forest(5)

    with pytest.raises(ValueError, match="not among"):
        forest.join(*columns([pair]))


def test_parents_lead_to_the_labels(arrange):
    forest = arrange.Forest(7)
    forest.join(*columns([(6, 4), (4, 2), (5, 3)]))

    parents = forest.parents

    assert parents.dtype == np.uint32
    assert len(parents) == 7
    assert (parents <= np.arange(7)).all()
    assert parents[parents[parents]].tolist() == [0, 1, 2, 3, 2, 3, 2]
    assert arrange.Forest(0).parents.tolist() == []


@over("parent", [1, 4, 5, 2**32 - 1])
def test_a_parent_that_is_too_large_does_not_lead_out_of_the_forest(arrange, parent):
    forest = arrange.Forest(5)
    forest.parents[0] = parent

    forest.join(*columns([(3, 0), (4, 3)]))
    labels = forest.labels()

    assert len(labels) == 5
    assert labels[1:3].tolist() == [1, 2]
