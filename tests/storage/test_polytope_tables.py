"""Every live document with weights has exactly one entry in each cross-polytope table."""

import numpy as np
import polytope_tables
import pytest
from over import over

import simdb
from simdb.storage import layout
from simdb.storage.manifest import Manifest, RunInfo, decode_manifest, encode_manifest
from simdb.storage.table import directory_bits, header_bits, polytope_header_bits, stored_bits

NAME = layout.polytope_name(2)


def texts(count, seed=0):
    generator = np.random.default_rng(seed)
    words = generator.choice([f"w{number}" for number in range(200)], (count, 20))
    return [" ".join(row) for row in words]


def insert_mixed(database, prefix):
    """Insert texts, ready fingerprints and empty texts, some of each in every commit."""
    for at, text in enumerate(texts(12)):
        database.insert(f"{prefix} text {at}", text)
        database.insert(f"{prefix} bits {at}", 7919 * at)
        database.insert(f"{prefix} empty {at}", "")


@pytest.fixture
def mixed(database):
    insert_mixed(database, "old")
    return database


def test_sealing_and_merging_give_each_weighted_document_its_keys(mixed):
    found = polytope_tables.stored(mixed)

    assert len(mixed.stats().runs) >= 2
    assert len(found) == 12
    assert found == polytope_tables.expected(mixed)


def test_deleted_documents_leave_the_tables_when_their_run_is_merged(mixed):
    mixed.delete_many([f"old text {at}" for at in range(6)])
    insert_mixed(mixed, "new")

    found = polytope_tables.stored(mixed)

    assert len(found) == 18
    assert found == polytope_tables.expected(mixed)


def test_documents_without_weights_cost_no_values(database):
    database.insert_many(range(20), np.arange(20, dtype=np.uint64))

    assert polytope_tables.stored_values(database) == [0, 0, 0, 0]
    assert polytope_tables.stored(database) == {}


def test_a_header_is_never_narrower_than_nothing_nor_wider_than_its_limit():
    assert [header_bits(count, -4) for count in (0, 1, 15, 16, 32)] == [0, 0, 0, 0, 1]
    assert [header_bits(count, 0) for count in (0, 1, 2, 3, 4)] == [0, 0, 1, 1, 2]
    assert header_bits(2**32 - 1, 0) == 28


def test_a_header_consists_of_whole_vertices_and_grows_with_the_table():
    counts = [0, 5999, 6000, 2**17 - 1, 2**17, 5_999_999, 6_000_000, 2**32 - 1]

    assert [polytope_header_bits(count) for count in counts] == [7, 7, 13, 13, 18, 18, 22, 22]
    assert directory_bits(NAME, 5, 0) == 7
    assert directory_bits(layout.table_name(2), 5, 0) == 2


@over(("length", "bits"), [
    *(((1 << bits) + 1, bits) for bits in (7, 13, 18, 22)),
    *((length, None) for length in (0, 1, 2, 65, 128, 257, 1 << 13)),
])  # fmt: skip
def test_a_stored_directory_of_another_width_is_refused(length, bits):
    assert stored_bits(NAME, np.zeros(length, np.uint32), 3, -1) == bits


def test_a_run_with_more_entries_than_weighted_documents_is_refused():
    rows = (RunInfo(0, 0, 5, 5, 5, 2, 3),)
    value = encode_manifest(Manifest(runs=rows, next_run=1, next_ordinal=5, delta_start=5))

    with pytest.raises(simdb.CorruptError, match="more entries"):
        decode_manifest(value)
