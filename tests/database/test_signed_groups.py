"""Pairs and clusters of MinHash signatures are those of double loops."""

import random
from dataclasses import replace

import pytest
from oracle import components, stars
from signature_oracle import NARROW, WIDE, SignedOracle, texts

import simdb

LEAST = 0.6


def oracle_of(database, documents, *, is_banded):
    options = database.options
    bands = {"bands": options.bands, "rows": options.rows} if is_banded else {}
    oracle = SignedOracle(options.sketch, **bands)
    for id, signature in enumerate(database.sketcher.signatures(documents)):
        oracle.insert(id, signature)
    return oracle


def stars_within(groups, pairs):
    """Return the stars of each group of linked documents, whose pairs are all compared."""
    parts = [stars(group, pairs) for group in groups]
    return sorted(star for part in parts for star in part)


def ids_of(clusters):
    return [cluster.ids for cluster in clusters]


@pytest.fixture(params=[NARROW, WIDE], ids=["8 bits", "32 bits"])
def options(request):
    return request.param


@pytest.fixture
def documents():
    return [*texts(60, seed=2), "", "", "one", "one", "one word"]


@pytest.fixture
def filled(open_database, options, documents):
    database = open_database(options=options)
    for start in range(0, len(documents), 7):
        part = documents[start : start + 7]
        database.insert_many(range(start, start + len(part)), part)
    return database


@pytest.mark.parametrize("method", ["banding", "exhaustive"])
def test_pairs_and_clusters_are_those_of_the_loops(filled, documents, method):
    oracle = oracle_of(filled, documents, is_banded=method == "banding")
    for id in (3, 17, 63):
        filled.delete(id)
        oracle.delete(id)
    wanted = oracle.find_all(LEAST)
    ids = list(oracle.documents)

    linked = components(ids, wanted)
    similar = oracle_of(filled, documents, is_banded=False).find_all(LEAST)

    pairs = list(filled.find_all(search=method))

    assert {(pair.left, pair.right): pair.similarity for pair in pairs} == wanted
    assert len(pairs) == len(wanted)
    assert ids_of(filled.find_clusters(search=method)) == linked
    found = filled.find_clusters(search=method, policy="star")
    assert ids_of(found) == stars_within(linked, similar)


@pytest.mark.few(1)
@pytest.mark.parametrize("recall", [1.0, 0.95])
def test_kept_clusters_are_those_that_would_be_found(open_database, options, recall):
    kept = replace(options, keep_clusters="similarity", recall=recall)
    database = open_database(options=kept)
    generator = random.Random(4)
    made = texts(45, seed=5)
    for start in range(0, 45, 5):
        database.insert_many(range(start, start + 5), made[start : start + 5])
        database.delete_many([generator.randrange(start + 5)])
    database.insert_many(["a", "b"], [made[0], made[0]])

    clusters = ids_of(database.find_clusters())

    assert clusters == ids_of(database.find_clusters(search="exhaustive"))
    assert all(database.cluster(id) == cluster for cluster in clusters for id in cluster)


def test_copies_of_whole_texts_are_clusters_with_the_default_options(open_database):
    """Whole texts, with the default options."""
    database = open_database(options=simdb.Options(sketch=simdb.Minhash()))
    made = texts(50, seed=9, changes=3, length=300)
    database.insert_many(range(50), made)

    sizes = [len(cluster) for cluster in database.find_clusters()]

    assert sizes == [5] * 10
