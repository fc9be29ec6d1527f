"""The sampled pairs of a run are stored, checked and removed with it."""

import numpy as np
import pytest
from soundness import TINY

import simdb
from simdb.engine.write.commit import Writer
from simdb.storage import codec, layout
from simdb.storage.runs.samples import decode_sample, put_sample

SAMPLE = np.array([[0, 0.9, 1.5, 2.5], [7, 1.0, 0, 0.25]], np.float32)
TEXTS = [f"red green blue number {at}" for at in range(9)]


@pytest.fixture
def one_run(open_database):
    """Return a database with one stored run, and its number."""
    database = open_database(options=TINY)
    database.insert_many(range(9), TEXTS)
    return database, database.stats().runs[0].run


def put(database, number, sample):
    environment = database._store.environment
    writer = Writer(database._store, None)

    def write(transaction):
        writer.transaction = transaction
        put_sample(number, sample, writer.put)

    environment.write(write)


def samples_of(database):
    with database._state() as state:
        return [run.sample(state.source) for run in state.runs]


def stored_keys(database):
    environment = database._store.environment
    with environment.reading() as transaction:
        return [bytes(key) for key, _ in transaction.cursor(environment.subdatabase(layout.LEARNT))]


def test_a_stored_sample_comes_back_as_it_was(one_run):
    database, number = one_run
    put(database, number, SAMPLE)

    (found,) = samples_of(database)

    assert found.tolist() == SAMPLE.tolist()
    assert list(database.check(deep=True)) == []


def test_a_sample_may_be_empty_or_absent(one_run):
    database, number = one_run
    (absent,) = samples_of(database)
    put(database, number, SAMPLE[:0])
    database.delete(0)
    database._store.forget_views()

    (empty,) = samples_of(database)

    assert absent is None
    assert empty.shape == (0, 4)


def test_a_sample_goes_when_its_run_is_merged(one_run):
    database, number = one_run
    put(database, number, SAMPLE)
    database.insert_many(range(20, 29), TEXTS)

    found = samples_of(database)

    assert found == [None]
    assert stored_keys(database) == []


@pytest.mark.parametrize("verb", ["compact", "rebuild"])
def test_a_sample_goes_when_documents_are_renumbered(one_run, verb):
    database, number = one_run
    put(database, number, SAMPLE)
    database.delete(3)
    getattr(database, verb)()

    found = samples_of(database)

    assert found == [None]
    assert stored_keys(database) == []


def test_a_copy_has_the_samples_and_a_dump_does_not(one_run, tmp_path):
    database, number = one_run
    put(database, number, SAMPLE)
    database.copy(tmp_path / "copy")
    database.dump(tmp_path / "dump")
    simdb.load(tmp_path / "dump", tmp_path / "loaded")

    with simdb.open(tmp_path / "copy") as copied:
        (found,) = samples_of(copied)
    with simdb.open(tmp_path / "loaded") as loaded:
        (lacking,) = samples_of(loaded)

    assert found.tolist() == SAMPLE.tolist()
    assert lacking is None


def test_a_run_in_memory_has_its_sample_until_it_is_written(database):
    with database.write() as transaction:
        transaction.insert_many(range(9), TEXTS)
        transaction.query(TEXTS[0])
        with transaction._state() as state:
            state.runs[0].hold_sample(SAMPLE)
            held = state.runs[0].sample(state.source)

    (found,) = samples_of(database)

    assert held is SAMPLE
    assert found.tolist() == SAMPLE.tolist()


def test_a_run_in_memory_begins_without_a_sample(database):
    with database.write() as transaction:
        transaction.insert_many(range(9), TEXTS)
        transaction.query(TEXTS[0])
        with transaction._state() as state:
            found = [run.sample(state.source) for run in state.runs]

    assert found == [None]
    assert samples_of(database) == [None]


@pytest.mark.parametrize(
    "row",
    [(0, 1.01, 0, 0), (0, 0.9, -1, 0), (0, 0.9, 0, np.nan), (0, 0.9, np.inf, 0), (-1, 0, 0, 0)],
)
def test_impossible_numbers_are_found_without_deep(tmp_path, row):
    with simdb.open(tmp_path / "db", options=TINY) as database:
        database.insert_many(range(9), TEXTS)
        put(database, database.stats().runs[0].run, np.array([row], np.float32))

        (finding,) = database.check()

    assert finding.place == "learnt"
    assert "numbers that no pair can have" in finding.message
    assert "rebuild" in finding.remedy


def test_a_sample_of_no_run_is_found(tmp_path):
    with simdb.open(tmp_path / "db", options=TINY) as database:
        database.insert_many(range(9), TEXTS)
        put(database, 77, SAMPLE)

        (finding,) = database.check(deep=True)

    assert "belongs to no run" in finding.message


@pytest.mark.parametrize("count", [1, 3, 4 * 65536 + 4])
def test_a_sample_of_another_length_is_corrupt(count):
    key = layout.number_key(5)
    value = codec.encode_array(layout.LEARNT_KIND, key, np.zeros(count, np.float32)).tobytes()

    with pytest.raises(simdb.CorruptError, match=f"sample of run 5 has {count} numbers"):
        decode_sample(5, value)


def test_flipped_bits_of_a_sample_are_noticed():
    key = layout.number_key(5)
    value = bytearray(codec.encode_array(layout.LEARNT_KIND, key, SAMPLE).tobytes())
    value[-3] ^= 1

    with pytest.raises(simdb.CorruptError, match="checksum"):
        decode_sample(5, bytes(value))
