"""Crawls: which pages go on, over many crawls of one database."""

import pytest

import simdb
from simdb.compat.crawl import CRAWLS_ID, Crawl, Page
from simdb.database.state import staged

FOX = "the quick brown fox jumps over the lazy dog and then it runs home to sleep until the morning"
HEN = "hens lay eggs in the barn behind the old house where nobody has lived for many long years"
NEAR_FOX = FOX + " comes"


@pytest.fixture
def database(open_database):
    return open_database()


def kinds(crawl, *pages):
    return [verdict.kind for verdict in crawl.decide([Page(*page) for page in pages])]


def test_pages_of_one_group_are_decided_in_their_order(database):
    crawl = Crawl(database, similarity=0.7)

    first, copy, other, again = crawl.decide(
        [Page("a", FOX), Page("b", NEAR_FOX), Page("c", HEN), Page("a", FOX)]
    )

    assert [each.kind for each in (first, copy, other, again)] == [
        "new", "near_duplicate", "new", "seen"
    ]  # fmt: skip
    assert (copy.match.id, again.match.id) == ("a", "a")
    assert [each.is_passed for each in (first, copy, other, again)] == [True, False, True, False]
    assert set(database) == {"a", "c", CRAWLS_ID}


def test_the_document_that_names_the_crawls_is_gone_when_all_have_ended(database):
    crawl, other = Crawl(database), Crawl(database)
    crawl.decide([Page("a", FOX)])

    crawl.end()
    assert CRAWLS_ID in database
    other.end()

    assert list(database) == ["a"]


def test_a_page_of_a_crawl_that_ended_is_seen(database):
    crawl = Crawl(database)
    crawl.decide([Page("a", FOX)])
    crawl.end()

    assert kinds(Crawl(database), ("a", FOX), ("a", FOX + " now")) == ["seen", "seen"]
    assert kinds(Crawl(database, passes_seen=True), ("a", FOX), ("a", FOX)) == ["again", "seen"]


def test_a_page_that_comes_again_counts_as_seen(monkeypatch):
    """Every crawl delivered it, and it expired as not seen for long."""
    now = [1_000_000.0]
    monkeypatch.setattr(staged, "time", lambda: now[0])
    database = simdb.open(None, options=simdb.Options(keep_times="seen"))
    for _ in range(2):
        crawl = Crawl(database)
        crawl.decide([Page("a", FOX)])
        crawl.end()
        now[0] += 100

    assert database.times_many(["a"]).astype(int).tolist() == [1_000_100]


def test_a_page_of_a_crawl_that_did_not_end_goes_on_once_more(database):
    Crawl(database).decide([Page("a", FOX), Page("c", HEN)])

    crawl = Crawl(database, similarity=0.7)

    assert kinds(crawl, ("b", NEAR_FOX), ("a", FOX), ("a", FOX)) == [
        "near_duplicate", "again", "seen"
    ]  # fmt: skip
    crawl.end()
    assert kinds(Crawl(database), ("a", FOX), ("c", HEN)) == ["seen", "again"]


def test_a_changed_page_takes_the_place_of_the_stored_one(database):
    crawl = Crawl(database)
    crawl.decide([Page("a", FOX)])

    assert kinds(crawl, ("a", HEN), ("b", FOX)) == ["changed", "new"]
    assert database.first(HEN).id == "a"


def test_a_page_that_became_a_copy_of_another_does_not_go_on(database):
    crawl = Crawl(database)
    crawl.decide([Page("a", FOX), Page("c", HEN)])

    (verdict,) = crawl.decide([Page("c", FOX)])

    assert (verdict.kind, verdict.match.id) == ("near_duplicate", "a")
    assert database.first(HEN).id == "c"


def test_pages_that_others_stored_are_seen(database):
    database.insert("a", FOX, {"title": "Fox"})
    database.insert("c", HEN)

    assert kinds(Crawl(database), ("a", FOX), ("c", HEN)) == ["seen", "seen"]


def test_a_page_that_cannot_be_stored_does_not_harm_the_others(database):
    crawl = Crawl(database)

    first, wrong, last = crawl.decide([Page("a", FOX), Page(3.5, HEN), Page("c", HEN)])

    assert (first.kind, last.kind) == ("new", "new")
    assert isinstance(wrong, simdb.InputError)
    assert {"a", "c"} <= set(database)
