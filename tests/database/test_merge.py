"""A database takes the documents of another one as if they were inserted, without their texts."""

from datetime import datetime, timezone

import numpy as np
import pytest
from copied_texts import copied_texts
from soundness import TINY

import simdb
from simdb.database.maintenance import dump
from simdb.database.maintenance.compaction import put_times
from simdb.database.write.commit import commit

WORDS = [f"w{number}" for number in range(300)]


def texts(count, seed):
    return copied_texts(seed, count, length=30)


def contents(database):
    """Return all that a database tells of its documents, by id."""
    found = {}
    for id in database:
        each = database.get(id)
        weights = each.fingerprint.weights
        found[id] = (
            each.fingerprint.bits, None if weights is None else weights.tolist(), each.metadata
        )  # fmt: skip
    return found


def filled(database, ids, seed):
    """Insert some documents with metadata for every second, in two commits, and delete one."""
    given = texts(len(ids), seed)
    metadata = [{"at": at} if at % 2 else None for at in range(len(ids))]
    half = len(ids) // 2
    database.insert_many([*ids[:half], "gone"], [*given[:half], "a text"], [*metadata[:half], 7])
    database.insert_many(ids[half:], given[half:], metadata[half:])
    database.delete("gone")
    return dict(zip(ids, given, strict=True))


SKETCHES = {
    "fingerprints": simdb.Simhash(),
    "without weights": simdb.Simhash(store_volatility=False),
    "signatures": simdb.Minhash(permutations=32),
}


@pytest.mark.parametrize("group", [3, 8192])
@pytest.mark.parametrize("sketch", list(SKETCHES))
def test_merged_documents_are_what_inserting_them_would_have_stored(
    open_database, tmp_path, monkeypatch, sketch, group
):
    monkeypatch.setattr(dump, "GROUP_DOCUMENTS", group)
    options = simdb.Options(sketch=SKETCHES[sketch], delta_documents=8, growth=2)
    into, other, whole = (
        open_database(tmp_path / name, options=options) for name in ("into", "other", "whole")
    )
    own = filled(into, [f"a{at}" for at in range(25)], 1)
    added = filled(other, [*range(20), b"bytes", "text"], 2)
    filled(whole, list(own), 1)
    filled(whole, list(added), 2)
    seen = []

    merged = into.merge(other, progress=seen.append)

    assert merged == len(added) == len(other) == seen[-1]
    assert contents(into) == contents(whole)
    assert list(into) == [*own, *added]
    for text in added.values():
        found, expected = (
            {(match.id, match.distance) for match in each.query(text, recall=1.0)}
            for each in (into, whole)
        )
        assert found == expected
    assert contents(into) == {**contents(into), **contents(other)}


def test_each_rule_for_conflicts_does_what_inserting_the_texts_by_it_does(open_database, tmp_path):
    given, later = texts(12, 5), texts(12, 6)
    same = {at: given[at] for at in range(4)}
    others = {at: later[at] for at in range(4, 8)}
    fresh = {at: later[at] for at in range(8, 12)}
    for rule, extra in [("skip", others), ("replace", others), ("same", {}), ("error", {})]:
        into, plain, other = (
            open_database(tmp_path / f"{rule} {name}", options=TINY)
            for name in ("into", "plain", "other")
        )
        stored = dict(enumerate(given[:8])) if rule != "error" else {"x": given[0]}
        for each in (into, plain):
            each.insert_many(stored)
        other.insert_many({**same, **extra, **fresh})

        merged = into.merge(other, on_conflict=rule)

        assert merged == plain.insert_many({**same, **extra, **fresh}, on_conflict=rule)
        assert contents(into) == contents(plain)


@pytest.mark.parametrize("rule", ["error", "same"])
def test_a_conflict_that_is_refused_names_the_id_and_changes_nothing(
    open_database, tmp_path, monkeypatch, rule
):
    monkeypatch.setattr(dump, "GROUP_DOCUMENTS", 3)
    into, other = open_database(options=TINY), open_database(tmp_path / "other")
    into.insert_many({"a": "one text", "z": "the stored text"})
    other.insert_many({at: f"text {at}" for at in range(20)})
    other.insert("z", "quite another text")
    before = contents(into)

    with pytest.raises(simdb.ExistsError, match="document with the id 'z' is stored already"):
        into.merge(other, on_conflict=rule)

    assert contents(into) == before
    assert list(into.check(deep=True)) == []


