"""Text columns: sequences of texts in memory of others, and Arrow arrays that become them."""

import sys

import numpy as np
import pyarrow
import pytest
from over import over

import simdb
from simdb.core import kernel
from simdb.core.arrow import TextColumn, joined, listed
from simdb.core.decoding import text_column

MEMORY = np.frombuffer("red\u660egreen".encode(), np.uint8)
START = MEMORY.ctypes.data


def made(*places):
    starts = np.array([START + start for start, _ in places], np.uint64)
    lengths = np.array([length for _, length in places], np.int64)
    return TextColumn(starts, lengths, (MEMORY,))


COLUMN = made((0, 3), (3, 3), (6, 5), (6, 0), (0, -1), (1, 2))


def test_a_column_gives_its_texts():
    assert list(COLUMN) == ["red", "\u660e", "green", "", None, "ed"]
    assert [COLUMN[at] for at in range(6)] == list(COLUMN)


def test_slices_choices_and_joined_columns_share_the_memory():
    part = COLUMN[1:4]

    assert list(part) == ["\u660e", "green", ""]
    assert np.shares_memory(part.addresses, COLUMN.addresses)
    assert list(COLUMN.chosen([2, 0, 2])) == ["green", "red", "green"]
    assert list(joined([part, COLUMN[:1], COLUMN[6:]])) == ["\u660e", "green", "", "red"]
    assert joined([part]) is part


def test_the_first_byte_of_each_text_is_found():
    every = [each[:1] for each in COLUMN.contents()]

    assert [bytes([each]) if each else b"" for each in first_bytes(COLUMN)] == every
    assert list(first_bytes(COLUMN.chosen([2, 0, 2, 3] * 9))) == [*b"grg", 0] * 9
    assert list(first_bytes(COLUMN[6:])) == []
    with pytest.raises(ValueError, match="there are 6 addresses but 5 lengths"):
        kernel.first_bytes(COLUMN.addresses, COLUMN.lengths[1:])


def first_bytes(column):
    return kernel.first_bytes(column.addresses, column.lengths)


def test_a_null_is_refused_with_its_position():
    COLUMN[:4].check_known(0)

    with pytest.raises(simdb.InputError, match="document 12 is NoneType"):
        COLUMN[2:].check_known(10)


@over("chosen", [slice(None), slice(1, 4), [4, 0, 1], [2], []])
def test_memory_has_the_texts_one_after_the_other(chosen):
    texts = ["one", "", "zwei \u00e4", None, "three"]
    column = text_column(pyarrow.array(texts))
    part = column[chosen] if isinstance(chosen, slice) else column.chosen(chosen)

    found = b"".join(map(bytes, part.memory()))

    assert found == b"".join((text or "").encode() for text in part)
    assert len(list(column[:3].memory())) == 1


arrow = pytest.importorskip("pyarrow")

TEXTS = ["red fox", "", "a text that is too long for a view", "\u660e\u6708", "caf\xe9", "red fox"]
NULLS = [None, *TEXTS[:3], None, *TEXTS[3:]]
KINDS = [
    arrow.string(), arrow.large_string(), arrow.string_view(),
    arrow.binary(), arrow.large_binary(), arrow.binary_view(),
    arrow.dictionary(arrow.int8(), arrow.string()),
    arrow.dictionary(arrow.uint32(), arrow.large_string()),
]  # fmt: skip


def array_of(values, kind):
    """Make an array of a kind, by a cast from one that pyarrow can make of Python objects."""
    if "binary" in str(kind):
        values = [None if each is None else each.encode() for each in values]
        return arrow.array(values, arrow.binary()).cast(kind)
    if str(kind).startswith("dictionary"):
        return arrow.array(values, kind.value_type).dictionary_encode().cast(kind)
    return arrow.array(values, arrow.string()).cast(kind)


class Foreign:
    """An array of another library, which nobody may read one by one."""

    def __init__(self, array):
        self._array = array

    def __len__(self):
        return len(self._array)

    def __iter__(self):
        raise AssertionError("read one by one")


