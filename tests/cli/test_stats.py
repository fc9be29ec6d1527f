"""Command stats: for people on a terminal, and all numbers as one object."""

import os
import time

import pytest
from over import over

import simdb
from simdb.cli import inspection
from simdb.cli.inspection import age_in_words, time_and_age
from simdb.cli.output import render
from simdb.core.previews import size
from simdb.core.reports import ReaderStatistics
from simdb.database.maintenance import advice
from simdb.database.state import staged

FOX = "the quick brown fox jumps over the lazy dog and then it sleeps"
DAY = 86_400


@pytest.fixture
def on_terminal(monkeypatch):
    monkeypatch.setattr(inspection, "is_table", lambda: not render.wants_json())
    monkeypatch.setenv("COLUMNS", "200")


def fields_of(ran):
    """Return the names and values that were printed."""
    assert (ran.code, ran.error) == (0, None)
    return dict(line.split("  ", 1) for line in ran.output.splitlines() if line[0] != " ")


@pytest.fixture
def shown(simdb_run, on_terminal):
    def show(*arguments):
        return {
            name: value.strip()
            for name, value in fields_of(simdb_run("stats", "db", *arguments)).items()
        }

    return show


def test_people_get_documents_size_and_ages(shown, simdb_run, monkeypatch):
    monkeypatch.setattr(advice, "VOLATILE_TYPES", set())  # the tests may run in memory
    with simdb.open("db") as db:
        db.insert_many(["a", "b", "c", "d"], [FOX, FOX, "another text of some words", ""])
        db.delete("c")
        numbers = db.stats()
    now = time.time()
    os.utime("db/writer.lock", (now - 3 * DAY - 60, now - 3 * DAY - 60))
    os.utime("db/data.mdb", (now - 125, now - 125))

    row = shown()

    assert row["documents"] == "3 (1 without features, 1 deleted and not compacted yet)"
    assert row["size"].startswith(size(numbers.file_bytes))
    assert row["size"].endswith(f"; {numbers.live_bytes / 3:,.0f} bytes a document")
    assert row["created"].endswith("(3 days ago)")
    assert row["last write"].endswith("(2 minutes ago)")
    assert row["largest group"] == "2 documents with the same fingerprint"
    assert (
        row["similarity"] == "0.8 or more is a match (jaccard); a search finds 95% of the matches"
    )
    assert "distance" not in row
    assert row["sketch"] == "fingerprints of words in shingles of 3"
    assert row["readers"] == "none"
    assert row["to do"] == "nothing; simdb check looks for damage"
    assert simdb_run("stats", "db", "--all").rows == simdb_run("stats", "db", "--json").rows


def test_what_differs_from_the_defaults_is_named_and_a_later_lock_tells_no_beginning(
    shown, simdb_run
):
    simdb_run("create", "db", "--minhash", "--unit", "characters", "--shingle", "5", "--seed", "7")
    os.utime("db/data.mdb", (1e9, 1e9))

    row = shown()

    assert "created" not in row
    assert row["last write"].startswith("2001-09-")

    assert row["sketch"] == "MinHash signatures of characters in shingles of 5, seed 7"
    assert "distance" not in row
    assert row["documents"] == "0"
    assert "a document" not in row["size"]


def test_the_distance_is_shown_where_it_decides(shown):
    with simdb.open("db", options=simdb.Options(recall=0.999)) as db:
        db.insert("a", 7)

    row = shown()

    assert row["distance"] == "3 bits or fewer match, without weights"
    assert (
        row["similarity"] == "0.8 or more is a match (jaccard); a search finds 99.9% of the matches"
    )


def test_other_readers_and_what_to_do_are_shown(shown, simdb_run, monkeypatch):
    simdb_run("create", "db")
    reader = ReaderStatistics(process=1, thread=2, transaction=3, lag=150)
    advice = simdb.Advice("readers", "process 1 reads", "the file grows", "compact() then stop it")
    with simdb.open("db", "r") as db:
        numbers = db.stats()
    changed = {name: getattr(numbers, name) for name in simdb.Statistics.__slots__}
    given = simdb.Statistics(**changed | {"readers": (reader,)})
    monkeypatch.setattr(simdb.Database, "stats", lambda self: given)
    monkeypatch.setattr(simdb.Database, "advice", lambda self: iter([advice]))

    row = shown()

    assert row["readers"] == "process 1, 150 commits behind"
    assert row["to do"] == "simdb compact then stop it (process 1 reads)"


@pytest.mark.parametrize(("keep", "name"), [("inserted", "inserted"), ("seen", "last seen")])
def test_the_times_of_documents_are_shown(shown, simdb_run, monkeypatch, keep, name):
    now = time.time()
    with simdb.open("db", options=simdb.Options(keep_times=keep)) as database:
        for id, days in ((1, 40), (2, 3)):
            monkeypatch.setattr(staged, "time", lambda days=days: now - days * 86_400)
            database.insert(id, id)

    row = shown()
    (numbers,) = simdb_run("stats", "db", "--json").rows
    (got,) = simdb_run("get", "db", "2", "--int-ids").rows

    oldest = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now - 40 * 86_400))
    newest = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now - 3 * 86_400))
    assert "(1 month ago) to " in row[name]
    assert row[name].endswith("(3 days ago)")
    assert (numbers["oldest_time"], numbers["newest_time"]) == (oldest, newest)
    assert got["time"] == newest


@over(
    ("seconds", "expected"),
    [(-5, "just now"), (0.5, "just now"), (1, "1 second ago"), (59, "59 seconds ago"),
     (60, "1 minute ago"), (7_300, "2 hours ago"), (DAY, "1 day ago"), (70 * DAY, "2 months ago"),
     (800 * DAY, "2 years ago")],
)  # fmt: skip
def test_ages_have_a_unit(seconds, expected):
    assert age_in_words(seconds) == expected
    assert time_and_age(0.0, seconds).endswith(f"({expected})")
