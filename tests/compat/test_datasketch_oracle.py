"""Random programs for the classes of datasketch and of simdb, which must give the same results.

They run where datasketch is installed; the other tests compare with plain Python and with recorded
results.
"""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from simdb.compat import datasketch as ours

theirs = pytest.importorskip("datasketch", minversion="2.0")

SCHEMES = st.sampled_from(["affine32", "affine64", "legacy"])
SETS = st.lists(
    st.lists(st.integers(0, 12).map(lambda value: b"%d" % value), min_size=1, max_size=8),
    min_size=1, max_size=25,
)  # fmt: skip


def both(sets, scheme, seed=1, num_perm=12):
    options = {"num_perm": num_perm, "seed": seed, "scheme": scheme}
    return ours.MinHash.bulk(sets, **options), theirs.MinHash.bulk(sets, **options)


@given(SETS, SCHEMES, st.integers(0, 99))
@settings(deadline=None)
def test_hash_values_are_equal(sets, scheme, seed) -> None:
    for left, right in zip(*both(sets, scheme, seed), strict=True):
        assert left.hashvalues.tolist() == right.hashvalues.tolist()
        assert left.hashvalues.dtype == right.hashvalues.dtype
        assert left.count() == right.count()


@given(SETS, SCHEMES, st.sampled_from([(2, 5), (4, 3), (12, 1)]), st.data())
@settings(deadline=None)
def test_candidates_are_equal(sets, scheme, params, data) -> None:
    mine, other = both(sets, scheme)
    index = ours.MinHashLSH(num_perm=12, params=params)
    oracle = theirs.MinHashLSH(num_perm=12, params=params)
    for number, (left, right) in enumerate(zip(mine, other, strict=True)):
        index.insert(("k", number), left)
        oracle.insert(("k", number), right)
    for number in data.draw(st.sets(st.integers(0, len(sets) - 1))):
        index.remove(("k", number))
        oracle.remove(("k", number))
    if data.draw(st.booleans()) and not index.is_empty():
        assert len(index.database) == len(list(oracle.keys))

    for left, right in zip(mine, other, strict=True):
        assert set(index.query(left)) == set(oracle.query(right))
        assert set(index.query_b(left, 2)) == oracle._query_b(right, 2)
    assert index.keys == {key: list(oracle.keys[key]) for key in oracle.keys}
    assert index.get_counts() == oracle.get_counts()


@given(SETS, SCHEMES)
@settings(deadline=None)
def test_minhash_that_datasketch_made_are_stored(sets, scheme) -> None:
    _, other = both(sets, scheme)
    params = {"num_perm": 12, "params": (4, 3)}
    index, oracle = ours.MinHashLSH(**params), theirs.MinHashLSH(**params)
    for number, made in enumerate(other):
        index.insert(number, theirs.LeanMinHash(made))
        oracle.insert(number, made)

    for made in other:
        assert set(index.query(made)) == set(oracle.query(made))


@given(st.lists(st.lists(st.integers(0, 9), min_size=4, max_size=4), min_size=1))
@settings(deadline=None)
def test_weighted_minhash_that_datasketch_made_are_stored(vectors) -> None:
    generator = theirs.WeightedMinHashGenerator(5, 12)
    made = [generator.minhash(np.array([1, *vector])) for vector in vectors]
    params = {"num_perm": 12, "params": (4, 3)}
    index, oracle = ours.MinHashLSH(**params), theirs.WeightedMinHashLSH(**params)
    for number, each in enumerate(made):
        index.insert(number, each)
        oracle.insert(number, each)

    for each in made:
        assert set(index.query(each)) == set(oracle.query(each))
