"""A single query finds the matches that a batch finds, though it is searched differently."""

import sys
from functools import partial

import numpy as np
import pytest
from over import over
from weighted import fingerprints

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
    {"similarity": 0.9, "search": "polytope"},
    {"similarity": 0.9, "distance": 4, "search": "exhaustive"},
)


@pytest.fixture(scope="module", params=[40, 1000], ids=["runs", "no runs"])
def database(request, tmp_path_factory):
    generator = np.random.default_rng(8)
    weights = np.repeat(generator.laplace(size=(100, 128)), 3, axis=0)
    weights += 0.15 * generator.laplace(size=weights.shape)
    options = simdb.Options(delta_documents=request.param, growth=2)
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


TEXT = "red green blue grey pink black white"


@pytest.mark.parametrize(
    ("sketch", "document"),
    [(simdb.Simhash(), TEXT), (simdb.Minhash(), TEXT), (simdb.Simhash(), 77)],
    ids=str,
)
@pytest.mark.parametrize("asked", [{}, {"search": "exhaustive"}], ids=str)
def test_a_limit_makes_no_more_matches_than_it_gives(
    open_database, monkeypatch, sketch, document, asked
):
    made = []
    database = open_database(options=simdb.Options(sketch=sketch, delta_documents=100))
    database.insert_many(range(1000), [document] * 1000)
    count_matches(monkeypatch, made)

    limited = database.query(document, limit=5, **asked)
    stored = database.query(id=7, limit=5, **asked)
    first = database.first(id=7, **asked)

    assert [match.id for match in limited] == [0, 1, 2, 3, 4]
    assert [match.id for match in stored] == [0, 1, 2, 3, 4]
    assert first.id != 7
    assert len(made) <= 5 + 6 + 1  # the document itself is dropped


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_a_single_query_finds_what_a_batch_finds(database, monkeypatch, asked):
    many = queries(database)
    ids = [id for id in list(database)[::3] if database.get(id).fingerprint.weights is not None]

    every = list(database.query_many(many, **asked))
    stored = list(database.query_many(ids=ids, **asked))
    bare = list(database.query_many(many.bits, distance=9))

    assert sum(map(len, every)) > 10
    for _ in range(2):
        assert [database.query(each, **asked) for each in many] == every
        assert [database.query(each, limit=2, **asked) for each in many] == [
            row[:2] for row in every
        ]
        for each, row in zip(many, every, strict=True):
            assert database.first(each, **asked) in (row or [None])
        assert [database.query(id=id, **asked) for id in ids] == stored
        assert [database.query(id=id, limit=1, **asked) for id in ids] == [
            row[:1] for row in stored
        ]
        assert [database.query(int(each.bits), distance=9) for each in many] == bare
        # The second time, each document has many matches.
        for module in (bands, exhaustive, permuted, probing):
            monkeypatch.setattr(module, "MANY", 1)


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


@over(
    ("good", "wrong", "message"),
    [
        ({"distance": 1}, {"distance": True}, "distance must be"),
        ({"distance": 3}, {"distance": 3.0}, "distance must be"),
        ({"similarity": 1.0}, {"similarity": True}, "similarity must be"),
        ({"recall": 1.0, "distance": 3}, {"recall": True, "distance": 3}, "recall must be"),
        ({"distance": 3}, {"distance": 3, "search": ["bphs"]}, "search must be"),
        ({"distance": 3}, {"distance": [3]}, "distance must be"),
    ],
)
def test_a_remembered_question_lets_no_equal_but_wrong_one_pass(good, wrong, message):
    with simdb.open(None) as database:
        database.insert("a", "one two three")
        database.query("one two three", **good)

        for _ in range(2):
            with pytest.raises(simdb.OptionError, match=message):
                database.query("one two three", **wrong)
            with pytest.raises(simdb.OptionError, match=message):
                database.query(id="a", **wrong)


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
