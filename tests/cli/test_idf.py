"""Command idf, and the option --idf of other commands."""

from dataclasses import replace

import pytest

import simdb

TEXTS = ["the red fox", "the green fox", "the blue hare", "a fox"]
SINGLE = simdb.Simhash(shingle=1)


@pytest.fixture
def texts(write_lines):
    return write_lines("texts.jsonl", *({"id": str(at), "text": t} for at, t in enumerate(TEXTS)))


@pytest.fixture
def table(simdb_run, texts):
    assert simdb_run("idf", texts, "--output", "words.idf", "--shingle", 1).code == 0
    return simdb.load_idf("words.idf")


def options_of(path):
    with simdb.open(path, "r") as database:
        return database.options.sketch


def test_a_table_is_fitted_into_a_file(simdb_run, texts):
    ran = simdb_run("idf", texts, "--output", "words.idf", "--shingle", 1)

    fitted = simdb.fit_idf(TEXTS, SINGLE)
    assert ran.code == 0
    assert simdb.load_idf("words.idf") == fitted
    size = fitted.size_bytes
    assert ran.rows == [{"documents": 4, "features": 2, "bytes": size, "skipped": 0}]


def test_a_database_gets_its_table_once_and_keeps_it(simdb_run, texts):
    simdb_run("create", "db", "--shingle", 1, "--weighting", "tf-idf")

    ran = simdb_run("idf", texts, "--db", "db")
    again = simdb_run("idf", texts, texts, "--db", "db")

    assert (ran.code, ran.rows[0]["features"]) == (0, 2)
    assert options_of("db").idf == simdb.fit_idf(TEXTS, SINGLE)
    assert again.code == 2
    assert "has an IDF table already" in again.notes
    assert simdb_run("insert", "db", texts).code == 0
    assert simdb_run("query", "db", TEXTS[0]).rows[0]["id"] == "0"


def test_a_database_is_created_with_a_table_and_the_options_that_go_with_it(simdb_run, table):
    ran = simdb_run("create", "db", "--idf", "words.idf")

    assert options_of("db") == replace(SINGLE, weighting="tf-idf", idf=table)
    shown = ran.rows[0]["options"]["sketch"]["idf"]
    assert shown == {"features": 2, "documents": 4, "bytes": table.size_bytes}


def test_texts_are_compared_by_the_weights_of_a_table(simdb_run, texts, table):
    ran = simdb_run("fingerprint", "--text", TEXTS[0], "--idf", "words.idf")

    expected = simdb.fingerprint(TEXTS[0], replace(SINGLE, weighting="tf-idf", idf=table))
    assert int(ran.rows[0]["fingerprint"], 16) == expected.bits
    assert simdb_run("dedup", texts, "--idf", "words.idf").code == 0


def test_features_limits_the_size_of_a_table(simdb_run, texts):
    ran = simdb_run("idf", texts, "--output", "words.idf", "--shingle", 1, "--features", 1)

    assert ran.rows[0]["features"] == 1
