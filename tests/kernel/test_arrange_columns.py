"""Permuting, sorting, merging and indexing answer like plain loops, whatever the variant."""

import random
from bisect import bisect_left

import arrange_oracle as oracle
import numpy as np
import pytest
from arrange_oracle import ALL_ONES, SIZES, odd, words
from over import over
from search_oracle import displaced, permute

from simdb.core.bits import leading_masks
from simdb.core.errors import CorruptError

MASKS = [0, 1, 1 << 63, ALL_ONES, 0x5555555555555555, 0xFFFF, 0xFFFF << 32, 0x00FF00FF0F0F3355]
MASKS += leading_masks(4, 1) + leading_masks(5, 2)[3:6] + leading_masks(6, 3)[7:9]


@over("mask", MASKS)
def test_permuting_moves_the_masked_bits_to_the_front(arrange, mask):
    fingerprints = [*words(mask, 63), 0, ALL_ONES]
    keys = np.zeros(65, np.uint64)

    arrange.permute(odd(fingerprints, np.uint64), mask, keys)

    assert keys.tolist() == [permute(word, mask) for word in fingerprints]


@over("mask", MASKS)
def test_restoring_undoes_permuting(arrange, mask):
    fingerprints = words(mask, 130)
    keys = odd([permute(word, mask) for word in fingerprints], np.uint64)
    restored = np.zeros(130, np.uint64)

    arrange.restore(keys, mask, restored)

    assert restored.tolist() == fingerprints


@over("count", SIZES)
def test_permuting_takes_any_length_and_its_input_as_output(arrange, count):
    fingerprints = words(count, count)
    both = np.array([*fingerprints, 77], np.uint64)

    arrange.permute(both[:count], 0xFFFF << 32, both[:count])

    assert both.tolist() == [*(permute(word, 0xFFFF << 32) for word in fingerprints), 77]


def dealt(hashes, order, sizes):
    """Return what `deal` does, from an array of single bits."""
    bits = np.unpackbits(hashes, axis=1)[:, order].astype(np.uint64)
    parts = np.split(bits, np.cumsum(sizes)[:-1], axis=1)
    weights = np.uint64(1) << np.arange(63, -1, -1, dtype=np.uint64)
    return [(part @ weights[: part.shape[1]]).tolist() for part in parts]


