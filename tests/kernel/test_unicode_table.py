"""The table of character properties: what it says of scripts without spaces."""

import re
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from script_oracle import is_cjk, is_spaceless

from simdb.core import kernel
from simdb.core.cold import section
from simdb.sketch.cutting import SPACELESS
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