class ForeignArray(Foreign):
    def __arrow_c_array__(self, requested_schema=None):
        return self._array.__arrow_c_array__(requested_schema)


class ForeignStream(Foreign):
    def __arrow_c_stream__(self, requested_schema=None):
        return arrow.chunked_array([self._array]).__arrow_c_stream__(requested_schema)


def as_str(values):
    return [each.decode() if isinstance(each, bytes) else each for each in values]


@over("kind", KINDS)
@over("values", [TEXTS, NULLS, [None, None], []])
def test_an_array_of_any_kind_is_a_column_and_so_are_its_slices_and_chunks(kind, values):
    array = array_of(values, kind)
    listed = array.to_pylist()

    column = text_column(array)
    parts = [text_column(array.slice(at, 3)) for at in range(len(array))]
    chunks = [array[:0], array[:5], array[5:]]

    decoded = as_str(listed)
    assert isinstance(column, TextColumn)
    assert list(text_column(arrow.chunked_array(chunks, array.type))) == decoded
    assert list(column) == decoded
    assert [list(part) for part in parts] == [decoded[at : at + 3] for at in range(len(array))]
    assert list(text_column(arrow.chunked_array([], kind))) == []


@over("width", [2, 0])
def test_bytes_of_one_length_are_a_column(width):
    values = [each[:width] for each in (b"12", b"34", b"56")]
    array = arrow.array([values[0], None, *values[1:]], arrow.binary(width))

    column = text_column(arrow.chunked_array([array, array[2:], array[:0]]))

    expected = [values[0], None, *values[1:], *values[1:]]
    assert list(column) == as_str(expected)


def test_an_array_with_many_buffers_is_read_where_it_is():
    parts = [arrow.array([f"a long text, number {at}"]).cast(arrow.string_view()) for at in (1, 2)]
    array = arrow.concat_arrays(parts)

    column = text_column(array)

    assert list(column) == array.to_pylist()
    assert int(column.addresses[0]) == array.buffers()[2].address


@pytest.mark.parametrize(
    "documents",
    [
        arrow.array([1, 2]), arrow.array([["a"], ["b"]]), arrow.array([None, None]), ["a"],
        np.array(["a"]), "abc", None,
        arrow.table({"text": ["a"]}), arrow.array([1, 1]).dictionary_encode(),
    ],
    ids=lambda each: type(each).__name__,
)  # fmt: skip
def test_other_objects_are_no_column(documents):
    assert text_column(documents) is None


@pytest.mark.parametrize("foreign", [ForeignArray, ForeignStream])
def test_an_object_of_another_library_is_taken_through_its_interface(foreign):
    array = array_of(NULLS, arrow.large_string())

    column = text_column(foreign(array))

    assert list(column) == NULLS


def test_without_pyarrow_such_objects_are_left_alone(monkeypatch):
    array = ForeignArray(arrow.array(TEXTS))
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    assert text_column(array) is None


def test_a_series_of_polars_is_a_column():
    polars = pytest.importorskip("polars")

    assert list(text_column(polars.Series(NULLS))) == NULLS
    assert list(text_column(polars.Series(NULLS, dtype=polars.Categorical))) == NULLS


def broken(kind, valid, wrong, dtype=np.int32):
    """Make an array of two texts, and then change its offsets or views."""
    numbers = np.array(valid, dtype)
    content = arrow.py_buffer(b"x" * 50)
    array = arrow.Array.from_buffers(kind, 2, [None, arrow.py_buffer(numbers), content])
    numbers[:] = wrong
    return array


def chosen(places, values):
    return arrow.DictionaryArray.from_arrays(
        arrow.array(places), arrow.array(values, arrow.string()), safe=False
    )


OFFSETS = [0, 5, 6]
VIEWS = [3, 0, 0, 0, 3, 0, 0, 0]


