"""Packed vectors unpack to what was packed; cosines are corrected; blocks of bits are whole."""

import math
from itertools import combinations

import numpy as np
import pytest
from over import over

from simdb.core import bits, kernel, vector_form
from simdb.core.vector_form import corrected, corrected_one, least_rounded


def test_every_byte_is_unpacked_and_packed_to_itself():
    every = np.arange(256, dtype=np.uint8)[:, None]

    weights = vector_form.unpack(every)

    assert np.array_equal(vector_form.pack(weights), every)
    assert set(np.unique(weights).tolist()) == set(range(-15, 16, 2))
    assert np.array_equal(vector_form.unpack(every[7]), weights[7])


def test_bit_j_of_a_fingerprint_is_the_sign_of_weight_j():
    weights = np.full((3, 128), -1.0)
    weights[0, [0, 5]] = 2.0
    weights[1, 63] = 0.0

    assert vector_form.fingerprints_of(weights).tolist() == [0b100001, 1 << 63, 0]
    assert vector_form.fingerprints_of(weights[:0]).tolist() == []


@pytest.mark.parametrize(
    ("stored_bits", "row", "packed_row"),
    [
        (1, [1, 0, 1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1], [0b1101, 0b10000010]),
        (2, [1, 0, 2, 3, 0, 1, 3, 2], [0b11100001, 0b10110100]),
        (8, [1, 2], [1, 2]),
        (32, [1, 258], [1, 0, 0, 0, 2, 1, 0, 0]),
    ],
)
def test_minima_are_packed_lowest_first(stored_bits, row, packed_row):
    minima = np.array([row], vector_form.minimum_type(stored_bits))

    packed = vector_form.pack_minima(minima, stored_bits)

    assert packed.tolist() == [packed_row]
    assert not np.shares_memory(packed, minima)
    assert np.array_equal(vector_form.unpack_minima(packed, stored_bits), minima)


def test_rows_of_minima_follow_each_other_whatever_their_strides():
    # Joined with single rows, an empty part with other strides turned rows into columns.
    nothing = np.lib.stride_tricks.as_strided(np.empty(0, np.uint32), (0, 3), (0, 0))
    row = np.arange(3, dtype=np.uint32).reshape(1, 3)

    joined = np.concatenate([vector_form.pack_minima(each, 32) for each in (row, row, nothing)])

    assert joined.flags.c_contiguous


STEP = 0.335


def rounded_cosine(cosine: float) -> float:
    """Integrate the definition in the module: the expected product of rounded normal weights."""
    x = np.linspace(-8, 8, 4001)
    density = np.exp(-x * x / 2)
    levels = 2.0 * np.arange(-8, 8) + 1
    edges = np.array([-np.inf, *(STEP * np.arange(-7, 8)), np.inf])
    spread = math.sqrt(1 - cosine * cosine)
    below = np.vectorize(lambda z: (1 + math.erf(z / math.sqrt(2))) / 2)
    shares = np.diff(below((edges - cosine * x[:, None]) / spread), axis=1)
    own = 2 * np.clip(np.floor(x / STEP), -8, 7) + 1
    return float((density * own * (shares @ levels)).sum() / (density * own * own).sum())


@over("cosine", [0.5, 0.9992])
def test_the_curve_is_that_of_jointly_normal_weights(cosine: float) -> None:
    measured = np.array([rounded_cosine(cosine)])

    assert corrected(measured)[0] == pytest.approx(cosine, abs=3e-4)


def test_equal_and_opposite_weights_stay_equal_and_opposite() -> None:
    assert corrected(np.array([1.0, 0.0, -1.0], np.float32)).tolist() == [1.0, 0.0, -1.0]


def test_the_correction_never_descends_and_only_one_becomes_one() -> None:
    values = np.linspace(-1, 1, 200_001).astype(np.float32)

    found = corrected(values)

    assert (np.diff(found) >= 0).all()
    assert (found[values < 1 - 6e-5] < 1).all()


