"""Forged values, with checksums that agree, always give an error of simdb."""

from dataclasses import replace

import numpy as np
import pytest
from soundness import TINY

import simdb
from simdb.storage import codec, layout
from simdb.storage.manifest import decode_manifest, encode_manifest


@pytest.fixture
def opened(tmp_path):
    """A database with a run of each size and a calibration; it need not stay sound."""
    options = replace(TINY, distance_tables="always")
    with simdb.open(tmp_path / "db", options=options) as database:
        database.insert_many(range(9), [f"red green {at % 3}" for at in range(9)], range(9))
        database.calibrate()
        database.compact()
        yield database


def put(database, name, key, value):
    environment = database._store.environment
    handle = environment.subdatabase(name)
    if value is None:
        environment.write(lambda transaction: transaction.delete(key, db=handle))
    else:
        environment.write(lambda transaction: transaction.put(key, value, db=handle))
    database._store.forget_views()


def put_array(database, name, kind, key, array):
    put(database, name, key, codec.encode_array(kind, key, array))


def manifest_of(database):
    environment = database._store.environment
    handle = environment.subdatabase(layout.MANIFEST)
    with environment.reading() as transaction:
        return decode_manifest(transaction.get(layout.MANIFEST_KEY, db=handle))


def run_of(database):
    return manifest_of(database).runs[0]


def put_manifest(database, **changes):
    manifest = manifest_of(database)
    put(
        database,
        layout.MANIFEST,
        layout.MANIFEST_KEY,
        encode_manifest(replace(manifest, **changes)),
    )


def asked(database):
    return database.query("red green 1", distance=9)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "stored",
    [
        0,
        None,
        [],
        "text",
        {1: 2},
        {"sketch": 7},
        {"sketch": {"idf": "x"}},
        {"blocks": -1, "corrected": True, "sketch": {"by_character": "cjk"}},
    ],
)
def test_options_that_are_no_options_are_corrupt(opened, stored):
    key = layout.OPTIONS_KEY
    put(opened, layout.META, key, codec.encode_object(layout.OPTIONS_KIND, key, stored))
    opened.close()

    with pytest.raises(simdb.CorruptError, match=r"(the|its) options"):
        simdb.open(opened.path)


@pytest.mark.parametrize("stored", [0, [], {1: 2}, {"stop_words": [1]}, {"versions": {"a": 1}}])
def test_resources_that_are_none_are_corrupt(opened, stored):
    key = layout.RESOURCES_KEY
    put(opened, layout.META, key, codec.encode_object(layout.RESOURCES_KIND, key, stored))
    opened.close()

    with pytest.raises(simdb.CorruptError, match="the value 'resources'"):
        simdb.open(opened.path)


@pytest.mark.parametrize("stored", [0, "text", {}, {"version": "1"}])
def test_a_format_that_is_none_is_refused(opened, stored):
    key = layout.FORMAT_KEY
    put(opened, layout.META, key, codec.encode_object(layout.FORMAT_KIND, key, stored))
    opened.close()

    with pytest.raises((simdb.CorruptError, simdb.FormatError)):
        simdb.open(opened.path)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("queries", "text"),
        ("queries", b"\0" * 7),
        ("document_count", "many"),
        ("query_count", -1),
        ("delays", {"memory": 0}),
        ("delays", {"memory": float("nan")}),
        ("model", None),
    ],
)
def test_a_calibration_that_is_none_is_corrupt(opened, name, value):
    key, kind = layout.CALIBRATION_KEY, layout.CALIBRATION_KIND
    with opened._store.environment.reading() as transaction:
        found = transaction.get(key, db=opened._store.environment.subdatabase(layout.META))
        stored = codec.decode_object(kind, key, found)
    put(opened, layout.META, key, codec.encode_object(kind, key, {**stored, name: value}))
    opened.close()

    with (
        simdb.open(opened.path) as again,
        pytest.raises(simdb.CorruptError, match="the stored calibration"),
    ):
        asked(again)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "changes",
    [
        {"next_ordinal": -1},
        {"next_ordinal": 2**40, "delta_start": 2**40},
        {"document_count": 10},
        {"deleted_count": 11},
        {"next_run": 0},
        {"calibration": 1.5},
    ],
)
def test_a_manifest_that_cannot_be_is_corrupt(opened, changes):
    put_manifest(opened, **changes)

    with pytest.raises(simdb.CorruptError):
        asked(opened)


def test_more_documents_than_the_file_has_room_for_take_no_memory(opened):
    run = run_of(opened)
    count = 2**32 - 1
    larger = replace(run, stop=count, entry_count=count)
    put_manifest(opened, runs=(larger,), delta_start=count, next_ordinal=count, deleted_count=1)

    with pytest.raises(simdb.CorruptError, match="is too small for the 4294967295 documents"):
        asked(opened)


def test_metadata_with_a_list_for_a_key_is_corrupt(opened):
    key = layout.number_key(0)
    packed = b"\x81\x91\x01\x02"  # {[1]: 2} in msgpack
    counts = np.array([1, 0, 0, len(packed)], "<u4").tobytes()
    payload = np.frombuffer(counts + packed, np.uint8)
    put_array(opened, layout.METADATA, layout.METADATA_KIND, key, payload)

    with pytest.raises(simdb.CorruptError, match="metadata of ordinal 0"):
        opened.get(0)


def test_a_table_with_an_ordinal_that_nobody_has_is_corrupt(opened):
    run = run_of(opened).number
    key, kind = layout.table_key(run, layout.ORDINALS), layout.TABLE_KINDS[layout.ORDINALS]
    for table in map(layout.table_name, range(opened.options.table_count)):
        put_array(opened, table, kind, key, np.arange(9, dtype=np.uint32) + np.uint32(1 << 20))

    with pytest.raises(simdb.CorruptError, match="only 9 ordinals"):
        opened.find_clusters(distance=3)
    with pytest.raises(simdb.CorruptError, match="only 9 ordinals"):
        len(opened.find_all(distance=3, search="bphs"))
    with pytest.raises(simdb.CorruptError, match="ordinal 10485"):
        opened.query(int(opened.get(0).fingerprint.bits), distance=3)


def test_ids_that_do_not_follow_each_other_are_corrupt(opened):
    key = layout.segment_key(run_of(opened).number, layout.OFFSET, 0)
    kind = layout.COLUMN_KINDS[layout.OFFSET]
    offsets = np.array([0, 9, 2, 3, 4, 5, 6, 7, 8, 81], np.uint32)
    opened.delete(3)
    put_array(opened, layout.DOCUMENTS, kind, key, offsets)
    opened.close()

    with (
        simdb.open(opened.path) as again,
        pytest.raises(simdb.CorruptError, match="do not ascend from 0"),
    ):
        again.compact()
