"""Any width of the directories gives the same answers, and `check` knows the chosen width."""

import numpy as np
import pytest

import simdb
from simdb.database.state.store import Store
from simdb.storage.table import header_bits

OFFSETS = range(-4, 1)


def fingerprints(count, seed):
    generator = np.random.default_rng(seed)
    bits = generator.integers(0, 2**64, count, np.uint64)
    bits[1::3] = bits[0:-1:3] ^ np.uint64(1 << 40)
    return bits


def directory_lengths(database):
    """Entries of the directory of the first table of each run."""
    store: Store = database._store
    with store.state() as state:
        return [len(run.table(0, state.source).directory) for run in state.runs]


@pytest.mark.few(1)
@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("count", [1, 2, 3, 31, 64, 65, 700])
def test_every_width_answers_as_comparing_does_and_is_sound(open_database, offset, count):
    options = simdb.Options(header_offset=offset, delta_documents=8, growth=2)
    database = open_database(options=options)
    bits = fingerprints(count, seed=count)

    for start in range(0, count, 100):
        part = bits[start : start + 100]
        database.insert_many(range(start, start + len(part)), part)

    for distance in (0, 2):
        found = database.query_many(bits, distance=distance, search="bphs")
        expected = database.query_many(bits, distance=distance, search="exhaustive")
        assert found.offsets.tolist() == expected.offsets.tolist()
        assert found.ordinals.tolist() == expected.ordinals.tolist()
    assert list(database.check(deep=True)) == []


@pytest.mark.few(1)
@pytest.mark.parametrize("offset", OFFSETS)
def test_a_header_has_as_many_bits_as_the_option_says(open_database, offset):
    database = open_database(options=simdb.Options(header_offset=offset, delta_documents=8))
    database.insert_many(range(600), fingerprints(600, seed=1))

    before = directory_lengths(database)
    database.delete_many(range(100))
    database.compact()

    assert before == [2 ** (9 + offset) + 1]
    assert directory_lengths(database) == [2 ** (8 + offset) + 1]
    assert list(database.check(deep=True)) == []


@pytest.mark.parametrize("offset", [-4, 0])
def test_probing_finds_the_same_whatever_the_width(open_database, offset):
    options = simdb.Options(header_offset=offset, delta_documents=8, blocks=1)
    database = open_database(options=options)
    weights = np.random.default_rng(3).laplace(size=(300, 128)).astype(np.float32)
    bits = np.packbits(weights[:, :64] >= 0, axis=1, bitorder="little").view("<u8")[:, 0]
    stored = simdb.Fingerprints(bits, weights)
    database.insert_many(range(300), stored)

    found = database.query_many(stored, similarity=0.95, recall=0.9, search="psm")

    assert set(range(300)) <= set(found.ordinals.tolist())


def test_a_header_is_never_narrower_than_nothing_nor_wider_than_its_limit():
    assert [header_bits(count, -4) for count in (0, 1, 15, 16, 32)] == [0, 0, 0, 0, 1]
    assert [header_bits(count, 0) for count in (0, 1, 2, 3, 4)] == [0, 0, 1, 1, 2]
    assert header_bits(2**32 - 1, 0) == 28


def test_what_an_older_version_stored_has_the_width_of_then(open_database):
    assert simdb.Options().header_offset == -1
    assert header_bits(1024, -1) == 9
