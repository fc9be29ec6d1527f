"""Ids come back as they were given, and other values are refused."""

import random
from enum import IntEnum

import arrange_oracle as oracle
import mmh3
import numpy as np
import pytest
from arrange_oracle import odd, stored
from hypothesis import given, strategies as st
from over import over

from simdb.core.errors import CorruptError, InputError
from simdb_ext import _arrange


class Name(str):
    """A str of the user's own class."""


class Colour(IntEnum):
    RED = 3


IDS = [
    "a", "\x00", "k\xf6ln", "\u5317\u4eac", "\U0001f600", "x" * 1023, "\xe9" * 511, Name("name"),
    b"a", b"\x00\xff", b"s" * 1023, np.str_("numpy"), np.bytes_(b"numpy"),
    0, 1, -1, 255, 2**63 - 1, -(2**63), 2**63, 2**64 - 1, Colour.RED,
    np.int8(-5), np.uint8(200), np.int64(-(2**63)), np.uint64(2**64 - 1),
]  # fmt: skip


def plain(id):
    """Return the Python object of an id."""
    if isinstance(id, str):
        return str(id)
    return bytes(id) if isinstance(id, bytes) else int(id)


def segment(first, ids, before=b""):
    """Make a segment whose content has other bytes in front."""
    offsets, content = stored(ids)
    shifted = [offset + len(before) for offset in offsets]
    return first, odd(shifted, np.uint32), odd([*before, *content], np.uint8)


def test_stored_forms_and_hashes_are_as_defined(arrange):
    offsets, content, hashes = arrange.encode_ids(IDS)

    assert [offsets.tolist(), content.tolist()] == list(stored(IDS))
    assert hashes.tolist() == [oracle.hash_form(oracle.encode(id)) for id in IDS]
    assert [offsets.dtype, content.dtype, hashes.dtype] == [np.int64, np.uint8, np.uint64]


@given(st.lists(st.binary(min_size=1, max_size=300), max_size=12))
def test_ids_without_a_key_have_the_hashes_of_mmh3(ids):
    offsets, content, hashes = _arrange.encode_ids(ids)

    assert hashes.tolist() == [mmh3.hash64(b"b" + id, 0, signed=False)[0] for id in ids]
    assert _arrange.hash_ids(offsets, content).tolist() == hashes.tolist()


def test_decoding_gives_plain_python_objects_of_equal_value(arrange):
    offsets, content = stored(IDS)

    ids = arrange.decode_ids(odd(offsets, np.int64), odd(content, np.uint8))

    assert ids == [plain(id) for id in IDS]
    assert {type(id) for id in ids} == {str, bytes, int}


def test_hashes_are_right_for_every_length(arrange):
    ids = ["x" * length for length in range(1, 300)]

    _, _, hashes = arrange.encode_ids(ids)

    assert hashes.tolist() == [oracle.hash_form(oracle.encode(id)) for id in ids]


def test_stored_forms_have_the_hashes_of_their_ids(arrange):
    offsets, content, hashes = arrange.encode_ids(IDS)

    assert np.array_equal(arrange.hash_ids(offsets, content), hashes)
    assert np.array_equal(arrange.hash_ids(offsets[3:7], content), hashes[3:6])
    assert len(arrange.hash_ids(offsets[:1], content)) == 0
    with pytest.raises(ValueError, match="offsets"):
        arrange.hash_ids(offsets + 1, content)


@over("seed", [0, 1, 2])
def test_hashes_under_a_key_are_siphash(arrange, seed):
    key = random.Random(seed).randbytes(16)
    ids = [*IDS, *("x" * length for length in range(1, 80))]

    offsets, content, hashes = arrange.encode_ids(ids, key)

    assert hashes.tolist() == [oracle.siphash(oracle.encode(id), key) for id in ids]
    assert np.array_equal(arrange.hash_ids(offsets, content, key), hashes)


