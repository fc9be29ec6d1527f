"""The nearest documents are the first of all documents sorted by nearness, then by age.

At tiny sizes every search compares all documents; `all_steps` makes a search take every step that
its tables allow before it does so.
"""

import random

import numpy as np
import pytest
from oracle import cosine, quantised
from over import over
from pricing import tables_first
from signature_oracle import EVERY_WIDTH, SignedOracle, texts
from stepping import all_steps
from weighted import fingerprints

import simdb
from simdb.core import threads as sharing
from simdb.database.search import nearest

SMALL_RUNS = {"delta_documents": 16, "growth": 2}
KS = (1, 8, 10_000)
DIMENSIONS = 128


@pytest.fixture(autouse=True)
def tiny_parts(monkeypatch):
    """Cut even a few queries into parts, so that every thread has some."""
    monkeypatch.setattr(sharing, "LEAST", 3)
    monkeypatch.setattr(nearest, "SCANNED_LEAST", 3)


@pytest.fixture(params=["scan", "steps"])
def searched(request, monkeypatch):
    """Let searches compare all documents at once, or take all possible steps before that."""
    if request.param == "steps":
        all_steps(monkeypatch)
    with tables_first(request.param == "steps"):
        yield request.param


def ids_of(rows):
    return [[match.id for match in row] for row in rows]


def rounded(left, right):
    """Return the similarity of stored weights as the kernel measures it, without correction."""
    products = float(int(np.dot(left, left)) * int(np.dot(right, right)))
    return float(np.float32(int(np.dot(left, right)) / np.sqrt(products)))


# Documents with weights


def weighted(count, seed):
    """Draw weights around a few centres, with some equal rows."""
    chance = np.random.default_rng(seed)
    centres = chance.standard_normal((12, DIMENSIONS))
    rows = centres[chance.integers(0, 12, count)]
    rows = rows + chance.uniform(0.05, 1.5, (count, 1)) * chance.standard_normal(rows.shape)
    rows[5:9], rows[count - 3 :] = rows[4], rows[4]
    return rows.astype(np.float32)


class WeightedOracle:
    """Stored weights by id, in the order of insertion."""

    def __init__(self):
        self.rows = {}

    def insert(self, ids, rows):
        self.rows.update((id, quantised(row)) for id, row in zip(ids, rows, strict=True))

    def nearest(self, row, k, *, without=None):
        """Return (id, similarity) of the most similar documents, then by age."""
        found = [
            (-rounded(row, other), age, id)
            for age, (id, other) in enumerate(self.rows.items())
            if id != without
        ]
        return [(id, cosine(row, self.rows[id])) for _, _, id in sorted(found)[:k]]


@pytest.fixture
def with_weights(open_database):
    """A database of 230 documents in runs and a delta, some deleted, some bare, and its oracle."""
    database = open_database(
        options=simdb.Options(sketch=simdb.Simhash(weighting="tf"), **SMALL_RUNS)
    )
    rows, oracle = weighted(230, 1), WeightedOracle()
    for start in range(0, 230, 43):
        part = range(start, min(start + 43, 230))
        database.insert_many(part, fingerprints(rows[part.start : part.stop]))
    oracle.insert(range(230), rows)
    database.insert_many(["bare", "also bare"], np.array([0, 2**64 - 1], np.uint64))
    database.insert_many(["empty"], [[]])
    for id in range(0, 230, 9):
        database.delete(id)
        del oracle.rows[id]
    return database, oracle


@over("k", KS)
def test_by_weights_the_most_similar_are_found(with_weights, searched, k):
    database, oracle = with_weights
    queries = weighted(40, 1)[::4]

    many = database.nearest_many(fingerprints(queries), k, recall=1.0, threads=3)
    single = [database.nearest(each, k, recall=1.0) for each in fingerprints(queries)]

    assert many.offsets.tolist() == [at * min(k, len(oracle.rows)) for at in range(11)]
    for query, bits, row, alone in zip(
        queries, fingerprints(queries).bits.tolist(), many, single, strict=True
    ):
        expected = oracle.nearest(quantised(query), k)
        assert [match.id for match in row] == [id for id, _ in expected]
        assert alone == row
        for match, (_, similarity) in zip(row, expected, strict=True):
            assert match.similarity == pytest.approx(similarity, abs=1e-6)
        for match in row[:9]:
            assert match.distance == simdb.distance(bits, database.get(match.id).fingerprint)
    asked = list(oracle.rows)[::6]
    stored = database.nearest_many(ids=asked, k=k, recall=1.0)
    assert ids_of(stored) == [
        [found for found, _ in oracle.nearest(oracle.rows[id], k, without=id)] for id in asked
    ]
    assert [database.nearest(id=id, k=k, recall=1.0) for id in asked] == list(stored)


