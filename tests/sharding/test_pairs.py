"""Pairs and clusters over all shards are those of one database with all documents.

`test_readings` asks by every verb; here are distances, threads, and what only shards have.
"""

import pytest
import sharded

import simdb
from simdb.database.sharding import sharded_database
from simdb.storage import files


@pytest.fixture(autouse=True)
def few_at_a_time(monkeypatch):
    """Copy few documents at a time."""
    monkeypatch.setattr(sharded_database, "COPIED_DOCUMENTS", 3)


def pairs_of(found):
    """Return pairs as a sorted list; an unknown similarity is None."""
    return sorted(
        ((pair.left, pair.right, pair.distance, pair.similarity) for pair in found), key=repr
    )


def is_short(metadata):
    return len(metadata["text"]) < 150


def test_pairs_are_found_by_the_method_asked_and_planned_as_in_one_database(both):
    kind, many, one, _ = both
    rotation = {"search": simdb.Search(method="rotation", rotations=20), "distance": 3}
    given = {"search": "banding"} if kind == "minhash" else rotation

    found, wanted = many.find_all(**given), one.find_all(**given)

    assert found.plan.method == wanted.plan.method
    assert pairs_of(found) == pairs_of(wanted)
    for n in (None, 1e12):
        assert many.plan(n, search="exhaustive").reason.startswith("in each of ")
        plans = [each.plan(n, search="exhaustive", pairs=True) for each in (many, one)]
        assert plans[0].method == plans[1].method


@pytest.mark.few(1)
def test_too_many_documents_for_one_database_are_refused(both, monkeypatch):
    _, many, one, _ = both
    monkeypatch.setattr(sharded_database, "ORDINALS_MAX", 20)

    with pytest.raises(simdb.FullError, match="at most 20 documents of all shards together"):
        many.find_all()
    assert pairs_of(many.find_all(where=is_short)) == pairs_of(one.find_all(where=is_short))


@pytest.mark.few(1)
def test_it_lies_in_memory_only_with_room_for_all_shards(both, monkeypatch, short_waits):
    _, many, _, _ = both
    asked = []
    monkeypatch.setattr(files, "_place", lambda room_bytes: asked.append(room_bytes))
    monkeypatch.setattr(files, "ROOM_BYTES", 1)

    many.find_all()

    (limit,) = asked
    assert limit >= 2 * many.stats().live_bytes


def test_a_shard_that_fails_while_it_is_copied_is_named_or_left_out(tmp_path, monkeypatch):
    ids, texts = sharded.corpus()
    simdb.write_sharded(
        tmp_path / "many", sharded.batches(ids, texts, 8), 3, options=sharded.SIMHASH
    )
    documents = sharded_database._documents

    def failing(state, ordinals, has_metadata):
        found = documents(state, ordinals, has_metadata)
        yield next(found)
        if "shard-00001" in state.store.environment.path:
            raise simdb.CorruptError("the second part is damaged")
        yield from found

    monkeypatch.setattr(sharded_database, "_documents", failing)
    with (
        simdb.open_sharded(tmp_path / "many") as strict,
        pytest.raises(simdb.CorruptError, match=r"shard-00001 of .* is damaged"),
    ):
        strict.find_all(distance=3)
    with simdb.open_sharded(tmp_path / "many", missing="skip") as many:
        with pytest.warns(RuntimeWarning, match="left out: shard-00001"):
            found = many.find_all(distance=3)
        rest = [id for id in ids if simdb.shard_of([id], 3)[0] != 1]

        assert {*found.left, *found.right} <= {*rest}
        assert list(many.skipped) == ["shard-00001"]
        assert pairs_of(found) == pairs_of(many.find_all(distance=3))
