"""Stored values come back as they were written; changed ones are refused."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st
from over import over

from simdb.core.errors import CorruptError, FormatError
from simdb.storage import codec

KEY = b"\0\0\0\7"
COLUMNS = ["<u4", "u1"]


@pytest.mark.parametrize("dtype", ["<u8", "<u4", "u1"])
@pytest.mark.parametrize("count", [0, 1, 7, 1000])
def test_an_array_comes_back_as_it_was(dtype, count):
    array = np.arange(count).astype(dtype)

    value = codec.encode_array(b"keys", KEY, array).tobytes()

    decoded = codec.decode_array(b"keys", KEY, value, dtype, verify=True)
    assert decoded.dtype == array.dtype
    assert np.array_equal(decoded, array)


EVEN = st.builds(
    lambda first, step, count: [first + step * at for at in range(count)],
    st.integers(0, 9), st.integers(0, 9), st.integers(0, 20),
)  # fmt: skip


@given(EVEN | st.lists(st.integers(0, 9)), st.sampled_from(COLUMNS))
def test_numbers_are_stored_as_even_if_their_steps_are_equal_and_come_back(numbers, dtype):
    array = np.array(numbers, dtype)

    value = codec.encode_even(KEY, array)

    steps = {after - before for before, after in pairwise(numbers)}
    assert (value is not None) == (len(steps) == 1 and min(steps) >= 0)
    if value is not None:
        decoded = codec.decode_column(b"offs", KEY, value, dtype, verify=True)
        assert (decoded.dtype, decoded.tolist()) == (array.dtype, numbers)
        assert not decoded.flags.writeable


@pytest.mark.parametrize(
    ("count", "payload", "message"),
    [
        (5, codec.EVEN.pack(0, 9)[:-1], "evenly spaced"),
        (1, codec.EVEN.pack(0, 9), "evenly spaced"),
        (1 << 60, codec.EVEN.pack(0, 9), "evenly spaced"),
        (5, codec.EVEN.pack(0, 1 << 30), "too large"),
        (5, codec.EVEN.pack(1 << 63, 0), "too large"),
    ],
)
def test_made_up_even_numbers_are_refused(count, payload, message):
    value = codec.encode_bytes(codec.EVEN_KIND, KEY, count, payload)

    with pytest.raises(CorruptError, match=message):
        codec.decode_column(b"offs", KEY, value, "<u4")


def test_every_flipped_bit_of_even_numbers_is_found():
    value = codec.encode_even(KEY, np.arange(0, 900, 9, dtype="<u4"))

    for at in range(8 * len(value)):
        flipped = bytearray(value)
        flipped[at // 8] ^= 1 << at % 8
        with pytest.raises((CorruptError, FormatError)):
            codec.decode_column(b"offs", KEY, bytes(flipped), "<u4")


def test_small_values_are_copied_because_lmdb_moves_them():
    # A small value lies inside a leaf page, which is rewritten whenever a neighbour changes; an
    # array that pointed there would in time show the bytes of another page.
    value = bytearray(codec.encode_array(b"iden", KEY, np.zeros(100, np.uint8)))

    decoded = codec.decode_array(b"iden", KEY, value, "u1")
    value[:] = b"\xff" * len(value)

    assert not decoded.any()


@pytest.mark.parametrize("payload", [b"", b"x", bytes(range(64))])
def test_every_flipped_bit_is_noticed(payload):
    value = codec.encode_array(b"iden", KEY, np.frombuffer(payload, np.uint8)).tobytes()
    codec.verify_value(KEY, value)

    for bit in range(8 * len(value)):
        flipped = bytearray(value)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(CorruptError):
            codec.verify_value(KEY, bytes(flipped))


def test_a_value_under_another_key_is_noticed():
    value = codec.encode_array(b"keys", KEY, np.arange(3, dtype=np.uint64))

    with pytest.raises(CorruptError, match="checksum"):
        codec.verify_value(b"\0\0\0\6", value)


@over("length", [0, 1, 47, 48, 55])
def test_a_value_that_was_cut_off_is_noticed(length):
    value = codec.encode_array(b"keys", KEY, np.arange(1, dtype=np.uint64)).tobytes()[:length]

    with pytest.raises(CorruptError):
        codec.verify_value(KEY, value)
    with pytest.raises(CorruptError):
        codec.decode_array(b"keys", KEY, value, "<u8")


@over(("kind", "message"), [(b"keys", "keys"), (b"ords", "12 bytes")])
def test_another_kind_and_a_length_that_fits_no_entries_are_refused(kind, message):
    value = codec.encode_array(kind, KEY, np.arange(3, dtype=np.uint32))

    with pytest.raises(CorruptError, match=message):
        codec.decode_array(b"ords", KEY, value, "<u8")


def test_a_newer_format_version_is_refused_with_the_remedy(monkeypatch):
    monkeypatch.setattr(codec, "FORMAT_VERSION", 2)
    value = codec.encode_object(b"mani", KEY, {"a": 1})
    monkeypatch.undo()

    with pytest.raises(FormatError, match=r"version 2.*newer simdb"):
        codec.decode_object(b"mani", KEY, value)


@over("thing", [None, True, -1, 2**64 - 1, 1.5, "\u00e9", b"\0\xff", [1, [2]], {"a": {"b": None}}])
def test_objects_come_back_as_they_were(thing):
    assert codec.decode_object(b"meta", KEY, codec.encode_object(b"meta", KEY, thing)) == thing


def test_a_part_of_what_was_read_is_encoded_as_a_copy():
    # A small value is copied when it is read.  The entries behind its first 48 bytes were taken for
    # an array with room for a header in front, and a merge ended with ValueError.
    values = np.arange(500, dtype=np.uint64)
    read = codec.decode_array(b"keys", KEY, codec.encode_array(b"keys", KEY, values), "<u8")

    for start in range(20):
        stored = codec.encode_array(b"keys", KEY, read[start:])

        assert np.array_equal(codec.decode_array(b"keys", KEY, stored, "<u8"), values[start:])
    assert np.array_equal(read, values)
