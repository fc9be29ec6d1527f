"""A single query finds the matches that a batch finds, though it is searched differently."""

import sys
from functools import partial

import numpy as np
import pytest

import simdb
from simdb.database.search import lookup, method, one
from simdb.database.search.methods import bands, exhaustive, permuted, probing
from simdb.database.state.store import Store
from simdb.storage import layout

ASKED = (
    {"distance": 5, "recall": 0.9},
    {"distance": 5, "recall": 0.9, "search": "psm"},
    {"distance": 3, "recall": 1.0},
    {"similarity": 0.9, "recall": 0.9, "search": "multiprobe"},
    {"similarity": 0.7, "distance": 20, "recall": 0.8, "search": "psm"},
    {"similarity": 0.9, "recall": 1.0},
)


def fingerprints(weights):
    packed = np.packbits(weights[:, :64] >= 0, axis=1, bitorder="little")
    return simdb.Fingerprints(packed.view("<u8")[:, 0].astype(np.uint64), weights)


@pytest.fixture(scope="module", params=[True, False], ids=["weights", "no weights"])
def database(request, tmp_path_factory):
    generator = np.random.default_rng(8)
    weights = np.repeat(generator.laplace(size=(100, 128)), 3, axis=0)
    weights += 0.15 * generator.laplace(size=weights.shape)
    options = simdb.Options(
        sketch=simdb.Simhash(store_volatility=request.param), delta_documents=40, growth=2
    )
    with simdb.open(tmp_path_factory.mktemp("single") / "db", options=options) as database:
        database.insert_many(range(250), fingerprints(weights[:250]))
        # Some documents have no weights, and some are in the delta or deleted.
        database.insert_many(range(250, 300), fingerprints(weights[250:]).bits)
        database.insert_many(range(300, 310), fingerprints(weights[:10]))
        database.delete_many(range(0, 30, 7))
        yield database


def queries(database):
    generator = np.random.default_rng(9)
    weights = np.random.default_rng(8).laplace(size=(100, 128))
    return fingerprints(weights + 0.15 * generator.laplace(size=weights.shape))


def count_matches(monkeypatch, made):
    """Append every match that is made from now on to `made`."""

    def counted(*values):
        made.append(simdb.Match(*values))
        return made[-1]

    for module in (one, lookup, method, bands):
        monkeypatch.setattr(module, "Match", counted)


@pytest.mark.few(1)
@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_a_document_with_weights(database, asked):
    if "similarity" in asked and not database.options.sketch.store_volatility:
        pytest.skip("nothing to measure by")
    many = queries(database)

    every = database.query_many(many, **asked)

    assert every.offsets[-1] > 10
    for at in range(len(many)):
        assert database.query(many[at], **asked) == every[at]
        assert database.query(many[at], limit=1, **asked) == every[at][:1]
        first = database.first(many[at], **asked)
        assert first in every[at] if every[at] else first is None


@pytest.mark.few(1)
@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_a_stored_document(database, asked):
    if not database.options.sketch.store_volatility:
        pytest.skip("nothing to ask with")
    ids = [id for id in database if database.get(id).fingerprint.weights is not None]

    every = database.query_many(ids=ids, **asked)

    assert every.offsets[-1] > 10
    for at, id in enumerate(ids):
        assert database.query(id=id, **asked) == every[at]
        assert database.query(id=id, limit=1, **asked) == every[at][:1]


@pytest.mark.few(1)
@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_a_document_with_many_matches_is_answered_alike(database, monkeypatch, asked):
    if "similarity" in asked and not database.options.sketch.store_volatility:
        pytest.skip("nothing to measure by")
    many = queries(database)
    usual = [database.query(each, **asked) for each in many]
    bare = [database.query(int(each.bits), distance=9) for each in many]

    for module in (bands, exhaustive, permuted, probing):
        monkeypatch.setattr(module, "MANY", 1)

    assert [database.query(each, **asked) for each in many] == usual
    assert [database.query(each, limit=2, **asked) for each in many] == [row[:2] for row in usual]
    assert [database.query(int(each.bits), distance=9) for each in many] == bare
    for each, row in zip(many, usual, strict=True):
        assert database.first(each, **asked) in (row or [None])


