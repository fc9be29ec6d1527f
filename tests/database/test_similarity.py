"""A similarity is the corrected cosine of the stored volatility vectors."""

import numpy as np
import pytest
from oracle import Oracle, Stored, components, cosine, quantised

import simdb

WORDS = [f"word{number}" for number in range(40)]


def make_texts(seed, count):
    """Make texts that are copies of a few texts with some words changed."""
    generator = np.random.default_rng(seed)
    bases = [generator.choice(WORDS, 30) for _ in range(6)]
    texts = []
    for _ in range(count):
        words = bases[generator.integers(6)].copy()
        for place in generator.integers(0, 30, generator.integers(0, 8)):
            words[place] = generator.choice(WORDS)
        texts.append(" ".join(words))
    return texts


@pytest.fixture(scope="module", params=[(64, 1, 4, 1), (128, 2, 6, 3), (256, 2, 5, 2)])
def corpus(request, tmp_path_factory):
    """A database of 300 texts in several runs, some deleted, and the oracle of it."""
    dimensions, shingle, blocks, leading = request.param
    sketch = simdb.Simhash(shingle=shingle, dimensions=dimensions)
    options = simdb.Options(
        sketch=sketch, blocks=blocks, leading=leading, delta_documents=20, growth=2
    )
    texts = make_texts(dimensions, 300)
    oracle = Oracle()
    path = tmp_path_factory.mktemp("similarity") / "db"
    with simdb.open(path, options=options, durability="none") as database:
        for start in range(0, 300, 45):
            part = texts[start : start + 45]
            database.insert_many(range(start, start + len(part)), part)
        for id, text in enumerate(texts):
            fingerprint = simdb.fingerprint(text, sketch)
            oracle.insert(id, Stored(fingerprint.bits, quantised(fingerprint.weights)))
        for id in range(0, 300, 11):
            database.delete(id)
            oracle.delete(id)
        yield database, oracle


@pytest.mark.few(1)
@pytest.mark.parametrize("similarity", [0.3, 0.6, 0.8, 0.9, 0.97, 1.0])
@pytest.mark.parametrize("method", [None, "exhaustive"])
def test_all_of_them_are_found_at_recall_one(corpus, similarity, method):
    database, oracle = corpus
    asked = list(oracle.documents)[::10]

    found = database.query_many(ids=asked, similarity=similarity, recall=1.0, search=method)

    for id, row in zip(asked, found, strict=True):
        stored = oracle.documents[id]
        sure, near = oracle.similar(stored.vector, similarity, without=id)
        assert set(sure) <= {match.id for match in row} <= set(sure) | near
        for match in row:
            other = oracle.documents[match.id]
            assert match.similarity == pytest.approx(cosine(stored.vector, other.vector), abs=1e-6)
            assert match.distance == (stored.bits ^ other.bits).bit_count()
        values = [match.similarity for match in row]
        assert values == sorted(values, reverse=True)


@pytest.mark.few(1)
@pytest.mark.parametrize("similarity", [0.6, 0.9])
def test_pairs_and_clusters_are_those_of_the_definition(corpus, similarity):
    database, oracle = corpus
    ids = list(oracle.documents)
    vectors = [oracle.documents[id].vector for id in ids]
    cosines = np.array([[cosine(left, right) for right in vectors] for left in vectors])
    left, right = np.nonzero(np.triu(cosines >= similarity, 1))
    expected = {(ids[first], ids[second]) for first, second in zip(left, right, strict=True)}

    pairs = database.find_all(similarity=similarity, recall=1.0)
    clusters = database.find_clusters(similarity=similarity, recall=1.0)

    assert set(zip(pairs.left, pairs.right, strict=True)) == expected
    assert [cluster.ids for cluster in clusters] == components(ids, expected)
    assert pairs.similarity.min() >= np.float32(similarity)
