"""Pairs, clusters and comparisons decided by the texts, against a double loop over sets."""

import random
from functools import cache
from itertools import combinations

import pytest
from families import drawn_families, jaccard

import simdb
from simdb.sketch import exact_pairs

LEAST = 0.8
SKETCHES = [simdb.Simhash(), simdb.Simhash(dimensions=64), simdb.Minhash()]
IDS = ["fingerprints", "few dimensions", "signatures"]


TEXTS = drawn_families(40, 7) | {"empty": "", "copy": drawn_families(40, 7)["3-0"]}


@cache
def true_pairs(least=LEAST):
    return {
        frozenset((one, two)): jaccard(TEXTS[one], TEXTS[two])
        for one, two in combinations(TEXTS, 2)
        if jaccard(TEXTS[one], TEXTS[two]) >= least and TEXTS[one]
    }


@pytest.fixture(params=SKETCHES, ids=IDS)
def db(request, tmp_path):
    options = simdb.Options(sketch=request.param, delta_documents=32, growth=2)
    with simdb.open(tmp_path / "db", options=options) as database:
        ids = list(TEXTS)
        for start in range(0, len(ids), 50):
            some = ids[start : start + 50]
            database.insert_many(some, [TEXTS[id] for id in some])
        yield database


def found_by(pairs):
    return {frozenset((pair.left, pair.right)): pair.similarity for pair in pairs}


def test_pairs_are_exactly_those_of_the_double_loop(db):
    asked = {"verify": "exact", "texts": TEXTS, "recall": 1.0}
    estimated = set(found_by(db.find_all(recall=1.0)))

    found = db.find_all(**asked)
    higher = db.find_all(similarity=0.9, threads=3, **asked)
    compared = db.compare(
        ["0-0", "0-0", "3-0"], ["0-1", "1-0", "copy"], verify="exact", texts=TEXTS
    )

    expected = true_pairs()
    assert found_by(found) == pytest.approx(expected)
    assert found.verification.measure == "Jaccard"
    assert found.verification.judged >= len(expected)
    assert found.verification.overruled >= len(estimated ^ set(expected)) > 0
    assert found_by(higher) == pytest.approx(true_pairs(0.9))
    assert compared.similarity == pytest.approx(
        [jaccard(TEXTS["0-0"], TEXTS["0-1"]), jaccard(TEXTS["0-0"], TEXTS["1-0"]), 1.0]
    )


def test_with_recall_1_no_estimate_loses_a_pair(open_database):
    # Each pair has the similarity 97 / 121 = .802.  Of 2,000 estimates near the threshold some are
    # more than 3 standard deviations below it.
    chance = random.Random(3)
    texts = {}
    for pair in range(2000):
        words = [f"{pair}w{at}" for at in range(111)]
        texts[f"{pair}a"] = " ".join(words)
        for at in chance.sample(range(2, 108, 5), 4):
            words[at] = f"x{at}"
        texts[f"{pair}b"] = " ".join(words)
    database = open_database()
    database.insert_many(list(texts), list(texts.values()))

    found = database.find_all(similarity=0.8, verify="exact", texts=texts, recall=1.0)

    assert {frozenset((pair.left, pair.right)) for pair in found} == {
        frozenset((f"{pair}a", f"{pair}b")) for pair in range(2000)
    }


def test_few_texts_are_asked_for_at_a_time(db, monkeypatch):
    monkeypatch.setattr(exact_pairs, "PART_BYTES", 1)
    monkeypatch.setattr(exact_pairs, "PART_PAIRS_FIRST", 1)
    most = []

    def texts(ids):
        most.append(len(ids))
        return [TEXTS[id] for id in ids]

    found = db.find_all(verify="exact", texts=texts, recall=1.0)

    assert found_by(found) == pytest.approx(true_pairs())
    assert max(most) <= 4


def test_where_a_text_is_missing_the_estimate_decides(db):
    known = {id: text for id, text in TEXTS.items() if not id.startswith("3-")}

    found = found_by(pairs := db.find_all(verify="exact", texts=known, recall=1.0))

    exact = {pair: value for pair, value in true_pairs().items() if pair <= known.keys()}
    assert {pair: found[pair] for pair in found if pair <= known.keys()} == pytest.approx(exact)
    assert frozenset(("3-0", "copy")) in found
    assert pairs.verification.unknown > 0


def test_arguments_that_do_not_go_together_are_refused(database):
    database.insert_many(list(TEXTS), list(TEXTS.values()))
    for arguments, message in (
        ({"verify": "perhaps"}, "verify must be one of 'estimate', 'exact', 'numbers', got"),
        ({"verify": "exact"}, "verify='exact' needs them, or a database with"),
        ({"texts": 3}, "a mapping from id to text, or a function"),
        ({"distance": 3, "texts": TEXTS}, "decides by similarity; give similarity="),
    ):
        for verb in (database.find_all, database.find_clusters):
            with pytest.raises(simdb.OptionError, match=message):
                verb(**arguments)
    with pytest.raises(simdb.InputError, match="and returned 1 texts"):
        list(database.find_all(texts=lambda ids: ["one"]))


@pytest.mark.parametrize("copies", [250, 600])
@pytest.mark.parametrize("policy", ["connected", "star"])
def test_near_copies_are_judged_against_documents_that_stay(open_database, copies, policy):
    page = " ".join(f"word{number}" for number in range(40))
    texts = {number: f"{page} {number}" for number in range(copies)}
    database, asked = open_database(), []
    database.insert_many(texts, texts.values())

    clusters = database.find_clusters(
        verify="exact",
        texts=lambda ids: asked.extend(ids) or [texts[id] for id in ids],
        policy=policy,
    )

    assert [cluster.ids for cluster in clusters] == [list(texts)]
    # Of all pairs, 179,700 of 600 copies, few are judged that connect no more than was connected.
    assert clusters.verification.judged < 12 * copies + 2048
    assert len(asked) == len(set(asked)) > 0.8 * copies


@pytest.mark.parametrize("asked", [{"texts": True}, {"verify": "exact"}], ids=["texts", "features"])
def test_texts_decide_about_the_pairs_that_deduplicate_compares(asked, open_database):
    """Of 3,000 pairs just as similar as asked .3 are lost in the mean, and 3 in one run of 300."""
    texts, rng = [], random.Random(5)
    for _ in range(3000):
        words = [f"w{rng.randrange(50_000)}" for _ in range(44)]
        texts += [" ".join(words[4:]), " ".join([*words[:4], *words[8:]])]
    db = open_database(options=simdb.Options(features="verify" in asked))
    db.insert_many(range(len(texts)), texts)
    known = {"texts": dict(enumerate(texts))} if "texts" in asked else asked

    found = {tuple(sorted((pair.left, pair.right))) for pair in db.find_all(**known)}
    groups = db.find_clusters(**known)

    wanted = {(at, at + 1) for at in range(0, len(texts), 2)}
    removed = simdb.deduplicate(texts, policy="connected").removed
    assert all(simdb.similarity(texts[one], texts[two]) > 0.8 for one, two in sorted(wanted)[:9])
    assert len(removed) > len(wanted) - 3
    assert len(wanted - found) < 3
    assert len(groups) > len(wanted) - 3
