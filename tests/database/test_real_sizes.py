"""Sizes that are fixed in compiled code, or tested nowhere else at their real value: both sides."""

import numpy as np
import pytest
from weighted import fingerprints

import simdb

BARE = simdb.Options(sketch=simdb.Simhash(store_volatility=False))
# Of simdb_ext/_search.pyx and simdb_ext/search/found.c.
LOOKUP_QUERIES_MAX, SCAN_QUERIES_MAX, GATHERED_QUERIES_MIN = 1 << 17, 1024, 1024
BEST_ROOM, ROOM_MAX = 1 << 22, 1 << 21


def some_bits(count, seed=1):
    return np.random.default_rng(seed).integers(0, 2**64, count, np.uint64)


@pytest.mark.few(1)
@pytest.mark.parametrize("queries", [SCAN_QUERIES_MAX, SCAN_QUERIES_MAX + 1])
@pytest.mark.parametrize("k", [10, BEST_ROOM // SCAN_QUERIES_MAX + 1])
def test_the_nearest_of_many_queries_are_those_of_a_sorted_list(open_database, queries, k):
    stored, asked = some_bits(k + 5), some_bits(queries, seed=2)
    database = open_database(options=BARE)
    database.insert_many(range(len(stored)), stored)

    found = database.nearest_many(asked, k)

    distances = np.bitwise_count(asked[-3:, None] ^ stored)
    order = np.argsort(distances, axis=1, kind="stable")[:, :k]
    assert np.array_equal(np.diff(found.offsets), np.full(queries, k))
    assert np.array_equal(found.distances.reshape(queries, k)[-3:], np.sort(distances)[:, :k])
    assert np.array_equal(found.ids.reshape(queries, k)[-3:], order)


@pytest.mark.few(1)
@pytest.mark.parametrize("count", [5999, 6000])
def test_tables_around_the_first_wider_header_are_sound_and_find_each_document(
    open_database, count
):
    documents = fingerprints(np.random.default_rng(3).standard_normal((count, 128)))
    database = open_database()
    database.insert_many(range(count), documents)
    database.compact()

    found = database.query_many(documents.taken(slice(0, count, 50)), similarity=0.99)

    # An equal vector has an equal key in every table.
    assert found.ids.tolist() == list(range(0, count, 50))
    assert list(database.check(deep=True)) == []
