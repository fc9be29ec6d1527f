"""Texts in UTF-8, as bytes and as columns: every kernel decodes them as Python does."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from over import over

from simdb.core.arrow import TextColumn
from simdb.core.errors import InputError
from simdb_ext import _sketch

OPTIONS = {"unit": "characters", "shingle": 2, "lowercase": False, "seed": 7, "start": 10}
INVALID = [
    b"\x80", b"\xbf text", b"\xc0\x80", b"\xc1\xbf", b"\xc2", b"\xe0\x9f\xbf", b"\xe0\xa0",
    b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xf0\x8f\xbf\xbf", b"\xf0\x90\x80", b"\xf4\x90\x80\x80",
    b"\xf5\x80\x80\x80", b"\xff", b"caf\xe9 au lait", b"\xe6\x98", b"\xe6\x98A",
    b"\xf0\x9f\x98\xc3",
]  # fmt: skip
WORDS = [
    "", "a", "\x7f", "\x80", "\xe9", "\xff", "\u0100", "\u07ff", "\u0800", "\ud7ff", "\ue000",
    "\uffff", "\U00010000", "\U0010ffff", "plain ascii, longer than a word of 8 bytes",
]  # fmt: skip

valid = st.lists(st.one_of(st.text(), st.sampled_from(WORDS))).map(lambda parts: "".join(parts))
any_bytes = st.lists(
    st.one_of(valid.map(str.encode), st.binary(max_size=4), st.sampled_from(INVALID))
).map(lambda parts: b"".join(parts))


def column_of(contents):
    """Put texts into one piece of memory, with an odd byte between them; None is a null."""
    memory = np.frombuffer(b"\xff".join([b"", *(each or b"" for each in contents), b""]), np.uint8)
    lengths = np.array([0 if each is None else len(each) for each in contents], np.int64)
    starts = 1 + np.cumsum(lengths + 1) - (lengths + 1)
    lengths[[each is None for each in contents]] = -1
    addresses = starts.astype(np.uint64) + np.uint64(memory.ctypes.data)
    return TextColumn(addresses, lengths, (memory,))


def decoded(content):
    """Return what Python makes of bytes; None if they are not UTF-8."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


@over("content", [*INVALID, *(word.encode() for word in WORDS)])
def test_edges_of_utf8_are_valid_where_python_says_so(sketch, content):
    around = [content, b"12345678" + content, content + b"12345678", b"1" * 15 + content + b"\xc3"]

    found = [sketch.is_utf8(each) for each in around]

    assert found == [decoded(each) is not None for each in around]


@given(st.lists(valid, max_size=9))
def test_texts_are_the_same_as_str_as_bytes_and_in_a_column(texts):
    contents = [text.encode() for text in texts]

    weights, counts = _sketch.project_texts(texts, replace=False, **OPTIONS)

    for given_texts in (contents, column_of(contents)):
        found = _sketch.project_texts(given_texts, replace=False, **OPTIONS)
        np.testing.assert_array_equal(found[0], weights)
        np.testing.assert_array_equal(found[1], counts)


@given(st.lists(any_bytes, max_size=9))
def test_invalid_bytes_are_replaced_as_python_replaces_them(contents):
    texts = [content.decode("utf-8", "replace") for content in contents]

    weights, _ = _sketch.project_texts(texts, replace=True, **OPTIONS)

    for given_texts in (contents, column_of(contents)):
        found, _ = _sketch.project_texts(given_texts, replace=True, **OPTIONS)
        np.testing.assert_array_equal(found, weights)


@over("content", INVALID)
def test_invalid_bytes_are_refused_with_their_position(sketch, content):
    contents = [b"one", "\u660e".encode(), content, b"\xff"]

    for given_texts in (contents, column_of(contents)):
        with pytest.raises(InputError, match="document 12 is not valid UTF-8: 'utf-8' codec can't"):
            sketch.project_texts(given_texts, replace=False, **OPTIONS)


def test_a_null_is_refused_with_its_position(sketch):
    column = column_of([b"one", b"two", None, b"\xff"])

    with pytest.raises(InputError, match="document 12 is null"):
        sketch.project_texts(column, replace=False, **OPTIONS)


LONG = ("ab\xe9", "ab\u660e", "ab\U0001f600", "ascii" * 50 + "\u660e")


@over("texts", [
    [f"text {at} \u660e\u6708" for at in range(2500)],
    [word * (210_000 // len(word)) for word in LONG],
])  # fmt: skip
def test_columns_longer_than_a_chunk_and_long_texts_are_read_whole(sketch, texts):
    column = column_of([text.encode() for text in texts])

    weights, _ = sketch.project_texts(column, replace=False, **OPTIONS)

    wanted, _ = _sketch.project_texts(texts, replace=False, **OPTIONS)
    np.testing.assert_array_equal(weights, wanted)
