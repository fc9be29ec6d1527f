"""A batch is matched with the documents stored before it, in any memory limit, and then stored."""

from dataclasses import replace

import numpy as np
import pytest
from oracle import Oracle, Stored
from soundness import TINY

import simdb
from simdb.database.write import commit
from simdb.storage import layout

pytestmark = pytest.mark.usefixtures("any_limit")

WORDS = [f"word{number}" for number in range(30)]
# Slices of one query and chunks of one header; small slices and chunks; slices and whole runs;
# everything at once.
LIMITS = [1, 1500, 20_000, 10**9, None]


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


@pytest.mark.few(1)
@pytest.mark.parametrize("limit", LIMITS)
def test_the_first_match_is_one_of_all_and_everyone_who_has_any_gets_it(open_database, limit):
    database = open_database(options=TINY)
    oracle = filled(database, near_each_other(1, 150))
    alone = np.random.default_rng(3).integers(0, 2**64, 6, np.uint64)
    batch = np.concatenate([near_each_other(2, 54), alone])
    every = [oracle.query(each, 3) for each in batch.tolist()]

    found = database.insert_batch(
        range(1000, 1060), batch, match="first", distance=3, search=simdb.Search(memory_limit=limit)
    )

    assert [len(row) for row in found] == [min(len(row), 1) for row in every]
    assert all(set(row) <= set(whole) for row, whole in zip(rows_of(found), every, strict=True))
    assert every[-6:] == [[]] * 6


@pytest.fixture
def small_segments(monkeypatch):
    """Make segments of runs so small that a run of a hundred documents has several."""
    monkeypatch.setattr(layout, "SEGMENT_ORDINALS", 16)


@pytest.mark.few(1)
@pytest.mark.usefixtures("small_segments")
@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize(
    ("method", "recall", "first"),
    [
        ("exhaustive", 1.0, False),
        ("exhaustive", 0.9, True),
        ("psm", 0.9, False),
        ("multiprobe", 0.9, False),
        ("bphs", 0.9, False),
        ("multiprobe", 0.9, True),
    ],
)
def test_similar_texts_are_those_that_a_query_finds(open_database, limit, method, recall, first):
    single_words = simdb.Simhash(shingle=1)
    database = open_database(options=replace(TINY, sketch=single_words))
    stored, batch = texts(1, 90), texts(2, 40)
    for start in range(0, 90, 18):
        database.insert_many(range(start, start + 18), stored[start : start + 18])
    database.delete_many(range(0, 90, 5))
    asked = {"similarity": 0.8, "recall": recall}
    every = database.query_many(batch, search=method, **asked)

    found = database.insert_batch(
        range(100, 140),
        batch,
        match="first" if first else "all",
        search=simdb.Search(method=method, memory_limit=limit),
        **asked,
    )

    assert len(every.ordinals) > 40
    if first:
        assert [len(row) for row in found] == [min(len(row), 1) for row in every]
        assert all(row == [] or row[0] in all for row, all in zip(found, every, strict=True))
    else:
        assert list(found) == list(every)


@pytest.mark.few(1)
@pytest.mark.parametrize("limit", [1, 1500, None])
@pytest.mark.parametrize("store_volatility", [True, False])
@pytest.mark.parametrize("left_out", ["vectors", "text iterator tokens"])
def test_documents_of_every_kind_are_stored_as_by_insert_many(
    open_database, tmp_path, limit, store_volatility, left_out
):
    generator = np.random.default_rng(4)
    weights = generator.normal(size=(9, 64)).astype(np.float32)
    bits = np.packbits(weights >= 0, axis=1, bitorder="little").view(np.uint64)[:, 0]
    kinds = {
        "text": [*texts(1, 8), ""],
        "iterator": iter([*texts(1, 8), ""]),
        "tokens": [["a", "b", str(n)] for n in range(9)],
        "features": [simdb.Features(np.arange(n + 1, dtype=np.uint64)) for n in range(9)],
        "vectors": generator.normal(size=(9, 40)),
        "fingerprints": simdb.Fingerprints(bits, weights),
        "bits": bits,
    }
    sketch = simdb.Simhash(store_volatility=store_volatility)
    options = simdb.Options(sketch=sketch, delta_documents=4, growth=2)
    plain = open_database(tmp_path / "plain", options=options)
    batched = open_database(tmp_path / "batched", options=options)
    for name, documents in kinds.items():
        if name in left_out.split():
            continue
        ids = [f"{name} {n}" for n in range(9)]
        documents = list(documents) if name == "iterator" else documents

        plain.insert_many(ids, documents)
        again = iter(documents) if name == "iterator" else documents
        batched.insert_batch(ids, again, distance=0, search=simdb.Search(memory_limit=limit))

    ids = list(plain)
    assert list(batched) == ids
    for left, right in zip(plain.get_many(ids), batched.get_many(ids), strict=True):
        assert left.fingerprint.bits == right.fingerprint.bits
        assert left.fingerprint.is_empty == right.fingerprint.is_empty
        assert np.array_equal(left.fingerprint.weights, right.fingerprint.weights)
    assert batched.stats().empty_count == plain.stats().empty_count


@pytest.mark.parametrize("limit", [1, None])
def test_documents_of_a_batch_and_those_without_features_match_nothing(open_database, limit):
    database = open_database(options=TINY)
    database.insert_many(["empty", "full"], ["", "some words"])

    found = database.insert_batch(
        list("abcd"),
        ["", "other things", "other things", "some words"],
        search=simdb.Search(memory_limit=limit),
    )

    assert [[match.id for match in row] for row in found] == [[], [], [], ["full"]]
    assert [match.id for match in database.query("other things")] == ["b", "c"]