def test_siphash_has_its_published_values(arrange):
    content = np.arange(3, dtype=np.uint8)
    published = [0xABAC0158050FC4DC, 0xC9F49BF37D57CA93, 0x82CB9B024DC7D44D]

    found = [arrange.hash_ids(np.array([0, n]), content, bytes(range(16)))[0] for n in range(3)]

    assert found == published


@over("key", [b"x", b"x" * 15, b"x" * 17, b"x" * 32])
def test_a_key_has_16_bytes(arrange, key):
    with pytest.raises(ValueError, match=f"the key has {len(key)} bytes, not 16 or none"):
        arrange.encode_ids(["a"], key)


@over(
    ("id", "reason"),
    [
        (None, "is NoneType, not str, bytes or int"),
        (True, "is bool, not str, bytes or int"),
        (np.True_, "is bool_?, not str, bytes or int"),
        (1.0, "is float, not str, bytes or int"),
        (bytearray(b"a"), "is bytearray, not str, bytes or int"),
        (("a",), "is tuple, not str, bytes or int"),
        (np.float64(1), "is float64, not str, bytes or int"),
        (2**64, "is 18446744073709551616, not from -2"),
        (-(2**63) - 1, "is -9223372036854775809, not from -2"),
        ("", "is empty"),
        (b"", "is empty"),
        ("a\ud800", "has a lone surrogate"),
        ("x" * 1024, "has 1,024 bytes, over 1,023"),
        ("\xe9" * 512, "has 1,024 bytes, over 1,023"),
        (b"x" * 5000, "has 5,000 bytes, over 1,023"),
    ],
)
def test_what_cannot_be_an_id_is_refused_with_its_position(arrange, id, reason):
    with pytest.raises(InputError, match=f"^id 2 {reason}"):
        arrange.encode_ids(["a", 1, id, "b"])


@over("form", [b"", b"i1234567", b"u", b"i123456789", b"x12345678", b"s\xff"])
def test_a_form_that_nobody_wrote_is_reported_as_corrupt(arrange, form):
    offsets, content = np.array([0, len(form)]), np.array(list(form), np.uint8)
    identifiers = arrange.Identifiers([(0, offsets.astype(np.uint32), content)])

    for decode in (
        lambda: arrange.decode_ids(offsets, content),
        lambda: identifiers.decode_one(0),
        lambda: identifiers.decode(np.zeros(1, np.uint32)),
    ):
        with pytest.raises(CorruptError):
            decode()


@over("counts", [[1], [3, 0, 40], [17, 1, 1, 100, 5], [20] * 9])
def test_ids_are_found_by_ordinal_over_all_segments(arrange, counts):
    generator = random.Random(len(counts))
    segments, ids = [], {}
    first = 0
    for count in counts:
        first += generator.randrange(3)
        chosen = [plain(generator.choice(IDS)) for _ in range(count)]
        segments.append(segment(first, chosen, before=b"?" * generator.randrange(3)))
        ids.update(enumerate(chosen, first))
        first += count
    asked = generator.choices(list(ids), k=200)
    wanted = [ids[ordinal] for ordinal in asked]
    identifiers = arrange.Identifiers(segments)

    offsets, content = identifiers.gather(odd(asked, np.uint32))

    assert [offsets.tolist(), content.tolist()] == list(stored(wanted))
    assert [offsets.dtype, content.dtype] == [np.int64, np.uint8]
    assert identifiers.decode(odd(asked, np.uint32)) == wanted
    assert [identifiers.decode_one(ordinal) for ordinal in asked] == wanted
    assert [identifiers.find_one(ordinal) for ordinal in asked] == wanted
    assert identifiers.decode_one(np.uint32(asked[0])) == wanted[0]


def find(identifiers, candidates, ids):
    """Find each id among its own candidates."""
    offsets, content = stored(ids)
    starts = [sum(map(len, candidates[:at])) for at in range(len(candidates) + 1)]
    ordinals = odd([each for some in candidates for each in some], np.uint32)
    arrays = odd(starts, np.int64), odd(offsets, np.int64), odd(content, np.uint8)
    return identifiers.find(ordinals, *arrays)


