"""Ids that are ints are packed, found by arithmetic, and come back as they were given."""

import random
from itertools import pairwise

import arrange_oracle as oracle
import numpy as np
import pytest
from arrange_oracle import odd, stored
from over import over

MOST, LEAST = 2**63 - 1, -(2**63)
HEAD = 24
# Lists of ids, whether they are a row, and the bytes that each takes packed; None for unpacked.
LISTS = [
    ([], None, None),
    ([7], (105, 7, 0), 0),
    ([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], (105, 0, 1), 0),
    ([5, 8, 11, 14], (105, 5, 3), 0),
    ([3, 1, -1, -3], (105, 3, 2**64 - 2), 0),
    ([LEAST, MOST], (105, 2**63, 2**64 - 1), 0),
    ([MOST, LEAST], (105, MOST, 1), 0),
    ([LEAST, 0], (105, 2**63, 2**63), 0),
    ([2**63, 2**63 + 4, 2**63 + 8], (117, 2**63, 4), 0),
    ([2**64 - 1, 2**64 - 2], (117, 2**64 - 1, 2**64 - 1), 0),
    ([4, 4], None, 1),
    ([0, 1, 3], None, 1),
    ([0, 255, 1], None, 1),
    ([-1, 255, 1], None, 2),
    ([10, 9, 2**31], None, 4),
    ([LEAST, MOST, 0], None, 8),
    ([LEAST, 0, LEAST], None, 8),
    ([2**63, 2**64 - 1, 2**63], None, 8),
    ([2**63 - 1, 2**63], None, None),
]


def forms(ids):
    return odd(stored(ids)[1], np.uint8)


def arrays(ids):
    """Return the offsets and the bytes of stored forms."""
    offsets, content = stored(ids)
    return odd(offsets, np.uint32), odd(content, np.uint8)


def rows_of(*rows):
    """Make the rows (first ordinal, ids) as they are searched."""
    described = [(start, len(ids), *oracle_row(ids)) for start, ids in rows]
    return np.array(described, np.uint64).reshape(-1, 5)


def oracle_row(ids):
    tag = 117 if ids[0] >= 2**63 else 105
    step = ids[1] - ids[0] if len(ids) > 1 else 0
    return tag, ids[0] % 2**64, step % 2**64


@over(("ids", "row", "width"), LISTS)
def test_ints_are_packed_in_few_bytes_and_come_back(arrange, ids, row, width):
    packed = arrange.pack_ids(*arrays(ids))

    assert arrange.describe_ids(*arrays(ids)) == (row or ())
    if width is None:
        assert packed is None
    else:
        assert (len(packed.packed), packed.count) == (HEAD + width * len(ids), len(ids))
        assert packed.packed[1] == width
        read = arrange.PackedIds(odd(packed.packed, np.uint8), len(ids))
        assert read.forms.tolist() == stored(ids)[1]


