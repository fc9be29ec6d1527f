"""Rows: every line that is made is valid JSON."""

import json
import math

import numpy as np
import pytest

from simdb.files.rows import as_line, waiting_line
from simdb.files.table_file import loaded

NAN, INFINITE = math.nan, math.inf
FORMS = [
    (NAN, None), (INFINITE, None), (-INFINITE, None), (np.float64(INFINITE), None),
    (np.float32(NAN), None), ([NAN, 1, "x"], [None, 1, "x"]), ({"a": (INFINITE,)}, {"a": [None]}),
    (np.array([1.0, NAN]), [1.0, None]), ({NAN: 1}, {"nan": 1}), ([b"x", None], ["x", None]),
    (1.5, 1.5),
]  # fmt: skip


def strict(line):
    """Read JSON as every other program does."""

    def refuse(name):
        raise ValueError(name)

    return json.loads(line, parse_constant=refuse)


@pytest.mark.parametrize(("value", "expected"), FORMS)
def test_numbers_for_which_json_has_no_form_are_null(value, expected):
    assert strict(as_line({"v": value, "é": "漢"})) == {"v": expected, "é": "漢"}


def test_a_line_that_waits_keeps_every_number():
    assert loaded(waiting_line({"v": -INFINITE})) == {"v": -INFINITE}
