"""A database, a snapshot, a write transaction and shards answer every reading verb alike."""

import pytest
import readings
import sharded

import simdb

KINDS = [pytest.param(readings.OPTIONS, id="simhash"), pytest.param(readings.MINHASH, id="minhash")]


@pytest.fixture(params=KINDS)
def options(request):
    return request.param


@pytest.fixture
def one(open_database, options, tmp_path):
    """Return the database that every reader must answer like; its documents are in one run."""
    database = open_database(tmp_path / "one", options=options)
    database.insert_many(*readings.documents())
    database.delete(readings.DELETED)
    database.compact()
    return database


@pytest.fixture
def other(open_database, options):
    """Return a database with the same documents in several runs, with one deleted."""
    database = open_database(options=options)
    ids, texts, metadata = readings.documents()
    for start in range(0, len(ids), 9):
        part = slice(start, start + 9)
        database.insert_many(ids[part], texts[part], metadata[part])
    database.delete(readings.DELETED)
    return database


def test_a_database_answers_as_it_should(other, one, options):
    readings.check_reading(other, one, options)


def test_a_snapshot_answers_like_the_database_at_its_time(other, one, options):
    with other.read() as snapshot:
        other.insert("later", readings.documents()[1][0])
        other.delete(readings.documents()[0][0])

        readings.check_reading(snapshot, one, options)


def test_a_write_transaction_answers_by_what_it_staged(open_database, one, options):
    ids, texts, metadata = readings.documents()
    database = open_database(options=options)
    database.insert_many(ids[:20], texts[:20], metadata[:20])

    with database.write() as transaction:
        transaction.insert_many(ids[20:], texts[20:], metadata[20:])
        transaction.delete(readings.DELETED)

        readings.check_reading(transaction, one, options)


def test_shards_answer_like_one_database(tmp_path, one, options):
    batches = [readings.documents()]
    simdb.write_sharded(tmp_path / "many", batches, readings.SHARDS, options=options)
    number = int(simdb.shard_of([readings.DELETED], readings.SHARDS)[0])
    with simdb.open(tmp_path / "many" / f"shard-{number:05d}") as shard:
        shard.delete(readings.DELETED)
    simdb.finish_sharded(tmp_path / "many", readings.SHARDS)

    with simdb.open_sharded(tmp_path / "many") as shards:
        assert min(each.document_count for each in shards.stats().shards) == 0
        readings.check_reading(shards, one, options)


def test_shards_have_no_notes_and_keep_no_clusters(tmp_path):
    simdb.write_sharded(tmp_path / "many", sharded.batches(*sharded.corpus(), 8), 2)

    with simdb.open_sharded(tmp_path / "many") as shards:
        with pytest.raises(simdb.OptionError, match=r"keeps no clusters, because it is sharded"):
            shards.cluster("document 0")
        with pytest.raises(simdb.OptionError, match=r"has no notes .*, because it is sharded"):
            shards.note("name")
