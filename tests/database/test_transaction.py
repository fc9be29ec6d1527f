import subprocess
import sys
import threading
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from soundness import TINY

import simdb
from simdb.storage import gate


def test_a_refused_verb_leaves_the_transaction_as_it_was(database):
    database.insert_many([1, 2], [1, 2])

    with database.write() as transaction:
        transaction.insert(3, 3)
        for ids, documents in (([4, None], [4, 4]), ([4, 1], [4, b"\xff"]), ([4, "x"], [4])):
            with pytest.raises(simdb.InputError):
                transaction.insert_many(ids, documents, on_conflict="replace")
        with pytest.raises(simdb.NotFoundError):
            transaction.delete(9)
        with pytest.raises(simdb.ExistsError):
            transaction.insert_many([4, 2], [4, 4])
        with pytest.raises(simdb.OptionError):
            transaction.add_if_new(4, 4, distance=99)
        assert list(transaction) == [1, 2, 3]
        transaction.insert(5, 5)

    assert list(database) == [1, 2, 3, 5]


def test_an_ended_transaction_refuses_every_verb(database):
    with database.write() as transaction:
        transaction.insert(1, 1)

    for verb, *given in [
        ("insert", 2, 2), ("add_if_new", 2, 2), ("delete", 1), ("query", 1), ("get", 1),
        ("__len__",), ("__contains__", 1), ("find_all",), ("find_clusters",), ("commit",),
    ]:  # fmt: skip
        with pytest.raises(simdb.ClosedError):
            getattr(transaction, verb)(*given)
    with pytest.raises(simdb.ClosedError):
        list(transaction)
    transaction.abort()
    assert list(database) == [1]


def test_changes_that_are_dropped_with_a_transaction_are_warned_of(database):
    database.insert(1, 1)

    for verb, *given in [
        ("insert_many", [2, 3], [2, 3]), ("delete", 1), ("update_metadata", 1, {"a": 1}),
        ("set_note", "name", 1), ("add_if_new", 9, "a text"),
    ]:  # fmt: skip
        with pytest.warns(ResourceWarning, match="nothing of them is stored"):
            getattr(database.write(), verb)(*given)

    assert list(database) == [1]
    assert database.get(1).metadata is None


def test_a_transaction_without_changes_or_with_an_end_is_dropped_without_a_warning(database):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(database.write()) == 0
        for end in ("commit", "abort"):
            transaction = database.write()
            transaction.insert(end, 1)
            getattr(transaction, end)()
            del transaction
        with database.write() as transaction:
            transaction.insert("with", 2)
        del transaction

    assert list(database) == ["commit", "with"]


def test_dropped_changes_are_shown_by_python_as_it_is(tmp_path):
    script = (
        f"import simdb\ndb = simdb.open({str(tmp_path / 'db')!r})\ndb.write().insert(1, 'a text')\n"
    )

    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert "LostChangesWarning: a write transaction on" in ran.stderr


def test_a_second_transaction_of_the_same_thread_is_refused_at_once(database):
    with database.write() as transaction:
        transaction.insert(1, 1)
        with pytest.raises(simdb.BusyError, match="this thread already has a write transaction"):
            database.write()
        with pytest.raises(simdb.BusyError):
            database.insert(2, 2)
        with pytest.raises(simdb.BusyError):
            database.compact()

    assert list(database) == [1]


def test_a_thread_that_waits_long_for_another_thread_says_so(database, monkeypatch):
    said = threading.Event()
    noting = SimpleNamespace(warn=lambda message, *_, **__: said.set() if "waits" in message else 0)
    monkeypatch.setattr(gate, "SILENT_SECONDS", 0.01)
    monkeypatch.setattr(gate, "warnings", noting)
    waiting = threading.Thread(target=database.insert, args=(2, 2))

    with database.write() as transaction:
        transaction.insert(1, 1)
        waiting.start()
        assert said.wait(10)
    waiting.join()

    assert list(database) == [1, 2]


def test_another_thread_gives_up_after_the_timeout(open_database):
    database = open_database(options=TINY, timeout=0.02)
    errors = []

    def insert():
        try:
            database.insert(2, 2)
        except simdb.BusyError as error:
            errors.append(error)

    with database.write():
        other = threading.Thread(target=insert)
        other.start()
        other.join()

    assert "0.02 seconds" in str(errors[0])
    assert len(database) == 0


@pytest.mark.parametrize("timeout", [float("inf"), 1e15, 0, None])
def test_a_free_database_is_written_whatever_the_timeout(open_database, timeout):
    database = open_database(timeout=timeout)

    database.insert(1, 1)

    assert list(database) == [1]


def test_ids_come_with_documents_in_a_mapping_or_two_columns(database):
    for ids in (["a", "b"], [("a", 1)]):
        with pytest.raises(simdb.InputError, match="documents are missing"):
            database.insert_many(ids)
    assert len(database) == 0
    bits = np.array([1, 2**40], np.uint64)
    with database.write() as transaction:
        assert transaction.insert_many(dict(zip("ab", bits.tolist(), strict=True))) == 2
        transaction.insert_many(["c", "d"], bits)
        bits[:] = 0  # an array may be changed once it was inserted
    assert [database[id].fingerprint.bits for id in "abcd"] == [1, 2**40] * 2
