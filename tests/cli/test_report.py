"""The command report."""

import pytest

import simdb

TEXT = "many words that both documents have in common and a few more of them so that they match"


@pytest.fixture
def db(simdb_run, write_lines):
    """Makes a database of three documents, and a file with the texts of two of them."""
    records = [{"id": "a", "text": f"{TEXT} one"}, {"id": "b", "text": f"{TEXT} two"}]
    write_lines("texts.jsonl", *records)
    with simdb.open("db") as database:
        database.insert_many(["a", "b", "c"], [*(each["text"] for each in records), "other"])
    return "db"


@pytest.fixture
def libraries():
    """Skip the test if the library of a page is not installed."""
    pytest.importorskip("jinja2")


def page():
    with open("page.html", encoding="utf-8") as file:
        return file.read()


def test_skipped_records_end_with_1_and_the_page_is_written(libraries, simdb_run, db):
    with open("texts.jsonl", "a", encoding="utf-8") as file:
        file.write("{bad\n")

    ran = simdb_run("report", db, "-o", "page.html", "--texts", "texts.jsonl")

    assert ran.code == 1
    assert "texts.jsonl:3" in ran.notes
    assert "1 file or record skipped" in ran.notes
    assert page()


def test_an_error_leaves_an_earlier_page(libraries, simdb_run, db):
    simdb_run("report", db, "-o", "page.html")
    before = page()

    ran = simdb_run("report", db, "-o", "page.html", "--distance", 99)

    assert ran.code == 2
    assert page() == before