@pytest.mark.parametrize("sketch", [simdb.Simhash(), simdb.Minhash()], ids=["simhash", "minhash"])
@pytest.mark.parametrize("asked", [{}, {"search": "exhaustive"}], ids=str)
def test_a_limit_makes_no_more_matches_than_it_gives(open_database, monkeypatch, sketch, asked):
    made = []
    database = open_database(options=simdb.Options(sketch=sketch, delta_documents=100))
    text = "red green blue grey pink black white"
    database.insert_many(range(2000), [text] * 2000)
    count_matches(monkeypatch, made)

    limited = database.query(text, limit=5, **asked)
    stored = database.query(id=7, limit=5, **asked)

    assert [match.id for match in limited] == [0, 1, 2, 3, 4]
    assert [match.id for match in stored] == [0, 1, 2, 3, 4]
    assert len(made) <= 5 + 6  # the document itself is dropped


def test_a_limit_makes_no_more_matches_of_fingerprints_than_it_gives(open_database, monkeypatch):
    made = []
    database = open_database(options=simdb.Options(delta_documents=100))
    database.insert_many(range(2000), np.full(2000, 77, np.uint64))
    count_matches(monkeypatch, made)

    limited = database.query(77, limit=5)
    first = database.first(id=7)

    assert [match.id for match in limited] == [0, 1, 2, 3, 4]
    assert first.id != 7
    assert len(made) <= 6


def test_fingerprints_of_different_lengths_and_kinds_are_sketched_together(database):
    generator = np.random.default_rng(10)
    long, short = generator.laplace(size=128), generator.laplace(size=64)
    several = [
        fingerprints(long[None, :])[0],
        simdb.Fingerprint(7),
        fingerprints(short[None, :])[0],
        simdb.fingerprint(""),
    ]

    together = database.query_many(several, distance=64, recall=1.0)

    assert list(together) == [database.query(each, distance=64, recall=1.0) for each in several]
    wrong = simdb.Fingerprint(several[2].bits ^ 1, several[2].weights)
    with pytest.raises(simdb.InputError, match="fingerprint 3 has bits"):
        database.query_many([*several[:3], wrong], distance=3)


@pytest.mark.parametrize(
    ("good", "wrong", "message"),
    [
        ({"distance": 1}, {"distance": True}, "distance must be"),
        ({"distance": 3}, {"distance": 3.0}, "distance must be"),
        ({"similarity": 1.0}, {"similarity": True}, "similarity must be"),
        ({"recall": 1.0, "distance": 3}, {"recall": True, "distance": 3}, "recall must be"),
        ({"distance": 3}, {"distance": 3, "search": ["bphs"]}, "search must be"),
        ({"distance": 3}, {"distance": [3]}, "distance must be"),
    ],
    ids=str,
)
def test_a_remembered_question_lets_no_equal_but_wrong_one_pass(
    open_database, good, wrong, message
):
    database = open_database()
    database.insert("a", "one two three")
    database.query("one two three", **good)

    for _ in range(2):
        with pytest.raises(simdb.OptionError, match=message):
            database.query("one two three", **wrong)
        with pytest.raises(simdb.OptionError, match=message):
            database.query(id="a", **wrong)


def test_one_question_about_documents_of_all_kinds_in_turn(open_database):
    database = open_database()
    text = "one two three four"
    ready = simdb.fingerprint(text)
    database.insert_many(["text", "int", "empty"], [text, ready.bits, ""])

    for _ in range(2):
        found = [
            [match.id for match in database.query(document)]
            for document in (text, ready.bits, ready, "", text.encode(), text.split())
        ]
        with pytest.raises(simdb.OptionError, match="similarity= needs a query with weights"):
            database.query(ready.bits, similarity=0.9)
        assert found[:5] == [["text"], ["text", "int"], ["text"], [], ["text"]]
        assert [match.id for match in database.query(id="int")] == ["text"]
        assert database.query(id="text") == []
        assert database.query(id="empty") == []