@pytest.mark.parametrize("limit", [1, None])
def test_in_a_transaction_what_was_staged_is_seen_and_an_abort_forgets_it(open_database, limit):
    database = open_database(options=TINY)
    database.insert("old", 1)

    with database.write() as transaction:
        transaction.insert_many(range(9), np.zeros(9, np.uint64))
        first = transaction.insert_batch(["x"], [0], ["its metadata"], distance=1)
        found = transaction.insert_batch(
            ["y"], [0], distance=1, search=simdb.Search(memory_limit=limit)
        )
        assert transaction.get("x").metadata == "its metadata"
        transaction.abort()

    assert [match.id for match in first[0]] == [*range(9), "old"]
    assert [match.id for match in found[0]] == [*range(9), "x", "old"]
    assert list(database) == ["old"]


def test_an_empty_batch_is_nothing(open_database):
    database = open_database()

    assert len(database.insert_batch([], [])) == 0
    assert (
        len(database.insert_batch([], [], search=simdb.Search(memory_limit=100), match="first"))
        == 0
    )
    assert len(database.insert_batch([1], [5], search=simdb.Search(memory_limit=100))) == 1
    assert list(database) == [1]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("ids", "documents", "settings", "error"),
    [
        ([1, "taken"], [2, 3], {}, simdb.ExistsError),
        ([1, 1], [2, 3], {}, simdb.InputError),
        ([1, 2], [2], {}, simdb.InputError),
        ([1, 2], [2, 3, 4], {"search": simdb.Search(memory_limit=1)}, simdb.InputError),
        ([1, 2], [2, None], {"search": simdb.Search(memory_limit=1)}, simdb.InputError),
        ([1], [2], {"match": "best"}, simdb.OptionError),
        ([1], [2], {"match": None}, simdb.OptionError),
        ([1], [2], {"search": simdb.Search(memory_limit=0)}, simdb.OptionError),
        ([1], [2], {"search": simdb.Search(memory_limit="512M")}, simdb.OptionError),
        ([1], [2], {"search": simdb.Search(memory_limit=True)}, simdb.OptionError),
        ([1], [2], {"similarity": 0.9}, simdb.OptionError),
        ([1], [2], {"distance": 99}, simdb.OptionError),
        ([1], [2], {"metadata": ["a", "b"]}, simdb.InputError),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_stored(
    open_database, ids, documents, settings, error
):
    database = open_database(options=TINY)
    database.insert("taken", 0)

    with pytest.raises(error):
        database.insert_batch(ids, documents, **settings)

    assert list(database) == ["taken"]


@pytest.mark.parametrize("limit", [1, None])
def test_weighted_and_bare_documents_need_a_bound_whatever_the_slices(open_database, limit):
    database = open_database(options=TINY)
    mixed = ["", "some text", 17]

    with pytest.raises(simdb.InputError, match="give similarity= or distance="):
        database.insert_batch([1, 2, 3], mixed, search=simdb.Search(memory_limit=limit))

    assert len(database) == 0
    database.insert_batch([1, 2, 3], mixed, distance=3, search=simdb.Search(memory_limit=limit))
    assert len(database) == 3


@pytest.mark.few(1)
@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("match", ["first", "all"])
def test_progress_rises_to_the_number_of_documents(open_database, limit, match):
    database = open_database(options=TINY)
    filled(database, near_each_other(1, 100))
    reported = []

    database.insert_batch(
        range(1000, 1040), near_each_other(2, 40), match=match,
        search=simdb.Search(memory_limit=limit),
        progress=reported.append,
    )  # fmt: skip

    assert reported == sorted(reported)
    assert reported[-1] == 40


@pytest.mark.few(1)
@pytest.mark.parametrize("limit", [200_000, 10**8])
def test_pages_that_are_given_back_keep_what_they_hold(open_database, limit):
    bits = np.random.default_rng(6).integers(0, 2**64, 20_000, np.uint64)
    database = open_database()
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
            search=simdb.Search(memory_limit=limit),
        )
        # Staged changes are in no file, so only this process could bring them back.
        again = transaction.insert_batch(
            ["y"], bits[:1], distance=2, search=simdb.Search(memory_limit=limit)
        )

        assert all(np.array_equal(a, b.keys) for a, b in zip(kept, tables, strict=True))

    assert found.ids.tolist() == list(range(1000))
    assert [match.id for match in again[0]] == [0, 20_000]


@pytest.mark.parametrize("number", [1, 2, 9, 17])
def test_a_commit_that_fails_leaves_everything_as_it_was(open_database, monkeypatch, number):
    database = open_database(options=TINY)
    database.insert_many(range(20), near_each_other(1, 20))
    calls = iter(range(1, 1000))
    put = commit.Writer.put

    def put_or_fail(self, name, key, value):
        if next(calls) == number:
            raise OSError("the disk is gone")
        put(self, name, key, value)

    monkeypatch.setattr(commit.Writer, "put", put_or_fail)
    with pytest.raises(simdb.Error, match=r"db: the disk is gone"):
        database.insert_batch(
            range(20, 40), near_each_other(2, 20), search=simdb.Search(memory_limit=1500)
        )

    monkeypatch.undo()
    assert list(database) == list(range(20))
    assert database.insert_batch(range(20, 22), near_each_other(2, 2)).offsets[-1] > 0
