"""Sizes that are fixed in compiled code, or tested nowhere else at their real value: both sides."""

import numpy as np
import pytest

import simdb

BARE = simdb.Options(sketch=simdb.Simhash(store_volatility=False))
# Of simdb_ext/_search.pyx and simdb_ext/search/found.c.
LOOKUP_QUERIES_MAX, SCAN_QUERIES_MAX, GATHERED_QUERIES_MIN = 1 << 17, 1024, 1024
BEST_ROOM, ROOM_MAX = 1 << 22, 1 << 21


def some_bits(count, seed=1):
    return np.random.default_rng(seed).integers(0, 2**64, count, np.uint64)


@pytest.mark.more
@pytest.mark.few(1)
@pytest.mark.parametrize(
    "count", [GATHERED_QUERIES_MIN - 1, GATHERED_QUERIES_MIN, LOOKUP_QUERIES_MAX + 1]
)
def test_each_of_many_queries_finds_the_document_that_it_differs_from_in_one_bit(
    open_database, count
):
    bits = some_bits(count)
    database = open_database(options=BARE)
    database.insert_many(range(len(bits)), bits)

    found = database.query_many(bits ^ np.uint64(1 << 40), distance=1)

    # Among 131,073 random fingerprints two are within 2 bits with a chance of about 1e-6.
    assert np.array_equal(np.diff(found.offsets), np.ones(count, np.int64))
    assert found.ids.tolist() == list(range(count))
    assert (found.distances == 1).all()


@pytest.mark.more
@pytest.mark.few(1)
@pytest.mark.parametrize("queries", [1000, 1100])
def test_equal_documents_are_all_found_by_each_query_however_many_matches_that_makes(
    open_database, queries
):
    copies = 2000
    assert 1000 * copies < ROOM_MAX < 1100 * copies
    database = open_database(options=BARE)
    database.insert_many(range(copies), np.full(copies, 7, np.uint64))
    database.insert_many(range(copies, 2 * copies), some_bits(copies))

    found = database.query_many(np.full(queries, 7, np.uint64), distance=0)

    assert np.array_equal(np.diff(found.offsets), np.full(queries, copies))
    assert np.array_equal(found.ids.reshape(queries, copies), [list(range(copies))] * queries)


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
    weights = np.random.default_rng(3).standard_normal((count, 128)).astype(np.float32)
    signs = np.packbits(weights[:, :64] >= 0, axis=1, bitorder="little").view(np.uint64)[:, 0]
    documents = simdb.Fingerprints(signs, weights)
    database = open_database()
    database.insert_many(range(count), documents)
    database.compact()

    found = database.query_many(documents.taken(slice(0, count, 50)), similarity=0.99)

    # An equal vector has an equal key in every table.
    assert found.ids.tolist() == list(range(0, count, 50))
    assert list(database.check(deep=True)) == []
