"""Ids that are given as an array: stored, told and refused like those of a list."""

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from over import over

import simdb
from simdb.core import kernel
from simdb.database.state.incoming import EncodedIds, as_ids

COUNT = 300
NAMES = [f"name {at} \u00e9" for at in range(COUNT)]
ARRAYS = {
    "range": (range(COUNT), list(range(COUNT))),
    "range down": (range(9, -COUNT, -7), list(range(9, -COUNT, -7))),
    "int64": (np.arange(COUNT), list(range(COUNT))),
    "uint8": (np.arange(200, dtype=np.uint8), list(range(200))),
    "big-endian": (np.arange(COUNT).astype(">i4"), list(range(COUNT))),
    "every second": (np.arange(COUNT)[::2], list(range(0, COUNT, 2))),
    "above int64": (np.array([1, 2**64 - 1], np.uint64), [1, 2**64 - 1]),
    "whole numbers of Arrow": (pyarrow.array(range(-5, 5)), list(range(-5, 5))),
    "texts": (pyarrow.array(NAMES), NAMES),
    "chunks": (pyarrow.chunked_array([NAMES[:7], [], NAMES[7:]]), NAMES),
    "part of an array": (pyarrow.array(NAMES)[5:90], NAMES[5:90]),
    "views": (pyarrow.array(NAMES, pyarrow.string_view()), NAMES),
    "dictionary": (pyarrow.array(NAMES).dictionary_encode(), NAMES),
    "bytes": (pyarrow.array([b"a", b"\xff"]), [b"a", b"\xff"]),
    "longest": (pyarrow.array(["x" * 1023]), ["x" * 1023]),
    "no texts": (pyarrow.array([], pyarrow.string()), []),
    "pandas": (pandas.Series(NAMES, index=range(COUNT, 0, -1)), NAMES),
    "polars": (polars.Series(NAMES), NAMES),
}
INVALID = pyarrow.Array.from_buffers(
    pyarrow.string(), 1, [None, pyarrow.py_buffer(np.int32([0, 1])), pyarrow.py_buffer(b"\xff")]
)


@over("name", ARRAYS)
def test_an_array_has_the_stored_form_of_a_list(name):
    given, ids = ARRAYS[name]

    encoded = EncodedIds(as_ids(given))

    offsets, content, hashes = kernel.encode_ids(ids)
    assert len(encoded) == len(ids)
    assert encoded.offsets.tolist() == offsets.tolist()
    assert bytes(encoded.content) == bytes(content)
    assert encoded.hashes.tolist() == hashes.tolist()
    assert [(type(each), each) for each in map(encoded.__getitem__, range(len(ids)))] == [
        (type(each), each) for each in ids
    ]


@over("name", ["texts", "range down"])
def test_documents_are_stored_under_the_ids_of_an_array(name):
    given, ids = ARRAYS[name]
    with simdb.open(None) as database:
        database.insert_many(given, list(range(len(ids))))

        assert list(database) == ids
        with pytest.raises(simdb.ExistsError, match=repr(ids[0])[:8]):
            database.insert_many(given, list(range(len(ids))), on_conflict="error")
        metadata = [None] * (len(ids) - 1) + [{"key": object()}]
        with pytest.raises(simdb.InputError, match=repr(ids[-1])[:8]):
            database.insert_many(given, list(range(len(ids))), metadata, on_conflict="replace")


@over("given", [
    pyarrow.array(["a", ""]),
    pyarrow.array(["a", "x" * 1024]),
    pyarrow.array(["a", None]),
    pyarrow.array([1, None]),
    np.ma.array([1, 2], mask=[False, True]),
    np.array([1.5]),
    np.array([True]),
    INVALID,
])  # fmt: skip
def test_an_array_that_has_no_ids_is_refused_like_a_list(given):
    with simdb.open(None) as database:
        with pytest.raises(simdb.InputError, match=r"id [01] |valid UTF-8"):
            database.insert_many(given, list(range(len(given))))

        assert len(database) == 0