@pytest.mark.parametrize("recall", [None, 0.5])
def test_steps_find_k_documents_and_no_wrong_nearness(with_weights, searched, recall):
    database, _ = with_weights
    queries = fingerprints(weighted(60, 1))

    exact = database.nearest_many(queries, 5, recall=1.0)
    many = database.nearest_many(queries, 5, recall=recall, threads=1)
    single = [database.nearest(each, 5, recall=recall) for each in queries]

    assert list(database.nearest_many(queries, 5, recall=recall, threads=3)) == list(many)
    assert np.diff(many.offsets).tolist() == [5] * 60
    # The n-th that was found is never nearer than the n-th of all.
    assert (many.similarities <= exact.similarities).all()
    for rows in (many, single):
        assert all(len({match.id for match in row}) == 5 for row in rows)
        for row in rows:
            assert [m.similarity for m in row] == sorted((m.similarity for m in row), reverse=True)
    equal = fingerprints(weighted(230, 1))[4]
    found = database.nearest(equal, 8, recall=recall)
    assert [(match.id, match.similarity) for match in found] == [
        (id, 1.0) for id in (4, 5, 6, 7, 8, 227, 228, 229)
    ]


@pytest.mark.few(1)
def test_a_batch_may_mix_documents_with_weights_without_and_empty_ones(with_weights, searched):
    database, _ = with_weights
    one, other = fingerprints(weighted(40, 1))[1], fingerprints(weighted(40, 1))[2]
    mixed = [one, 7, [], other, 2**64 - 1]

    found = database.nearest_many(mixed, 3, recall=1.0)

    assert list(found) == [database.nearest(each, 3, recall=1.0) for each in mixed]
    assert [len(row) for row in found] == [3, 3, 0, 3, 3]
    every = database.nearest(0, 10_000)
    assert every[0].id == "bare"
    assert len(every) == database.stats().document_count - 1  # all but the empty document


# Fingerprints without weights


def neighbourhood(seed, count, centres=20, flips=9):
    """Make fingerprints near a few centres."""
    chance = random.Random(seed)
    middles = [chance.getrandbits(64) for _ in range(centres)]
    return [
        chance.choice(middles) ^ sum({1 << chance.randrange(64) for _ in range(flips)})
        for _ in range(count)
    ]


@pytest.fixture(params=[{}, {"blocks": 6, "leading": 2}], ids=["4 tables", "15 tables"])
def with_bits(request, open_database):
    """A database of 300 bare fingerprints, some deleted, and a dict of them."""
    database = open_database(options=simdb.Options(**SMALL_RUNS, **request.param))
    stored = dict(enumerate(neighbourhood(3, 300)))
    for start in range(0, 300, 67):
        part = range(start, min(start + 67, 300))
        database.insert_many(part, np.array([stored[id] for id in part], np.uint64))
    for id in range(0, 300, 7):
        database.delete(id)
        del stored[id]
    return database, stored


def nearest_bits(stored, bits, k, *, without=None):
    """Return (id, distance) of the nearest, then by age."""
    found = [(simdb.distance(bits, each), id) for id, each in stored.items() if id != without]
    return [(id, distance) for distance, id in sorted(found)[:k]]


@over("k", KS)
@pytest.mark.parametrize("recall", [None, 1.0])
def test_by_bits_the_nearest_are_found_for_certain(with_bits, searched, k, recall):
    database, stored = with_bits
    queries = [*list(stored.values())[:12], 0, 2**64 - 1]

    many = database.nearest_many(np.array(queries, np.uint64), k, recall=recall, threads=3)
    single = [database.nearest(bits, k, recall=recall) for bits in queries]

    for bits, row, alone in zip(queries, many, single, strict=True):
        expected = nearest_bits(stored, bits, k)
        assert [(match.id, match.distance) for match in row] == expected
        assert alone == row
        assert {match.similarity for match in row} == {None}
    asked = list(stored)[::5]
    found = database.nearest_many(ids=asked, k=k)
    assert ids_of(found) == [
        [id for id, _ in nearest_bits(stored, stored[each], k, without=each)] for each in asked
    ]
    assert [database.nearest(id=id, k=k) for id in asked] == list(found)


