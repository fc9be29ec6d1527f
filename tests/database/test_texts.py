"""Options.texts: every text comes back as it was given, read only when it is asked for."""

import copy
import pickle
import random

import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings, strategies as st
from over import over

import simdb
from simdb.storage import by_ordinal, layout

OPTIONS = simdb.Options(texts=True, delta_documents=4, growth=2)
FOX = "the quick brown fox jumps over the lazy dog near the river bank"
WORDS = ["fox", "\u00e9t\u00e9", "\u5e8a\u524d", "\U0001f600", "a\0b", "s", "", "\n", "x" * 90]
TEXT = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
DOCUMENT = TEXT | TEXT.map(str.encode) | st.lists(st.sampled_from(WORDS[:3]), max_size=3)
IDS = st.integers(0, 7)
STEPS = st.lists(
    st.tuples(st.just("insert"), IDS, DOCUMENT)
    | st.tuples(st.just("many"), st.dictionaries(IDS, DOCUMENT, max_size=7))
    | st.tuples(st.just("delete"), IDS)
    | st.tuples(st.sampled_from(["compact", "rebuild", "abort", "together", "dump", "merge"])),
    max_size=9,
)


def text_of(document):
    return document.decode() if isinstance(document, bytes) else (
        document if isinstance(document, str) else None
    )  # fmt: skip


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    for name, size in [("TEXT_DOCUMENTS", 3), ("TEXT_BYTES", 99), ("RENUMBERED_BYTES", 150)]:
        monkeypatch.setattr(by_ordinal, name, size)


def change(target, held, name, given):
    if name == "insert":
        target.insert(*given, on_conflict="replace")
        held.pop(given[0], None)
        held[given[0]] = text_of(given[1])
    elif name == "many":
        target.insert_many(given[0], on_conflict="replace")
        for id, document in given[0].items():
            held.pop(id, None)
            held[id] = text_of(document)
    elif name == "delete":
        target.delete_many(given)
        held.pop(given[0], None)


def assert_texts(reading, held):
    assert reading.texts_many(list(held)[::-1]) == list(held.values())[::-1]
    assert {id: document.text for id, document in reading.items()} == held
    assert [reading.get(id).text for id in held] == list(held.values())


@settings(deadline=None)
@given(STEPS)
def test_texts_are_those_of_a_dict_whatever_is_done(tmp_path_factory, steps):
    path = tmp_path_factory.mktemp("texts")
    held, database = {}, simdb.open(path / "0", options=OPTIONS, durability="none")
    for number, (name, *rest) in enumerate(steps, 1):
        if name in ("compact", "rebuild"):
            getattr(database, name)()
        elif name in ("abort", "together"):
            with database.write() as transaction:
                own = dict(held)
                for each in steps[:number]:
                    change(transaction, own, each[0], each[1:])
                    assert_texts(transaction, own)
                if name == "abort":
                    transaction.abort()
                else:
                    held = own
        elif name == "dump":
            database.dump(path / "dump")
            database.close()
            simdb.load(path / "dump", path / str(number))
            (path / "dump").unlink()
            database = simdb.open(path / str(number), durability="none")
        elif name == "merge":
            other = simdb.open(path / str(number), options=OPTIONS, durability="none")
            assert other.merge(database) == len(held)
            database.close()
            database = other
        else:
            change(database, held, name, rest)
        assert_texts(database, held)
    assert list(database.check(deep=True)) == []
    database.close()


def test_a_document_that_is_no_text_has_none():
    with simdb.open(None, options=OPTIONS) as database:
        database.insert_many({"tokens": ["a", "b"], "text": "a b", "empty": ""})
        database.insert_many(["array", "null"], np.array(["one text", "two texts"]), [1, 2])
        database.insert_many(["arrow"], pyarrow.array(["three texts"]))
        database.insert_many(["ready"], simdb.fingerprints(["a ready text"]))
        database.insert("tokens of it", b"four \xff texts", errors="replace")

        assert {id: document.text for id, document in database.items()} == {
            "tokens": None, "text": "a b", "empty": "", "array": "one text", "null": "two texts",
            "arrow": "three texts", "ready": None, "tokens of it": "four \ufffd texts",
        }  # fmt: skip


def test_bytes_are_stored_as_they_are_read():
    with simdb.open(None, options=OPTIONS) as database:
        database.insert("a", "caf\u00e9".encode("latin-1"), encoding="latin-1")
        database.add_if_new("b", "na\u00efve words".encode("utf-16"), encoding="utf-16")
        database.insert("c", "lone \ud800 surrogate", errors="replace")

        texts = database.texts_many(["a", "b", "c"])
        assert texts == ["caf\u00e9", "na\u00efve words", "lone ? surrogate"]


def test_matches_read_their_texts_when_they_are_asked(tmp_path):
    with simdb.open(tmp_path / "db", options=OPTIONS) as database:
        database.insert_many({"a": FOX, "b": FOX + " now", "c": "entirely other words of a text"})
        near = {"similarity": 0.5, "recall": 1.0}
        found = [
            *database.query(FOX, **near), database.first(FOX, **near),
            *database.query(id="a", **near), *database.query_many([FOX], **near)[0],
            *database.nearest(FOX, 2), *database.nearest_many([FOX], 2)[0],
            database.add_if_new("d", FOX, similarity=0.9),
            *database.add_many_if_new(["e"], [FOX + " now"], similarity=0.9)[0],
            *database.insert_batch(["f"], [FOX], **near)[0],
            *database.query(FOX, **near, where=lambda metadata: True),
        ]  # fmt: skip
        texts = {"a": FOX, "b": FOX + " now", "f": FOX}

        assert [match.text for match in found] == [texts[match.id] for match in found]
        kept = database.query(FOX, **near)[0]
        same = pickle.loads(pickle.dumps(kept))
        assert (same, "text" in kept._asdict()) == (kept, False)
        database.insert("a", "another text", on_conflict="replace")
        assert kept.text == "another text"
        database.delete("a")
        with pytest.raises(simdb.NotFoundError):
            _ = kept.text
        for copied in (same, copy.copy(kept), pickle.loads(pickle.dumps(database["b"]))):
            with pytest.raises(simdb.OptionError, match=r"pickled .* db\.get\(id\)\.text"):
                _ = copied.text


