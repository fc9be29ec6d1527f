"""Ids that anybody can make to have one unkeyed hash: told apart, and as cheap as others."""

import shutil
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from colliding_ids import colliding_ids
from soundness import assert_sound

import simdb
from simdb.core import kernel
from simdb.storage import contents

FAR = np.uint64(0x9E3779B97F4A7C15)  # its multiples are far from each other
STORED = Path(__file__).parent.parent / "format" / "v1" / "data.mdb"


@pytest.fixture
def without_key(monkeypatch):
    """New databases hash ids without a key, as older versions did."""
    encode = contents.encode_manifest
    unkeyed = lambda manifest: encode(replace(manifest, id_key=b""))  # noqa: E731
    monkeypatch.setattr(contents, "encode_manifest", unkeyed)


def key_of(database):
    with database._store.state() as state:
        return state.counts.id_key


def test_ids_of_one_hash_are_other_ids_in_every_verb(tmp_path, without_key):
    ids = [*colliding_ids(60), "plain", *(id.encode() for id in colliding_ids(5))]
    bits = np.arange(len(ids), dtype=np.uint64) * FAR
    expected = dict(zip(ids, bits.tolist(), strict=True))
    assert len(set(kernel.encode_ids(ids[:60])[2].tolist())) == 1

    with simdb.open(tmp_path / "db", options=simdb.Options(delta_documents=16)) as database:
        assert key_of(database) == b""
        database.insert_many(ids[:20], bits[:20])
        database.add_many_if_new(ids[20:40], bits[20:40], distance=0)
        for id in ids[40:50]:
            database.insert(id, expected[id])
        for id in ids[50:]:
            database.add_if_new(id, expected[id], distance=0)
        database.insert(ids[3], 7, on_conflict="replace")
        database.delete_many([ids[5], ids[45], "unknown"])
        database.delete(ids[25])
        expected[ids[3]] = 7
        for gone in (ids[5], ids[45], ids[25]):
            del expected[gone]

        for _ in range(2):
            assert database.contains_many(ids).tolist() == [id in expected for id in ids]
            assert {id: database.get(id).fingerprint.bits for id in expected} == expected
            assert set(database) == set(expected)
            with pytest.raises(simdb.ExistsError, match="stored already"):
                database.insert_many(["new", ids[7]], [1, 2])
            with pytest.raises(simdb.InputError, match="given twice"):
                database.insert_many([ids[5], ids[45], ids[5]], [1, 2, 3])
            database.compact()
    assert_sound(tmp_path / "db")


def test_asking_for_ids_of_one_hash_takes_no_memory_for_their_bytes(without_key):
    ids = colliding_ids(300)
    with simdb.open(None) as database:
        database.insert_many(ids, np.arange(len(ids), dtype=np.uint64) * FAR)
        database.contains_many(ids[:2])
        tracemalloc.start()
        found = database.contains_many(ids)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()

    assert found.all()
    # Each asked beside each stored would be 300 times the bytes of the ids.
    assert peak < 4 * sum(map(len, ids))


def test_ids_of_one_hash_have_different_hashes_in_each_new_database(tmp_path):
    with simdb.open(tmp_path / "a") as one, simdb.open(tmp_path / "b") as two:
        keys = key_of(one), key_of(two)

    assert len(set(keys)) == 2
    for key in keys:
        assert len(set(kernel.encode_ids(colliding_ids(1000), key)[2].tolist())) == 1000


def test_rebuilding_gives_a_key_to_a_database_of_an_older_version(tmp_path):
    (tmp_path / "db").mkdir()
    shutil.copyfile(STORED, tmp_path / "db" / "data.mdb")
    with simdb.open(tmp_path / "db", "w") as database:
        ids = list(database)
        database.compact()
        assert key_of(database) == b""
        assert database.contains_many(ids).all()

        database.rebuild()
        key = key_of(database)
        assert len(key) == kernel.ID_KEY_BYTES
        database.rebuild()
        assert key_of(database) == key
        assert database.contains_many(ids).all()
        database.insert("another", 5)
        assert set(database) == {*ids, "another"}
    assert_sound(tmp_path / "db")


def test_loading_a_dump_draws_another_key_and_a_run_is_repeated_there(tmp_path):
    ids = colliding_ids(40)
    texts = [" ".join(f"{at // 2}w{word}" for word in range(30)) for at in range(40)]
    with simdb.open(tmp_path / "db") as database:
        first = simdb.deduplicate(texts, id=ids, db=database, run="monday")
        database.dump(tmp_path / "dump")
        old = key_of(database)

    simdb.load(tmp_path / "dump", tmp_path / "loaded")
    with simdb.open(tmp_path / "loaded") as loaded:
        again = simdb.deduplicate(texts, id=ids, db=loaded, run="monday")

        assert list(loaded) == ids[::2]
        for key in (old, key_of(loaded)):
            assert len(set(kernel.encode_ids(ids, key)[2].tolist())) == 40
        assert key_of(loaded) != old
    assert first.kept.tolist() == again.kept.tolist() == [True, False] * 20
