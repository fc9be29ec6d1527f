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


def test_documents_without_weights_are_left_out(tmp_path_factory):
    path = tmp_path_factory.mktemp("mixed") / "db"
    text = "one two three four five six seven eight"
    with simdb.open(path, options=simdb.Options(delta_documents=2)) as database:
        bits = simdb.fingerprint(text).bits
        database.insert_many(["a", "bare", "empty", "b"], [text, bits, "", text])

        for recall in (0.9, 1.0):
            found = database.query(text, similarity=0.9, recall=recall)
            pairs = list(database.find_all(similarity=0.9, recall=recall))
            clusters = database.find_clusters(similarity=0.9, recall=recall)

            assert [match.id for match in found] == ["a", "b"]
            assert [(pair.left, pair.right) for pair in pairs] == [("a", "b")]
            assert [cluster.ids for cluster in clusters] == [["a", "b"]]
        by_distance = database.query(text, distance=0)
        assert [(match.id, match.similarity is None) for match in by_distance] == [
            ("a", False), ("bare", True), ("b", False),
        ]  # fmt: skip


def test_every_verb_gives_the_same_similarity(tmp_path):
    texts = make_texts(64, 40)
    options = simdb.Options(sketch=simdb.Simhash(shingle=1))
    with simdb.open(tmp_path / "db", options=options) as database:
        database.insert_many(range(40), texts)
        bounds = {"similarity": 0.3, "recall": 1.0}

        single = {
            (id, match.id): match.similarity
            for id in range(40)
            for match in database.query(id=id, **bounds)
        }
        many = database.query_many(ids=range(40), **bounds)
        pairs = database.find_all(**bounds)
        explained = {pair: database.explain(*pair).similarity for pair in single}
        paired = dict(zip(zip(pairs.left, pairs.right, strict=True), pairs.similarity, strict=True))

    positions = np.repeat(np.arange(40), np.diff(many.offsets))
    asked = dict(zip(zip(positions, many.ids, strict=True), many.similarities, strict=True))
    assert single
    assert single == asked == explained
    assert paired == {pair: value for pair, value in single.items() if pair[0] < pair[1]}
