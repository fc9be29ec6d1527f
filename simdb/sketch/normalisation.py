"""Normalisation: Unicode normal forms and lower case that do not depend on the Python version.

The oldest supported Python does not know characters of later Unicode versions and leaves them
unchanged.  So they are left unchanged on every Python, and the text between them is normalised
piece by piece.  Lower case follows the one-to-one table that the kernel uses, too.
"""

import re
import unicodedata
from functools import cache
from typing import Any, Literal

from simdb.running import kernel
from simdb.settings.text_sketch import DROP, NFC, NONE, TextSketch
from simdb.sketch.normalisation_table import NEWER_RANGES
from simdb.sketch.unicode_table import LOWER_RANGES

Form = Literal["NFC", "NFD", "NFKC"]
PLANE = 1 << 16  # code points beyond have more than 16 bits
FORMS: dict[str, Form] = {"nfc": "NFC", "nfd": "NFD", "nfkc": "NFKC"}
# Accents and points of Latin, Greek, Cyrillic, Hebrew, Arabic and Syriac, and the tatweel.
MARKS = re.compile(
    "[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a"
    "\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0711"
    "\u0730-\u074a\u08d3-\u08e1\u08e3-\u08ff\u1ab0-\u1ac0\u1dc0-\u1df9\u1dfb-\u1dff\u20d0-\u20f0"
    "\ufe20-\ufe2f]+"
)


def normalised(text: str, normalisation: str) -> str:
    """Return the text in the normal form "nfc", "nfd" or "nfkc", or unchanged for "none"."""
    form = FORMS.get(normalisation)
    if form is None or text.isascii() or unicodedata.is_normalized(form, text):
        return text
    may_be, newer = _newer_characters()
    if not may_be.search(text):
        return unicodedata.normalize(form, text)
    pieces = newer.split(text)
    # The odd places of the list have the newer characters, which stay unchanged.
    pieces[::2] = [unicodedata.normalize(form, piece) for piece in pieces[::2]]
    return "".join(pieces)


def without_marks(text: str) -> str:
    """Return the text in NFC, without accents and points; see MARKS."""
    return text if text.isascii() else normalised(MARKS.sub("", normalised(text, "nfd")), "nfc")


def lower_cased(text: str) -> str:
    """Return the text in lower case; each character becomes one character."""
    return text.lower() if text.isascii() else text.translate(_lower_case())


@cache
def _newer_characters() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return a quick pattern for characters that may be newer, and an exact one to split at.

    Regular expressions try ranges beyond 16 bits one by one, so the quick pattern has only one
    such range.
    """
    ranges = [[int(code, 16) for code in row.split("-")] for row in NEWER_RANGES.split()]
    low = [each for each in ranges if each[1] < PLANE]
    high = [each for each in ranges if each[0] >= PLANE]
    may_be = re.compile(f"[{_members([*low, [high[0][0], high[-1][1]]])}]")
    return may_be, re.compile(f"([{_members(ranges)}]+)")


def _members(ranges: list[list[int]]) -> str:
    """Write ranges of code points for a character class of a regular expression."""
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)


@cache
def _lower_case() -> dict[int, int]:
    """Return the lower case of each character that has one, by code point."""
    numbers = [int(number) for number in LOWER_RANGES.split()]
    rows = zip(*(iter(numbers),) * 4, strict=True)
    return {
        code: code + delta
        for first, count, step, delta in rows
        for code in range(first, first + count * step, step)
    }


def cleaning_of(options: TextSketch) -> dict[str, Any]:
    """Return the arguments by which the kernel cleans texts; empty if it takes them as they are."""
    if not options.clean:
        return {}
    compose = str if options.normalisation == NONE else composed
    return {"compose": compose, "turkic": options.turkic_case}


def cleaned(text: str, options: TextSketch) -> str:
    """Return a text as the kernel cuts it."""
    cleaning = cleaning_of(options)
    return kernel.cleaned(text, lowercase=options.lowercase, **cleaning) if cleaning else text


def spelled(text: str, options: TextSketch) -> str:
    """Return a text in the normal form, and without marks if the options say so."""
    text = normalised(text, options.normalisation)
    return without_marks(text) if options.marks == DROP else text


def composed(text: str) -> str:
    """Return the text in NFC."""
    return normalised(text, NFC)
