"""Exact similarities of texts against sets and dicts of shingles, of many pairs once each."""

import math
import random

import numpy as np
import pytest
from near_copies import near_copies
from over import over

import simdb
from simdb.core.stored_options import Resources
from simdb.sketch import exact_similarity
from simdb.sketch.exact_similarity import ExactSimilarity

TEXTS = [
    "",
    "one",
    "one two three",
    "one two three four",
    "one two three one two three one two three",
    "four five six one two three",
    " ".join(random.Random(5).choices(["a", "b", "c"], k=60)),
    " ".join(random.Random(6).choices(["a", "b", "c"], k=90)),
]


def shingles_of(text):
    """Return the number of occurrences of each shingle of three words, or of fewer words."""
    words = text.split()
    size = min(3, len(words))
    found = {}
    for at in range(len(words) - size + 1) if words else []:
        shingle = tuple(words[at : at + size])
        found[shingle] = found.get(shingle, 0) + 1
    return found


def jaccard(one, two):
    return len(one.keys() & two.keys()) / max(len(one.keys() | two.keys()), 1)


def weighted_jaccard(one, two):
    every = one.keys() | two.keys()
    most = sum(max(one.get(key, 0), two.get(key, 0)) for key in every)
    return sum(min(one.get(key, 0), two.get(key, 0)) for key in every) / max(most, 1e-9)


def cosine(one, two):
    product = sum(one[key] * two[key] for key in one.keys() & two.keys())
    squares = [sum(value * value for value in side.values()) for side in (one, two)]
    return product / math.sqrt(squares[0] * squares[1]) if product else 0.0


def logarithmic(found):
    return {key: 1 + math.log(count) for key, count in found.items()}


CASES = [
    (simdb.Simhash(), "Jaccard", jaccard),
    (simdb.Minhash(), "Jaccard", jaccard),
    (simdb.Minhash(weighting="bag"), "weighted Jaccard", weighted_jaccard),
    (simdb.Minhash(weighting="tf"), "weighted Jaccard", weighted_jaccard),
    (simdb.Simhash(weighting="tf"), "cosine", cosine),
    (
        simdb.Simhash(weighting="log-tf"),
        "cosine",
        lambda one, two: cosine(logarithmic(one), logarithmic(two)),
    ),
]


def every_pair():
    left, right = np.meshgrid(np.arange(len(TEXTS)), np.arange(len(TEXTS)), indexing="ij")
    return left.ravel().copy(), right.ravel().copy()


@over(("sketch", "measure", "oracle"), CASES)
def test_similarities_are_those_of_the_shingles(sketch, measure, oracle):
    left, right = every_pair()
    exact = ExactSimilarity(sketch, Resources(), [])

    found = exact.of_pairs(TEXTS, left, right)

    counted = [shingles_of(text) for text in TEXTS]
    expected = [oracle(counted[a], counted[b]) for a, b in zip(left, right, strict=True)]
    assert exact.measure == measure
    assert found == pytest.approx(expected, abs=2e-3 if "log" in sketch.weighting else 1e-6)


def test_an_idf_table_weighs_the_features():
    table = simdb.fit_idf(TEXTS, simdb.Simhash(shingle=1))
    sketch = simdb.Simhash(shingle=1, weighting="tf-idf", idf=table)
    documents = ["one a", "one b", "one one a"]

    found = ExactSimilarity(sketch, Resources(), []).of_pairs(
        documents, np.array([0, 0]), np.array([1, 2])
    )

    frequency = {"one": 5, "a": 2, "b": 2}
    weights = {
        word: math.log((1 + len(TEXTS)) / (1 + count)) + 1 for word, count in frequency.items()
    }
    counted = [{"one": 1, "a": 1}, {"one": 1, "b": 1}, {"one": 2, "a": 1}]
    weighed = [{word: n * weights[word] for word, n in each.items()} for each in counted]
    expected = [cosine(weighed[0], weighed[1]), cosine(weighed[0], weighed[2])]
    assert found == pytest.approx(expected, abs=2e-3)


def test_the_windows_of_moz_have_no_exact_similarity():
    with pytest.raises(simdb.OptionError, match="unit='moz' has no exact similarity"):
        ExactSimilarity(simdb.Simhash.moz(), Resources(), [])


EXACT = ExactSimilarity(simdb.Simhash(), Resources(), ())


@over("most", [0, 1, 8, 1000])
def test_common_features_are_those_that_several_documents_have(monkeypatch, most):
    monkeypatch.setattr(exact_similarity, "COMMON_MOST", most)
    monkeypatch.setattr(exact_similarity, "COMMON_PAIRS", 0)
    monkeypatch.setattr(exact_similarity, "COUNTED_PAIRS", 7)
    texts = [*near_copies(40), *TEXTS, "alone on its own"]
    left, right = (each.ravel() for each in np.indices((len(texts), len(texts))))

    found = EXACT.of_pairs(texts, left, right)

    counted = [shingles_of(text) for text in texts]
    expected = [jaccard(counted[a], counted[b]) for a, b in zip(left, right, strict=True)]
    assert found == pytest.approx(expected)
    common = exact_similarity.common_features(*EXACT.bodies(texts)[:2])
    assert (common is None) == (most < 8)
