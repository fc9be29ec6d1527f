"""Tables merged window by window."""

from types import SimpleNamespace

import numpy as np
import pytest

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


def merged_in_windows(tables, most, dead=None):
    merge = TableMerge([len(table.keys) for table in tables])
    count = 0
    while not merge.is_complete:
        merge.advance(tables, IN_MEMORY, dead, most)
        count += 1
    return merge.merged, count


RANDOM = np.random.default_rng(7).integers(0, 50, (3, 40)).tolist()


@pytest.mark.parametrize("most", [1, 2, 7, 119, 1000])
@pytest.mark.parametrize(
    "columns",
    [RANDOM, [RANDOM[0], [], RANDOM[2][:3]], [[5] * 9, [5] * 20], [[1], [2]], [[9], [2**64 - 1]]],
)
def test_windows_give_what_one_merge_gives(columns, most):
    tables = tables_of(*columns)

    merged, _ = merged_in_windows(tables, most)

    whole = merge_tables(tables)
    assert merged.keys.tolist() == whole.keys.tolist()
    assert merged.ordinals.tolist() == whole.ordinals.tolist()


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    "columns",
    [RANDOM, [RANDOM[0], [], RANDOM[2][:3]], [[5] * 9, [5] * 20], [[9], [2**64 - 1]], [[], []]],
)
def test_ranges_of_keys_are_merged_in_the_order_of_the_tables(columns, threads, monkeypatch):
    monkeypatch.setattr(merge, "RANGE_ENTRIES", 3)
    tables = tables_of(*columns)

    merged = merge_tables(tables, threads=threads)

    entries = [entry for table in tables for entry in zip(table.keys, table.ordinals, strict=True)]
    assert list(zip(merged.keys, merged.ordinals, strict=True)) == sorted(
        entries, key=lambda entry: entry[0]
    )


def test_keys_out_of_order_end_too():
    keys = np.array([9, 1, 8, 2, 7], np.uint64)
    table = Table(keys, np.arange(5, dtype=np.uint32), NONE)

    merged, _ = merged_in_windows([table, *tables_of([3, 4])], 1)

    assert len(merged.keys) == 7


@pytest.mark.parametrize("count", [3, 40, 100])
@pytest.mark.parametrize("most", [1, 7, 1000])
def test_a_single_table_is_copied_without_the_deleted(most, count):
    tables = tables_of(RANDOM[0])
    dead = with_deleted(None, np.arange(0, 40, 3, dtype=np.uint32), 40)

    merge = TableMerge([40], count)
    while not merge.is_complete:
        merge.advance(tables, IN_MEMORY, dead, most)

    kept = tables[0].ordinals % 3 != 0
    assert merge.merged.keys.tolist() == tables[0].keys[kept].tolist()
    assert merge.merged.ordinals.tolist() == tables[0].ordinals[kept].tolist()
