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


@pytest.mark.parametrize("part_bytes", [1, 1 << 23])
def test_pairs_and_clusters_have_the_same_numbers(db, monkeypatch, part_bytes):
    monkeypatch.setattr(exact_pairs, "PART_BYTES", part_bytes)
    asked = {"similarity": 0.6, "texts": TEXTS}

    found = db.find_all(**asked, verify="numbers")

    assert {frozenset((pair.left, pair.right)) for pair in found} == EXPECTED
    assert found.verification.judged == 15
    assert len(list(db.find_all(**asked, verify="exact"))) == 15
    for policy in ("star", "connected"):
        groups = db.find_clusters(**asked, verify="numbers", policy=policy)
        assert {frozenset(each.ids) for each in groups} == EXPECTED
    exact = db.compare([*"ab"], [*"ce"], texts=TEXTS)
    compared = db.compare([*"aba"], [*"ceb"], verify="numbers", texts=TEXTS)
    assert compared.similarity.tolist() == [*exact.similarity.tolist(), 0.0]
    with pytest.raises(OptionError, match="verify='numbers' needs them"):
        db.find_all(verify="numbers")


def test_new_documents_with_other_numbers_are_stored(tmp_path):
    with simdb.open(tmp_path / "db") as database:
        with database.write() as transaction:
            found = transaction.add_many_if_new(
                TEXTS.keys(), TEXTS.values(), similarity=0.6, verify="numbers", texts=TEXTS
            )

        assert {id for id in TEXTS if id in database} == {"a", "b", "d"}
    assert found.verification.measure == "Jaccard"


def test_tokens_have_numbers_too(tmp_path):
    tokens = {id: text.split() for id, text in TEXTS.items()}
    with simdb.open(tmp_path / "db") as database:
        database.insert_many(tokens.keys(), list(tokens.values()))

        found = database.find_all(similarity=0.6, verify="numbers", texts=tokens)

        assert {frozenset((pair.left, pair.right)) for pair in found} == EXPECTED
