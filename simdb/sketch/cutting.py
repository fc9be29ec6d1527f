"""Cutting: the tokens of texts, given as arrays of code points, and the numbers in them, in numpy.

Character properties come from the project's own table, so that a fingerprint does not depend on
the Unicode version of the running Python.

Numbers distinguish texts that differ only in digits.  A number is a longest sequence of decimal
digits of any script: "3.50" has the numbers 3 and 50, and "007" is not 7.  One hash stands for all
numbers of a text, in any order.
"""

import codecs
from collections.abc import Iterable, Sequence
from functools import cache
from unicodedata import decimal

import numpy as np
import numpy.typing as npt

from simdb.core.arrays import offsets_of
from simdb.core.bits import fmix64
from simdb.core.cold import section
from simdb.core.dtypes import I64, U8, U32, U64
from simdb.core.errors import InputError
from simdb.sketch.normalisation import TABLES

CHARACTERS = "characters"  # a value of `unit`
WORD, CJK, SPACE = 1, 2, 3  # classes of characters
SPACELESS = CJK | 4  # letters and marks of other scripts without spaces
# The hash of a number is a polynomial in this odd constant; its value is mixed afterwards.
BASE = np.uint64(0x9E3779B97F4A7C15)
CODES = 1 << 17  # all decimal digits of Unicode have smaller code points
NO_DIGIT = 255

I32 = npt.NDArray[np.int32]
IntP = npt.NDArray[np.intp]


def code_points(text: str, errors: str, at: int = 0) -> U32:
    """Return the code points of document number `at`; raise InputError for invalid Unicode."""
    try:
        # Called directly: naming the codec would import its module at the first use.
        return np.frombuffer(codecs.utf_32_le_encode(text, errors)[0], "<u4")
    except UnicodeEncodeError as error:
        raise InputError(f"document {at} has a lone surrogate: {error}") from error


def contents_of(tokens: Sequence[str | bytes], errors: str, at: int = 0) -> list[bytes]:
    """Return the tokens of document number `at` in UTF-8; raise InputError for other types."""
    if isinstance(tokens, (str, bytes)) or not isinstance(tokens, Iterable):
        raise InputError(f"document {at} is {type(tokens).__name__}, not a list of tokens")
    contents = []
    for number, token in enumerate(tokens):
        if isinstance(token, bytes):
            contents.append(token)
        elif isinstance(token, str):
            try:
                contents.append(token.encode("utf-8", errors))
            except UnicodeEncodeError as error:
                message = f"document {at} has a lone surrogate in token {number}: {error}"
                raise InputError(message) from error
        else:
            what = f"a {type(token).__name__} as token {number}, not str or bytes"
            if isinstance(token, int | float):
                what += "; numbers are a vector in a numpy array only"
            raise InputError(f"document {at} has {what}")
    return contents


def cut(codes: U32, unit: str, lowercase: bool) -> list[bytes]:
    """Return the tokens of a text in UTF-8."""
    shown = _lower_case(codes) if lowercase else codes
    if unit == CHARACTERS:
        return _characters(codes, shown)
    return _spell(shown, *bounds_of_words(codes, unit))


def bounds_of_words(codes: U32, unit: str) -> tuple[IntP, IntP]:
    """Return the start and the stop of each word of a text, in characters.

    `unit`: "words", "spaceless" (each letter and mark of a script without spaces is a word, too) or
    "whitespace" (the text between white space).
    """
    classes = _properties()[0][codes]
    if unit == "whitespace":
        is_word, is_single = classes != SPACE, np.zeros(len(codes), np.bool_)
    elif unit == "spaceless":
        is_word, is_single = classes == WORD, (classes == CJK) | (classes == SPACELESS)
    else:
        is_word, is_single = (classes == WORD) | (classes == SPACELESS), classes == CJK
    starts = is_single | (is_word & ~np.concatenate([[False], is_word[:-1]]))
    stops = is_single | (is_word & ~np.concatenate([is_word[1:], [False]]))
    return np.flatnonzero(starts), np.flatnonzero(stops) + 1


