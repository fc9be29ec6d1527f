"""A batch is matched with the documents stored before it, in any memory limit, and then stored."""

from dataclasses import replace

import numpy as np
import pytest
from oracle import Oracle, Stored
from over import over
from soundness import TINY
from weighted import bits_of, fingerprints

import simdb
from simdb.storage import layout

pytestmark = pytest.mark.usefixtures("any_limit")

LIMITED = simdb.Search(memory_limit=1)
WORDS = [f"word{number}" for number in range(30)]


def near_each_other(seed, count):
    """Make fingerprints a few bits from one of five centres."""
    generator = np.random.default_rng(seed)
    centres = np.random.default_rng(0).integers(0, 2**64, 5, np.uint64)
    bits = centres[generator.integers(0, 5, count)]
    for _ in range(2):
        bits = bits ^ (np.uint64(1) << generator.integers(0, 64, count, np.uint64))
    return bits


def texts(seed, count):
    """Make variations of four texts."""
    bases = np.random.default_rng(0).choice(WORDS, (4, 25))
    generator = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        words = bases[generator.integers(4)].copy()
        words[generator.integers(0, 25, 3)] = generator.choice(WORDS, 3)
        found.append(" ".join(words))
    return found


def rows_of(found):
    return [[(match.id, match.distance) for match in row] for row in found]


def filled(database, bits):
    """`bits` in several runs and the delta, some of them deleted, and the oracle of them."""
    oracle = Oracle()
    for start in range(0, len(bits), 33):
        ids = range(start, min(start + 33, len(bits)))
        database.insert_many(ids, bits[start : start + 33])
    for id, each in enumerate(bits.tolist()):
        oracle.insert(id, Stored(each))
    for id in range(0, len(bits), 7):
        database.delete(id)
        oracle.delete(id)
    database.insert("delta", int(bits[0]))
    oracle.insert("delta", Stored(int(bits[0])))
    return oracle


def test_the_first_match_is_one_of_all_and_everyone_who_has_any_gets_it(database):
    oracle = filled(database, near_each_other(1, 150))
    alone = np.random.default_rng(3).integers(0, 2**64, 6, np.uint64)
    batch = np.concatenate([near_each_other(2, 54), alone])
    every = [oracle.query(each, 3) for each in batch.tolist()]
    reported = []

    found = database.insert_batch(
        range(1000, 1060), batch, match="first", distance=3,
        search=simdb.Search(memory_limit=1500), progress=reported.append,
    )  # fmt: skip

    assert [len(row) for row in found] == [min(len(row), 1) for row in every]
    assert all(set(row) <= set(whole) for row, whole in zip(rows_of(found), every, strict=True))
    assert every[-6:] == [[]] * 6
    assert reported == sorted(reported)
    assert reported[-1] == 60


@over(
    ("limit", "method", "recall", "first"),
    [(None, "exhaustive", 0.9, True), (1500, "multiprobe", 0.9, False), (1, "bphs", 0.9, False)],
)
def test_similar_texts_are_those_that_a_query_finds(monkeypatch, limit, method, recall, first):
    monkeypatch.setattr(layout, "SEGMENT_ORDINALS", 16)  # so a run has several segments
    stored, batch = texts(1, 90), texts(2, 40)
    with simdb.open(None, options=replace(TINY, sketch=simdb.Simhash(shingle=1))) as database:
        for start in range(0, 90, 18):
            database.insert_many(range(start, start + 18), stored[start : start + 18])
        database.delete_many(range(0, 90, 5))
        asked = {"similarity": 2 / 3, "recall": recall}
        every = database.query_many(batch, search=method, **asked)

        found = database.insert_batch(
            range(100, 140), batch, match="first" if first else "all",
            search=simdb.Search(method=method, memory_limit=limit), **asked,
        )  # fmt: skip

    assert len(every.ordinals) > 40
    if first:
        assert [len(row) for row in found] == [min(len(row), 1) for row in every]
        assert all(row == [] or row[0] in all for row, all in zip(found, every, strict=True))
    else:
        assert list(found) == list(every)