@over("seed", range(20))
def test_random_ints_come_back(arrange, seed):
    generator = random.Random(seed)
    bits, base = generator.randrange(1, 60), generator.randrange(-(2**60), 2**60)
    ids = [base + generator.getrandbits(bits) for _ in range(generator.randrange(2, 200))]

    packed = arrange.pack_ids(*arrays(ids))

    span = max(ids) - min(ids)
    assert packed.packed[1] == max(-(-span.bit_length() // 8), 1)
    assert packed.forms.tolist() == stored(ids)[1]


@over(
    "ids",
    [["a2345678"], [1, "a2345678"], ["i2345678", 1], [b"12345678", 2**63], [1, "a", 2**40], ["ab"]],
)
def test_forms_of_other_ids_are_not_packed(arrange, ids):
    assert arrange.describe_ids(*arrays(ids)) is None
    assert arrange.pack_ids(*arrays(ids)) is None


@over("offsets", [[0, 8, 18], [1, 9, 18], [0, 9, 17], [0, 18], []])
def test_forms_of_other_lengths_are_not_packed(arrange, offsets):
    content = forms([1, 2])

    assert arrange.describe_ids(odd(offsets, np.uint32), content) is None
    assert arrange.pack_ids(odd(offsets, np.uint32), content) is None


@over("seed", range(30))
def test_parts_of_ids_are_described_like_the_whole(arrange, seed):
    generator = random.Random(seed)
    step, start = generator.choice([1, -1, 7, 2**61]), generator.choice([0, -5, LEAST, MOST])
    ids = [(start + at * step - LEAST) % 2**64 + LEAST for at in range(generator.randrange(2, 12))]
    if seed % 3 == 0:
        ids[generator.randrange(len(ids))] = generator.choice([ids[0], "a", 2**63, 5])
    cut = generator.randrange(1, len(ids))
    left, right = ids[:cut], ids[cut:]

    described = [arrange.describe_ids(*arrays(part)) for part in (left, right)]
    joined = arrange.join_rows(described[0], len(left), described[1], len(right))

    assert joined == arrange.describe_ids(*arrays(ids))
    if joined:
        assert arrange.row_ids(joined, len(ids)).forms.tolist() == stored(ids)[1]
        rest = arrange.row_at(joined, cut)
        assert arrange.row_ids(rest, len(right)).forms.tolist() == stored(right)[1]


def damaged(at, value):
    packed = [*b"i\x01", *bytes(22), 1, 2, 3]
    packed[at] = value
    return np.array(packed, np.uint8)


@over(
    ("packed", "count"),
    [
        (damaged(0, ord("s")), 3),
        (damaged(1, 2), 3),
        (damaged(1, 9), 3),
        (damaged(0, ord("i")), 4),
        (damaged(0, ord("i")), -1),
        (np.zeros(23, np.uint8), 0),
    ],
)
def test_packed_ids_that_nobody_wrote_are_refused(arrange, packed, count):
    with pytest.raises(ValueError, match="packed ids"):
        arrange.PackedIds(packed, count)


def test_packed_segments_stand_between_others(arrange):
    generator = random.Random(5)
    every, segments, first = [], [], 3
    for ids, _, width in [*LISTS, (["a", 5, b"c"], None, None)] * 2:
        offsets, content = stored(ids)
        if width is None:
            segments.append((first, odd(offsets, np.uint32), odd(content, np.uint8)))
        else:
            segments.append((first, arrange.pack_ids(*arrays(ids))))
        every += ids
        first += len(ids)
    identifiers = arrange.Identifiers(segments)
    asked = [3 + generator.randrange(len(every)) for _ in range(500)]
    wanted = [every[at - 3] for at in asked]
    others = [generator.choice(every) for _ in asked]

    offsets, content = identifiers.gather(odd(asked, np.uint32))

    assert [offsets.tolist(), content.tolist()] == list(stored(wanted))
    assert identifiers.decode(odd(asked, np.uint32)) == wanted
    assert [identifiers.find_one(ordinal) for ordinal in asked] == wanted
    offsets, content = stored(others)
    found = identifiers.find(
        odd(asked, np.uint32), np.arange(len(asked) + 1), odd(offsets, np.int64),
        odd(content, np.uint8),
    )  # fmt: skip
    is_same = [
        (type(each), each) == (type(id), id) for each, id in zip(wanted, others, strict=True)
    ]
    assert 10 < sum(is_same) < 490
    assert found.tolist() == [at if same else -1 for at, same in zip(asked, is_same, strict=True)]


def test_packed_segments_out_of_order_are_refused(arrange):
    packed = arrange.pack_ids(*arrays([1, 2]))

    for segments in (
        [(0, packed), (1, packed)],
        [(2**32 - 1, packed)],
        [(-1, packed)],
        [(0, None)],
        [(0, b"packed")],
    ):
        with pytest.raises((ValueError, TypeError)):
            arrange.Identifiers(segments)


@over("seed", range(10))
def test_ids_are_found_in_rows_by_arithmetic(arrange, seed):
    generator = random.Random(seed)
    ordinals, rows, start = {}, [], 0
    dead = np.zeros(20, np.uint8) if seed % 2 else None
    for ids, row, _ in generator.sample(LISTS, len(LISTS)):
        if row is not None:
            rows.append((start, ids))
            for at, id in enumerate(ids, start):
                if dead is not None and generator.random() < 0.3:
                    dead[at // 8] |= 1 << at % 8
                else:
                    ordinals.setdefault(id, at)
        start += len(ids) + generator.randrange(3)
    asked = [id + more for ids, *_ in LISTS for id in ids for more in (-1, 0, 1)]
    asked = [id for id in asked if LEAST <= id < 2**64] + ["a", b"12345678", "i2345678"]
    offsets, content = stored(asked)
    found = np.full(len(asked), -1)
    found[-1] = 77

    arrange.find_in_rows(
        rows_of(*rows), odd(offsets, np.int64), odd(content, np.uint8), dead, found
    )

    assert found.tolist() == [*(ordinals.get(id, -1) for id in asked[:-1]), 77]


def test_rows_have_five_numbers(arrange):
    with pytest.raises(ValueError, match="a row has 4 numbers"):
        arrange.find_in_rows(
            np.zeros((1, 4), np.uint64), np.zeros(1, np.int64), np.zeros(0, np.uint8), None,
            np.zeros(0, np.int64),
        )  # fmt: skip


@over("bits", [0, 1, 3, 6])
def test_candidates_are_all_ordinals_under_the_header_of_a_hash(arrange, bits):
    keys = np.sort(np.array(oracle.words(bits, 50), np.uint64))
    ordinals = np.random.default_rng(bits).permutation(50).astype(np.uint32)
    directory = np.empty((1 << bits) + 1, np.uint32)
    arrange.directory(keys, bits, directory)
    hashes = np.array([*oracle.words(7, 100), 0, 2**64 - 1], np.uint64)
    dead = np.array([0b1001, 255], np.uint8)

    for bitmap, gone in ((None, set()), (dead, {0, 3, *range(8, 16)})):
        starts, found = arrange.candidates(hashes, directory, ordinals, bitmap)

        assert [
            found[start:stop].tolist() for start, stop in pairwise(starts)
        ] == [
            [
                ordinal for key, ordinal in zip(keys.tolist(), ordinals.tolist(), strict=True)
                if key >> (64 - bits) == hash >> (64 - bits) and ordinal not in gone
            ]
            for hash in hashes.tolist()
        ]  # fmt: skip


def test_a_damaged_directory_leads_to_no_other_memory(arrange):
    hashes = np.array([0, 2**63], np.uint64)

    starts, found = arrange.candidates(
        hashes, np.array([2, 4_000_000_000, 1], np.uint32), np.arange(3, dtype=np.uint32), None
    )

    assert (starts.tolist(), found.tolist()) == ([0, 1, 1], [2])
    with pytest.raises(ValueError, match="a directory has 4 entries"):
        arrange.candidates(hashes, np.zeros(4, np.uint32), np.zeros(0, np.uint32), None)
