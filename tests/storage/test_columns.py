"""Batches, metadata, tombstones and the manifest come back as they were stored."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from over import over
from strategies import fingerprints, ids

import simdb
from simdb.core import kernel
from simdb.core.arrays import WEIGHTED
from simdb.plan.tables import Permutations
from simdb.storage import codec, layout
from simdb.storage.delta import Delta, StoredBatch, decode_batch
from simdb.storage.manifest import Manifest, RunInfo, Unfinished, decode_manifest, encode_manifest
from simdb.storage.metadata import BLOCK_BYTES, decode_block, encode_blocks
from simdb.storage.tombstones import (
    is_deleted,
    with_deleted,
    with_room,
)

KEY = layout.number_key(3)


def make_batch(bits, chosen_ids, width, seed=0):
    count = len(bits)
    generator = np.random.default_rng(seed)
    offsets, content, hashes = kernel.encode_ids(chosen_ids)
    return StoredBatch(
        np.array(bits, np.uint64),
        generator.integers(0, 3, count, dtype=np.uint8),
        generator.integers(0, 256, (count, width), dtype=np.uint8),
        hashes,
        offsets,
        content,
    )


def assert_equal(left, right):
    for name in ("fingerprints", "states", "vectors", "hashes", "offsets", "content"):
        assert np.array_equal(getattr(left, name), getattr(right, name)), name


rows = st.lists(
    st.tuples(fingerprints, ids), max_size=30, unique_by=lambda row: (type(row[1]), row[1])
)


@given(rows=rows, width=st.sampled_from([0, 32, 64]))
def test_a_batch_comes_back_as_it_was(rows, width):
    batch = make_batch([bits for bits, _ in rows], [id for _, id in rows], width)

    value = batch.encoded(KEY).tobytes()

    assert_equal(decode_batch(KEY, value), batch)


@given(rows=rows, cut=st.integers(0, 30))
def test_a_batch_is_the_sum_of_its_parts(rows, cut):
    batch = make_batch([bits for bits, _ in rows], [id for _, id in rows], 32)
    cut = min(cut, len(rows))
    delta = Delta(100, 32, Permutations(4, 1))

    delta.append(batch.part(0, cut))
    before = delta.view()
    delta.append(batch.part(cut, len(rows)))

    assert_equal(delta.view().batch, batch)
    assert (len(before.batch), before.stop) == (cut, 100 + cut)
    assert_equal(before.batch, batch.part(0, cut))
    searchable = np.flatnonzero(batch.states != 0)
    assert delta.view().ordinals.tolist() == (100 + searchable).tolist()
    assert np.array_equal(delta.view().searchable, batch.fingerprints[searchable])
    assert delta.view().weighted_count == (batch.states == WEIGHTED).sum()
    assert delta.view().every.tolist() == list(range(100, 100 + len(rows)))


@over("length", [0, 7, 8, 20, 100])
def test_a_batch_that_was_cut_off_is_refused(length):
    batch = make_batch(range(5), list("abcde"), 32)
    payload = codec.decode_array(b"delt", KEY, batch.encoded(KEY), "u1")[:length]
    value = codec.encode_array(b"delt", KEY, payload)

    with pytest.raises(simdb.CorruptError):
        decode_batch(KEY, value)


def test_a_batch_with_offsets_that_descend_is_refused():
    batch = make_batch(range(3), list("abc"), 0)
    batch.offsets[[1, 2]] = batch.offsets[[2, 1]]

    with pytest.raises(simdb.CorruptError, match="offsets"):
        decode_batch(KEY, batch.encoded(KEY).tobytes())


@given(lengths=st.lists(st.sampled_from([0, 1, 100, BLOCK_BYTES // 3, BLOCK_BYTES]), max_size=12))
def test_metadata_comes_back_in_blocks_of_limited_size(lengths):
    entries = [(3 * at + 2, bytes([at]) * length) for at, length in enumerate(lengths)]

    blocks = list(encode_blocks(entries))

    found = [entry for key, value in blocks for entry in decode_block(key, value.tobytes())]
    assert found == entries
    keys = [layout.key_number(key) for key, _ in blocks]
    assert keys == sorted(keys)
    assert all(len(value) <= 2 * BLOCK_BYTES for _, value in blocks)


@over("length", [0, 3, 4, 11])
def test_metadata_that_was_cut_off_is_refused(length):
    ((key, value),) = encode_blocks([(5, b"abc")])
    payload = codec.decode_array(b"meta", key, value, "u1")[:length]

    with pytest.raises(simdb.CorruptError):
        decode_block(key, codec.encode_array(b"meta", key, payload))


def test_a_bitmap_gets_room_for_later_ordinals_and_keeps_its_bits():
    bitmap = with_deleted(None, np.array([9], np.uint32), 10)

    longer = with_room(bitmap, 10_000_000)

    assert len(longer) * 8 >= 10_000_000
    assert is_deleted(longer, np.array([9, 9_999_999], np.uint32)).tolist() == [True, False]
    assert with_room(bitmap, 11) is bitmap
    assert with_room(None, 5) is None


RUNS = (RunInfo(4, 0, 10, 9, 10, 3), RunInfo(2, 10, 12, 2, 2, 0))
GOOD = Manifest(runs=RUNS, next_run=6, next_ordinal=15, delta_start=12, document_count=15)
MERGE = Unfinished(RunInfo(5, 0, 12, 0, 12, 3), 2, 13)


def test_a_manifest_comes_back_as_it_was():
    merging = replace(GOOD, unfinished=MERGE)

    assert decode_manifest(encode_manifest(GOOD)) == GOOD
    assert decode_manifest(encode_manifest(merging)) == merging
    keyed = replace(GOOD, id_key=bytes(range(16)))
    assert decode_manifest(encode_manifest(keyed)) == keyed
    assert decode_manifest(encode_manifest(Manifest())) == Manifest()


def stored(**changes):
    value = codec.decode_object(b"mani", layout.MANIFEST_KEY, encode_manifest(GOOD))
    return codec.encode_object(b"mani", layout.MANIFEST_KEY, {**value, **changes})


@over(
    "changes",
    [
        {"runs": [[4, 0, 10, 9, 10, 3]]},
        {"runs": [[4, 1, 12, 9, 10, 3]]},
        {"runs": [[4, 0, 10, 9, 10, 3], [2, 11, 12, 1, 1, 0]]},
        {"runs": [[4, 0, 10, 9, 10, 3], [2, 10, 10, 0, 0, 0], [1, 10, 12, 2, 2, 0]]},
        {"runs": [[4, 0, 10]]},
        {"runs": 5},
        {"delta_start": 11},
        {"next_ordinal": 11},
        {"surprise": 1},
        {"id_key": bytes(15)},
        {"id_key": bytes(17)},
        {"id_key": 0},
        {"id_key": "x" * 16},
        {"unfinished": 5},
        {"unfinished": []},
        {"unfinished": [5, 0, 12, 0, 12, 3, 2]},
        {"unfinished": [5, 0, 12, 0, 12, 3, 2, -1]},
        {"unfinished": [5, 0, 12, 0, 12, 3, 2, 16]},
        {"unfinished": [5, 0, 12, 0, 13, 3, 2, 13]},
        {"unfinished": [4, 0, 12, 0, 12, 3, 2, 13]},
        {"unfinished": [6, 0, 12, 0, 12, 3, 2, 13]},
        {"unfinished": [5, 0, 11, 0, 11, 3, 2, 13]},
        {"unfinished": [5, 1, 12, 0, 11, 3, 2, 13]},
        {"unfinished": [5, 10, 12, 0, 2, 0, 2, 13]},
        {"unfinished": [5, 12, 15, 0, 0, 0, 2, 13]},
    ],
)
def test_a_manifest_of_an_impossible_state_is_refused(changes):
    with pytest.raises(simdb.CorruptError):
        decode_manifest(stored(**changes))