def test_finding_compares_every_byte_and_the_length(arrange):
    identifiers = arrange.Identifiers([segment(10, ["abc", b"abc", "abd", "ab", 5, 2**63])])
    others = ["abc", "abc", "abc", "abc", 5, 2**63 - 1]

    found = find(identifiers, [[at] for at in range(10, 16)], others)

    assert found.tolist() == [10, -1, -1, -1, 14, -1]
    assert found.dtype == np.int64


@over("most", [0, 1, 3, 70, 200])
def test_an_id_is_found_among_any_number_of_candidates(arrange, most):
    generator = random.Random(most)
    ids = [f"{at % 90}" for at in range(100)]
    identifiers = arrange.Identifiers([segment(0, ids[:30]), segment(30, ids[30:])])
    asked = [f"{generator.randrange(100)}" for _ in range(50)]
    candidates = [
        [generator.randrange(100) for _ in range(generator.randint(0, most))] for _ in asked
    ]

    found = find(identifiers, candidates, asked)

    same = [[at for at in own if ids[at] == id] for id, own in zip(asked, candidates, strict=True)]
    assert found.tolist() == [own[-1] if own else -1 for own in same]


@over("starts", [[0, 1], [1, 1, 1], [0, 2, 1], [0, 1, 2], [0, -1, 1]])
def test_starts_of_candidates_that_do_not_fit_are_refused(arrange, starts):
    identifiers = arrange.Identifiers([segment(0, ["a", "b"])])
    offsets, content = stored(["a", "b"])

    with pytest.raises(ValueError, match="the starts of 1 candidates"):
        identifiers.find(
            np.zeros(1, np.uint32), np.array(starts, np.int64), np.array(offsets, np.int64),
            np.array(content, np.uint8),
        )  # fmt: skip


@over("ordinal", [0, 4, 7, 2**32 - 1])
def test_ordinals_of_no_segment_are_refused(arrange, ordinal):
    identifiers = arrange.Identifiers([segment(1, ["a", "b", "c"]), segment(5, ["d", "e"])])

    def find_both(ordinals):
        find(identifiers, [ordinals.tolist()], ["a"])

    for ask in (identifiers.gather, identifiers.decode, find_both):
        with pytest.raises(CorruptError, match=f"ordinal {ordinal} lies in no segment"):
            ask(np.array([1, ordinal], np.uint32))
    with pytest.raises(CorruptError, match=f"ordinal {ordinal} lies in no segment"):
        identifiers.decode_one(ordinal)
    assert identifiers.find_one(ordinal) is None


@over("offsets", [[0, 9], [2, 1]])
def test_torn_offsets_are_reported_as_corrupt(arrange, offsets):
    content = np.array([115, 97], np.uint8)
    identifiers = arrange.Identifiers([(0, np.array(offsets, np.uint32), content)])

    with pytest.raises(CorruptError, match="ordinal 0 is torn"):
        identifiers.decode_one(0)
    with pytest.raises(CorruptError, match="ordinal 0 is torn"):
        identifiers.gather(np.zeros(3, np.uint32))


def test_segments_out_of_order_are_refused(arrange):
    one, two = segment(0, ["a", "b"]), segment(1, ["c"])
    wrong = [
        [one, two],
        [segment(5, ["a"]), one],
        [(0, np.zeros(0, np.uint32), np.zeros(0, np.uint8))],
        [(-1, *one[1:])],
        [(2**32 - 1, *one[1:])],
        [(0, None, None)],
        [(0, np.zeros(2, np.int64), np.zeros(0, np.uint8))],
    ]

    for segments in wrong:
        with pytest.raises((ValueError, TypeError)):
            arrange.Identifiers(segments)


def test_ids_followed_by_a_segment_have_all_segments(arrange):
    earlier = arrange.Identifiers([segment(0, ["a", 1])])

    found = earlier.followed_by(*segment(2, [b"c"])).followed_by(*segment(7, ["d"]))
    del earlier

    assert found.decode(np.array([7, 2, 1, 0], np.uint32)) == ["d", b"c", 1, "a"]
    assert found.decode_one(7) == "d"
