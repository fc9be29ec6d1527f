"""Of each cluster stays the document that a rule names."""

import math

import pytest

import simdb
from simdb import spark as ss

NAN = float("nan")
# id, text and score: the texts of a cluster have the same words.
ROWS = [
    ("b", "these are the words of one page!", 2.0),
    ("a", "these are the words of one page", 5.0),
    ("d", "these are the words of one page!?!", NAN),
    ("c", "these are the words of one page \u2026", 5.0),
    ("f", "another page has other words in it", None),
    ("e", "another page has other words in it!", NAN),
    ("g", "there is no page that is like this one here", 1.0),
]
GROUPS = [ROWS[:4], ROWS[4:6]]
PREFERRED = {
    "longest": lambda row: (-len(row[1].encode()), row[0]),
    "shortest": lambda row: (len(row[1].encode()), row[0]),
    "max:score": lambda row: (-known(row[2], -math.inf), row[0]),
    "min:score": lambda row: (known(row[2], math.inf), row[0]),
}


def known(score, otherwise):
    return otherwise if score is None or math.isnan(score) else score


def expected_of(rule):
    """Return the id that stays for each id of a cluster."""
    if rule == "last":
        return {row[0]: max(group)[0] for group in GROUPS for row in group}
    key = PREFERRED[rule]
    return {row[0]: min(group, key=key)[0] for group in GROUPS for row in group}


@pytest.fixture(scope="module")
def documents(spark):
    return spark.createDataFrame(ROWS, "id string, text string, score double").repartition(2)


@pytest.fixture(scope="module")
def sketches(documents):
    made = ss.fingerprints(documents, columns=["text", "score"]).cache()
    yield made
    made.unpersist()


@pytest.mark.parametrize("rule", ["last", "longest", "shortest", "max:score", "min:score"])
def test_a_rule_says_which_document_stands_for_a_cluster(sketches, rule):
    found = ss.clusters(sketches, keep=rule, distance=0, texts="text", partitions=2)

    rows = {row["id"]: row["representative"] for row in found.collect()}
    assert rows == expected_of(rule)


@pytest.mark.parametrize("rule", ["longest", "max:score"])
def test_the_row_that_a_rule_names_is_not_removed(documents, rule):
    kept = ss.drop_duplicates(documents, keep=rule, partitions=2)

    expected = expected_of(rule)
    removed = {row["id"]: row["representative"] for row in kept.removed.collect()}
    assert removed == {id: stays for id, stays in expected.items() if id != stays}
    assert {row["id"] for row in kept.collect()} == {*expected.values(), "g"}
    kept.removed.unpersist()


def test_sizes_come_from_texts_that_the_sketches_have_not(documents, sketches):
    bare = sketches.select("id", "fp", "vector", "is_empty")

    found = ss.clusters(
        bare, keep="longest", similarity=0.9, policy="star", texts=documents, partitions=2
    )

    rows = {row["id"]: row["representative"] for row in found.collect()}
    assert rows == expected_of("longest")
    found.unpersist()


def test_a_rule_that_cannot_be_followed_is_refused(documents, sketches):
    with pytest.raises(simdb.OptionError, match="keep='longest' needs texts="):
        ss.clusters(sketches, keep="longest", distance=0)
    for match, rule in [
        ("no column 'rang'", "max:rang"),
        ("'score'", "score"),
        ("a function cannot run in SQL", len),
    ]:
        with pytest.raises(simdb.Error, match=match):
            ss.clusters(sketches, keep=rule, distance=0)
        with pytest.raises(simdb.Error, match=match):
            ss.drop_duplicates(documents, keep=rule)