# Signatures


@pytest.fixture(params=EVERY_WIDTH.values(), ids=EVERY_WIDTH)
def with_signatures(request, open_database):
    """A database of 90 texts, some deleted, an empty one, and its oracle."""
    database = open_database(options=request.param)
    oracle = SignedOracle(request.param.sketch)
    made = [*texts(90), ""]
    for start in range(0, 91, 13):
        part = range(start, min(start + 13, 91))
        database.insert_many(part, made[part.start : part.stop])
    for id, text in enumerate(made):
        oracle.insert(id, simdb.signature(text, request.param.sketch))
    for id in range(0, 90, 8):
        database.delete(id)
        oracle.delete(id)
    return database, oracle


@over("k", KS)
def test_by_signatures_those_that_agree_most_are_found(with_signatures, searched, k):
    database, oracle = with_signatures
    asked = texts(30, seed=2) + texts(30)

    many = database.nearest_many(asked, k, recall=1.0, threads=3)
    single = [database.nearest(text, k, recall=1.0) for text in asked]

    for text, row, alone in zip(asked, many, single, strict=True):
        minima = simdb.signature(text, oracle.sketch).minima.tolist()
        expected = oracle.query(minima, 0.0)[:k]
        found = [(match.id, match.distance, match.similarity) for match in row]
        assert found == expected
        assert alone == row
    asked = [id for id, minima in oracle.documents.items() if minima is not None][::4]
    low = [database.nearest_many(ids=asked, k=k, recall=0.8, threads=count) for count in (1, 3)]
    assert list(low[0]) == list(low[1])
    found = database.nearest_many(ids=asked, k=k, recall=1.0)
    assert ids_of(found) == [
        [row[0] for row in oracle.query(oracle.documents[id], 0.0, without=id)[:k]] for id in asked
    ]
    assert [database.nearest(id=id, k=k, recall=1.0) for id in asked] == list(found)


@pytest.mark.few(1)
def test_equal_signatures_are_found_without_a_scan(with_signatures, monkeypatch):
    database, oracle = with_signatures
    all_steps(monkeypatch)
    monkeypatch.setattr(nearest, "nearest_by_scan", None)
    asked = [id for id, minima in oracle.documents.items() if minima is not None]
    made = [*texts(90), ""]

    found = database.nearest_many([made[id] for id in asked], 1)

    assert {match.similarity for (match,) in found} == {1.0}
    assert [database.nearest(made[id], 1) for id in asked] == list(found)


# Everything else


def test_few_documents_and_empty_batches_are_answered(open_database, searched):
    database = open_database()

    assert database.nearest("a text of a few words") == database.nearest(5) == []
    assert list(database.nearest_many(["a text of a few words", ""])) == [[], []]
    assert list(database.nearest_many([])) == list(database.nearest_many(ids=[])) == []
    database.insert("only", "a text of a few words")
    assert database.nearest(id="only") == []
    assert [match.id for match in database.nearest("a text of a few words")] == ["only"]
    database.insert_many(range(30), [f"text of the number {n} and more" for n in range(30)])
    assert len(database.nearest("text of the number 3", np.int64(3))) == 3
    assert len(database.nearest("text of the number 3")) == 10
    assert len(database.nearest_many(["text of the number 3"])[0]) == 10


@over(
    ("given", "error", "message"),
    [
        *(({"document": "a", "k": k}, simdb.OptionError, "k must be a whole number of 1 or more")
          for k in (0, "3", 1.5, True)),
        *(({"document": document, "recall": recall}, simdb.OptionError, "above 0 and at most 1")
          for recall in (0, 1.5, "1", float("nan")) for document in (5, "a text")),
        ({}, simdb.InputError, "either "),
        ({"document": "text", "id": "a"}, simdb.InputError, "either "),
        ({"id": "missing"}, simdb.NotFoundError, "missing"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_refused(given, error, message):
    many = {}
    for name, value in given.items():
        is_asked = name in ("document", "id")
        many[f"{name}s" if is_asked else name] = [value] if is_asked else value

    with simdb.open(None) as database:
        database.insert("a", "a text of a few words")
        with pytest.raises(error, match=message):
            database.nearest(**given)
        with pytest.raises(error, match=message):
            database.nearest_many(**many)
