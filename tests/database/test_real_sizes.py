"""Sizes that are fixed in compiled code, or tested nowhere else at their real value: both sides."""

import numpy as np
import pytest

import simdb

BARE = simdb.Options(sketch=simdb.Simhash(store_volatility=False))
# Of simdb_ext/_search.pyx and simdb_ext/search/found.c.
SCAN_MAX, BEST_ROOM = 1024, 1 << 22


def some_bits(count, seed=1):
    return np.random.default_rng(seed).integers(0, 2**64, count, np.uint64)


@pytest.mark.parametrize(
    ("queries", "k"),
    [(SCAN_MAX, BEST_ROOM // SCAN_MAX + 1), (SCAN_MAX + 1, 10)],
)
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