@pytest.mark.parametrize(
    "array",
    [
        broken(arrow.string(), OFFSETS, [0, 5, 3]),
        broken(arrow.string(), OFFSETS, [-1, 5, 6]),
        broken(arrow.string(), OFFSETS, [0, 5, 51]),
        broken(arrow.large_string(), OFFSETS, [0, 5, 2**62], np.int64),
        broken(arrow.string_view(), VIEWS, [20, 0, 0, 0, 20, 0, 0, 40]),
        broken(arrow.string_view(), VIEWS, [20, 0, 1, 0, 3, 0, 0, 0]),
        broken(arrow.string_view(), VIEWS, [20, 0, -1, 0, 3, 0, 0, 0]),
        broken(arrow.string_view(), VIEWS, [20, 0, 0, -1, 3, 0, 0, 0]),
        broken(arrow.string_view(), VIEWS, [-1, 0, 0, 0, 3, 0, 0, 0]),
        chosen([0, 5], ["a"]),
        chosen([0, -1], ["a"]),
        chosen([0, None], []),
    ],
    ids=range(12),
)  # fmt: skip
def test_an_array_that_contradicts_itself_is_refused(array):
    with pytest.raises(simdb.InputError, match="the Arrow array is not valid"):
        text_column(array)


@pytest.mark.parametrize("sketch", [simdb.Simhash(), simdb.Minhash()], ids=["simhash", "minhash"])
def test_every_verb_takes_an_arrow_array(sketch):
    array = array_of(TEXTS, arrow.string_view())
    ids = list(range(len(TEXTS)))
    options = simdb.Options(sketch=sketch)

    with simdb.open(None, options=options) as db, simdb.open(None, options=options) as other:
        db.insert_many(ids, array)
        other.insert_many(ids, TEXTS)
        with db.write() as transaction:
            claimed = transaction.add_many_if_new([each + 10 for each in ids], array)
        found = db.query_many(array, similarity=0.9)

        assert [db.get(id).fingerprint for id in ids] == [other.get(id).fingerprint for id in ids]
        assert [[each.id for each in row] for row in found] == [
            [each.id for each in row] for row in db.query_many(TEXTS, similarity=0.9)
        ]
        assert [len(row) for row in claimed] == [1, 0, 1, 1, 1, 1]


@over("kind", KINDS)
def test_functions_take_an_arrow_array(kind):
    array = array_of(TEXTS, kind)

    found = simdb.fingerprints(array)
    signed = simdb.signatures(array)
    table = simdb.fit_idf(array)

    np.testing.assert_array_equal(found.bits, simdb.fingerprints(TEXTS).bits)
    np.testing.assert_array_equal(found.weights, simdb.fingerprints(TEXTS).weights)
    np.testing.assert_array_equal(signed.minima, simdb.signatures(TEXTS).minima)
    np.testing.assert_array_equal(table.entries, simdb.fit_idf(TEXTS).entries)
    assert len(simdb.fingerprints(array[:0])) == len(simdb.signatures(array[:0])) == 0


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, -(2**63), 2**63 - 1], arrow.int64()), ([0, 2**64 - 1], arrow.uint64()),
        ([1, None, 3], arrow.int32()), (["a", "", "\u660e"], arrow.string()),
        (["a", None], arrow.large_string()), (["a", "b" * 20], arrow.string_view()),
        ([b"\xff", b""], arrow.binary()), ([b"a", b""], arrow.large_binary()), ([], arrow.int8()),
        ([1.5, 2.5], arrow.float64()), ([True, False], arrow.bool_()),
        (["a", "b", "a"], arrow.dictionary(arrow.int8(), arrow.string())),
    ],
    ids=str,
)  # fmt: skip
def test_values_of_an_array_become_the_objects_that_pyarrow_makes(values, kind):
    array = arrow.array(values, getattr(kind, "value_type", kind)).cast(kind)
    chunked = arrow.chunked_array([array[:1], array[1:]])

    for given in (array, chunked, ForeignStream(array)):
        found = listed(given)

        assert found == values
        assert list(map(type, found)) == list(map(type, values))
    assert listed(values) is None
