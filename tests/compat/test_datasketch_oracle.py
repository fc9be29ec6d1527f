"""Random programs for the classes of datasketch and of simdb, which must give the same results.

They run where datasketch is installed; the other tests compare with plain Python and with recorded
results.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
        lean = ours.LeanMinHash(left), theirs.LeanMinHash(right)
        assert left.hashvalues.tolist() == right.hashvalues.tolist()
        assert left.hashvalues.dtype == right.hashvalues.dtype
        assert left.count() == right.count()
        for order in "@=<>!":
            contents = [bytearray(each.bytesize(order)) for each in lean]
            for each, content in zip(lean, contents, strict=True):
                each.serialize(content, order)
            assert contents[0] == contents[1]


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


@given(SETS, SCHEMES, st.sampled_from([1, 3, 5, 12]), st.integers(1, 30))
@settings(deadline=None)
def test_the_nearest_are_equal(sets, scheme, trees, k) -> None:
    mine, other = both(sets, scheme)
    forest, oracle = ours.MinHashLSHForest(12, trees), theirs.MinHashLSHForest(12, trees)
    for number, (left, right) in enumerate(zip(mine, other, strict=True)):
        forest.add(number, left)
        oracle.add(number, right)
    forest.index()
    oracle.index()

    for left, right in zip(mine, other, strict=True):
        assert set(forest.query(left, k)) == set(oracle.query(right, k))


@pytest.fixture(scope="module")
def ensembles():
    """Return bands that datasketch takes seconds to choose."""
    return {
        threshold: theirs.MinHashLSHEnsemble(threshold, 12, m=4).params for threshold in (0.5, 0.9)
    }


@given(SETS, st.sampled_from([0.5, 0.9]), st.integers(1, 6))
@settings(deadline=None)
def test_containing_sets_are_equal(ensembles, sets, threshold, parts) -> None:
    mine, other = both(sets, "affine32")
    sizes = [len(set(values)) for values in sets]
    index = ours.MinHashLSHEnsemble(threshold, 12, parts, 4)
    with pytest.MonkeyPatch.context() as patch:
        known = {tuple(row) for row in ensembles[threshold].tolist()}
        patch.setattr(
            theirs.MinHashLSHEnsemble, "_init_optimal_params",
            lambda self, weights: set_params(self, ensembles[threshold], known),
        )  # fmt: skip
        oracle = theirs.MinHashLSHEnsemble(threshold, 12, parts, 4)
    index.index([(n, each, size) for n, (each, size) in enumerate(zip(mine, sizes, strict=True))])
    oracle.index([(n, each, size) for n, (each, size) in enumerate(zip(other, sizes, strict=True))])

    assert index.params.tolist() == ensembles[threshold].tolist()
    assert index.uppers == oracle.uppers
    for left, right, size in zip(mine, other, sizes, strict=True):
        assert set(index.query(left, size)) == set(oracle.query(right, size))


def set_params(ensemble, params, known):
    ensemble.xqs = np.exp(np.linspace(-5, 5, 10))
    ensemble.params = params
    return {rows for _, rows in known}


@given(st.integers(1, 30), st.integers(0, 9), st.data())
@settings(deadline=None)
def test_weighted_hash_values_are_equal(dim, seed, data) -> None:
    weights = st.floats(0, 1e4, width=32).map(lambda value: value if value > 1e-3 else 0.0)
    rows = np.array(data.draw(st.lists(st.lists(weights, min_size=dim, max_size=dim), min_size=1)))
    rows[:, 0] = 1
    mine = ours.WeightedMinHashGenerator(dim, 16, seed)
    other = theirs.WeightedMinHashGenerator(dim, 16, seed)

    for row in rows:
        assert mine.minhash(row).hashvalues.tolist() == other.minhash(row).hashvalues.tolist()
    for left, right in zip(mine.minhash_many(rows), other.minhash_many(rows), strict=True):
        assert left.hashvalues.tolist() == right.hashvalues.tolist()
