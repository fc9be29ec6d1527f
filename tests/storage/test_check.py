"""The check finds stored values that are well-formed but wrong, and names each."""

from dataclasses import replace

import numpy as np
import pytest

import simdb
from simdb.storage import codec, layout
from simdb.storage.manifest import decode_manifest, encode_manifest


@pytest.fixture
def damaged(tmp_path):
    """A database of one run of 40 documents and a delta of 2; it need not stay sound."""
    with simdb.open(tmp_path / "db") as database:
        database.insert_many(range(40), np.arange(40, dtype=np.uint64) << np.uint64(30), ["m"] * 40)
        database.compact()
        database.insert_many(["text", "empty"], ["some words of text", ""])
        database.delete(7)
        assert list(database.check(deep=True)) == []
        yield database


def rewrite(database, name, kind, key, change, dtype):
    """Put back what `change` makes of a stored array."""
    environment = database._store.environment

    def write(transaction):
        handle = environment.subdatabase(name)
        array = codec.decode_column(kind, key, transaction.get(key, db=handle), dtype).copy()
        transaction.put(key, codec.encode_array(kind, key, change(array)), db=handle)

    environment.write(write)


def remove(database, name, key):
    environment = database._store.environment
    handle = environment.subdatabase(name)
    environment.write(lambda transaction: transaction.delete(key, db=handle))


def rewrite_manifest(database, **changes):
    environment = database._store.environment
    handle = environment.subdatabase(layout.MANIFEST)

    def write(transaction):
        manifest = decode_manifest(transaction.get(layout.MANIFEST_KEY, db=handle))
        value = encode_manifest(replace(manifest, **changes))
        transaction.put(layout.MANIFEST_KEY, value, db=handle)

    environment.write(write)


def findings(database, *, deep=True):
    found = list(database.check(deep=deep))
    assert all(finding.remedy for finding in found)
    return [f"{finding.place}: {finding.message}" for finding in found]


def run_key(database, column):
    run = database.stats().runs[0].run
    return layout.table_key(run, column)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["document_count", "empty_count", "deleted_count", "bare_count"])
def test_a_counter_that_is_wrong_is_found_without_deep(damaged, name):
    rewrite_manifest(damaged, **{name: 17})

    assert any(f"{name} is 17" in finding for finding in findings(damaged, deep=False))


def test_a_manifest_that_ends_elsewhere_than_the_delta_is_found(damaged):
    rewrite_manifest(damaged, next_ordinal=99)

    assert "delta ends at ordinal 42" in findings(damaged, deep=False)[0]


@pytest.mark.parametrize("column", [layout.KEYS, layout.ORDINALS, layout.DIRECTORY])
@pytest.mark.parametrize("name", [layout.table_name(2), layout.IDS])
def test_a_missing_column_is_found_without_deep(damaged, name, column):
    key = run_key(damaged, column)
    remove(damaged, name, key)

    assert f"is missing from {name.decode()}" in findings(damaged, deep=False)[0]


@pytest.mark.parametrize("name", [layout.table_name(1), layout.IDS])
def test_keys_out_of_order_are_found(damaged, name):
    key = run_key(damaged, layout.KEYS)
    rewrite(damaged, name, b"keys", key, lambda keys: keys[::-1], "<u8")

    assert any("not sorted at entry 1" in finding for finding in findings(damaged))


@pytest.mark.parametrize("name", [layout.table_name(0), layout.IDS])
def test_a_directory_of_other_keys_is_found(damaged, name):
    key = run_key(damaged, layout.DIRECTORY)
    rewrite(damaged, name, b"dire", key, lambda entries: entries * 0, "<u4")

    assert any("directory does not fit" in finding for finding in findings(damaged))


@pytest.mark.parametrize("name", [layout.table_name(3), layout.IDS])
def test_ordinals_that_are_not_there_are_found(damaged, name):
    key = run_key(damaged, layout.ORDINALS)
    rewrite(damaged, name, b"ords", key, lambda ordinals: ordinals + np.uint32(5), "<u4")

    assert any("has ordinals outside 0 .. 40" in finding for finding in findings(damaged))


def test_a_column_that_is_too_short_is_found_without_deep(damaged):
    key = run_key(damaged, layout.KEYS)
    rewrite(damaged, layout.table_name(0), b"keys", key, lambda keys: keys[:-1], "<u8")

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

    def swap(offsets):
        offsets[[3, 4]] = offsets[[4, 3]]
        return offsets

    rewrite(damaged, layout.DOCUMENTS, b"offs", key, swap, "<u4")

    assert any(finding.startswith("ids:") for finding in findings(damaged))


def test_a_checksum_that_differs_is_found_without_deep_too(damaged):
    environment = damaged._store.environment
    handle = environment.subdatabase(layout.table_name(0))
    key = run_key(damaged, layout.KEYS)

    def write(transaction):
        value = bytearray(transaction.get(key, db=handle))
        value[60] ^= 1
        transaction.put(key, bytes(value), db=handle)

    environment.write(write)

    assert "table/00: the entries of run" in findings(damaged, deep=False)[0]
    assert "table/00: the value 'keys' under key" in findings(damaged)[0]


def test_values_of_runs_that_are_not_live_are_found(damaged):
    environment = damaged._store.environment
    key = layout.table_key(77, layout.KEYS)

    def write(transaction):
        value = codec.encode_array(b"keys", key, np.zeros(3, np.uint64))
        transaction.put(key, value, db=environment.subdatabase(layout.table_name(1)))

    environment.write(write)

    assert any("belongs to no run" in finding for finding in findings(damaged))


def test_equal_keys_out_of_order_are_found(damaged):
    damaged.insert_many(["a", "b"], [5, 5])
    damaged.compact()
    key = run_key(damaged, layout.ORDINALS)

    def swap(ordinals):
        at = np.flatnonzero(np.isin(ordinals, [41, 42]))
        ordinals[at] = ordinals[at[::-1]]
        return ordinals

    rewrite(damaged, layout.table_name(0), b"ords", key, swap, "<u4")

    assert any("equal keys are out of order" in finding for finding in findings(damaged))


def test_hashes_of_other_ids_in_the_delta_are_found(damaged):
    def change(payload):
        payload[8 + 2 * 8] ^= 1  # the first hash, after the counts and two fingerprints
        return payload

    rewrite(damaged, layout.DELTA, b"delt", layout.number_key(40), change, "u1")

    assert any("hashes that do not fit" in finding for finding in findings(damaged))


def test_a_calibration_that_is_none_is_found_without_deep(damaged):
    environment = damaged._store.environment
    damaged.calibrate()
    value = codec.encode_object(b"cali", layout.CALIBRATION_KEY, {"model": 1})
    handle = environment.subdatabase(layout.META)
    environment.write(lambda writer: writer.put(layout.CALIBRATION_KEY, value, db=handle))

    assert any(each.startswith("calibration:") for each in findings(damaged, deep=False))
