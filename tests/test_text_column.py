"""Text columns: sequences of texts in memory of others."""

import numpy as np
import pyarrow
import pytest

import simdb
from simdb.columns.arrow_texts import text_column
from simdb.columns.text_column import TextColumn, joined

MEMORY = np.frombuffer("red\u660egreen\xff".encode(), np.uint8)
START = MEMORY.ctypes.data


def made(*places, is_binary=False):
    starts = np.array([START + start for start, _ in places], np.uint64)
    lengths = np.array([length for _, length in places], np.int64)
    return TextColumn(starts, lengths, (MEMORY,), is_binary)


COLUMN = made((0, 3), (3, 3), (6, 5), (6, 0), (0, -1), (4, 2))


def test_a_column_gives_its_texts():
    assert list(COLUMN) == ["red", "\u660e", "green", "", None, b"\x98\x8e"]
    assert [COLUMN[at] for at in range(6)] == list(COLUMN)
    assert list(made((0, 3), (3, 3), is_binary=True)) == [b"red", b"\xe6\x98\x8e"]


def test_slices_choices_and_joined_columns_share_the_memory():
    part = COLUMN[1:4]

    assert list(part) == ["\u660e", "green", ""]
    assert np.shares_memory(part.addresses, COLUMN.addresses)
    assert list(COLUMN.chosen([2, 0, 2])) == ["green", "red", "green"]
    assert list(joined([part, COLUMN[:1], COLUMN[6:]])) == ["\u660e", "green", "", "red"]
    assert joined([part]) is part


def test_the_head_of_a_text_has_its_first_character():
    assert [head[:1] for head in COLUMN.heads()] == ["r", "\u660e", "g", "", "", ""]


def test_a_null_is_refused_with_its_position():
    COLUMN[:4].check_known(0)

    with pytest.raises(simdb.InputError, match="document 12 is NoneType"):
        COLUMN[2:].check_known(10)


@pytest.mark.parametrize("chosen", [slice(None), slice(1, 4), [4, 0, 1], [2], []])
def test_memory_has_the_texts_one_after_the_other(chosen):
    texts = ["one", "", "zwei \u00e4", None, "three"]
    column = text_column(pyarrow.array(texts))
    part = column[chosen] if isinstance(chosen, slice) else column.chosen(chosen)

    found = b"".join(map(bytes, part.memory()))

    assert found == b"".join((text or "").encode() for text in part)
    assert len(list(column[:3].memory())) == 1
