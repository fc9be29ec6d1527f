"""The nearest, by vectors or texts of the caller: the best of many candidates, exactly measured."""

import numpy as np
import pytest

import simdb
from simdb.database.search import nearest as nearest_module

DIMENSIONS, COUNT = 24, 400


@pytest.fixture(scope="module")
def vectors():
    """Make vectors in a few clouds, so that many are almost equally near."""
    random = np.random.default_rng(7)
    centres = random.normal(size=(6, DIMENSIONS))
    return (centres[np.arange(COUNT) % 6] + random.normal(size=(COUNT, DIMENSIONS)) / 2).astype(
        "f4"
    )


@pytest.fixture
def database(open_database, vectors):
    options = simdb.Options(sketch=simdb.Simhash(vector_length=DIMENSIONS))
    database = open_database(options=options)
    database.insert_many([f"v{at}" for at in range(COUNT)], vectors)
    return database


def by_id(vectors, ids):
    return np.array([vectors[int(id[1:])] for id in ids])


def nearest(vectors, query, k, *, without=()):
    """Return the ids and cosines of the nearest, by comparing with all."""
    every, query = vectors.astype(np.float64), query.astype(np.float64)
    cosines = every @ query / np.linalg.norm(every, axis=1) / np.linalg.norm(query)
    cosines = cosines.round(9)  # those of equal vectors are equal
    order = [at for at in np.argsort(-cosines, kind="stable") if at not in without][:k]
    return [f"v{at}" for at in order], cosines[order]


@pytest.mark.parametrize("k", [1, 5, 30])
def test_all_candidates_measured_give_the_exact_nearest(database, vectors, monkeypatch, k):
    # 20 k documents are candidates: for k = 30 all of them are.
    exact = {"vectors": lambda ids: by_id(vectors, ids)}
    together = list(database.nearest_many(vectors[:9], k, **exact))
    monkeypatch.setattr(nearest_module, "MEASURED_TOGETHER", 100)

    found = database.nearest_many(vectors[:40], k, **exact)
    single = [database.nearest(query, k, **exact) for query in vectors[:9]]

    assert list(found)[:9] == together == single

    for query, matches in zip(vectors[:40], found, strict=True):
        ids, cosines = nearest(vectors, query, k)
        got = [match.similarity for match in matches]
        # The least of the true ones is reached by all but some: candidates are estimated.
        assert np.mean(np.array(got) >= cosines[-1] - 1e-5) >= (1 if k == 30 else 0.9)
        assert got == sorted(got, reverse=True)
        if k == 30:
            assert [match.id for match in matches] == ids


def test_a_mapping_may_lack_vectors(database, vectors):
    known = {f"v{at}": vectors[at] for at in range(0, COUNT, 2)}

    found = database.nearest(vectors[8], 10, vectors=known)
    estimates = {match.id: match.similarity for match in database.nearest(vectors[8], 200)}

    assert len(found) == 10
    for match in found:
        if match.id in known:
            cosine = nearest(by_id(vectors, [match.id]), vectors[8], 1)[1][0]
            assert match.similarity == pytest.approx(cosine, abs=1e-5)
        else:
            assert match.similarity == estimates[match.id]


@pytest.mark.parametrize("products", [1 << 23, 500])
def test_a_batch_with_as_many_candidates_as_documents_is_exact(
    open_database, vectors, monkeypatch, products
):
    monkeypatch.setattr(nearest_module, "PRODUCTS", products)
    stored = vectors.copy()
    stored[300:330] = stored[7]  # equally near: the ones inserted first are found
    sketch = simdb.Simhash(vector_length=DIMENSIONS)
    database = open_database(
        options=simdb.Options(sketch=sketch, delta_documents=50, fields=("even",))
    )
    even = [{"even": at % 2 == 0} for at in range(COUNT)]
    for start in range(0, COUNT, 130):
        ids = [f"v{at}" for at in range(start, min(start + 130, COUNT))]
        database.insert_many(ids, stored[start : start + 130], metadata=even[start : start + 130])
    database.delete_many(["v8", "v399"])
    exact, gone = {"vectors": lambda ids: by_id(stored, ids)}, {8, 399}
    queries = np.concatenate([vectors[:40] * 3, np.zeros((1, DIMENSIONS), "f4")])

    def check(found, without, own=()):
        for at, matches in enumerate(found):
            ids, cosines = nearest(stored, queries[at], 12, without={*without, *own[at : at + 1]})
            assert [match.id for match in matches] == ids
            assert [match.similarity for match in matches] == pytest.approx(cosines, abs=1e-6)
            other = database.sketcher.fingerprint(queries[at]).bits
            assert matches[-1].distance == (database[ids[-1]].fingerprint.bits ^ other).bit_count()

    found = database.nearest_many(queries, 12, **exact)
    assert list(found)[40] == []
    check(list(found)[:40], gone)
    check(list(database.nearest_many(queries[:40], 12, where={"even": True}, **exact)),
          gone | set(range(1, COUNT, 2)))  # fmt: skip
    queries = stored[9:49]
    own = list(range(9, 49))
    check(list(database.nearest_many(ids=[f"v{at}" for at in own], k=12, **exact)), gone, own)
    queries = stored[:1]
    check([database.nearest(queries[0], 12, recall=1.0, **exact)], gone)


