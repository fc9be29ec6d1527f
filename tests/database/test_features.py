"""Options.features and texts: what is stored decides exactly, as texts that are given would."""

import random

import numpy as np
import pytest
from families import drawn_families, jaccard

import simdb
from simdb.jobs.deduplication import claims
from simdb.sketch import exact_similarity

LEAST = 0.8


@pytest.fixture(params=["features", "texts", "both"])
def stored(request):
    """Return options by which a database stores what decides."""
    if request.param == "both":
        return {"features": True, "texts": True}
    return {request.param: True}


def near_copies(seed):
    """Texts in groups of near copies, in any order, some just above and below the threshold."""
    texts = list(drawn_families(15, seed).values())
    random.Random(seed).shuffle(texts)
    return {f"d{number}": text for number, text in enumerate(texts)}


def pairs_of(pairs):
    return {(pair.left, pair.right): pair.similarity for pair in pairs}


SKETCHES = [
    simdb.Simhash(),
    simdb.Minhash(),
    simdb.Simhash(weighting="tf"),
    simdb.Simhash(weighting="tf-idf", shingle=1),
    simdb.Minhash(weighting="bag"),
    simdb.Simhash(unit="characters", shingle=5),
]


@pytest.mark.parametrize("sketch", SKETCHES, ids=lambda sketch: repr(sketch).lower())
def test_pairs_are_those_that_the_texts_decide(open_database, monkeypatch, sketch, stored):
    monkeypatch.setattr(exact_similarity, "PACKED_DOCUMENTS", 7)
    texts = near_copies(3)
    options = simdb.Options(sketch=sketch, **stored, delta_documents=16, growth=2)
    database = open_database(options=options)
    if sketch.uses_idf:
        database.fit_idf(texts.values())
    ids = list(texts)
    database.insert_many({id: texts[id] for id in ids[:30]})
    with database.write() as transaction:
        transaction.insert_many({id: texts[id] for id in ids[30:50]})
        for id in ids[50:]:
            transaction.insert(id, texts[id])
        transaction.delete_many(ids[::9])
        assert_decided(transaction, texts)
    assert_decided(database, texts)


def assert_decided(reader, texts):
    """Assert that what is stored gives what the texts give."""
    asked = {"similarity": LEAST, "recall": 1.0}
    found, wanted = reader.find_all(verify="exact", **asked), reader.find_all(texts=texts, **asked)
    assert pairs_of(found) == pytest.approx(pairs_of(wanted))
    assert found.verification.judged > 10
    assert found.verification.unknown == 0
    clusters = reader.find_clusters(verify="exact", policy="star", **asked)
    again = reader.find_clusters(texts=texts, policy="star", **asked)
    assert [list(each) for each in clusters] == [list(each) for each in again]
    both = list(reader)[:20], list(reader)[10:30]
    compared = reader.compare(*both, verify="exact").similarity
    assert compared == pytest.approx(reader.compare(*both, texts=texts).similarity)


def test_without_a_choice_texts_decide_by_similarity_and_sketches_by_distance(
    open_database, stored
):
    database = open_database(options=simdb.Options(**stored))
    database.insert_many(near_copies(5))

    assert pairs_of(database.find_all()) == pairs_of(database.find_all(verify="exact"))
    assert database.find_all(verify="estimate").verification is None
    assert database.find_all(distance=3).verification is None
    with pytest.raises(simdb.OptionError, match="similarity"):
        database.find_all(distance=3, verify="exact")
    if "texts" in stored:
        numbers = database.find_all(verify="numbers")
        assert pairs_of(numbers) == pairs_of(
            database.find_all(verify="numbers", texts=near_copies(5))
        )
    else:
        with pytest.raises(simdb.OptionError, match="needs them; got"):
            database.find_all(verify="numbers")


def greedy(texts, stored):
    """Ids of the texts that match none before them that stays, by a double loop."""
    stays = dict(stored)
    for id, text in texts.items():
        if all(jaccard(text, other) < LEAST for other in stays.values()):
            stays[id] = text
    return set(stays)


