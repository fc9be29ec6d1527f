"""Parts oracle: cuts texts by regular expressions and makes keys by numpy, to check the kernel.

A part lies between separators, which belong to no part.

    paragraph   Lines without a blank line between them.  Separators are line ends and blank lines.

    line        The text between line ends, which are the mandatory breaks of UAX #14.

    sentence    It ends at a line end, or after a sentence terminator.  A terminator of . ! ? and
                the ellipsis counts only before white space without a lower-case letter after it.
                Closing quotes and brackets belong to the sentence; white space after it separates.
"""

import re
from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from simdb.core.bits import SECOND_WORD, fmix64
from simdb.sketch import cutting

PARAGRAPH, LINE, SENTENCE = ("paragraph", "line", "sentence")

BREAKS = "\n\v\f\r\x85\u2028\u2029"
# A line end; for a return and the line feed after it, both.
BREAK = f"[{BREAKS}](?:(?<=\r)\n|(?!(?<=\r)\n))"
# They end a sentence only before white space, since numbers, names and addresses have them.
SPACED = ".!?\u2026"
# The other characters of Unicode with the property Sentence_Terminal, of the basic plane.
FREE = (
    "\u0589\u061d-\u061f\u06d4\u0700-\u0702\u07f9\u0837\u0839\u083d\u083e\u0964\u0965\u104a\u104b"
    "\u1362\u1367\u1368\u166e\u1735\u1736\u17d4\u17d5\u1803\u1809\u1944\u1945\u1aa8-\u1aab\u1b5a"
    "\u1b5b\u1b5e\u1b5f\u1c3b\u1c3c\u1c7e\u1c7f\u203c\u203d\u2047-\u2049\u2e2e\u3002\ua4ff\ua60e"
    "\ua60f\ua6f3\ua6f7\ua876\ua877\ua8ce\ua8cf\ua92f\ua9c8\ua9c9\uaa5d-\uaa5f\uaaf0\uaaf1\uabeb"
    "\ufe52\ufe56\ufe57\uff01\uff1f\uff61"
)
# The full stop of full width ends a sentence unless it is in a number.
WIDE_STOP, WIDE_DIGITS = "\uff0e", "\uff10-\uff19"
CLOSING = (
    "\"')\\]}\u00bb\u2019\u201d\u203a\u3009\u300b\u300d\u300f\u3011\u3015\u3017\uff09\uff3d\uff5d"
    "\uff63"
)

I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]
# Where a part begins, where it ends, and where the next one begins.
Bounds = tuple[int, int, int]


def bounds_of(text: str, unit: str) -> list[Bounds]:
    """Return the parts of a text in order; with their separators, they make up the text."""
    found, start = [], 0
    for match in _separator(unit).finditer(text):
        first, following = match.span()
        found.append((start, first if match.lastindex is None else match.end(1), following))
        start = following
    if start < len(text):
        found.append((start, len(text), len(text)))
    return found


def without(text: str, bounds: Sequence[Bounds], is_dropped: Sequence[bool]) -> str:
    """Return a text without some of its parts.

    A part is removed with the separator after it, and the text ends as it did before.
    """
    kept = [own for own, has_gone in zip(bounds, is_dropped, strict=True) if not has_gone]
    if not kept or len(kept) == len(bounds):
        return text if kept else ""
    pieces = [text[start:following] for start, _, following in kept[:-1]]
    return "".join([*pieces, text[slice(*kept[-1][:2])], text[bounds[-1][1] :]])


def keys_of(offsets: I64, words: U64) -> U64:
    """Return a key for each part, which follows from the hashes of its words in order: uint64[n].

    The words of part i are `words[offsets[i]:offsets[i + 1]]`.
    """
    counts = np.diff(offsets).astype(np.uint64)
    places = np.arange(1, len(words) + 1, dtype=np.uint64)
    places -= np.repeat(offsets[:-1].astype(np.uint64), np.diff(offsets))
    sums = np.zeros(len(words) + 1, np.uint64)
    np.cumsum(fmix64(words ^ places * SECOND_WORD), out=sums[1:])
    return fmix64(sums[offsets[1:]] - sums[offsets[:-1]] + counts)


@cache
def _separator(unit: str) -> "re.Pattern[str]":
    """Return the pattern of a separator of parts, which begins after group 1 if that matches.

    The pattern begins with a set of characters, which is found many times faster.
    """
    if unit == LINE:
        return re.compile(BREAK)
    if unit == PARAGRAPH:
        return re.compile(f"{BREAK}(?:[^\\S{BREAKS}]*{BREAK})+")
    ends = f"{SPACED}{FREE}{WIDE_STOP}"
    # Only the first of several full stops is tried, so that a row of many takes no longer.
    spaced = f"(?<=[{SPACED}])(?<![{ends}].)"
    is_over = f"(?=\\s+(?![\\s{lower_case_letters()}]))"
    free = f"(?:(?<=[{FREE}])|(?<={WIDE_STOP})(?![{WIDE_DIGITS}]))"
    rest = f"[{ends}]*[{CLOSING}]*"
    sentence = f"({spaced}{rest}{is_over}|{free}{rest})"
    return re.compile(f"[{ends}{BREAKS}](?:(?<=[{BREAKS}])|{sentence})\\s*", re.DOTALL)


@cache
def lower_case_letters() -> str:
    """Return all letters that are the lower case of another, in the order of their codes."""
    deltas = cutting._properties()[1]
    capitals = np.flatnonzero(deltas)
    return "".join(map(chr, np.unique(capitals + deltas[capitals]).tolist()))
