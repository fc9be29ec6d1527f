"""Filters by metadata: where= of queries, and delete_where."""

from datetime import datetime, timedelta
from random import Random

import pytest

import simdb


@pytest.fixture
def filled(database):
    bits = [0, 1, 3, 7, 15]
    languages = [{"lang": "en"}, {"lang": "de"}, None, {"lang": "en"}, {"lang": "en"}]
    database.insert_many([*"abcde"], bits, languages)
    return database


def english(metadata):
    return metadata is not None and metadata["lang"] == "en"


@pytest.mark.parametrize("chosen", [1, 97])
def test_the_nearest_are_the_best_of_all_that_satisfy(database, monkeypatch, chosen):
    monkeypatch.setattr("simdb.database.search.nearest.FOUND_TOGETHER", 300)
    random = Random(7)
    documents = [random.getrandbits(64) for _ in range(600)]
    database.insert_many(range(600), documents, range(600))
    queries = documents[:20]
    asked = []

    def where(number):
        asked.append(number)
        return number % 97 < chosen

    found = database.nearest_many(queries, k=3, recall=1.0, where=where)

    assert len(asked) == len(set(asked))
    every = database.nearest_many(queries, k=600, recall=1.0)
    for row, whole, query in zip(found, every, queries, strict=True):
        best = [each for each in whole if each.id % 97 < chosen][:3]
        assert list(row) == best
        assert database.nearest(query, 3, recall=1.0, where=where) == best
    stored = database.nearest_many(ids=range(20), k=3, recall=1.0, where=where)
    for at, row in enumerate(stored):
        assert at not in [each.id for each in row]
        best = [each for each in every[at] if each.id % 97 < chosen and each.id != at][:3]
        assert list(row) == best
        assert database.nearest(id=at, k=3, recall=1.0, where=where) == best


def test_documents_that_are_old_and_satisfy_the_filter_expire():
    later = datetime.now() + timedelta(days=1)
    with simdb.open(None, options=simdb.Options(keep_times="inserted")) as database:
        database.insert_many([*"abc"], [0, 1, 3], [{"lang": "en"}, None, {"lang": "de"}])

        assert database.expire(later - timedelta(days=2), where=english) == 0
        assert database.expire(later, where=english) == 1
        assert list(database) == ["b", "c"]


def test_the_filter_comes_before_verify(filled):
    asked = []

    def verify(id):
        asked.append(id)
        return id != "a"

    found = filled.query(0, distance=4, limit=1, where=english, accept=verify)
    first = filled.first(0, distance=4, where=english, accept=verify)
    (row,) = filled.query_many(
        [0], distance=4, limit=1, where=english, accept=lambda at, id: verify(id)
    )

    assert [each.id for each in found] == [each.id for each in row] == [first.id] == ["d"]
    assert set(asked) <= {"a", "d", "e"}


def test_only_as_many_documents_as_needed_are_asked_about(database):
    database.insert_many(range(1000), [5] * 1000, range(1000))
    asked = []

    found = database.query(5, distance=0, limit=3, where=lambda number: asked.append(number) or 1)

    assert [each.id for each in found] == asked == [0, 1, 2]
    asked.clear()
    database.query_many([5, 5], distance=0, where=lambda number: asked.append(number) or 1)
    assert sorted(asked) == list(range(1000))


def test_a_filter_that_fails_deletes_nothing(filled):
    with pytest.raises(TypeError):
        filled.delete_where(lambda metadata: metadata["lang"] == "en")

    assert list(filled) == list("abcde")


def test_what_is_no_function_is_refused(filled):
    for verb, *given in [
        (filled.query, 1), (filled.query_many, [1]), (filled.first, 1), (filled.nearest, 1),
        (filled.nearest_many, [1]), (filled.find_all,), (filled.find_clusters,),
        (filled.delete_where,),
    ]:  # fmt: skip
        for where in ({}, "lang", 5):
            with pytest.raises(simdb.InputError, match="where must be a function of the metadata"):
                verb(*given, where=where)
        with pytest.raises(simdb.OptionError, match="'lang', and the database indexes none; use"):
            verb(*given, where={"lang": "en"})


def test_a_filter_cannot_change_its_own_transaction(filled):
    def meddle(metadata):
        transaction.delete("a")

    with filled.write() as transaction:
        with pytest.raises(simdb.BusyError):
            transaction.delete_where(meddle)
        with pytest.raises(simdb.BusyError):
            transaction.query(1, distance=4, where=meddle)

    assert list(filled) == list("abcde")


def test_a_filter_can_use_its_database(filled):
    def ask_and_insert(metadata):
        filled.insert(len(filled), 1)
        return len(filled.query(0, distance=0)) == 1

    assert len(filled.query(0, distance=4, where=ask_and_insert)) == 5
    assert len(filled) == 10
