"""The batch verbs give the same answers, in the same order, for any number of threads."""

import importlib
import threading

import numpy as np
import pytest
from copied_texts import copied_texts

import simdb
from simdb.core import kernel, threads
from simdb.core.errors import InputError
from simdb.storage.contents import all_names

COUNT = 240
SMALL_RUNS = {"delta_documents": 40, "polytopes": 2}
KINDS = {
    "fingerprints": simdb.Options(**SMALL_RUNS),
    "bits": simdb.Options(sketch=simdb.Simhash(store_volatility=False), delta_documents=40),
    "signatures": simdb.Options(sketch=simdb.Minhash(permutations=32), delta_documents=40),
}
QUESTIONS = {
    "fingerprints": [
        {}, {"similarity": 0.8, "search": "exhaustive"}, {"distance": 3, "recall": 1.0},
        {"similarity": 0.85, "search": "multiprobe"}, {"similarity": 0.8, "limit": 2},
    ],
    "bits": [{}, {"distance": 6}, {"distance": 3, "recall": 1.0, "limit": 1}],
    "signatures": [{}, {"similarity": 0.5}, {"similarity": 0.6, "search": "exhaustive"}],
}  # fmt: skip


@pytest.fixture(autouse=True)
def same_key(monkeypatch):
    """Databases hash ids with one key, so that they can be equal to the byte."""
    monkeypatch.setattr(kernel, "new_id_key", lambda: bytes(kernel.ID_KEY_BYTES))


@pytest.fixture(autouse=True)
def tiny_parts(monkeypatch):
    """Cut even a few documents into parts, so that every thread has some."""
    monkeypatch.setattr(threads, "LEAST", 3)
    monkeypatch.setattr(threads, "BEGUN", 1)


def near_texts(count=COUNT, seed=1):
    """Return texts of some words, many of them near copies of earlier ones; the first is empty."""
    return ["", *copied_texts(seed, count - 1, words=400, length=30, edits=2)]


def filled(open_database, tmp_path, kind, number):
    database = open_database(tmp_path / f"{kind}-{number}", options=KINDS[kind])
    texts = near_texts()
    for start in (0, 90, 180):
        chosen = slice(start, start + 90)
        database.insert_many(range(COUNT)[chosen], texts[chosen], threads=number)
    return database


def rows_of(matches):
    return [matches[at] for at in range(len(matches))]


def values_in(database):
    """Return every stored value of a database, by sub-database and key."""
    with database._store.state() as state:
        return {
            (name, bytes(key)): bytes(value)
            for name in all_names(database._store.options)
            for key, value in state.source.every(name)
        }


@pytest.mark.parametrize("most", [10, COUNT])
@pytest.mark.parametrize("kind", KINDS)
def test_all_is_stored_and_answered_the_same(open_database, tmp_path, kind, most, monkeypatch):
    monkeypatch.setattr("simdb.database.state.incoming.SKETCHED_DOCUMENTS", 20)
    monkeypatch.setattr("simdb.storage.rewriting.THREADED_MOST", most)
    monkeypatch.setattr("simdb.storage.merge.COPIED_BYTES", 300)
    monkeypatch.setattr("simdb.storage.rewriting.HASHED_DOCUMENTS", 50)
    monkeypatch.setattr("simdb.storage.table.BINNED_ENTRIES", 20)
    monkeypatch.setattr("simdb.storage.table.BIN_ENTRIES", 10)
    asked = near_texts(100, seed=2) + near_texts()[:60]
    new, ids = near_texts(150, seed=1)[60:] + near_texts(60, seed=3), range(COUNT, COUNT + 150)
    one = filled(open_database, tmp_path, kind, 1)

    for number in (2, 3):
        many = filled(open_database, tmp_path, kind, number)
        assert list(one) == list(many)
        assert values_in(one) == values_in(many)
    for question in QUESTIONS[kind]:
        wanted = rows_of(one.query_many(asked, threads=1, **question))
        assert rows_of(many.query_many(asked, threads=3, **question)) == wanted
        assert any(wanted)
    wanted = rows_of(one.add_many_if_new(ids, new, threads=1))
    assert rows_of(many.add_many_if_new(ids, new, threads=3)) == wanted
    for database, number in ((one, 1), (many, 3)):
        database.delete_many(range(5, COUNT, 7))
        database.rebuild(threads=number)
    assert values_in(one) == values_in(many)
    for database, number in ((one, 1), (many, 3)):
        database.delete_many(range(4, COUNT, 7))
        database.compact(threads=number)
    assert values_in(one) == values_in(many)
    assert list(many.find_all(threads=3)) == list(one.find_all(threads=1))


@pytest.mark.parametrize(("number", "copies"), [(2, 3), (3, 1)])
def test_pairs_and_clusters_of_an_array_are_the_same(number, copies, monkeypatch):
    monkeypatch.setattr("simdb.database.clusters.arrays.MOVED_AT_ONCE", 7)
    monkeypatch.setattr("simdb.database.search.buckets.LABELLED_AT_ONCE", 9)
    monkeypatch.setattr("simdb.storage.table.BINNED_ENTRIES", 20)
    monkeypatch.setattr("simdb.storage.table.BIN_ENTRIES", 10)
    bits = np.tile(simdb.fingerprints(near_texts(), threads=1).bits, copies)

    one, many = (simdb.find_all(bits, 6, 5, threads=each) for each in (1, number))
    clusters = [simdb.find_clusters(bits, 6, 5, threads=each) for each in (1, number)]

    assert (one.left == many.left).all()
    assert (one.right == many.right).all()
    assert len(one.left)
    assert [each.tolist() for each in clusters[0]] == [each.tolist() for each in clusters[1]]


@pytest.mark.parametrize(("number", "wrong"), [(2, 0), (3, 17), (8, 199)])
def test_an_error_names_the_same_document(open_database, number, wrong):
    texts: list[object] = [*near_texts(200)]
    texts[wrong] = "lone \ud800"

    with pytest.raises(InputError, match=f"document {wrong} "):
        simdb.fingerprints(texts, threads=number)
    with pytest.raises(InputError, match=f"document {wrong} "):
        open_database(options=KINDS["fingerprints"]).insert_many(range(200), texts, threads=number)


def test_a_tokeniser_is_called_in_the_thread_of_the_caller(tmp_path, monkeypatch):
    (tmp_path / "noting.py").write_text(
        "import threading\n"
        "threads = set()\n"
        "def words(text):\n"
        "    threads.add(threading.get_ident())\n"
        "    return text.split()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    simdb.fingerprints(near_texts(), simdb.Simhash(tokeniser="noting:words"), threads=4)

    assert importlib.import_module("noting").threads == {threading.get_ident()}
