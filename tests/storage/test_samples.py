"""The sampled pairs of a run are stored, checked and removed with it."""

import numpy as np
import pytest
from soundness import TINY

import simdb
from simdb.engine.write.commit import Writer
from simdb.storage import layout
from simdb.storage.runs.samples import put_sample

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

    (found,) = samples_of(database)

    assert found.tolist() != SAMPLE.tolist()
    assert stored_keys(database) == [layout.number_key(database.stats().runs[0].run)]


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
