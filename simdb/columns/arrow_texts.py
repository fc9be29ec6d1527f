"""Arrow texts: makes a `TextColumn` of an Arrow array, without a Python object for each text.

Arrays of every kind of text and bytes are read where they are: string, large_string, string_view,
the same of binary, dictionaries of them, chunked arrays and slices, with nulls.  Objects of other
libraries, such as a Series of polars, are taken through the Arrow interface that they offer.
"""

from typing import Any

import numpy as np

from simdb.columns.arrow import arrays_of
from simdb.columns.text_column import I64, U64, TextColumn, joined
from simdb.ground.errors import InputError

# A view is 16 bytes: its length, then the text itself if it has at most 12 bytes; otherwise four of
# its bytes, the number of its buffer and its place there.
VIEW_WORDS = 4
VIEW_BYTES = 16
INLINE_MAX = 12
INLINE_START = 4
# The buffers of an array of views begin with validity and views.
FIRST_BUFFER = 2


def text_column(documents: Any) -> TextColumn | None:
    """Return an Arrow array of texts as a column; None for any other object.

    Raises InputError for an array that contradicts itself.
    """
    if isinstance(documents, TextColumn):
        return documents
    columns = [_column(array) for array in arrays_of(documents)]
    found = [column for column in columns if column is not None]
    if not found or len(found) < len(columns):
        return None
    return joined(found)


def _column(array: Any) -> TextColumn | None:
    """Return one array of pyarrow as a column; None unless it holds texts."""
    kind = str(array.type)
    if kind.startswith("dictionary<"):
        return _of_dictionary(array)
    if kind not in KINDS:
        return None
    column = KINDS[kind](array)
    if array.null_count:
        column.lengths[array.is_null().to_numpy(zero_copy_only=False)] = -1
    return column


def _of_dictionary(array: Any) -> TextColumn | None:
    """Return the texts that the indices of a dictionary array choose."""
    known = _column(array.dictionary)
    if known is None:
        return None
    is_null = array.indices.is_null().to_numpy(zero_copy_only=False)
    places = array.indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    if not len(known):
        _check(bool(is_null.all()))
        return TextColumn(np.zeros(len(array), np.uint64), np.full(len(array), -1), (array,))
    _check(bool((places >= 0).all() and (places < len(known)).all()))
    column = known.chosen(places)
    column.lengths[is_null] = -1
    return column


def _of_short(array: Any) -> TextColumn:
    return _of_offsets(array, np.int32)


def _of_long(array: Any) -> TextColumn:
    return _of_offsets(array, np.int64)


def _of_offsets(array: Any, dtype: type[np.signedinteger[Any]]) -> TextColumn:
    """Return the texts of an array whose offsets have this type, one after the other."""
    if not len(array):
        return _made(np.zeros(0, np.uint64), np.zeros(0, np.int64), array)
    _, places, content = array.buffers()
    offsets = _words(places, dtype, array.offset, len(array) + 1).astype(np.int64)
    lengths = np.diff(offsets)
    _check(bool(offsets[0] >= 0 and (lengths >= 0).all()))
    _check(bool(offsets[-1] <= (0 if content is None else content.size)))
    start = np.uint64(0 if content is None else content.address)
    return _made(offsets[:-1].astype(np.uint64) + start, lengths, array)


def _of_views(array: Any) -> TextColumn:
    """Return the texts of an array of views."""
    buffers = array.buffers()
    words = _words(buffers[1], np.int32, array.offset * VIEW_WORDS, len(array) * VIEW_WORDS)
    views = words.reshape(-1, VIEW_WORDS).astype(np.int64)
    lengths = views[:, 0].copy()
    if array.null_count:
        lengths[array.is_null().to_numpy(zero_copy_only=False)] = 0
    _check(bool((lengths >= 0).all()))
    first = buffers[1].address + array.offset * VIEW_BYTES + INLINE_START
    addresses = np.arange(len(array), dtype=np.uint64) * np.uint64(VIEW_BYTES) + np.uint64(first)
    apart = np.flatnonzero(lengths > INLINE_MAX)
    contents = buffers[FIRST_BUFFER:]
    if len(apart):
        numbers, places = views[apart, 2], views[apart, 3]
        _check(bool((numbers >= 0).all() and (numbers < len(contents)).all()))
        sizes = np.array([each.size for each in contents], np.int64)[numbers]
        _check(bool((places >= 0).all() and (places + lengths[apart] <= sizes).all()))
        starts = np.array([each.address for each in contents], np.uint64)[numbers]
        addresses[apart] = starts + places.astype(np.uint64)
    return _made(addresses, lengths, array)


def _words(buffer: Any, dtype: Any, start: int, count: int) -> Any:
    """Return `count` numbers of a buffer from number `start` on, without a copy."""
    _check(buffer is not None and (start + count) * np.dtype(dtype).itemsize <= buffer.size)
    return np.frombuffer(buffer, dtype)[start : start + count]


def _made(addresses: U64, lengths: I64, array: Any) -> TextColumn:
    return TextColumn(addresses, lengths, (array,), is_binary="binary" in str(array.type))


def _check(is_right: bool) -> None:
    """Raise InputError unless the numbers of an array lie within its buffers."""
    if not is_right:
        raise InputError(
            "the Arrow array is not valid: its offsets or views leave its buffers; see what"
            " .validate(full=True) says, and make the array again"
        )


KINDS = {
    "string": _of_short,
    "binary": _of_short,
    "large_string": _of_long,
    "large_binary": _of_long,
    "string_view": _of_views,
    "binary_view": _of_views,
}
