"""Normalisation and lower case: the same on every Python, whatever Unicode that has.

Characters younger than the Unicode of the oldest Python supported are left as they are, as that
one would leave them, and what stands between them is normalised piece by piece.  Lower case is by
the one-to-one mapping of the table that the kernel has, too.
"""

import re
import unicodedata
from functools import cache
from typing import Literal

from simdb.numpy_kernel.unicode_table import LOWER_RANGES
from simdb.sketch.normalisation_table import NEWER_RANGES

Form = Literal["NFC", "NFKC"]
PLANE = 1 << 16  # code points beyond have more than 16 bits
FORMS: dict[str, Form] = {"nfc": "NFC", "nfkc": "NFKC"}


def normalised(text: str, normalisation: str) -> str:
    """The text under "none", "nfc" or "nfkc"."""
    form = FORMS.get(normalisation)
    if form is None or text.isascii() or unicodedata.is_normalized(form, text):
        return text
    may_be, newer = _newer_characters()
    if not may_be.search(text):
        return unicodedata.normalize(form, text)
    pieces = newer.split(text)
    # Between the pieces, at the odd places, stand the characters that are left alone.
    pieces[::2] = [unicodedata.normalize(form, piece) for piece in pieces[::2]]
    return "".join(pieces)


def lower_cased(text: str) -> str:
    """The text with every character replaced by its lower case, one for one."""
    return text.lower() if text.isascii() else text.translate(_lower_case())


@cache
def _newer_characters() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """One finds quickly what may be in the table, one splits a text at what is.

    Regular expressions try ranges beyond 16 bits one by one, so the first has only one of them.
    """
    ranges = [[int(code, 16) for code in row.split("-")] for row in NEWER_RANGES.split()]
    low = [each for each in ranges if each[1] < PLANE]
    high = [each for each in ranges if each[0] >= PLANE]
    may_be = re.compile(f"[{_members([*low, [high[0][0], high[-1][1]]])}]")
    return may_be, re.compile(f"([{_members(ranges)}]+)")


def _members(ranges: list[list[int]]) -> str:
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)


@cache
def _lower_case() -> dict[int, int]:
    """Lower case of every character that has one."""
    numbers = [int(number) for number in LOWER_RANGES.split()]
    rows = zip(*(iter(numbers),) * 4, strict=True)
    return {
        code: code + delta
        for first, count, step, delta in rows
        for code in range(first, first + count * step, step)
    }
