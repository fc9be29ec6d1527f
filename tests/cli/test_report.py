"""The command report."""

import pytest
from over import over

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


def test_without_a_place_for_the_page_nothing_is_printed(libraries, simdb_run, db):
    ran = simdb_run("report", db)

    assert (ran.code, ran.output) == (2, "")
    assert "-o FILE names the page, such as -o report.html; - prints it" in ran.notes


@over(
    ("arguments", "code", "message"),
    [
        (["nowhere"], 3, "nowhere"),
        (["db", "--texts", "nowhere"], 2, "there is no file or folder nowhere"),
        (["db", "--similarity", "2"], 2, "similarity must be above 0 and at most 1"),
        (["db", "--search", "pms"], 2, "search must be one of"),
        (["db", "--sample", "0"], 2, "--sample"),
        (["db", "-o", "no/folder/page.html"], 2, "no/folder"),
    ],
)
def test_wrong_use_leaves_no_page(libraries, simdb_run, db, arguments, code, message):
    output = [] if "-o" in arguments else ["-o", "-"]

    ran = simdb_run("report", *arguments, *output)

    assert ran.code == code
    assert message in ran.notes
    assert ran.output == ""


def test_an_error_leaves_an_earlier_page(libraries, simdb_run, db):
    simdb_run("report", db, "-o", "page.html")
    before = page()

    ran = simdb_run("report", db, "-o", "page.html", "--distance", 99)

    assert ran.code == 2
    assert page() == before
