"""Of each cluster stays the document that a rule names."""

import math

import pytest

import simdb
from simdb import spark as ss
from simdb.spark import clustering

NAN = float("nan")
# id, text, score and date: the texts of a cluster have the same words.
ROWS = [
    ("b", "these are the words of one page!", 2.0, "2020-02"),
    ("a", "these are the words of one page", 5.0, ""),
    ("d", "these are the words of one page!?!", NAN, "2019-12"),
    ("c", "these are the words of one page \u2026", 5.0, None),
    ("f", "another page has other words in it", None, ""),
    ("e", "another page has other words in it!", NAN, None),
    ("g", "there is no page that is like this one here", 1.0, "2001-01"),
]
GROUPS = [ROWS[:4], ROWS[4:6]]
PREFERRED = {
    "longest": lambda row: (-len(row[1].encode()), row[0]),
    "shortest": lambda row: (len(row[1].encode()), row[0]),
    "min:date": lambda row: (row[3] or "z", row[0]),
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
    return spark.createDataFrame(
        ROWS, "id string, text string, score double, date string"
    ).repartition(2)


def test_a_rule_says_which_document_stands_for_a_cluster(documents):
    members = documents.selectExpr(
        "*", "ascii(id) key", "case when id < 'e' then 1 else 2 end root"
    )
    members = members.where("id != 'g'")

    found = {}
    for rule in ["last", *PREFERRED]:
        preference = clustering.preference_of(rule, documents, text="text")
        placed = preference.placed(preference.with_value(members))
        rows = clustering._led_by_first(placed, preference).collect()
        found[rule] = {row["id"]: row["representative"] for row in rows}

    assert found == {rule: expected_of(rule) for rule in ["last", *PREFERRED]}


def test_numbers_in_a_column_of_text_come_before_words_and_words_for_nothing_last(spark):
    values = ["x", "10", "9", " 2.5 ", "n/a", None, "1e2", "-", "", "2024-01-02"]
    large = [str(2**70), str(2**70 + 1)]
    df = spark.createDataFrame(list(enumerate(values + large)), "id int, score string")

    for rule, expected in {
        "max:score": [11, 10, 6, 1, 2, 3, 0, 9, 4, 5, 7, 8],
        "min:score": [3, 2, 1, 6, 10, 11, 9, 0, 4, 5, 7, 8],
    }.items():
        preference = clustering.preference_of(rule, df, text="text")
        rows = preference.with_value(df).orderBy(*preference.order()).collect()
        assert [row["id"] for row in rows] == expected


def test_sizes_come_from_texts_in_the_sketches(documents):
    sketches = ss.fingerprints(documents, columns=["text"])

    found = ss.clusters(
        sketches, keep="longest", similarity=0.9, policy="star", partitions=2, texts="text"
    )

    rows = {row["id"]: row["representative"] for row in found.collect()}
    assert rows == expected_of("longest")
    found.unpersist()


def test_a_rule_that_cannot_be_followed_is_refused(documents):
    sketches = ss.fingerprints(documents)

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
