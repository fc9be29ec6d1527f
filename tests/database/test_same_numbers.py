"""Texts that differ in numbers alone match by "exact" and not by "numbers", through every verb."""

import re
from collections import Counter
from itertools import combinations

import pytest

import simdb
from simdb.core.errors import OptionError
from simdb.sketch import exact_pairs

FORM = "this is the invoice that we send to you for the goods of last month " * 3
# Every text matches every other one by its words; their numbers make three groups.
TEXTS = {
    "a": f"{FORM} 17 and 4 euros",
    "b": f"{FORM} 18 and 4 euros",
    "c": f"{FORM} 4 and 17 euros",
    "d": f"{FORM} no euros",
    "e": f"{FORM} 18 and 4 dollars",
    "f": f"{FORM} some euros",
}
SKETCHES = [simdb.Simhash(), simdb.Simhash(dimensions=256), simdb.Minhash()]


def numbers_of(id):
    return Counter(re.findall(r"\d+", TEXTS[id]))


EXPECTED = {
    frozenset(pair) for pair in combinations(TEXTS, 2) if numbers_of(pair[0]) == numbers_of(pair[1])
}


@pytest.fixture(params=SKETCHES, ids=["128", "256", "signatures"])
def db(request, tmp_path):
    options = simdb.Options(sketch=request.param)
    with simdb.open(tmp_path / "db", options=options) as database:
        database.insert_many(TEXTS.keys(), TEXTS.values())
        yield database


@pytest.fixture(params=[1, 1 << 23], ids=["one pair", "many pairs"])
def part_bytes(request, monkeypatch):
    monkeypatch.setattr(exact_pairs, "PART_BYTES", request.param)


def test_pairs_have_the_same_numbers(db, part_bytes):
    found = db.find_all(similarity=0.6, verify="numbers", texts=TEXTS)

    assert {frozenset((pair.left, pair.right)) for pair in found} == EXPECTED
    assert found.verification.judged == 15
    assert len(list(db.find_all(similarity=0.6, verify="exact", texts=TEXTS))) == 15


@pytest.mark.parametrize("policy", ["star", "connected"])
def test_clusters_have_the_same_numbers(db, policy):
    found = db.find_clusters(similarity=0.6, verify="numbers", texts=TEXTS, policy=policy)

    assert {frozenset(each.ids) for each in found} == EXPECTED


def test_compared_documents_with_other_numbers_have_nothing_in_common(db):
    exact = db.compare([*"ab"], [*"ce"], texts=TEXTS)

    found = db.compare([*"aba"], [*"ceb"], verify="numbers", texts=TEXTS)

    assert found.similarity.tolist() == [*exact.similarity.tolist(), 0.0]


def test_new_documents_with_other_numbers_are_stored(tmp_path):
    with simdb.open(tmp_path / "db") as database:
        with database.write() as transaction:
            found = transaction.add_many_if_new(
                TEXTS.keys(), TEXTS.values(), similarity=0.6, verify="numbers", texts=TEXTS
            )

        assert {id for id in TEXTS if id in database} == {"a", "b", "d"}
    assert found.verification.measure == "Jaccard"


def test_numbers_need_texts(db):
    with pytest.raises(OptionError, match="verify='numbers' needs them"):
        db.find_all(verify="numbers")


def test_rows_stay_beside_those_that_a_database_holds(tmp_path):
    texts = list(TEXTS.values())
    asked = {"similarity": 0.6, "verify": "numbers", "db": tmp_path / "db"}

    first = simdb.deduplicate(texts[:2], id=["a", "b"], **asked)
    then = simdb.deduplicate(texts, id=list(TEXTS), run="then", **asked)

    assert first.kept.all()
    # Rows with the ids of stored documents have their texts, so they decide about the others.
    assert then.kept.tolist() == [False, False, False, True, False, False]


def test_tokens_have_numbers_too(tmp_path):
    tokens = {id: text.split() for id, text in TEXTS.items()}
    with simdb.open(tmp_path / "db") as database:
        database.insert_many(tokens.keys(), list(tokens.values()))

        found = database.find_all(similarity=0.6, verify="numbers", texts=tokens)

        assert {frozenset((pair.left, pair.right)) for pair in found} == EXPECTED