def numbers_in(texts: Sequence[str]) -> U64:
    """Return a hash of the numbers of each text, or 0 for a text without numbers: uint64[n]."""
    digits = _digits("\n".join(texts))
    places = np.flatnonzero(digits < 10)
    firsts = np.flatnonzero(np.diff(places, prepend=-2) != 1)
    if not len(firsts):
        return np.zeros(len(texts), np.uint64)
    mixed = fmix64(_hashes(digits[places], firsts))
    sums = np.append(np.uint64(0), np.cumsum(mixed))
    starts = offsets_of([len(text) + 1 for text in texts])
    bounds = np.searchsorted(places[firsts], starts)
    return sums[bounds[1:]] - sums[bounds[:-1]]


def _characters(codes: U32, shown: U32) -> list[bytes]:
    """Return the characters of a text, with white space as one space, and stripped at both ends."""
    is_space = _properties()[0][codes] == SPACE
    follows_space = np.concatenate([[True], is_space[:-1]])
    folded = np.where(is_space, np.uint32(ord(" ")), shown)[~(is_space & follows_space)]
    if is_space.size and is_space[-1]:
        folded = folded[:-1]
    return _spell(folded, np.arange(len(folded)), np.arange(1, len(folded) + 1))


def _spell(codes: U32, starts: IntP, stops: IntP) -> list[bytes]:
    """Return codes[starts[i]:stops[i]] in UTF-8 for every i."""
    lengths = np.full(len(codes), 1) + (codes >= 0x80) + (codes >= 0x800) + (codes >= 0x10000)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    content = codes.astype("<u4").tobytes().decode("utf-32-le").encode("utf-8")
    bounds = zip(offsets[starts].tolist(), offsets[stops].tolist(), strict=True)
    return [content[start:stop] for start, stop in bounds]


def _lower_case(codes: U32) -> U32:
    """Return the characters in lower case, by the one-to-one mapping."""
    return (codes + _properties()[1][codes]).astype(np.uint32)


@cache
def _properties() -> tuple[U8, I32]:
    """Return the class of every code point, and the number to add to make it lower case."""
    classes = np.zeros(0x110000, np.uint8)
    code = 0
    ranges = np.array(section(TABLES, "classes").split(), np.int32).reshape(-1, 3)
    for skipped, count, kind in ranges:
        code += skipped
        classes[code : code + count] = kind
        code += count
    deltas = np.zeros(0x110000, np.int32)
    ranges = np.array(section(TABLES, "lower").split(), np.int32).reshape(-1, 4)
    for first, count, step, delta in ranges:
        deltas[first : first + count * step : step] = delta
    return classes, deltas


def _hashes(digits: U8, firsts: I64) -> U64:
    """Return a hash of each sequence of digits; `firsts`: the start of each sequence."""
    lengths = np.diff(firsts, append=len(digits))
    powers = np.cumprod(np.full(int(lengths.max()), BASE))
    within = np.arange(len(digits)) - np.repeat(firsts, lengths)
    # Adding 1 makes leading zeros count.
    return np.add.reduceat((digits + np.uint64(1)) * powers[within], firsts)


def _digits(text: str) -> U8:
    """Return the value of each decimal digit, and a value above 9 for any other character."""
    if text.isascii():
        return np.frombuffer(text.encode("ascii"), np.uint8) - np.uint8(ord("0"))
    codes = np.frombuffer(codecs.utf_32_le_encode(text, "surrogatepass")[0], "<u4")
    found: U8 = _values()[np.minimum(codes, CODES - 1)]
    return found


@cache
def _values() -> U8:
    """Return the value of each code point as a decimal digit, or `NO_DIGIT`."""
    return np.array([decimal(chr(code), NO_DIGIT) for code in range(CODES)], np.uint8)