def test_a_snapshot_reads_the_texts_of_its_time(tmp_path):
    with simdb.open(tmp_path / "db", options=OPTIONS) as database:
        database.insert("a", FOX)
        with database.read() as snapshot:
            match, document = snapshot.query(FOX)[0], snapshot["a"]
            database.insert("a", "another text", on_conflict="replace")
            database.compact()

            assert (match.text, document.text) == (FOX, FOX)
        with pytest.raises(simdb.ClosedError):
            _ = match.text


def test_stored_texts_decide_pairs_and_claims_and_queries_estimate():
    words = [f"w{at}" for at in range(120)]
    left, right = " ".join(words), " ".join([*words[:60], "other", *words[61:]])
    exact = simdb.similarity(left, right)
    with simdb.open(None, options=OPTIONS) as database, simdb.open(None) as plain:
        for each in (database, plain):
            each.insert_many(["a", "b"], [left, right])
        estimate = plain.query(left, similarity=0.5)[1].similarity
        assert estimate != pytest.approx(exact, abs=1e-6)

        assert database.query(left, similarity=0.5)[1].similarity == estimate
        assert database.first(left, similarity=0.5, accept="b".__eq__).similarity == estimate
        assert database.nearest(left, 2)[1].similarity == estimate
        found = database.nearest(left, 2, texts=database.texts_many)
        assert found[1].similarity == pytest.approx(exact, abs=1e-6)
        (pair,) = database.find_all(similarity=0.5)
        assert pair.similarity == pytest.approx(exact, abs=1e-6)
        claim = database.add_if_new("c", right, similarity=0.5)
        assert (claim.id, claim.similarity) == ("b", 1.0)


def test_a_database_without_texts_says_how_to_have_them(tmp_path):
    with simdb.open(tmp_path / "db") as database:
        database.insert("a", FOX)

        for found in (database["a"], database.query(FOX)[0]):
            with pytest.raises(simdb.OptionError, match=r"no texts are stored; .*\(texts=True"):
                _ = found.text
        with pytest.raises(simdb.OptionError, match=r"no texts are stored; create .*\(texts=True"):
            database.texts_many(["a"])
        assert layout.TEXTS not in database._store.environment.handles
        assert "texts" not in database.stats().options
    with pytest.raises(simdb.OptionError, match="texts=True needs texts, and hashes have none"):
        simdb.Options(sketch=simdb.Bits(64), texts=True)


def test_small_commits_are_packed_together_by_compact(tmp_path, monkeypatch):
    monkeypatch.undo()
    chance = random.Random(5)
    texts = {
        number: " ".join(f"w{chance.randrange(300)}" for _ in range(150)) for number in range(90)
    }
    with simdb.open(tmp_path / "db", options=OPTIONS, durability="none") as database:
        for id, text in texts.items():
            database.insert(id, text)
        assert blocks_of(database) == 90

        database.compact()

        assert blocks_of(database) == 1
        assert_texts(database, texts)


def blocks_of(database):
    with database._store.source() as source:
        return len(list(source.every(layout.TEXTS)))


def test_texts_come_along_where_both_databases_have_them(tmp_path):
    with (
        simdb.open(tmp_path / "into", options=OPTIONS) as into,
        simdb.open(tmp_path / "plain") as plain,
        simdb.open(tmp_path / "other", options=OPTIONS) as other,
    ):
        other.insert("a", FOX)
        plain.insert("b", FOX)

        assert into.merge([other, plain]) == 2
        assert plain.merge(other) == 1
        assert into.texts_many(["a", "b"]) == [FOX, None]


@over(
    "sketch, ready",
    [
        (simdb.Simhash(), lambda sketcher, text: sketcher.fingerprints([text])),
        (simdb.Simhash(), lambda sketcher, text: [sketcher.fingerprints([text])[0]]),
        (simdb.Minhash(), lambda sketcher, text: sketcher.signatures([text])),
    ],
)
def test_a_claim_of_a_ready_sketch_is_decided_by_the_estimate(sketch, ready):
    text = "one two three four five six"
    with simdb.open(None, options=simdb.Options(sketch=sketch, texts=True)) as database:
        database.insert("a", text)
        documents = ready(database.sketcher, text)

        (row,) = database.add_many_if_new(["b"], documents)
        assert [match.id for match in row] == ["a"]
        found = database.add_if_new("c", documents[0])
        assert found.id == "a"


def test_features_of_ready_sketches_are_refused_by_name():
    with simdb.open(None, options=simdb.Options(features=True)) as database:
        for documents in (simdb.fingerprints(["a b c"]), [simdb.fingerprint("a b c")]):
            with pytest.raises(simdb.InputError, match="document 0 is Fingerprint"):
                database.add_many_if_new(["n"], documents)
