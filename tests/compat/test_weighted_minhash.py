"""WeightedMinHash, against the formula of its paper, one sample after the other."""

import pickle

import numpy as np
import pytest

import simdb
from simdb.compat.datasketch import WeightedMinHash, WeightedMinHashGenerator

F = np.float32


def plainly(generator, weights):
    """Return the pairs of one vector by the formula, in a double loop."""
    found = []
    for rs, ln_cs, betas in zip(generator.rs, generator.ln_cs, generator.betas, strict=True):
        best = None
        for place, weight in enumerate(np.asarray(weights, F)):
            if weight:
                step = np.floor(np.log(weight) / rs[place] + betas[place])
                key = ln_cs[place] - (step - betas[place]) * rs[place] - rs[place]
                if best is None or key < best[0]:
                    best = key, place, int(step)
        found.append(best[1:])
    return found


def vectors(dim, count=12):
    chosen = np.random.default_rng(dim)
    made = chosen.gamma(1, 5, (count, dim)) * (chosen.random((count, dim)) < 0.5)
    made[:, 0] = 1
    return made


@pytest.mark.parametrize("dim", [1, 7, 40])
def test_hash_values_are_those_of_the_formula(dim) -> None:
    generator = WeightedMinHashGenerator(dim, sample_size=20, seed=3)

    for weights in vectors(dim):
        made = generator.minhash(weights)
        assert made.hashvalues.tolist() == [list(pair) for pair in plainly(generator, weights)]


def test_a_vector_of_many_dimensions_is_made_in_parts() -> None:
    generator = WeightedMinHashGenerator(30000, sample_size=8)
    weights = np.random.default_rng(1).gamma(1, 5, 30000)

    made = generator.minhash(weights)

    assert made.hashvalues.tolist() == [list(pair) for pair in plainly(generator, weights)]


def test_a_matrix_gives_one_minhash_for_each_row() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    rows = np.concatenate([vectors(9), np.zeros((1, 9))])
    generator = WeightedMinHashGenerator(9, sample_size=30)

    dense = generator.minhash_many(rows)

    assert dense == generator.minhash_many(sparse.csr_matrix(rows))
    assert dense == generator.minhash_many(sparse.coo_array(rows))
    assert dense[-1] is None
    # Other rounding may change a pair, but only when two samples are nearly equal.
    for made, row in zip(dense[:-1], rows, strict=False):
        assert made.jaccard(generator.minhash(row)) > 0.9


def test_the_similarity_is_that_of_the_weights() -> None:
    generator = WeightedMinHashGenerator(20, sample_size=4000)
    left, right = vectors(20, count=2) + 0.1
    true = np.minimum(left, right).sum() / np.maximum(left, right).sum()

    found = generator.minhash(left).jaccard(generator.minhash(right))

    # Six standard deviations of 4,000 samples; wrong once in 10^8 seeds, and the seed is fixed.
    assert abs(found - true) < 6 * (true * (1 - true) / 4000) ** 0.5


def test_copies_and_pickles_are_equal() -> None:
    made = WeightedMinHashGenerator(4, 10).minhash([1, 2, 0, 4])
    copied = made.copy()

    copied.hashvalues[0] = 99

    assert made == pickle.loads(pickle.dumps(made)) != copied
    assert made != WeightedMinHash(2, made.hashvalues)
    assert len(made) == 10
    assert made.jaccard(copied) == 0.9


def test_the_given_vector_is_not_changed() -> None:
    weights = np.array([1, 0, 3], F)

    WeightedMinHashGenerator(3).minhash(weights)

    assert weights.tolist() == [1, 0, 3]


@pytest.mark.parametrize(
    "weights", [[0, 0, 0], [1, 2], [1, -1, 0], [1, np.nan, 0], [np.inf, 1, 0], [[1, 2, 3]]]
)
def test_invalid_weights_are_refused(weights) -> None:
    with pytest.raises(simdb.InputError, match="weight"):
        WeightedMinHashGenerator(3).minhash(weights)


def test_what_is_no_weighted_minhash_is_refused() -> None:
    generator = WeightedMinHashGenerator(3)
    made = generator.minhash([1, 2, 3])

    for other in (
        5,
        WeightedMinHashGenerator(3, 4).minhash([1, 2, 3]),
        WeightedMinHash(2, made.digest()),
    ):
        with pytest.raises(simdb.InputError, match="same seed and sample_size"):
            made.jaccard(other)
    with pytest.raises(simdb.InputError, match=r"\[n, 2\]"):
        WeightedMinHash(1, [1, 2])
    with pytest.raises(simdb.OptionError, match="1 or more"):
        WeightedMinHashGenerator(0)
    with pytest.raises(simdb.InputError, match=r"\[n, 3\]"):
        generator.minhash_many(np.ones((2, 2)))
    with pytest.raises(TypeError, match="array or a sparse matrix"):
        generator.minhash_many([[1, 2, 3]])
