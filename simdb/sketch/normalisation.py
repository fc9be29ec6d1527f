"""Normalisation and lower case: the same on every Python, whatever Unicode that has.

Characters younger than the Unicode of the oldest Python supported are left as they are, as that
one would leave them, and what stands between them is normalised piece by piece.  Lower case is by
the one-to-one mapping of the table that the kernel has, too.
"""

import re
import unicodedata
from functools import cache
from typing import Literal

from simdb.fallback.unicode_table import LOWER_RANGES
from simdb.sketch.normalisation_table import NEWER_RANGES

Form = Literal["NFC", "NFKC"]
FORMS: dict[str, Form] = {"nfc": "NFC", "nfkc": "NFKC"}


def normalised(text: str, normalisation: str) -> str:
    """The text under "none", "nfc" or "nfkc"."""
    form = FORMS.get(normalisation)
    if form is None or text.isascii() or unicodedata.is_normalized(form, text):
        return text
    pieces = _newer_characters().split(text)
    # Between the pieces, at the odd places, stand the characters that are left alone.
    pieces[::2] = [unicodedata.normalize(form, piece) for piece in pieces[::2]]
    return "".join(pieces)


def lower_cased(text: str) -> str:
    """The text with every character replaced by its lower case, one for one."""
    return text.lower() if text.isascii() else text.translate(_lower_case())


@cache
def _newer_characters() -> re.Pattern[str]:
    """What leaves alone the longest stretches of characters of the table."""
    ranges = (row.split("-") for row in NEWER_RANGES.split())
    members = "".join(f"\\U{first:0>8}-\\U{last:0>8}" for first, last in ranges)
    return re.compile(f"([{members}]+)")


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
