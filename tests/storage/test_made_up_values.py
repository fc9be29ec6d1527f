"""Forged values, with checksums that agree, always give an error of simdb."""

from dataclasses import replace

import numpy as np
import pytest
from soundness import TINY
from stored_values import change_array, change_column, change_manifest, change_value, put_value

import simdb
from simdb.storage import codec, layout


@pytest.fixture
def opened(tmp_path):
    """A database with a run of each size and a calibration; it need not stay sound."""
    with simdb.open(tmp_path / "db", options=replace(TINY, blocks=4)) as database:
        database.insert_many(range(9), [f"red green {at % 3}" for at in range(9)], range(9))
        database.calibrate()
        database.compact()
        yield database


def asked(database):
    return database.query("red green 1", distance=9)


OPTIONS = layout.OPTIONS_KEY, layout.OPTIONS_KIND, r"(the|its) options"
RESOURCES = layout.RESOURCES_KEY, layout.RESOURCES_KIND, "the value 'resources'"
FORMAT = layout.FORMAT_KEY, layout.FORMAT_KIND, None


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        *((OPTIONS, stored) for stored in ([], {1: 2}, {"sketch": {"idf": "x"}})),
        *((RESOURCES, stored) for stored in ([], {"stop_words": [1]}, {"versions": {"a": 1}})),
        *((FORMAT, stored) for stored in ("text", {"version": "1"})),
    ],
)
def test_options_resources_and_formats_that_are_none_are_refused(opened, value, stored):
    key, kind, message = value
    put_value(opened, layout.META, key, codec.encode_object(kind, key, stored))
    opened.close()

    with pytest.raises((simdb.CorruptError, simdb.FormatError), match=message):
        simdb.open(opened.path)


@pytest.mark.parametrize(
    ("name", "value"),
    [("queries", b"\0" * 7), ("query_count", -1), ("delays", {"memory": float("nan")})],
)
def test_a_calibration_that_is_none_is_corrupt(opened, name, value):
    key, kind = layout.CALIBRATION_KEY, layout.CALIBRATION_KIND

    def changed(stored):
        found = codec.decode_object(kind, key, stored)
        return codec.encode_object(kind, key, {**found, name: value})

    change_value(opened, layout.META, key, changed)
    opened.close()

    with (
        simdb.open(opened.path) as again,
        pytest.raises(simdb.CorruptError, match="the stored calibration"),
    ):
        asked(again)


@pytest.mark.parametrize(
    "changes",
    [{"next_ordinal": -1}, {"next_ordinal": 2**40, "delta_start": 2**40}, {"document_count": 10}],
)
def test_a_manifest_that_cannot_be_is_corrupt(opened, changes):
    change_manifest(opened, **changes)
    opened._store.forget_views()

    with pytest.raises(simdb.CorruptError):
        asked(opened)


def test_more_documents_than_the_file_has_room_for_take_no_memory(opened):
    count = 2**32 - 1

    def larger(manifest):
        runs = (replace(manifest.runs[0], stop=count, entry_count=count),)
        return replace(manifest, runs=runs, delta_start=count, next_ordinal=count, deleted_count=1)

    change_manifest(opened, larger)
    opened._store.forget_views()

    with pytest.raises(simdb.CorruptError, match="is too small for the 4294967295 documents"):
        asked(opened)


def test_metadata_with_a_list_for_a_key_is_corrupt(opened):
    key = layout.number_key(0)
    packed = b"\x81\x91\x01\x02"  # {[1]: 2} in msgpack
    counts = np.array([1, 0, 0, len(packed)], "<u4").tobytes()
    payload = np.frombuffer(counts + packed, np.uint8)
    change_array(opened, layout.METADATA, layout.METADATA_KIND, key, lambda _: payload, "u1")
    opened._store.forget_views()

    with pytest.raises(simdb.CorruptError, match="metadata of ordinal 0"):
        opened.get(0)


def test_a_table_with_an_ordinal_that_nobody_has_is_corrupt(opened):
    for table in map(layout.table_name, range(opened.options.table_count)):
        change_column(opened, table, layout.ORDINALS, lambda each: each + np.uint32(1 << 20))
    opened._store.forget_views()

    with pytest.raises(simdb.CorruptError, match="only 9 ordinals"):
        opened.find_clusters(distance=3)
    with pytest.raises(simdb.CorruptError, match="only 9 ordinals"):
        len(opened.find_all(distance=3, search="bphs"))
    with pytest.raises(simdb.CorruptError, match="ordinal 10485"):
        opened.query(int(opened.get(0).fingerprint.bits), distance=3)


def test_ids_that_do_not_follow_each_other_are_corrupt(opened):
    key = layout.segment_key(opened.stats().runs[0].run, layout.OFFSET, 0)
    kind = layout.COLUMN_KINDS[layout.OFFSET]
    offsets = np.array([0, 9, 2, 3, 4, 5, 6, 7, 8, 81], np.uint32)
    opened.delete(3)
    change_array(opened, layout.DOCUMENTS, kind, key, lambda _: offsets, "<u4")
    opened.close()

    with (
        simdb.open(opened.path) as again,
        pytest.raises(simdb.CorruptError, match="do not ascend from 0"),
    ):
        again.compact()
