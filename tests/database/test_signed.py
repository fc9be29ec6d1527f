"""A database of MinHash signatures: every verb answers like a dict and a double loop."""

import math
import random
from dataclasses import replace

import numpy as np
import pytest
from oracle import components, stars
from signature_oracle import EVERY_WIDTH, WIDE, SignedOracle, texts

import simdb
from simdb.plan.banding import Banding, candidate_probability

LEAST = 0.6


def rows_of(matches):
    return [(match.id, match.distance, match.similarity) for match in matches]


def oracle_of(options, documents, *, is_banded):
    bands = {"bands": options.bands, "rows": options.rows} if is_banded else {}
    made = SignedOracle(options.sketch, **bands)
    for id, signature in enumerate(simdb.signatures(documents, options.sketch)):
        made.insert(id, signature)
    return made


@pytest.fixture(params=EVERY_WIDTH.values(), ids=EVERY_WIDTH)
def options(request):
    return request.param


@pytest.fixture
def documents():
    return [*texts(60), "", "one", "one", "one word"]


@pytest.fixture
def filled(open_database, options, documents):
    """Documents in several runs and a delta."""
    database = open_database(options=options)
    for start in range(0, len(documents), 7):
        part = documents[start : start + 7]
        database.insert_many(range(start, start + len(part)), part)
    assert len(database.stats().runs) > 1
    return database


def test_every_query_finds_what_the_loops_find(filled, options, documents):
    asked = {"search": "banding"}
    oracle = oracle_of(options, documents, is_banded=True)

    together = filled.query_many(documents, **asked)
    small = filled.query_many(documents, search=simdb.Search(method="banding", memory_limit=3000))
    stored = filled.query_many(ids=range(len(documents)), **asked)

    for id, document in enumerate(documents):
        wanted = oracle.query(oracle.documents[id], LEAST)
        others = [row for row in wanted if row[0] != id]
        assert rows_of(filled.query(document, **asked)) == wanted
        assert rows_of(filled.query(id=id, **asked)) == others
        assert rows_of(filled.query(document, limit=2, **asked)) == wanted[:2]
        assert rows_of(together[id]) == wanted
        assert rows_of(small[id]) == wanted
        assert rows_of(stored[id]) == others
        first = filled.first(document, **asked)
        assert (first is None) == (not wanted)
        assert first is None or rows_of([first])[0] in wanted
    firsts = filled.query_many(documents, match="first", **asked)
    assert [len(row) for row in firsts] == [min(len(row), 1) for row in together]


def test_what_is_of_fingerprints_or_another_sketch_is_refused(filled):
    for document in (7, np.zeros(4), simdb.Fingerprint(7), simdb.signature("one")):
        with pytest.raises(simdb.Error):
            filled.query(document)
        with pytest.raises(simdb.Error):
            filled.insert("new", document)
    with pytest.raises(simdb.InputError):
        filled.query_many(np.arange(3, dtype=np.uint64))

    assert "new" not in filled


@pytest.mark.parametrize(
    ("stored_bits", "permutations", "rows"), [(1, 256, 16), (2, 128, 9), (32, 64, 5)]
)
def test_the_recall_is_that_of_the_curve(open_database, stored_bits, permutations, rows):
    # 2,000 pairs; 5 standard deviations: this fails by chance about once in two million runs.
    sketch = simdb.Minhash(permutations=permutations, stored_bits=stored_bits)
    options = simdb.Options(sketch=sketch, similarity=0.6, bands=12, rows=rows)
    database = open_database(options=options)
    generator = np.random.default_rng(11)
    shared = generator.integers(0, 2**63, (2000, 80), np.uint64)
    own = generator.integers(0, 2**63, (2000, 2, 10), np.uint64)
    left, right = (np.concatenate([shared, own[:, side]], axis=1) for side in (0, 1))
    database.insert_many(range(2000), [simdb.Features(row) for row in left])

    found = database.query_many(
        [simdb.Features(row) for row in right], similarity=0.01, search="banding"
    )

    share = np.mean([any(match.id == at for match in row) for at, row in enumerate(found)])
    banding = Banding(12, rows)
    probability = float(candidate_probability(80 / 100, banding, stored_bits=stored_bits))
    assert abs(share - probability) < 5 * math.sqrt(probability * (1 - probability) / 2000)


def stars_within(groups, pairs):
    """Return the stars of each group of linked documents, whose pairs are all compared."""
    parts = [stars(group, pairs) for group in groups]
    return sorted(star for part in parts for star in part)


def ids_of(clusters):
    return [cluster.ids for cluster in clusters]


@pytest.mark.parametrize("method", ["banding", "exhaustive"])
def test_pairs_and_clusters_are_those_of_the_loops(filled, options, documents, method):
    oracle = oracle_of(options, documents, is_banded=method == "banding")
    for id in (3, 17, 63):
        filled.delete(id)
        oracle.delete(id)
    wanted = oracle.find_all(LEAST)
    ids = list(oracle.documents)

    linked = components(ids, wanted)
    similar = oracle_of(options, documents, is_banded=False).find_all(LEAST)

    pairs = list(filled.find_all(search=method))

    assert {(pair.left, pair.right): pair.similarity for pair in pairs} == wanted
    assert len(pairs) == len(wanted)
    assert ids_of(filled.find_clusters(search=method)) == linked
    found = filled.find_clusters(search=method, policy="star")
    assert ids_of(found) == stars_within(linked, similar)


def test_kept_clusters_are_those_that_would_be_found(open_database):
    database = open_database(options=replace(WIDE, keep_clusters="similarity", recall=0.95))
    generator = random.Random(4)
    made = texts(45, seed=5)
    for start in range(0, 45, 5):
        database.insert_many(range(start, start + 5), made[start : start + 5])
        database.delete_many([generator.randrange(start + 5)])
    database.insert_many(["a", "b"], [made[0], made[0]])

    clusters = ids_of(database.find_clusters())

    assert clusters == ids_of(database.find_clusters(search="exhaustive"))
    assert all(database.cluster(id) == cluster for cluster in clusters for id in cluster)
