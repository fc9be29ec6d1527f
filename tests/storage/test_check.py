"""The check finds stored values that are well-formed but wrong, and names each."""

import errno
import os

import numpy as np
import pytest
from stored_values import (
    change_array,
    change_column,
    change_manifest,
    flip_byte,
    put_value,
    remove_value,
    swapped,
    zeros,
)  # fmt: skip

import simdb
from simdb.storage import codec, layout, pages


@pytest.fixture
def damaged(tmp_path):
    """A database of one run of 40 documents and a delta of 2; it need not stay sound."""
    with simdb.open(tmp_path / "db", options=simdb.Options(blocks=4)) as database:
        ids = [*range(39), "last"]
        database.insert_many(ids, np.arange(40, dtype=np.uint64) << np.uint64(30), ["m"] * 40)
        database.compact()
        database.insert_many(["text", "empty"], ["some words of text", ""])
        database.delete(7)
        assert list(database.check(deep=True)) == []
        yield database


def findings(database, *, deep=True):
    found = list(database.check(deep=deep))
    assert all(finding.remedy for finding in found)
    return [f"{finding.place}: {finding.message}" for finding in found]


def run_key(database, column):
    run = database.stats().runs[0].run
    return layout.table_key(run, column)


@pytest.mark.parametrize("name", ["document_count", "bare_count"])
def test_a_counter_that_is_wrong_is_found_without_deep(damaged, name):
    change_manifest(damaged, **{name: 17})

    assert any(f"{name} is 17" in finding for finding in findings(damaged, deep=False))


def test_a_manifest_that_ends_elsewhere_than_the_delta_is_found(damaged):
    change_manifest(damaged, next_ordinal=99)

    assert "delta ends at ordinal 42" in findings(damaged, deep=False)[0]


@pytest.mark.parametrize("column", [layout.KEYS, layout.ORDINALS, layout.DIRECTORY])
@pytest.mark.parametrize("name", [layout.table_name(2), layout.IDS])
def test_a_missing_column_is_found_without_deep(damaged, name, column):
    remove_value(damaged, name, run_key(damaged, column))

    assert f"is missing from {name.decode()}" in findings(damaged, deep=False)[0]


COLUMNS = [
    (layout.KEYS, lambda keys: keys[::-1], "not sorted at entry 1"),
    (layout.DIRECTORY, zeros, "directory does not fit"),
    (layout.ORDINALS, lambda ordinals: ordinals + np.uint32(5), "has ordinals outside 0 .. 40"),
]


@pytest.mark.parametrize(
    ("name", "column", "change", "message"),
    [(name, *column) for name in (layout.table_name(1), layout.IDS) for column in COLUMNS],
)
def test_columns_of_other_entries_are_found(damaged, name, column, change, message):
    change_column(damaged, name, column, change)

    assert any(message in finding for finding in findings(damaged))


def test_a_column_that_is_too_short_is_found_without_deep(damaged):
    change_column(damaged, layout.table_name(0), layout.KEYS, lambda keys: keys[:-1])

    assert "39 entries, but the manifest says 40" in findings(damaged, deep=False)[0]


def test_metadata_of_documents_that_are_not_there_is_found(damaged):
    environment = damaged._store.environment
    handle = environment.subdatabase(layout.METADATA)

    def write(transaction):
        key, value = next(iter(transaction.cursor(handle)))
        moved = layout.number_key(5000)
        array = codec.decode_array(b"meta", bytes(key), value, "u1").copy()
        array[4:8].view("<u4")[0] = 5000
        transaction.put(moved, codec.encode_array(b"meta", moved, array), db=handle)

    environment.write(write)

    assert any("metadata of ordinal 5000" in finding for finding in findings(damaged))


def test_ids_whose_offsets_are_damaged_are_found_and_the_check_goes_on(damaged):
    run = damaged.stats().runs[0].run
    key = layout.segment_key(run, layout.OFFSET, 0)

    swap = lambda offsets: swapped(offsets, 3, 4)  # noqa: E731
    change_array(damaged, layout.DOCUMENTS, b"offs", key, swap, "<u4")

    assert any(finding.startswith("ids:") for finding in findings(damaged))


def test_a_deep_check_without_a_file_descriptor_names_the_database(damaged, monkeypatch):
    """Seen in the fuzz program: every open file of the process was in use."""

    def refuse(path, *rest):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), path)

    with monkeypatch.context() as patch:
        patch.setattr(pages.os, "open", refuse)
        with pytest.raises(simdb.Error, match=r"data\.mdb"):
            list(damaged.check(deep=True))

    assert findings(damaged) == []


def test_a_checksum_that_differs_is_found_without_deep_too(damaged):
    flip_byte(damaged, layout.table_name(0), run_key(damaged, layout.KEYS), 60)

    assert "table/00: the entries of run" in findings(damaged, deep=False)[0]
    assert "table/00: the value 'keys' under key" in findings(damaged)[0]


@pytest.mark.parametrize("name", [layout.table_name(1), layout.polytope_name(1)])
def test_values_of_runs_that_are_not_live_are_found(damaged, name):
    key = layout.table_key(77, layout.KEYS)
    put_value(damaged, name, key, codec.encode_array(b"keys", key, np.zeros(3, np.uint64)))

    assert any("belongs to no run" in finding for finding in findings(damaged))


def test_equal_keys_out_of_order_are_found(damaged):
    damaged.insert_many(["a", "b"], [5, 5])
    damaged.compact()

    def swap(ordinals):
        at = np.flatnonzero(np.isin(ordinals, [41, 42]))
        ordinals[at] = ordinals[at[::-1]]
        return ordinals

    change_column(damaged, layout.table_name(0), layout.ORDINALS, swap)

    assert any("equal keys are out of order" in finding for finding in findings(damaged))


def test_hashes_of_other_ids_in_the_delta_are_found(damaged):
    def change(payload):
        payload[8 + 2 * 8] ^= 1  # the first hash, after the counts and two fingerprints
        return payload

    change_array(damaged, layout.DELTA, b"delt", layout.number_key(40), change, "u1")

    assert any("hashes that do not fit" in finding for finding in findings(damaged))


def test_a_calibration_that_is_none_is_found_without_deep(damaged):
    damaged.calibrate()
    value = codec.encode_object(b"cali", layout.CALIBRATION_KEY, {"model": 1})
    put_value(damaged, layout.META, layout.CALIBRATION_KEY, value)

    assert any(each.startswith("calibration:") for each in findings(damaged, deep=False))