def test_documents_of_every_kind_are_stored_as_by_insert_many(tmp_path, open_database):
    generator = np.random.default_rng(4)
    weights = generator.normal(size=(9, 64))
    kinds = {
        "features": [simdb.Features(np.arange(n + 1, dtype=np.uint64)) for n in range(9)],
        "vectors": generator.normal(size=(9, 40)),
        "fingerprints": fingerprints(weights),
        "bits": bits_of(weights),
    }
    options = simdb.Options(delta_documents=4, growth=2)
    plain = open_database(tmp_path / "plain", options=options)
    batched = open_database(tmp_path / "batched", options=options)
    for name, documents in kinds.items():
        ids = [f"{name} {n}" for n in range(9)]

        plain.insert_many(ids, documents)
        batched.insert_batch(ids, documents, distance=0)

    ids = list(plain)
    assert list(batched) == ids
    assert plain.get_many(ids) == batched.get_many(ids)
    assert batched.stats().empty_count == plain.stats().empty_count


def test_in_a_transaction_what_was_staged_is_seen_and_an_abort_forgets_it(database):
    database.insert("old", 1)

    with database.write() as transaction:
        transaction.insert_many(range(9), np.zeros(9, np.uint64))
        first = transaction.insert_batch(["x"], [0], ["its metadata"], distance=1)
        found = transaction.insert_batch(["y"], [0], distance=1, search=LIMITED)
        assert transaction.get("x").metadata == "its metadata"
        transaction.abort()

    assert [match.id for match in first[0]] == [*range(9), "old"]
    assert [match.id for match in found[0]] == [*range(9), "x", "old"]
    assert list(database) == ["old"]


@over(
    ("ids", "documents", "settings", "error"),
    [
        ([1, "taken"], [2, 3], {}, simdb.ExistsError),
        ([1, 1], [2, 3], {}, simdb.InputError),
        ([1, 2], [2], {}, simdb.InputError),
        ([1, 2], [2, 3, 4], {"search": LIMITED}, simdb.InputError),
        ([1, 2], [2, None], {"search": LIMITED}, simdb.InputError),
        ([1], [2], {"match": "best"}, simdb.OptionError),
        ([1], [2], {"match": None}, simdb.OptionError),
        ([1], [2], {"similarity": 0.9}, simdb.OptionError),
        ([1], [2], {"metadata": ["a", "b"]}, simdb.InputError),
        ([1, 2], ["text", 17], {"search": LIMITED}, simdb.InputError),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_stored(ids, documents, settings, error):
    with simdb.open(None) as database:
        database.insert("taken", 0)

        with pytest.raises(error):
            database.insert_batch(ids, documents, **settings)

        assert list(database) == ["taken"]


def test_pages_that_are_given_back_keep_what_they_hold(open_database):
    search = simdb.Search(memory_limit=200_000)
    bits = np.random.default_rng(6).integers(0, 2**64, 20_000, np.uint64)
    database = open_database(options=simdb.Options(blocks=4))
    database.insert_many(range(20_000), bits)
    with database.write() as transaction:
        with transaction._state() as state:
            tables = [state.runs[0].table(number, state.source) for number in range(4)]
            assert all(state.source.pages_of(table.keys) for table in tables)
        kept = [table.keys.copy() for table in tables]

        found = transaction.insert_batch(
            range(20_000, 21_000),
            bits[:1000] ^ np.uint64(6),
            distance=2,
            search=search,
        )
        # Staged changes are in no file, so only this process could bring them back.
        again = transaction.insert_batch(["y"], bits[:1], distance=2, search=search)

        assert all(np.array_equal(a, b.keys) for a, b in zip(kept, tables, strict=True))

    assert found.ids.tolist() == list(range(1000))
    assert [match.id for match in again[0]] == [0, 20_000]
