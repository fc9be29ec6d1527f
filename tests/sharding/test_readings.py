"""A database, a snapshot, a write transaction and shards answer every reading verb as a dict."""

import pickle

import pytest
import readings
import sharded
from readings import Held, columns, documents

import simdb
from simdb.database.reading import Reading

KINDS = [pytest.param(readings.OPTIONS, id="simhash"), pytest.param(readings.MINHASH, id="minhash")]
DELETED = "document 6"


@pytest.fixture(params=KINDS)
def options(request):
    return request.param


@pytest.fixture
def held(options):
    """Return what every reading must hold."""
    every = documents()
    del every[DELETED]
    return Held(every, options, notes={"name": [1, {"a": b"b"}]}, gone=[DELETED])


@pytest.fixture
def database(open_database, options):
    """Return a database with these documents in several runs, and one more that is deleted."""
    database = open_database(options=options)
    ids, texts, metadata = columns(documents())
    for start in range(0, len(ids), 9):
        part = slice(start, start + 9)
        database.insert_many(ids[part], texts[part], metadata[part])
    with database.write() as transaction:
        transaction.delete(DELETED)
        transaction.set_note("name", [1, {"a": b"b"}])
    return database


def test_every_reading_verb_is_checked():
    verbs = {name for name, each in vars(Reading).items() if not isinstance(each, property)}
    public = {name for name in verbs if not name.startswith("_")}

    assert public <= set(readings.VERBS)


def test_a_database_answers_as_it_should(database, held):
    readings.check_reading(database, held)


def test_a_snapshot_answers_as_the_database_at_its_time(database, held):
    with database.read() as snapshot:
        database.insert("later", held.texts[held.ids[0]])
        database.delete(held.ids[0])

        readings.check_reading(snapshot, held)


def test_a_write_transaction_answers_by_what_it_staged(database, held):
    ids, texts, metadata = columns(documents())
    late = ids[20:]
    database.delete_many(late)

    with database.write() as transaction:
        transaction.insert_many(late, texts[20:], metadata[20:])
        transaction.delete_many([DELETED] * (DELETED in transaction))

        readings.check_reading(transaction, held)


def test_a_database_that_was_reopened_or_pickled_answers_as_before(database, held):
    with pickle.loads(pickle.dumps(database)) as other:
        readings.check_reading(other, held)
    database.close()
    with simdb.open(database.path, "r") as again:
        readings.check_reading(again, held)


def test_shards_by_leading_bits_answer_like_one_database(tmp_path):
    every = documents(shards=16, shard_by="fingerprint")
    path, given = tmp_path / "many", {"shard_by": "fingerprint"}
    simdb.write_sharded(path, [columns(every)], 16, options=readings.OPTIONS, **given)
    with simdb.open_sharded(path) as shards:
        bits = shards.bits_many([DELETED])[1]
    number = int(simdb.shard_of(bits, 16, **given)[0])
    with simdb.open(path / f"shard-{number:05d}") as shard:
        shard.delete(DELETED)
    simdb.finish_sharded(path, 16, **given)
    del every[DELETED]

    with simdb.open_sharded(path) as shards:
        readings.check_reading(shards, Held(every, readings.OPTIONS, gone=[DELETED]))


def test_shards_answer_like_one_database(tmp_path, database, held, options):
    batches = [columns(documents())]
    simdb.write_sharded(tmp_path / "many", batches, readings.SHARDS, options=options)
    number = int(simdb.shard_of([DELETED], readings.SHARDS)[0])
    with simdb.open(tmp_path / "many" / f"shard-{number:05d}") as shard:
        shard.delete(DELETED)
    simdb.finish_sharded(tmp_path / "many", readings.SHARDS)
    held.notes = None

    with simdb.open_sharded(tmp_path / "many") as shards:
        assert min(each.document_count for each in shards.stats().shards) == 0
        readings.check_reading(shards, held)
        assert shards.draw_ids(9, seed=1) == database.draw_ids(9, seed=1)


def test_shards_have_no_notes_and_keep_no_clusters(tmp_path):
    simdb.write_sharded(tmp_path / "many", sharded.batches(*sharded.corpus(), 8), 2)

    with simdb.open_sharded(tmp_path / "many") as shards:
        with pytest.raises(simdb.OptionError, match=r"keeps no clusters, because it is sharded"):
            shards.cluster("document 0")
        with pytest.raises(simdb.OptionError, match=r"has no notes .*, because it is sharded"):
            shards.note("name")
