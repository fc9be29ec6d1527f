"""Tables merged window by window."""

from types import SimpleNamespace

import numpy as np
import pytest
from over import over

from simdb.storage import merge
from simdb.storage.merge import TableMerge, merge_tables
from simdb.storage.run import Table
from simdb.storage.tombstones import with_deleted

NONE = np.empty(0, np.uint32)
# Sees no table in the map of a file.
IN_MEMORY = SimpleNamespace(pages_of=lambda array: None)


def tables_of(*columns):
    """Return tables with these keys, whose ordinals count on from table to table."""
    starts = np.cumsum([0, *map(len, columns)])
    return [
        Table(
            np.sort(np.array(keys, np.uint64)),
            np.arange(start, start + len(keys), dtype=np.uint32),
            NONE,
        )
        for keys, start in zip(columns, starts, strict=False)
    ]


def merged_in_windows(tables, most, dead=None, count=None):
    counts = [len(table.keys) for table in tables]
    merge = TableMerge(counts) if count is None else TableMerge(counts, count)
    while not merge.is_complete:
        merge.advance(tables, IN_MEMORY, dead, most)
    return merge.merged


RANDOM = np.random.default_rng(7).integers(0, 50, (3, 40)).tolist()


COLUMNS = [RANDOM, [RANDOM[0], [], RANDOM[2][:3]], [[5] * 9, [5] * 20], [[9], [2**64 - 1]]]


def assert_merged(merged, tables):
    """Assert that the entries are those of the tables in the order of keys, then of tables."""
    entries = [entry for table in tables for entry in zip(table.keys, table.ordinals, strict=True)]
    assert list(zip(merged.keys, merged.ordinals, strict=True)) == sorted(
        entries, key=lambda entry: entry[0]
    )


@over("most", [1, 2, 7, 119, 1000])
@over("columns", [*COLUMNS, [[1], [2]]])
def test_windows_give_what_one_merge_gives(columns, most):
    tables = tables_of(*columns)

    assert_merged(merged_in_windows(tables, most), tables)


@pytest.mark.parametrize("threads", [1, 3])
@over("columns", [*COLUMNS, [[], []]])
def test_ranges_of_keys_are_merged_in_the_order_of_the_tables(columns, threads, monkeypatch):
    monkeypatch.setattr(merge, "RANGE_ENTRIES", 3)
    tables = tables_of(*columns)

    assert_merged(merge_tables(tables, threads=threads), tables)


def test_keys_out_of_order_end_too():
    keys = np.array([9, 1, 8, 2, 7], np.uint64)
    table = Table(keys, np.arange(5, dtype=np.uint32), NONE)

    merged = merged_in_windows([table, *tables_of([3, 4])], 1)

    assert len(merged.keys) == 7


@pytest.mark.parametrize("count", [3, 40, 100])
@pytest.mark.parametrize("most", [1, 7, 1000])
def test_a_single_table_is_copied_without_the_deleted(most, count):
    tables = tables_of(RANDOM[0])
    dead = with_deleted(None, np.arange(0, 40, 3, dtype=np.uint32), 40)

    merged = merged_in_windows(tables, most, dead, count)

    kept = tables[0].ordinals % 3 != 0
    assert merged.keys.tolist() == tables[0].keys[kept].tolist()
    assert merged.ordinals.tolist() == tables[0].ordinals[kept].tolist()
