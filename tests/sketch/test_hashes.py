"""Documents of a database of `Bits` are read alike in all their forms, or refused by number."""

import random
from base64 import b64decode
from types import SimpleNamespace

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from over import over

import simdb
from simdb.core import kernel
from simdb.core.arrays import BARE, WEIGHTED, Sketches
from simdb.core.arrow import TextColumn
from simdb.core.bits import fmix64
from simdb.core.decoding import byte_column, text_column
from simdb.core.stored_options import Resources
from simdb.sketch.hashes import HashSketcher, read_hashes
from simdb.sketch.sketcher import ReadySketcher, sketcher_of

SIZES = [32, 64, 96, 128, 256, 512]
# Column types of Arrow for bytes and for texts.
BINARY = [pyarrow.binary(), pyarrow.large_binary(), pyarrow.binary_view()]
STRINGS = [pyarrow.string(), pyarrow.large_string(), pyarrow.string_view()]


def numbers_of(bits, count=5):
    """Return some hashes as whole numbers: the least and the greatest one, and random ones."""
    drawn = random.Random(bits)
    return [0, 2**bits - 1, 1, *(drawn.getrandbits(bits) for _ in range(count))]


def contents_of(bits):
    return [number.to_bytes(bits // 8, "big") for number in numbers_of(bits)]


def flags_of(number, bits):
    """Return the bits of a number, the most significant one first."""
    return np.array([number >> (bits - 1 - at) & 1 for at in range(bits)], np.bool_)


def words_of(number, bits):
    """Return the words of a number, the most significant one first."""
    return [number >> (bits - 64 - 64 * at) & (2**64 - 1) for at in range(bits // 64)]


def as_bytes(hashes):
    """Return what `read_hashes` makes as bytes."""
    if hashes.ndim == 1:
        return [int(each).to_bytes(8, "big") for each in hashes]
    return [bytes(each) for each in hashes]


def forms_of(number, bits):
    """Yield one hash in every form that one document can have."""
    content, flags = number.to_bytes(bits // 8, "big"), flags_of(number, bits)
    digits = content.hex()
    yield from (content, bytearray(content), memoryview(content))
    yield from (digits, digits.upper(), "0x" + digits, "0X" + digits.upper(), np.str_(digits))
    yield from (number, simdb.Fingerprint(number, size=bits))
    yield from (flags, flags.reshape(4, -1), flags.reshape(2, 2, -1), flags[::-1][::-1])
    yield from (flags.astype(kind) for kind in (np.uint8, np.int64, np.float32, np.float16))
    yield np.frombuffer(content, np.uint8)
    yield np.frombuffer(b"." + content, np.uint8)[1:]
    if bits % 64 == 0:
        yield np.array(words_of(number, bits), np.uint64)
    for inner in (flags.reshape(4, -1), content, digits, number):
        yield SimpleNamespace(hash=inner)


@over("bits", SIZES)
def test_a_document_of_any_form_is_the_same_hash(bits):
    expected = contents_of(bits)
    by_form = zip(*(forms_of(number, bits) for number in numbers_of(bits)), strict=True)

    for documents in by_form:
        assert as_bytes(read_hashes(list(documents), bits)) == expected, type(documents[0])
        assert as_bytes(read_hashes(documents, bits)) == expected
        assert as_bytes(read_hashes(iter(documents), bits)) == expected
        assert as_bytes(read_hashes([documents[3]], bits)) == expected[3:4]


@over("bits", SIZES)
def test_documents_of_several_forms_are_read_in_one_list(bits):
    mixed = [each for number in numbers_of(bits) for each in forms_of(number, bits)]
    copies = len(mixed) // len(numbers_of(bits))

    found = read_hashes(mixed, bits)

    assert as_bytes(found) == [each for each in contents_of(bits) for _ in range(copies)]
    assert as_bytes(read_hashes([np.uint64(5), 2, np.int8(3)], bits)) == [
        number.to_bytes(bits // 8, "big") for number in (5, 2, 3)
    ]


@over("bits", SIZES)
def test_many_hashes_are_given_in_one_array(bits):
    numbers, expected = numbers_of(bits), contents_of(bits)
    count = len(numbers)
    packed = np.frombuffer(b"".join(expected), np.uint8).reshape(count, -1)
    flags = np.stack([flags_of(number, bits) for number in numbers])
    texts = [each.hex() for each in expected]
    words = [words_of(number, bits) for number in numbers] if bits % 64 == 0 else []

    for given in (
        packed, packed[:, ::-1][:, ::-1], np.asfortranarray(packed),
        flags, flags.reshape(count, 4, -1), flags.astype(np.uint8), flags.astype(np.float64),
        np.array(expected), np.array(texts), np.array(texts, "S"),
        np.array(["0x" + each.upper() for each in texts]),
        np.array(expected, object), np.array(numbers, object),
        simdb.Fingerprints(packed), simdb.Fingerprints(flags),
        np.ma.MaskedArray(packed), np.ma.MaskedArray(packed, np.zeros(packed.shape, np.bool_)),
        *([np.array(words, np.uint64), np.array(words, ">u8")] if words else []),
        *([np.array(words, np.uint64)[:, 0]] if bits == 64 else []),
        *([np.array(numbers, kind) for kind in (np.uint32, np.int64)] if bits == 32 else []),
    ):  # fmt: skip
        found = read_hashes(given, bits)

        assert as_bytes(found) == expected, given
        assert found.dtype == (np.uint64 if bits == 64 else np.uint8)
        assert as_bytes(read_hashes(given[:0] if hasattr(given, "shape") else [], bits)) == []


@over("bits", SIZES)
def test_columns_of_bytes_and_of_texts_are_hashes(bits):
    expected = contents_of(bits)
    texts = [each.hex() for each in expected]
    binary = [pyarrow.array(expected, kind) for kind in (pyarrow.binary(bits // 8), *BINARY)]
    strings = [
        pyarrow.array(each).cast(kind)
        for kind in STRINGS
        for each in (texts, [each.upper() for each in texts], ["0x" + each for each in texts])
    ]
    columns = [
        *binary, *strings,
        pyarrow.array(["0X" + texts[0], *texts[1:]]),
        pyarrow.array(texts).dictionary_encode(),
        polars.Series(texts), polars.Series(expected), pandas.Series(texts),
        pandas.Series(expected), pandas.Series(texts, dtype="string[pyarrow]"),
    ]  # fmt: skip

    for column in columns:
        assert as_bytes(read_hashes(column, bits)) == expected, column
    for column in (*binary, *strings):
        chunks = pyarrow.chunked_array([column[:2], column[:0], column[2:]])
        assert as_bytes(read_hashes(chunks, bits)) == expected
        assert as_bytes(read_hashes(column[2:5], bits)) == expected[2:5]
        assert as_bytes(read_hashes(byte_column(column)[1:], bits)) == expected[1:]
        assert len(read_hashes(column[:0], bits)) == 0
    assert as_bytes(read_hashes(text_column(strings[0]), bits)) == expected


def test_a_column_of_texts_makes_no_python_object_of_each(monkeypatch):
    texts = [each.hex() for each in contents_of(256)]
    columns = [
        pyarrow.array(texts), pyarrow.array(contents_of(256)),
        pyarrow.array(contents_of(256), pyarrow.binary(32)),
    ]  # fmt: skip
    refuse = lambda *_: pytest.fail("a text was made")  # noqa: E731
    for kind in ("TextColumn", "ByteColumn"):
        monkeypatch.setattr(f"simdb.core.arrow.{kind}.__getitem__", refuse)
    monkeypatch.setattr(TextColumn, "__iter__", refuse)

    for column in columns:
        assert as_bytes(read_hashes(column, 256)) == contents_of(256)


def test_documents_of_one_form_are_read_together(monkeypatch):
    expected = contents_of(256)
    texts = [each.hex() for each in expected]
    packed = list(np.frombuffer(b"".join(expected), np.uint8).reshape(-1, 32))
    monkeypatch.setattr("simdb.sketch.hashes._read", lambda *_: pytest.fail("read by itself"))

    for documents in (
        expected, texts, ["0X" + each for each in texts], numbers_of(256), packed,
        [np.unpackbits(each) for each in packed], pyarrow.array(["0x" + each for each in texts]),
    ):  # fmt: skip
        assert as_bytes(read_hashes(documents, 256)) == expected


@over(
    "documents",
    [
        ["a" * 62, "a" * 66],
        [b"a" * 31, b"a" * 33],
        ["0x" + "a" * 64, "1x" + "a" * 64],
        ["0y" + "a" * 64] * 2,
        ["\x10x" + "a" * 64] * 2,
        ["a" * 66] * 2,
        [0, -1],
        [2**256 - 1, 2**256],
        [np.zeros(32, np.uint8), np.zeros(31, np.uint8)],
    ],
)
def test_documents_that_are_no_hashes_are_not_taken_for_such_together(documents):
    columns = [documents]
    if isinstance(documents[0], str | bytes):
        columns.append(pyarrow.array(documents))

    for each in columns:
        with pytest.raises(simdb.InputError, match=r"^document [01] is "):
            read_hashes(each, 256)


@over(
    ("document", "message"),
    [
        ("ab" * 31, "is hexadecimal text of 62 digits; a hash of 256 bits has 64"),
        ("0x" + "ab" * 33, "is hexadecimal text of 66 digits; a hash of 256 bits has 64"),
        ("", "is hexadecimal text of 0 digits"),
        (
            "ab_" + "ab" * 30 + "c",
            "'_' is not a hexadecimal digit, and a hash of 256 bits has 64",
        ),
        ("ab" * 32 + "\n", r"is not hexadecimal text; '\\n' is not a hexadecimal digit"),
        (" " + "ab" * 32, "is not hexadecimal text; ' ' is not a hexadecimal digit"),
        ("x" * 43 + "=", r"give base64.b64decode\(text\)"),
        (
            b64decode("ab" * 32).hex(),
            r"and is none; leave out base64.b64decode\(text\)",
        ),
        ("ab" * 48, r"of 96 digits; a hash of 256 bits has 64$"),
        ("\u0661" * 64, "is not hexadecimal text; '\u0661' is not a hexadecimal digit"),
        ("-0x" + "a" * 62, "is not hexadecimal text; '-'"),
        (b"a" * 31, "is 31 bytes; a hash of 256 bits has 32"),
        (b"ab" * 32, "is 64 bytes; a hash of 256 bits has 32, or is text of hexadecimal digits"),
        (b"", "is 0 bytes"),
        (2**256, r"is 1157.*; a hash of 256 bits is 0 .. 2\*\*256 - 1"),
        (-1, r"is -1; a hash of 256 bits is 0 .. 2\*\*256 - 1"),
        (10**5000, "is a int; a hash of 256"),
        (True, "is bool; a document is bytes, hexadecimal text"),
        (None, r"is NoneType \(a null\); leave nulls out"),
        (float("nan"), r"is nan \(a null\); leave nulls out"),
        (0.5, "is float; a document is bytes"),
        (["ab"], "is list; a document is bytes"),
        (simdb.Fingerprint(5), "is a fingerprint of 64 bits; a hash has 256 here"),
        (simdb.Fingerprint(5, is_empty=True, size=256), "an empty fingerprint, without a hash"),
        (np.zeros((8, 8), np.bool_), r"array of bool with shape \(8, 8\); a hash of 256 bits is"),
        (np.full(256, 2), r"array of int64 with shape \(256,\); a hash of 256 bits is 256 flags"),
        (np.full(256, np.nan), "256 flags, each 0 or 1"),
        (np.zeros(31, np.uint8), r"or 32 bytes, uint8\[32\]"),
        (np.zeros(32, np.int8), r"or 32 bytes, uint8\[32\]"),
        (np.array(5), r"array of int64 with shape \(\)"),
        (np.array(["a"] * 256), "array of <U1"),
        (np.ma.MaskedArray(np.zeros(256), [True] * 256), "is NoneType"),
        (
            SimpleNamespace(hash=np.zeros((8, 8), np.bool_)),
            "whose .hash is an array",
        ),
        (SimpleNamespace(hash="ab"), "whose .hash is hexadecimal text of 2 digits"),
        (SimpleNamespace(hash=hash), "whose .hash is builtin_function"),
        (SimpleNamespace(hash=SimpleNamespace(hash=5)), "whose .hash is SimpleNamespace"),
    ],
)
def test_a_document_that_is_no_hash_is_named_with_its_number_and_a_remedy(document, message):
    known = bytes(32)

    for documents, number in (
        ([known] * 5 + [document], 105),
        ([document, known], 100),
        ((each for each in [known, document]), 101),
        ([document] * 3, 100),
    ):
        with pytest.raises(simdb.InputError, match=f"document {number} .*{message}"):
            read_hashes(documents, 256, start=100)


def test_the_first_document_of_an_array_or_column_that_is_no_hash_is_named():
    digits = bytes(32).hex()
    flags = np.zeros((3, 256))
    flags[2, 7] = 2
    masked = np.ma.MaskedArray(np.zeros((3, 32), np.uint8))
    masked[1, 5] = np.ma.masked
    weights = np.ones((3, 64), np.float32)
    weights[1] = 0
    empties = simdb.Fingerprints(np.full(3, 2**64 - 1, np.uint64), weights)

    for documents, message, bits in (
        (pyarrow.array([digits, None, "ab"]), "document 101 is NoneType", 256),
        (pyarrow.array([digits, digits, "ab"]), "document 102 is hexadecimal text of 2", 256),
        (pyarrow.array([digits, "z" * 64]), "document 101 is not hexadecimal text; 'z'", 256),
        (pyarrow.array([b"a" * 32, None]), "document 101 is NoneType", 256),
        (pyarrow.array([b"a" * 32, b"b"]), "document 101 is 1 bytes", 256),
        (pyarrow.array([b"a" * 8, None], pyarrow.binary(8)), "document 101 is NoneType", 64),
        (pyarrow.array([b"a" * 8] * 2, pyarrow.binary(8)), "document 100 is 8 bytes", 256),
        (pyarrow.array([5, None]), "document 101 is NoneType", 64),
        (np.array([digits, "ab"]), "document 101 is hexadecimal text of 2 digits", 256),
        (np.array([b"~" * 31, b"b"]), "document 100 is not hexadecimal text; '~'", 256),
        (flags, r"document 102 is an array of float64 with shape \(256,\)", 256),
        (masked, r"document 101 is NoneType \(a null\); leave nulls out", 256),
        (np.ma.MaskedArray([1, 2], [False, True], np.uint64), "document 101 is NoneType", 64),
        (np.zeros((2, 31), np.uint8), r"document 100 is an array of uint8 with shape \(31,\)", 256),
        (np.array([1.5, 2.5]), "document 100 is float", 64),
        (np.array([5, -5]), "document 101 is -5", 64),
        (empties, "document 101 is an empty fingerprint", 64),
    ):
        with pytest.raises(simdb.InputError, match=message):
            read_hashes(documents, bits, start=100)


@over(
    ("documents", "message"),
    [
        (np.zeros(32, np.uint8), "can be one hash of 256 bits, but not many"),
        (np.zeros(4, np.uint64), "can be one hash of 256 bits, but not many"),
        (np.zeros(256, np.bool_), "can be one hash of 256 bits, but not many"),
        (np.array(5), "must be a list, array or iterator"),
        (b"a" * 32, "put a single one into a list"),
        ("ab" * 32, "put a single one into a list"),
        (5, "put a single one into a list"),
        ({"a": b"a"}, "give its values"),
        (pyarrow.table({"a": [b"a"]}), "give one of its columns"),
        (simdb.Fingerprints(np.zeros(2, np.uint64)), "document 0 is a fingerprint of 64 bits"),
        (SimpleNamespace(hash=b"a" * 32), "must be a list, array or iterator"),
    ],
)
def test_one_document_in_place_of_many_is_refused(documents, message):
    with pytest.raises(simdb.InputError, match=message):
        read_hashes(documents, 256)


@over("bits", [32, 96, 128, 256, 512])
@over("is_query", [False, True])
def test_the_sketch_of_a_wide_hash_is_its_bytes_and_a_key_of_all_of_them(bits, is_query):
    contents = contents_of(bits)
    options = simdb.Bits(bits)

    found = sketcher_of(options, Resources(), []).sketch(contents, is_query=is_query)

    expected = np.full(len(contents), 0x9E3779B97F4A7C15, np.uint64)
    expected = fmix64(expected)
    for at in range(0, bits // 8, 4):
        words = [int.from_bytes(each[at : at + 4], "little") for each in contents]
        expected = fmix64(expected ^ np.array(words, np.uint64))
    assert [bytes(each) for each in found.vectors] == contents
    assert found.bits.tolist() == expected.tolist()
    assert found.vectors.shape[1] == options.vector_bytes
    assert set(found.states.tolist()) == {WEIGHTED}
    assert (found.levels, found.content) == (None, 0)
    sketcher = HashSketcher(options)
    singles = [sketcher.sketch([each], is_query=is_query) for each in contents]
    assert [int(each.bits[0]) for each in singles] == expected.tolist()
    assert [bytes(each.vectors[0]) for each in singles] == contents
    assert {int(each.states[0]) for each in singles} == {WEIGHTED}
    none = sketcher.sketch([], is_query=is_query)
    assert (len(none), none.vectors.shape) == (0, (0, bits // 8))


@over("is_query", [False, True])
def test_the_sketch_of_64_bits_is_a_ready_fingerprint(is_query):
    numbers = np.array(numbers_of(64), np.uint64)
    expected = ReadySketcher(64, 0).of_bits(numbers, is_query)

    for given in (numbers, contents_of(64), simdb.Fingerprints(numbers)):
        found = HashSketcher(simdb.Bits(64)).sketch(given, is_query=is_query)

        assert isinstance(found, Sketches)
        assert set(found.states.tolist()) == {BARE}
        assert found.vectors.shape == (len(numbers), 0)
        assert np.array_equal(found.bits, expected.bits)
        assert (found.levels is None) is not is_query
        assert not is_query or np.array_equal(found.levels, expected.levels)


def test_the_array_of_the_caller_may_change_after_it_was_sketched():
    sketcher = HashSketcher(simdb.Bits(128))
    for given in (rows := np.zeros((2, 16), np.uint8), simdb.Fingerprints(rows), [rows[0]]):
        found = sketcher.sketch(given)
        rows[:] = 1

        assert not found.vectors.any()
        rows[:] = 0


def test_a_sketcher_of_hashes_makes_fingerprints_and_names_no_features():
    sketcher = HashSketcher(simdb.Bits(256))
    contents = contents_of(256)
    sketcher.prepare()

    made = sketcher.fingerprints([each.hex() for each in contents], threads=2)

    assert [bytes(each) for each in made] == contents
    assert sketcher.features(contents[3]) is None
    assert sketcher.options == simdb.Bits(256)
    for call in (sketcher.sketch, sketcher.fingerprints):
        with pytest.raises(simdb.InputError, match="errors must be"):
            call(contents, errors="loose")


def test_unaligned_and_read_only_hashes_have_the_same_keys():
    content = b"".join(contents_of(128))
    whole = np.frombuffer(content, np.uint8).reshape(-1, 16)
    moved = np.frombuffer(b"." + content, np.uint8)[1:].reshape(-1, 16)
    sketcher = HashSketcher(simdb.Bits(128))

    assert sketcher.sketch(moved).bits.tolist() == sketcher.sketch(whole).bits.tolist()
    assert kernel.keys_of_one(moved[:1], stored_bits=32, bands=1, rows=4) == (
        sketcher.sketch(whole[:1]).bits
    )