def test_more_recall_measures_more_candidates(database, vectors, monkeypatch):
    asked = []

    def get(ids):
        asked.append(len(ids))
        return by_id(vectors, ids)

    for recall in (0.01, 0.5, 0.9, None, 0.98):
        database.nearest(vectors[3], 4, recall=recall, vectors=get)
    assert asked == [5, 8, 40, 80, 200]
    for recall in (0.99, 0.9999, 1.0):
        asked.clear()
        database.nearest(vectors[3], 4, recall=recall, vectors=get)
        # All of them, some more at a time, and then the best once more.
        assert (sum(asked[:-1]), asked[-1]) == (COUNT, 4)
    monkeypatch.setattr(nearest_module, "CANDIDATES_MOST", 30)
    asked.clear()
    database.nearest(vectors[3], 4, recall=0.9999, vectors=get)
    assert asked == [120]


@pytest.mark.parametrize(
    "given", [{"where": lambda _: True}, {"lacking": 17}], ids=["where", "lacking"]
)
def test_a_batch_that_cannot_compare_all_takes_candidates(database, vectors, given):
    given = dict(given)
    lacking = given.pop("lacking", None)
    known = {f"v{at}": vectors[at] for at in range(COUNT) if at != lacking}

    found = database.nearest_many(vectors[:40], 5, vectors=known, **given)
    single = [database.nearest(query, 5, vectors=known, **given) for query in vectors[:40]]

    assert list(found) == single
    assert sum(len(matches) for matches in found) == 200


@pytest.mark.parametrize("sketch", [simdb.Simhash(shingle=1), simdb.Minhash(shingle=1)], ids=str)
def test_texts_choose_by_their_exact_similarity(open_database, sketch):
    words = [f"w{at}" for at in range(60)]
    texts = {at: " ".join(words[at % 20 : at % 20 + 30 + at // 20]) for at in range(100)}
    database = open_database(options=simdb.Options(sketch=sketch))
    database.insert_many(list(texts), list(texts.values()))

    found = database.nearest(texts[11], 5, texts=texts)

    own = set(texts[11].split())
    jaccards = sorted(
        (len(own & set(text.split())) / len(own | set(text.split())) for text in texts.values()),
        reverse=True,
    )
    assert [match.similarity for match in found] == pytest.approx(jaccards[:5])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"vectors": {}, "texts": {}}, "by vectors or by texts, not by both"),
        ({"vectors": np.zeros((3, 4))}, "vectors must be a mapping from id"),
        ({"vectors": lambda ids: [[1.0] * DIMENSIONS]}, "returned 1 vectors"),
        ({"vectors": lambda ids: [[1.0] * 3] * len(ids)}, "of equal length"),
    ],
    ids=["both", "an array", "too few", "other dimensions"],
)
def test_what_cannot_be_measured_is_refused(database, vectors, given, message):
    with pytest.raises(simdb.Error, match=message):
        database.nearest(vectors[0], 3, **given)
    with pytest.raises(simdb.Error, match=message):
        database.nearest_many(vectors[:40], 3, **given)


def test_shards_answer_like_one_database(database, vectors, tmp_path):
    options = simdb.Options(sketch=simdb.Simhash(vector_length=DIMENSIONS))
    exact = {"vectors": lambda ids: by_id(vectors, ids)}
    batches = [([f"v{at}" for at in range(COUNT)], vectors)]
    simdb.write_sharded(tmp_path / "shards", batches, 3, options=options)

    with simdb.open_sharded(tmp_path / "shards") as shards:
        many = shards.nearest_many(vectors[:9], 30, **exact)
        one = shards.nearest(id="v4", k=30, **exact)

    assert list(many) == list(database.nearest_many(vectors[:9], 30, **exact))
    assert one == database.nearest(id="v4", k=30, **exact)
