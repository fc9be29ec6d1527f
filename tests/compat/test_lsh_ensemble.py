"""MinHashLSHEnsemble, against a double loop over partitions and bands."""

import pickle
import random

import numpy as np
import pytest

import simdb
from simdb.compat.datasketch import (
    LeanMinHash,
    MinHash,
    MinHashLSHEnsemble,
    WeightedMinHashGenerator,
)


def entries(count=80, num_perm=16, scheme="affine32"):
    chosen = random.Random(4)
    sets = [
        {b"%d" % chosen.randrange(60) for _ in range(chosen.randrange(1, 40))} for _ in range(count)
    ]
    made = MinHash.bulk(sets, num_perm=num_perm, scheme=scheme)
    return [((number,), each, len(sets[number])) for number, each in enumerate(made)]


def plainly(index, stored, query, size):
    """Return the keys that agree in a band, by the bands of each partition."""
    found = set()
    for lower, upper in zip(index.lowers, index.uppers, strict=True):
        if upper is None:
            continue
        at = min(int((index.xqs < upper / size).sum()), len(index.xqs) - 1)
        bands, rows = index.params[at]
        for key, each, other in stored:
            if lower <= other <= upper and any(
                np.array_equal(each.hashvalues[start:][:rows], query.hashvalues[start:][:rows])
                for start in range(0, bands * rows, rows)
            ):
                found.add(key)
    return found


@pytest.mark.parametrize("scheme", ["affine32", "affine64", "legacy"])
@pytest.mark.parametrize("parts", [1, 2, 5, 100])
def test_candidates_are_those_of_a_double_loop(scheme, parts) -> None:
    stored = entries(scheme=scheme)
    index = MinHashLSHEnsemble(threshold=0.7, num_perm=16, num_part=parts, m=4)

    index.index(iter(stored))

    for _, each, size in stored:
        for asked in (1, size, 4 * size):
            keys = list(index.query(LeanMinHash(each), asked))
            assert len(keys) == len(set(keys))
            assert set(keys) == plainly(index, stored, each, asked)


def test_each_set_is_in_one_partition() -> None:
    stored = entries()
    index = MinHashLSHEnsemble(num_perm=16, num_part=5)

    index.index(stored)
    ranges = list(zip(index.lowers, index.uppers, strict=True))

    assert all(sum(low <= size <= high for low, high in ranges) == 1 for *_, size in stored)
    assert (79,) in index
    assert (80,) not in index
    assert not index.is_empty()


def test_a_pickle_answers_the_same() -> None:
    stored = entries()
    index = MinHashLSHEnsemble(num_perm=16, num_part=5)
    index.index(stored)

    again = pickle.loads(pickle.dumps(index))

    for _, each, size in stored:
        assert set(again.query(each, size)) == set(index.query(each, size))


def test_an_empty_index_finds_nothing() -> None:
    index = MinHashLSHEnsemble(num_perm=16)

    assert index.is_empty()
    assert list(index.query(MinHash(16), 3)) == []


def test_weighted_sets_are_found() -> None:
    generator = WeightedMinHashGenerator(5, 16)
    made = [generator.minhash(weights) for weights in np.eye(5) + 0.1]
    index = MinHashLSHEnsemble(num_perm=16)

    index.index([(number, each, 5) for number, each in enumerate(made)])

    assert all(number in index.query(each, 5) for number, each in enumerate(made))


@pytest.mark.parametrize(
    "options",
    [
        {"threshold": 1.1}, {"num_perm": 1}, {"num_part": 0}, {"m": 1}, {"m": 17},
        {"weights": (0.5, 0.6)}, {"storage_config": {"type": "redis"}},
    ],
)  # fmt: skip
def test_invalid_options_are_refused(options) -> None:
    with pytest.raises(simdb.OptionError, match=next(iter(options))):
        MinHashLSHEnsemble(**{"num_perm": 16, **options})


def test_invalid_entries_are_refused_and_leave_the_index_empty() -> None:
    stored = entries(10)
    index = MinHashLSHEnsemble(num_perm=16)

    for bad, message in (
        ([], "entries is empty"),
        ([*stored, ("x", stored[0][1], 0)], "the size of 'x' is 0"),
        ([*stored, stored[0]], r"\(0,\) is given twice"),
        ([*stored, ("x", MinHash(8), 50)], "has 8 hash values"),
        ([*stored, ("x", MinHash(16, seed=2), 50)], "seed 2"),
        ([*stored, ("x", None, 50)], "has no hash values"),
    ):
        with pytest.raises(simdb.InputError, match=message):
            index.index(bad)
        assert index.is_empty()
    index.index(stored)
    with pytest.raises(simdb.InputError, match="has sets already"):
        index.index(stored)
    with pytest.raises(simdb.InputError, match="size of the query is 0"):
        index.query(stored[0][1], 0)
    with pytest.raises(simdb.InputError, match="has 8 hash values"):
        index.query(MinHash(8), 1)