@pytest.mark.parametrize("kept", ["similarity", "distance"])
def test_texts_decide_clusters_of_a_threshold_also_where_others_are_kept(
    open_database, kept, stored
):
    # An asked threshold was decided by estimate as soon as the database kept clusters.
    texts = near_copies(5)
    options = simdb.Options(sketch=simdb.Simhash(), **stored, keep_clusters=kept)
    database = open_database(options=options)
    database.insert_many(texts)
    ask = {"similarity": LEAST, "recall": 1.0}

    connected = list(database.find_clusters(**ask))
    stars = database.find_clusters(**ask, policy="star")

    assert connected == list(database.find_clusters(**ask, texts=texts))
    assert len(texts) - sum(len(star) - 1 for star in stars) == len(greedy(texts, {}))


@pytest.mark.parametrize("verb", ["deduplicate", "add_many_if_new", "add_if_new"])
def test_day_by_day_keeps_what_one_run_over_all_texts_keeps(tmp_path, monkeypatch, verb, stored):
    monkeypatch.setattr(claims, "CLAIMED_ROWS", 7)
    texts, path = near_copies(6), tmp_path / "db"
    options = simdb.Options(**stored, recall=1.0, delta_documents=8)

    for day in range(5):
        own = dict(list(texts.items())[day::5])
        with simdb.open(path, options=options, durability="none") as database:
            before = {id: texts[id] for id in database}
            if verb == "deduplicate":
                found = simdb.deduplicate(own, db=database, similarity=LEAST, recall=1.0)
                assert found.verification.unknown == 0
            elif verb == "add_many_if_new":
                database.add_many_if_new(own, similarity=LEAST)
            else:
                for id, text in own.items():
                    database.add_if_new(id, text, similarity=LEAST)

            assert set(database) == greedy(own, before)


def test_what_is_no_text_is_refused_and_named(open_database):
    database = open_database(options=simdb.Options(features=True))

    for document in (17, np.ones(64, np.float32), simdb.fingerprint("some text")):
        with pytest.raises(simdb.InputError, match="texts and lists of tokens"):
            database.insert("a", document)
    with pytest.raises(simdb.InputError, match="has features, which are made of texts"):
        database.insert_many(["a"], database.sketcher.sketch(["some words of a text"]))
    with pytest.raises(simdb.OptionError, match="features=True cannot store the features of"):
        simdb.Options(sketch=simdb.Simhash.moz(), features=True)

    assert len(database) == 0


def test_given_texts_decide_before_stored_ones_and_these_where_none_is_given(open_database):
    database = open_database(options=simdb.Options(texts=True))
    words = "one two three four five six seven eight nine ten"
    database.insert_many({"a": words, "b": words, "c": words})

    for texts in ({"b": "other words than these"}, lambda ids: [
        "other words than these" if id == "b" else None for id in ids
    ]):  # fmt: skip
        assert pairs_of(database.find_all(texts=texts)) == {("a", "c"): 1.0}
    assert set(pairs_of(database.find_all())) == {("a", "b"), ("a", "c"), ("b", "c")}


def test_stored_texts_measure_containment_and_choose_the_longest(open_database):
    database = open_database(options=simdb.Options(texts=True, passages=True))
    words = [f"word{number}" for number in range(90)]
    texts = {
        "long": " ".join(words), "part": " ".join(words[20:60]), "other": " ".join(words[::-1]),
    }  # fmt: skip
    database.insert_many(texts)
    query, given = " ".join(words[10:50]), {"contained": 0.5, "texts": texts}

    for asked in ({"document": query}, {"id": "part"}):
        found = database.query(**asked, contained=0.5)
        assert found == database.query(**asked, **given)
        assert all(match.spans for match in found)
        assert [match.text for match in found] == [texts[match.id] for match in found]
    pairs, wanted = database.find_all(contained=0.5), database.find_all(**given)
    assert list(pairs) == list(wanted)
    assert [(pair.left, pair.right) for pair in pairs] == [("part", "long")]
    near = {"longer": " ".join(words) + " end"}
    database.insert_many(near)
    for keep, first in [("longest", "longer"), ("shortest", "long")]:
        (cluster,) = database.find_clusters(similarity=0.8, keep=keep)
        assert cluster.representative == first
    (cluster,) = database.find_clusters(distance=20, keep="longest")
    assert cluster.representative == "longer"
