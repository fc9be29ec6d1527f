"""The bytes of packed vectors are as described, and unpack to what was packed."""

import numpy as np
import pytest

from simdb.columns import vector_form


def test_each_byte_has_a_weight_of_each_half():
    weights = np.array([[-15, 1, 15, -1]], np.int8)

    packed = vector_form.pack(weights)

    assert packed.tolist() == [[0xF0, 0x78]]


def test_every_byte_is_unpacked_and_packed_to_itself():
    every = np.arange(256, dtype=np.uint8)[:, None]

    weights = vector_form.unpack(every)

    assert np.array_equal(vector_form.pack(weights), every)
    assert set(np.unique(weights).tolist()) == set(range(-15, 16, 2))
    assert np.array_equal(vector_form.unpack(every[7]), weights[7])


@pytest.mark.parametrize("dimensions", [64, 128, 256])
def test_the_width_is_that_of_packed_weights(dimensions):
    packed = vector_form.pack(np.ones((3, dimensions), np.int8))

    assert packed.shape == (3, vector_form.width(dimensions))


def test_bit_j_of_a_fingerprint_is_the_sign_of_weight_j():
    weights = np.full((3, 128), -1.0)
    weights[0, [0, 5]] = 2.0
    weights[1, 63] = 0.0

    assert vector_form.fingerprints_of(weights).tolist() == [0b100001, 1 << 63, 0]
    assert vector_form.fingerprints_of(weights[:0]).tolist() == []


@pytest.mark.parametrize(("stored_bits", "row"), [(8, [1, 2]), (32, [1, 0, 0, 0, 2, 1, 0, 0])])
def test_minima_are_packed_lowest_byte_first(stored_bits, row):
    kind = vector_form.minimum_type(stored_bits)
    minima = np.array([[1, 2 if stored_bits == 8 else 258]], kind)

    packed = vector_form.pack_minima(minima)

    assert packed.tolist() == [row]
    assert not np.shares_memory(packed, minima)
    assert np.array_equal(vector_form.unpack_minima(packed, stored_bits), minima)


def test_rows_of_minima_follow_each_other_whatever_their_strides():
    # Joined with single rows, an empty part with other strides turned rows into columns.
    nothing = np.lib.stride_tricks.as_strided(np.empty(0, np.uint32), (0, 3), (0, 0))
    row = np.arange(3, dtype=np.uint32).reshape(1, 3)

    joined = np.concatenate([vector_form.pack_minima(each) for each in (row, row, nothing)])

    assert joined.flags.c_contiguous
