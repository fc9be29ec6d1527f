"""The table of character properties: its form, and what it says of scripts without spaces."""

import re
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from script_oracle import is_cjk, is_spaceless

from simdb.core import kernel
from simdb.core.cold import section
from simdb.sketch.cutting import CJK, SPACE, SPACELESS, WORD
from simdb.sketch.normalisation import TABLES

HEADER = Path(__file__).parents[2] / "simdb_ext/sketch/text/unicode_table.h"
CODE_POINTS = 0x110000


def ranges():
    return np.array(section(TABLES, "classes").split(), np.int64).reshape(-1, 3)


def classes():
    """Return the class of every code point, found range by range."""
    found, code = [0] * CODE_POINTS, 0
    for skipped, count, kind in ranges().tolist():
        code += skipped + count
        found[code - count : code] = [kind] * count
    return found


def test_ranges_are_in_order_and_as_few_as_possible():
    rows = ranges()
    skipped, counts, kinds = rows.T

    assert (skipped >= 0).all()
    assert (counts > 0).all()
    assert rows[:, :2].sum() <= CODE_POINTS
    assert set(kinds.tolist()) == {WORD, CJK, SPACE, SPACELESS}
    assert ((skipped[1:] > 0) | (kinds[1:] != kinds[:-1])).all()


@pytest.mark.skipif(not HEADER.exists(), reason="the sources of the kernel are not here")
def test_the_table_of_the_compiled_kernel_is_the_same():
    text = HEADER.read_text()
    rows = re.findall(r"\{(-?\d+),(-?\d+),(-?\d+)\}", text)

    assert f"of Unicode {section(TABLES, 'version')}." in text
    assert [list(map(int, row)) for row in rows] == ranges().tolist()


def test_every_letter_and_mark_of_a_spaceless_script_has_the_class():
    found = classes()
    named = [code for code in range(CODE_POINTS) if unicodedata.name(chr(code), "")]

    wanted = [code for code in named if is_spaceless(chr(code)) and not is_cjk(chr(code))]

    assert [code for code in named if found[code] == SPACELESS] == wanted


def test_marks_are_composed_where_and_only_where_they_are_out_of_order():
    newer = [row.split("-") for row in section(TABLES, "newer").split()]
    newer = {code for first, last in newer for code in range(int(first, 16), int(last, 16) + 1)}
    marks = [chr(code) for code in range(0x20000) if code not in newer]
    asked = []

    def is_asked(text):
        asked.clear()
        kernel.cleaned(text, lowercase=True, compose=lambda each: asked.append(each) or each)
        return bool(asked)

    ordered = [each for each in marks if unicodedata.combining(each) and not is_asked(f"x{each}")]
    # One mark of each class.
    others = {unicodedata.combining(mark): mark for mark in ordered}
    wrong = [
        (ascii(mark), order)
        for mark in ordered
        for order, other in others.items()
        if is_asked(f"x{other}{mark}") != (order > unicodedata.combining(mark))
    ]
    assert wrong == []