def test_snapshots_and_transactions_answer_one_question_each_from_its_own_state(open_database):
    database = open_database()
    text = "one two three four"
    database.insert(1, text)

    with database.read() as snapshot, database.write() as transaction:
        transaction.insert(2, text)
        transaction.insert(3, text + " five")
        found = [
            [match.id for match in reader.query(text, similarity=0.99)]
            for reader in (database, snapshot, transaction)
        ]
        same = [
            [match.id for match in reader.query(id=1, similarity=0.99)]
            for reader in (database, snapshot, transaction)
        ]

    assert found == [[1], [1], [1, 2]]
    assert same == [[], [], [2]]
    assert database.first(text, similarity=0.99).id in (1, 2)


@pytest.mark.few(1)
@pytest.mark.parametrize("many", [1, 512])
@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_a_database_without_runs_is_searched_alike(open_database, monkeypatch, asked, many):
    database = open_database(options=simdb.Options(delta_documents=1000))
    stored = queries(database)
    database.insert_many(range(200), fingerprints(np.repeat(stored.weights, 2, axis=0)))
    database.insert_many(range(200, 210), stored.bits[:10])
    database.delete_many(range(0, 200, 7))
    asked = asked | {"search": "exhaustive"}
    expected = list(database.query_many(stored, **asked))
    bare = list(database.query_many(stored.bits, distance=2, search="exhaustive"))
    for module in (bands, exhaustive, permuted, probing):
        monkeypatch.setattr(module, "MANY", many)

    found = [database.query(each, **asked) for each in stored]
    itself = [database.query(id=at, **asked) for at in (1, 2)]

    assert found == expected
    assert [
        database.query(int(each), distance=2, search="exhaustive") for each in stored.bits
    ] == bare
    assert itself == list(database.query_many(ids=[1, 2], **asked))
    assert [database.query(each, limit=1, **asked) for each in stored] == [
        row[:1] for row in expected
    ]


def count_calls(ask):
    """Count the Python functions that a call enters."""
    entered = []

    def note(frame, event, _):
        if event == "call":
            entered.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        ask()
    finally:
        sys.setprofile(None)
    return len(entered)


def test_a_query_of_a_fingerprint_enters_few_functions(open_database):
    # The kernel takes a fraction of a microsecond, so each function entered around it is felt.
    database = open_database()
    database.insert_many(range(1000), np.arange(1000, dtype=np.uint64) << np.uint64(40))
    ask = partial(database.query, 7 << 40, distance=0)
    with database.read() as snapshot:
        ask_snapshot = partial(snapshot.query, 7 << 40, distance=0)

        warm = [ask(), ask_snapshot()]
        calls, snapshot_calls = count_calls(ask), count_calls(ask_snapshot)

    assert [[match.id for match in found] for found in warm] == [[7], [7]]
    assert calls <= 22
    assert snapshot_calls <= 17


def test_a_state_makes_one_source_and_no_living_one_after_its_end(open_database):
    database = open_database()
    with database._state() as used:
        sources = [used.source, used.source]
    with database._state() as unused:
        pass

    assert sources[0] is sources[1]
    assert used.source.transaction is None
    assert unused.source.transaction is None


def test_a_query_fetches_nothing_that_an_earlier_one_has_fetched(tmp_path, monkeypatch):
    weights = np.random.default_rng(4).normal(size=(60, 128)).astype(np.float32)
    documents = fingerprints(weights)
    made = []
    monkeypatch.setattr(layout, "SEGMENT_ORDINALS", 16)
    with simdb.open(tmp_path / "x", options=simdb.Options(delta_documents=4)) as database:
        database.insert_many(range(60), documents)
        source_of = Store.source_of
        monkeypatch.setattr(Store, "source_of", lambda *given: made.append(0) or source_of(*given))

        found = []
        for at in (3, 4, 3, 50, 51, 4):
            (match,) = database.query(documents[at], search="polytope")
            found.append((match.id, len(made)))

    assert found == [(3, 1), (4, 1), (3, 1), (50, 2), (51, 2), (4, 2)]