@over("width", [*range(4, 68, 4), 100])
def test_dealing_puts_the_bits_of_each_part_in_front(arrange, width):
    # Up to 8 hashes are dealt bit by bit, more with a table of half bytes.
    generator = np.random.default_rng(width)
    bits = 8 * width
    odd_sizes = [1, 27] + [60] * ((bits - 28) // 60) + [(bits - 28) % 60] * ((bits - 28) % 60 > 0)
    for sizes in ([32] * (bits // 32), odd_sizes, [1] * bits):
        for count in (1, 2, 8, 9, 70):
            hashes = displaced(generator.integers(0, 256, (count, width), np.uint8))
            order = odd(generator.permutation(bits), np.uint16)

            words = arrange.deal(hashes, order, sizes)

            assert words.tolist() == dealt(hashes, order, sizes)


def test_dealing_no_hashes_gives_no_words(arrange):
    order = np.arange(64, dtype=np.uint16)

    words = arrange.deal(np.empty((0, 8), np.uint8), order, [32, 32])

    assert (words.shape, words.dtype) == ((2, 0), np.uint64)


def test_dealing_refuses_bits_and_sizes_that_do_not_fit(arrange):
    hashes, order = np.zeros((9, 8), np.uint8), np.arange(64, dtype=np.uint16)

    for bits, sizes, message in (
        (order[:63], [32, 32], "order has 63 bits"),
        (order + np.uint16(1), [64], "bit 64"),
        (order, [32, 31], "sizes"),
        (order, [64, 0], "sizes"),
        (order, [65, -1], "sizes"),
        (order, [], "sizes"),
    ):
        with pytest.raises(ValueError, match=message):
            arrange.deal(hashes, bits, sizes)


@over("count", SIZES)
def test_sorting_takes_any_length(arrange, count):
    keys = words(count, count)
    columns = np.array(keys, np.uint64), np.arange(count, dtype=np.uint32)

    arrange.sort(*columns)

    found = zip(*(column.tolist() for column in columns), strict=True)
    assert list(found) == sorted(zip(keys, range(count), strict=True))


@over(
    "keys",
    [
        [0] * 70000,
        [ALL_ONES, 0] * 40000,
        list(range(70000, 0, -1)),
        [word % 1000 for word in words(2, 5000)],
        [word >> 40 for word in words(3, 70000)],
        [1 << word % 64 for word in words(4, 70000)],
        [word << 48 | word % 7 for word in range(1, 20000)],
        [word & ~0xFFFFFFFF0000 for word in words(6, 70000)],
        [word % 3 << 62 | word % 40 for word in words(7, 70000)],
        words(11, 300_000),
    ],
)  # fmt: skip
def test_sorting_is_stable_whatever_repeats(arrange, keys):
    keys = np.array(keys, np.uint64)
    ordinals = np.random.default_rng(12).permutation(len(keys)).astype(np.uint32)
    order = np.argsort(keys, kind="stable")
    expected, alone = (keys[order], ordinals[order]), keys.copy()

    arrange.sort(keys, ordinals)
    arrange.sort(alone)

    assert np.array_equal(keys, expected[0])
    assert np.array_equal(ordinals, expected[1])
    assert np.array_equal(alone, expected[0])


@over("left_count", [0, 1, 2, 31, 32, 33, 65, 1000])
@over("right_count", [0, 1, 2, 31, 32, 33, 65, 1000])
@over("distinct", [1, 3, 50, 2**64])
def test_merging_is_sorted_with_the_left_first(arrange, left_count, right_count, distinct):
    left = sorted(word % distinct for word in words(left_count, left_count))
    right = sorted(word % distinct for word in words(right_count + 7, right_count))
    count = left_count + right_count
    keys, ordinals = np.zeros(count, np.uint64), np.zeros(count, np.uint32)

    arrange.merge(
        odd(left, np.uint64), odd(range(left_count), np.uint32),
        odd(right, np.uint64), odd(range(left_count, count), np.uint32),
        keys, ordinals,
    )  # fmt: skip

    merged = sorted((key, ordinal) for ordinal, key in enumerate(left + right))
    assert list(zip(keys.tolist(), ordinals.tolist(), strict=True)) == merged


@over(("low", "high"), [(0, 2**63), (2**63, 0)])
def test_merging_takes_sides_that_do_not_meet(arrange, low, high):
    left = np.arange(low, low + 300, dtype=np.uint64)
    right = np.arange(high, high + 40, dtype=np.uint64)
    keys, ordinals = np.zeros(340, np.uint64), np.zeros(340, np.uint32)

    arrange.merge(left, left.astype(np.uint32), right, right.astype(np.uint32), keys, ordinals)

    assert keys.tolist() == sorted(left.tolist() + right.tolist())
    assert ordinals.tolist() == [key % 2**32 for key in keys.tolist()]


@over("count", SIZES)
@over("share", [0, 0.3, 1])
def test_keeping_leaves_out_the_dead(arrange, count, share):
    generator = random.Random(count)
    ordinals = generator.sample(range(count), count)
    dead = [ordinal for ordinal in range(count) if generator.random() < share]
    bits = [sum(1 << bit % 8 for bit in dead if bit // 8 == byte) for byte in range(-(-count // 8))]
    keys_out, ordinals_out = np.zeros(count, np.uint64), np.zeros(count, np.uint32)

    kept = arrange.keep(
        odd(words(3, count), np.uint64), odd(ordinals, np.uint32), odd(bits, np.uint8),
        keys_out, ordinals_out,
    )  # fmt: skip

    alive = [(key, ordinal) for key, ordinal in zip(words(3, count), ordinals, strict=True)
             if ordinal not in dead]  # fmt: skip
    found = zip(keys_out[:kept].tolist(), ordinals_out[:kept].tolist(), strict=True)
    assert list(found) == alive


@over("count", SIZES)
def test_keeping_writes_over_its_input(arrange, count):
    keys, ordinals = np.array(words(1, count), np.uint64), np.arange(count, dtype=np.uint32)

    kept = arrange.keep(keys, ordinals, np.full(126, 0x55, np.uint8), keys, ordinals)

    assert keys[:kept].tolist() == words(1, count)[1::2]
    assert ordinals[:kept].tolist() == list(range(count))[1::2]


@over(("ordinal", "size"), [(0, 0), (8, 1), (24, 3), (32, 4), (40, 5), (2**32 - 1, 5)])
@over("count", [1, 16, 40])
def test_keeping_refuses_ordinals_without_a_bit(arrange, ordinal, size, count):
    keys, ordinals = np.zeros(count, np.uint64), np.zeros(count, np.uint32)
    ordinals[-1] = ordinal

    with pytest.raises(CorruptError, match="has no bit"):
        arrange.keep(keys, ordinals, np.zeros(size, np.uint8), keys, ordinals)


@over("header_bits", [0, 1, 3, 7, 12])
@over("count", SIZES)
def test_a_directory_points_at_the_first_key_of_each_header(arrange, header_bits, count):
    keys = sorted([*words(count, count // 2), *(word >> 5 for word in words(1, -(-count // 2)))])
    directory = np.full(2**header_bits + 1, 99, np.uint32)

    arrange.directory(odd(keys, np.uint64), header_bits, directory)

    headers = [key >> 64 - header_bits for key in keys]
    expected = [bisect_left(headers, header) for header in range(2**header_bits + 1)]
    assert directory.tolist() == expected


@over("count", SIZES)
def test_sorted_keys_have_no_descent(arrange, count):
    keys = odd(sorted(word % 90 for word in words(count, count)), np.uint64)

    assert arrange.first_descent(keys) == -1


@over("position", [1, 2, 7, 8, 255, 256, 257, 511, 512, 513, 599])
def test_the_first_descent_is_found_wherever_it_is(arrange, position):
    keys = [2**63, ALL_ONES, *[ALL_ONES] * 598]
    keys[position:] = [2**63 - 1, *range(599 - position)]

    assert arrange.first_descent(odd(keys, np.uint64)) == position


@over("count", [*SIZES, 70000])
def test_the_sum_of_entries_is_that_of_its_definition_in_any_order(arrange, count):
    keys, ordinals = words(count, count), [word >> 32 for word in words(7, count)]
    order = np.random.default_rng(count).permutation(count)

    columns = odd(keys, np.uint64), odd(ordinals, np.uint32)
    shuffled = columns[0][order], columns[1][order]

    assert arrange.entry_sum(*columns) == oracle.entry_sum(keys, ordinals)
    assert arrange.entry_sum(*shuffled) == arrange.entry_sum(*columns)


def test_columns_of_the_wrong_kind_are_refused(arrange):
    keys, ordinals = np.zeros(8, np.uint64), np.zeros(8, np.uint32)
    wrong = [
        lambda: arrange.sort(keys, ordinals[:7]),
        lambda: arrange.sort(keys[::2], ordinals[:4]),
        lambda: arrange.sort(odd(keys, np.uint64), ordinals),
        lambda: arrange.permute(keys, 1, keys[:7].copy()),
        lambda: arrange.merge(keys, ordinals, keys, ordinals, keys, ordinals),
        lambda: arrange.keep(keys, ordinals, np.zeros(1, np.uint8), keys[:7], ordinals[:7]),
        lambda: arrange.keep(keys, ordinals, np.zeros(0, np.uint8), keys, ordinals),
        lambda: arrange.directory(keys, 33, ordinals),
        lambda: arrange.directory(keys, 3, ordinals),
        lambda: arrange.entry_sum(keys, ordinals[:7]),
        lambda: arrange.Forest(2**33),
        lambda: arrange.Forest(5).join(ordinals, ordinals[:1]),
    ]

    for number, call in enumerate(wrong):
        with pytest.raises((ValueError, TypeError, CorruptError)):
            pytest.fail(f"call {number} answered {call()}")


@pytest.mark.few(1)
@over("shift", [0, 7, 40, 60, 63])
@over("count", [0, 1, 2000])
def test_bins_of_parts_are_sorted_like_the_whole(arrange, count, shift):
    low, mask = 3 << 40, 0xFFFF << 32
    fingerprints = odd([word & ALL_ONES >> word % 40 for word in words(count, count)], np.uint64)
    ordinals = np.arange(count, dtype=np.uint32)
    parts = [slice(0, count // 3), slice(count // 3, count)]
    counts = np.zeros((2, 8), np.int64)
    keys, moved = np.zeros(count, np.uint64), np.zeros(count, np.uint32)

    for part, own in zip(parts, counts, strict=True):
        arrange.count_bins(fingerprints[part], mask, low, shift, own)
    bounds = np.concatenate([[0], np.cumsum(counts.sum(axis=0))])
    for part, own in zip(parts, [bounds[:-1].copy(), bounds[:-1] + counts[0]], strict=True):
        arrange.to_bins(fingerprints[part], ordinals[part], mask, low, shift, own, keys, moved)
    arrange.sort_bins(keys, moved, bounds)

    wanted = sorted((permute(int(word), mask), at) for at, word in enumerate(fingerprints))
    assert list(zip(keys.tolist(), moved.tolist(), strict=True)) == wanted