@over("similarity", [1e-9, 0.1, 0.5, 0.88, 0.889, 0.9, 0.95, 0.999, 1.0])
def test_the_least_cosine_is_the_first_that_reaches_the_similarity(similarity: float) -> None:
    least = np.float32(least_rounded(similarity))
    lower = np.nextafter(least, np.float32(-1))

    assert corrected(np.array([least]))[0] >= np.float32(similarity)
    assert corrected(np.array([lower]))[0] < np.float32(similarity)


def test_one_similarity_is_corrected_as_many_are() -> None:
    measured = np.random.default_rng(2).uniform(-0.2, 1, 5000).astype(np.float32)
    measured[:3] = 0.0, 1.0, -1.0

    found = [corrected_one(float(each)) for each in measured]

    assert found == corrected(measured).tolist()


@over("blocks", [1, 2, 3, 6, 7, 64])
def test_blocks_cover_all_bits_once_from_the_most_significant(blocks):
    masks = bits.block_masks(blocks)

    assert sum(masks) == 2**64 - 1
    assert masks == sorted(masks, reverse=True)
    widths = [mask.bit_count() for mask in masks]
    assert widths == sorted(widths, reverse=True)
    assert max(widths) - min(widths) <= 1


def worst_distance(blocks, leading, flips):
    """Return the most differing bits that are found however they are spread; brute force.

    `spread` counts the differing bits of each block; only its sorted form matters.
    """
    most = 0
    limit = 3 * (flips + 1)
    widths = [mask.bit_count() for mask in bits.block_masks(blocks)]

    def spreads(position, least):
        if position == blocks:
            yield ()
            return
        for count in range(least, min(limit, max(widths)) + 1):
            for rest in spreads(position + 1, count):
                yield (count, *rest)

    totals = {}
    for spread in spreads(0, 0):
        fewest = sum(spread[:leading])
        totals.setdefault(sum(spread), set()).add(fewest <= flips)
    while totals.get(most + 1) == {True}:
        most += 1
    return most


@over(
    ("blocks", "leading", "flips"),
    [(2, 1, 0), (4, 1, 0), (4, 1, 1), (3, 2, 0), (3, 2, 1), (4, 2, 1), (5, 2, 0), (4, 3, 2)],
)
def test_the_distance_served_is_that_of_the_worst_spread(blocks, leading, flips):
    served = bits.distance_served(blocks, leading, flips)

    assert served == worst_distance(blocks, leading, flips)


@over(("width", "flips"), [(1, 0), (4, 1), (4, 4), (4, 9), (20, 3)])
def test_flips_are_counted_as_subsets(width, flips):
    subsets = sum(
        len(list(combinations(range(width), count))) for count in range(min(flips, width) + 1)
    )

    assert bits.flip_count(width, flips) == subsets


def test_set_bits_come_lowest_first():
    assert list(bits.set_bits(0)) == []
    assert list(bits.set_bits(0b1011 << 60)) == [60, 61, 63]


@over("count", [0, 1, 8, 9, 1000])
def test_a_bitmap_has_the_bits_at_its_positions(count):
    positions = np.arange(0, count, 3)

    packed = bits.bitmap(positions, count)

    assert packed.dtype == np.uint8
    unpacked = np.unpackbits(packed, bitorder="little")
    assert np.flatnonzero(unpacked).tolist() == positions.tolist()


@pytest.mark.parametrize(("blocks", "leading"), [(1, 1), (4, 1), (5, 2), (64, 3)])
@pytest.mark.parametrize("header_bits", [0, 1, 13, 16, 40, 64])
def test_a_header_is_what_stands_highest_in_the_key(blocks, leading, header_bits):
    mask = bits.leading_masks(blocks, leading)[-1]
    singles = np.uint64(1) << np.arange(64, dtype=np.uint64)
    keys = np.empty(64, np.uint64)
    kernel.permute(singles, mask, keys)

    found = bits.header_mask(mask, header_bits)

    chosen = [bit for bit, key in enumerate(keys.tolist()) if key >= 2 ** (64 - header_bits)]
    assert found == sum(1 << bit for bit in chosen)
