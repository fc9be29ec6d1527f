"""MinHashLSHForest, against one comparison of all sets for each depth and tree."""

import pickle
import random

import numpy as np
import pytest

import simdb
from simdb.compat.datasketch import MinHash, MinHashLSHForest, WeightedMinHashGenerator

SCHEMES = ("affine32", "affine64", "legacy", "weighted")


def many(scheme, count=60, num_perm=16):
    chosen = random.Random(2)
    sets = [chosen.choices(range(9), k=chosen.randrange(1, 9)) for _ in range(count)]
    if scheme == "weighted":
        generator = WeightedMinHashGenerator(9, num_perm)
        return [generator.minhash(np.bincount(values, minlength=9)) for values in sets]
    data = [[b"%d" % value for value in values] for values in sets]
    return MinHash.bulk(data, num_perm=num_perm, scheme=scheme)


def nearest(stored, query, trees, depth, k):
    """Return the first k keys by depth, tree, bytes of the tree's hash values and insertion."""
    found = {}
    for prefix in range(depth, 0, -1):
        for start in range(0, trees * depth, depth):
            ordered = sorted(
                stored,
                key=lambda key: stored[key].hashvalues[start:][:depth].byteswap().tobytes(),
            )
            for key in ordered:
                part = stored[key].hashvalues[start:][:prefix]
                if np.array_equal(part, query.hashvalues[start:][:prefix]):
                    found[key] = None
                    if len(found) == k:
                        return list(found)
    return list(found)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("trees", [1, 3, 8, 16])
def test_the_nearest_are_those_of_a_plain_search(scheme, trees) -> None:
    made = many(scheme)
    forest = MinHashLSHForest(16, trees)
    for number, each in enumerate(made):
        forest.add(("key", number), each)
    forest.index()
    stored = {("key", number): each for number, each in enumerate(made)}

    for query in made[::6]:
        for k in (1, 4, 100):
            assert forest.query(query, k) == nearest(stored, query, trees, 16 // trees, k)


def test_only_indexed_keys_are_found() -> None:
    first, second = many("affine32", 2)
    forest = MinHashLSHForest(16, 4)
    forest.index()
    forest.add("a", first)
    before = forest.is_empty(), forest.query(first, 5), "a" in forest
    forest.index()
    forest.add("b", second)

    found = forest.query(second, 5)
    forest.index()

    assert before == (True, [], True)
    assert "b" not in found
    assert "b" in forest.query(second, 5)
    assert not forest.is_empty()


def test_hash_values_with_zero_bytes_are_told_apart() -> None:
    rows = [[0, 0], [0, 1], [256, 0], [0, 256], [2**32 - 1, 2**32 - 1]]
    made = [MinHash(hashvalues=row, scheme="affine32") for row in rows]
    forest = MinHashLSHForest(2, 1)
    for number, each in enumerate(made):
        forest.add(number, each)
    forest.index()

    assert [forest.query(each, 1) for each in made] == [[0], [1], [2], [3], [4]]
    assert sorted(forest.query(made[0], 5)) == [0, 1, 3]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_hash_values_come_back(scheme) -> None:
    made = many(scheme, 5)
    forest = MinHashLSHForest(16, 3)
    for number, each in enumerate(made):
        forest.add(number, each)
    before = made[0].hashvalues[:15].tolist()
    made[0].hashvalues[:] = 0

    values = forest.get_minhash_hashvalues(4)

    assert values.tolist() == made[4].hashvalues[:15].tolist()
    assert values.dtype == made[4].hashvalues.dtype
    assert forest.get_minhash_hashvalues(0).tolist() == before
    assert forest.hashranges == [(0, 5), (5, 10), (10, 15)]
    assert forest.keys[4] == [
        values[start : start + 5].byteswap().tobytes() for start in (0, 5, 10)
    ]
    assert all(
        4 in table[part] for part, table in zip(forest.keys[4], forest.hashtables, strict=True)
    )
    with pytest.raises(KeyError, match="'x' is not in the index"):
        forest.get_minhash_hashvalues("x")


def test_a_pickle_answers_the_same() -> None:
    made = many("affine32")
    forest = MinHashLSHForest(16, 4)
    for number, each in enumerate(made):
        forest.add(number, each)
    forest.index()

    again = pickle.loads(pickle.dumps(forest))

    assert [again.query(each, 7) for each in made] == [forest.query(each, 7) for each in made]


def test_invalid_arguments_are_refused() -> None:
    first = many("affine32", 1)[0]
    forest = MinHashLSHForest(16, 4)
    forest.add("a", first)

    for options in ((0, 1), (4, 0), (4, 5)):
        with pytest.raises(simdb.OptionError, match="l must be from 1 to"):
            MinHashLSHForest(*options)
    with pytest.raises(simdb.InputError, match="the key 'a' exists"):
        forest.add("a", first)
    with pytest.raises(simdb.InputError, match="k must be 1 or more"):
        forest.query(first, 0)
    with pytest.raises(simdb.InputError, match="has 8 hash values, but the index needs 16"):
        forest.add("b", MinHash(8))
    for other in (MinHash(16, 2), many("legacy", 1)[0], many("weighted", 1)[0]):
        with pytest.raises(simdb.InputError, match="but the index has 'affine32' and 1"):
            forest.query(other, 1)
    with pytest.raises(simdb.InputError, match="int has no hash values"):
        forest.add("c", 5)
