"""Filters by metadata: where= of queries, and delete_where."""

from contextlib import suppress

import pytest

import simdb

PAGE = "the quick brown fox jumps over the lazy dog and then it sleeps for a while"


@pytest.fixture
def filled(database):
    bits = [0, 1, 3, 7, 15]
    languages = [{"lang": "en"}, {"lang": "de"}, None, {"lang": "en"}, {"lang": "en"}]
    database.insert_many([*"abcde"], bits, languages)
    return database


def english(metadata):
    return metadata is not None and metadata["lang"] == "en"


def test_the_best_that_satisfy_the_filter_are_returned(filled):
    assert [each.id for each in filled.query(1, distance=4, where=english)] == ["a", "d", "e"]
    assert [each.id for each in filled.query(1, distance=4, limit=2, where=english)] == ["a", "d"]
    assert filled.query(1, distance=4, where=lambda metadata: False) == []


def test_a_query_by_id_leaves_itself_out_and_filters_the_rest(filled):
    found = filled.query(id="a", distance=4, limit=1, where=english)

    assert [each.id for each in found] == ["d"]


def test_a_batch_gives_every_query_its_best(filled):
    found = filled.query_many([1, 15, 2**64 - 1], distance=3, limit=1, where=english)

    assert [[each.id for each in row] for row in found] == [["a"], ["e"], []]
    found = filled.query_many(ids=["a", "c"], distance=9, first=True, where=english)
    assert [[each.id for each in row] for row in found] == [["d"], ["d"]]


def test_text_by_similarity_is_filtered(database):
    for number in range(9):
        database.insert(number, f"{PAGE} {number}", number)

    found = database.query(PAGE, similarity=0.6, limit=3, where=lambda number: number % 2)

    every = [each.id for each in database.query(PAGE, similarity=0.6) if each.id % 2]
    assert len(every) > 2
    assert [each.id for each in found] == every[:3]


def test_the_filter_comes_before_verify(filled):
    asked = []

    def verify(id):
        asked.append(id)
        return id != "a"

    found = filled.query(0, distance=4, limit=1, where=english, verify=verify)

    assert [each.id for each in found] == ["d"]
    assert set(asked) <= {"a", "d", "e"}
    found = filled.query_many(
        [0], distance=4, limit=1, where=english, verify=lambda at, id: id != "a"
    )
    assert [each.id for each in found[0]] == ["d"]


def test_only_as_many_documents_as_needed_are_asked_about(database):
    database.insert_many(range(1000), [5] * 1000, range(1000))
    asked = []

    found = database.query(5, distance=0, limit=3, where=lambda number: asked.append(number) or 1)

    assert [each.id for each in found] == asked == [0, 1, 2]
    asked.clear()
    database.query_many([5, 5], distance=0, where=lambda number: asked.append(number) or 1)
    assert sorted(asked) == list(range(1000))


def test_a_transaction_filters_by_what_it_staged(filled):
    with filled.write() as transaction:
        transaction.update_metadata("a", {"lang": "de"})
        transaction.insert("f", 2, {"lang": "en"})

        found = transaction.query(0, distance=4, where=english)

        assert [each.id for each in found] == ["f", "d", "e"]


def test_documents_are_deleted_by_their_metadata(filled):
    assert filled.delete_where(english) == 3
    assert list(filled) == ["b", "c"]
    assert filled.delete_where(lambda metadata: metadata is None) == 1
    assert filled.delete_where(english) == 0
    assert list(filled) == ["b"]


def test_a_filter_that_fails_deletes_nothing(filled):
    with pytest.raises(TypeError):
        filled.delete_where(lambda metadata: metadata["lang"] == "en")

    assert list(filled) == list("abcde")


def test_deletion_by_metadata_sees_staged_changes_and_can_be_aborted(filled):
    with suppress(KeyError), filled.write() as transaction:
        transaction.update_metadata("b", {"lang": "en"})
        transaction.delete("a")
        transaction.insert("f", 2, {"lang": "en"})
        assert transaction.delete_where(english) == 4
        assert list(transaction) == ["c"]
        raise KeyError

    assert list(filled) == list("abcde")


@pytest.mark.parametrize("where", [{"lang": "en"}, "lang", 5])
def test_what_is_no_function_is_refused(filled, where):
    for verb in (
        lambda: filled.query(1, distance=1, where=where),
        lambda: filled.query_many([1], distance=1, where=where),
        lambda: filled.delete_where(where),
    ):
        with pytest.raises(simdb.InputError, match="where must be a function of the metadata"):
            verb()


def test_deletion_needs_a_filter(filled):
    with pytest.raises(simdb.InputError, match="where must be a function"):
        filled.delete_where(None)


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
