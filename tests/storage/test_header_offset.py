"""Any width of the directories gives the same answers, and `check` knows the chosen width."""

import numpy as np
import pytest

import simdb
from simdb.storage.table import header_bits


def fingerprints(count, seed):
    generator = np.random.default_rng(seed)
    bits = generator.integers(0, 2**64, count, np.uint64)
    bits[1::3] = bits[0:-1:3] ^ np.uint64(1 << 40)
    return bits


@pytest.mark.parametrize(("offset", "count"), [(-4, 64), (-1, 3), (0, 700)])
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


def test_a_header_is_never_narrower_than_nothing_nor_wider_than_its_limit():
    assert [header_bits(count, -4) for count in (0, 1, 15, 16, 32)] == [0, 0, 0, 0, 1]
    assert [header_bits(count, 0) for count in (0, 1, 2, 3, 4)] == [0, 0, 1, 1, 2]
    assert header_bits(2**32 - 1, 0) == 28