def test_kept_clusters_and_times_come_along(open_database, tmp_path):
    options = simdb.Options(keep_clusters="similarity", keep_times="inserted", similarity=0.7)
    into, other = open_database(options=options), open_database(tmp_path / "o", options=options)
    family = " ".join(WORDS[:40])
    other.insert_many({"b": family + " b", "c": "an unlike text of some other words"})
    other.insert("d", family + " d")
    early = datetime(2001, 1, 1, tzinfo=timezone.utc).timestamp()
    commit(other._store, lambda writer: put_times(writer, np.full(3, int(early), np.uint32)))
    into.insert("a", family)

    into.merge(other)

    assert sorted(into.cluster("a")) == ["a", "b", "d"]
    assert into.cluster("c") == ["c"]
    assert into.times_many(["b", "c"]).tolist() == other.times_many(["b", "c"]).tolist()
    assert into.expire(datetime(2010, 1, 1, tzinfo=timezone.utc)) == 3
    assert list(into) == ["a"]


def test_passages_and_features_come_along_and_are_asked_for_where_they_lack(
    open_database, tmp_path
):
    options = simdb.Options(passages=True, features=True)
    plain = open_database(tmp_path / "plain")
    into, other = (open_database(tmp_path / each, options=options) for each in ("into", "other"))
    long = " ".join(WORDS[:60])
    other.insert_many({"a": long, "b": " ".join(WORDS[200:260])})
    plain.insert("c", long)
    near = long + " and more"

    into.merge(other)
    with pytest.raises(simdb.OptionError, match="passages is True, not False"):
        into.merge(plain)
    plain.merge(other)

    assert [match.id for match in into.query(" ".join(WORDS[10:40]), contained=0.8)] == ["a"]
    exact = [each.find_all(similarity=0.9) for each in (into, other)]
    assert [list(pairs) for pairs in exact] == [[], []]
    into.insert("near", near)
    (pair,) = into.find_all(verify="exact", similarity=0.8)
    assert {pair.left, pair.right} == {"a", "near"}
    assert sorted(plain) == ["a", "b", "c"]


def test_another_sketch_is_refused_with_what_differs(open_database, tmp_path):
    into = open_database()
    for name, sketch, message in [
        ("shingle", simdb.Simhash(shingle=2), "sketch.shingle is 3, not 2"),
        ("minhash", simdb.Minhash(), r"sketch is Simhash\(\), not Minhash\(\)"),
        ("words", simdb.Simhash(stop_words=("the",)), "sketch.stop_words"),
    ]:
        other = open_database(tmp_path / name, options=simdb.Options(sketch=sketch))
        with pytest.raises(simdb.OptionError, match=message):
            into.merge(other)
    with pytest.raises(simdb.OptionError, match="cannot be merged into itself"):
        into.merge(into.path)
    with pytest.raises(simdb.OptionError, match=r"other must be a Database, .*got 3"):
        into.merge([3])
    with pytest.raises(simdb.NotFoundError, match="no database"):
        into.merge(tmp_path / "none")
    with pytest.raises(simdb.OptionError, match="on_conflict must be"):
        into.merge(other, on_conflict="merge")
    blocks = simdb.Options(blocks=5, leading=2, similarity=0.5)
    assert into.merge(open_database(tmp_path / "blocks", options=blocks)) == 0
    into.insert("a", "a text")
    vectors = open_database(tmp_path / "vectors")
    vectors.insert("v", np.ones(8))
    with pytest.raises(simdb.InputError, match="was a text, and this is a vector"):
        into.merge(vectors)


def test_shards_and_paths_are_merged_like_databases(open_database, tmp_path):
    given = dict(enumerate(texts(60, 9)))
    simdb.write_sharded(tmp_path / "shards", [(list(given), list(given.values()))], 3)
    one = open_database(tmp_path / "one")
    one.insert("one", "a text of its own")
    into, whole = open_database(), open_database(tmp_path / "whole")
    whole.insert_many(given)

    with simdb.open_sharded(tmp_path / "shards") as shards:
        merged = into.merge([shards, tmp_path / "one"])

    assert merged == 61
    del (found := contents(into))["one"]
    assert found == contents(whole)


def test_the_ids_of_a_list_of_databases_meet_each_other(open_database, tmp_path):
    into = open_database()
    first, second = (open_database(tmp_path / each) for each in "ab")
    first.insert("x", "the first text")
    second.insert("x", "the second text")

    with pytest.raises(simdb.ExistsError, match="'x'"):
        into.merge([first, second])
    assert len(into) == 0
    assert into.merge([first, second], on_conflict="skip") == 1
    assert into.get("x").fingerprint.bits == first.get("x").fingerprint.bits
