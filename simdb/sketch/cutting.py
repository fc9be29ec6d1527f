"""Text: cuts texts, as arrays of code points, into tokens, in numpy.

Character properties come from the project's own table, so that a fingerprint does not depend on
the Unicode version of the running Python.
"""

from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from simdb.ground.errors import InputError
from simdb.sketch.unicode_table import CLASS_RANGES, LOWER_RANGES

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
I32 = npt.NDArray[np.int32]
IntP = npt.NDArray[np.intp]

CHARACTERS = "characters"  # the unit
WORD, CJK, SPACE = 1, 2, 3  # classes of characters
SPACELESS = CJK | 4  # letters and marks of other scripts without spaces


def code_points(text: str | bytes | None, position: int, errors: str) -> U32:
    """Return the code points of document number `position`; InputError for invalid Unicode."""
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8", errors)
        if isinstance(text, str):
            return np.frombuffer(text.encode("utf-32-le", errors), "<u4")
    except UnicodeDecodeError as error:
        raise InputError(f"document {position} is not valid UTF-8: {error}") from error
    except UnicodeEncodeError as error:
        raise InputError(f"document {position} has a lone surrogate: {error}") from error
    found = "null" if text is None else type(text).__name__
    raise InputError(f"document {position} is {found}, not str or bytes")


def contents_of(tokens: Sequence[str | bytes], position: int, errors: str) -> list[bytes]:
    """Return the tokens of document number `position` in UTF-8; InputError for other types."""
    if isinstance(tokens, (str, bytes)) or not isinstance(tokens, Iterable):
        raise InputError(f"document {position} is {type(tokens).__name__}, not a list of tokens")
    contents = []
    for number, token in enumerate(tokens):
        if isinstance(token, bytes):
            contents.append(token)
        elif isinstance(token, str):
            try:
                contents.append(token.encode("utf-8", errors))
            except UnicodeEncodeError as error:
                message = f"document {position} has a lone surrogate in token {number}: {error}"
                raise InputError(message) from error
        else:
            what = f"a {type(token).__name__} as token {number}, not str or bytes"
            raise InputError(f"document {position} has {what}")
    return contents


def cut(codes: U32, unit: str, lowercase: bool) -> list[bytes]:
    """Return the tokens of a text in UTF-8."""
    shown = _lower_case(codes) if lowercase else codes
    if unit == CHARACTERS:
        return _characters(codes, shown)
    return _spell(shown, *bounds_of_words(codes, unit))


def bounds_of_words(codes: U32, unit: str) -> tuple[IntP, IntP]:
    """Return where each word of a text begins and where it ends: the character after it.

    `unit`: "words", "spaceless" (each letter and mark of a script without spaces by itself, too) or
    "whitespace" (what lies between white space).
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


def _characters(codes: U32, shown: U32) -> list[bytes]:
    """Return the characters of a text; white space becomes one space, or nothing at both ends."""
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
    """Return every character in lower case, by the one-to-one mapping."""
    return (codes + _properties()[1][codes]).astype(np.uint32)


@cache
def _properties() -> tuple[U8, I32]:
    """Return the class of every code point, and the number to add for its lower case."""
    classes = np.zeros(0x110000, np.uint8)
    code = 0
    for skipped, count, kind in np.fromstring(CLASS_RANGES, np.int32, sep=" ").reshape(-1, 3):
        code += skipped
        classes[code : code + count] = kind
        code += count
    deltas = np.zeros(0x110000, np.int32)
    for first, count, step, delta in np.fromstring(LOWER_RANGES, np.int32, sep=" ").reshape(-1, 4):
        deltas[first : first + count * step : step] = delta
    return classes, deltas
