"""A million documents: code that is fine for a thousand may break here."""

import numpy as np
import pytest

import simdb


@pytest.mark.slow
def test_a_million_documents_are_inserted_found_deleted_and_compacted(open_database):
    count = 1_000_000
    generator = np.random.default_rng(1)
    bits = generator.integers(0, 2**64, count, dtype=np.uint64)
    bits[1::1000] = bits[0::1000] ^ np.uint64(0b111 << 20)
    database = open_database()
    for start in range(0, count, 130_000):
        part = bits[start : start + 130_000]
        database.insert_many(range(start, start + len(part)), part)

    pairs = list(database.find_all(distance=3))
    found = database.query_many(bits[::10], distance=0)
    database.delete_many(range(0, count, 2))
    report = database.compact()

    assert len(pairs) >= 1000
    assert set(zip(range(0, count, 1000), range(1, count, 1000), strict=True)) <= {
        (pair.left, pair.right) for pair in pairs
    }
    assert (np.diff(found.offsets) >= 1).all()
    assert set(range(0, count, 10)) <= set(found.ids)
    assert len(database) == count // 2
    assert report.after_bytes < 0.7 * report.before_bytes
    assert database.query(int(bits[777]), distance=0) == [simdb.Match(777, 0)]
    assert database.query(int(bits[778]), distance=0) == []


@pytest.mark.slow
def test_ten_thousand_single_commits_stay_fast_and_small(open_database):
    database = open_database(durability="none")
    for number in range(10_000):
        database.insert(number, number << 20, {"n": number})

    stats = database.stats()
    assert stats.document_count == 10_000
    assert len(stats.runs) <= 4
    assert stats.file_bytes < 40 << 20
    assert database.get(1234).metadata == {"n": 1234}
