"""Look-alikes: writes words in letters of one script, and digits as ASCII has them.

A word may hold letters of another script that look like its own: Cyrillic letters in a Latin word,
or Latin ones in a Cyrillic word.  Of a letter the standard says which Latin letter it looks like
(UTS 39, section 4); two letters that look like the same one look like each other.  A word that can
be spelled in one script alone is spelled in it.  If it can be spelled in two, its text decides,
which is written in a script if it has letters that look like none of the other's: a wholly Cyrillic
word is taken for a Latin one only in a text without any letter that is Cyrillic beyond doubt.
"""

import re
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np

from simdb.core.cold import section
from simdb.core.dtypes import U32

TABLES = Path(__file__).with_suffix(".txt")
# Greek letters that are symbols beside Latin ones: they make neither a word Latin nor a short one.
SYMBOLS, SYMBOLIC = frozenset(map(ord, "\u03b1\u03b3\u03b9\u03bd\u03c1\u03c3\u03c5")), 3
# Letters that are others in Pashto, and in Urdu, which letters of these languages tell.
YEH, PASHTO = 0x6CC, re.compile("[\u0681\u0685\u0696\u069a\u06bc\u06cd]")
HEH, URDU = 0x6BE, "\u06c1"
ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][\da-fA-F]{1,6}|[a-zA-Z]\w{1,30});", re.ASCII)
WORD = re.compile(r"[^\W\d_]+")
FOREIGN = re.compile(r"(?<![^\W\d_])[A-Za-z]*[^\W\d_A-Za-z][^\W\d_]*")  # a word not in ASCII
CODES = 1 << 17  # all characters that change have smaller code points
# Bits of kinds of characters: one that changes wherever it is, a Latin letter, and for each script
# a letter, one that looks like no Latin letter, and a Latin letter that looks like none of its own.
SINGLE, LATIN, LETTER, SURE, SURE_LATIN = 1, 1 << 7, 8, 16, 24


def without_entities(text: str) -> str:
    """Return the text with the characters that entities of HTML stand for."""
    return ENTITY.sub(lambda found: unescape(found[0]), text) if "&" in text else text


def folded(text: str) -> str:
    """Return a text in NFKC with each word in one script, if it can be, and the digits of ASCII."""
    single, _, scripts, all_kinds = _tables()
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    kinds = all_kinds[np.minimum(codes, CODES - 1)]
    found = int(np.bitwise_or.reduce(kinds))
    if found & SINGLE:
        kept = YEH if PASHTO.search(text) else HEH if URDU in text else 0
        text = text.translate({**single, kept: kept})
    for place in range(len(scripts)):
        own = 1 << LETTER + place
        others = found & (0xFF << LETTER | LATIN) & ~own
        if found & own and others:
            here, there = kinds & own != 0, kinds & others != 0
            is_mixed = (here[1:] & there[:-1] | there[1:] & here[:-1]).any()
            is_latin, is_other = (found >> each + place & 1 for each in (SURE_LATIN, SURE))
            if is_mixed or is_latin != is_other:
                text = _in_one_script(text, place, is_latin=is_latin, is_other=is_other)
    return text


def _in_one_script(text: str, place: int, *, is_latin: int, is_other: int) -> str:
    """Return a text with each word in letters of a script or in Latin ones, if it can be.

    `is_latin`, `is_other`: whether the text has letters that are surely Latin, or of the script.
    """
    _, alike, scripts, _ = _tables()
    letters, own = scripts[place]

    def spelled(found: re.Match[str]) -> str:
        word = found[0]
        latin, other = word.translate(alike), word.translate(own)
        is_text = len(word) > SYMBOLIC or SYMBOLS.isdisjoint(map(ord, word))
        goes_latin, goes_other = is_text and latin.isascii(), letters.issuperset(map(ord, other))
        if goes_latin and goes_other:
            if is_latin == is_other and word in (latin, other):
                return word
            most = sum(map(str.isascii, word)) * 2 >= len(word)
            goes_latin = most if is_latin == is_other else bool(is_latin)
        return latin if goes_latin else other if goes_other else word

    return (FOREIGN if is_latin else WORD).sub(spelled, text)


@cache
def _tables() -> tuple[dict[int, int], dict[int, str], list[Any], U32]:
    """Return what characters are and become, by code point.

    First, what replaces a character wherever it is; then the Latin letter that a letter looks like;
    then the letters of each script, with the letter of the script that each Latin letter, and each
    look-alike of another script, looks like, or else itself; and the kinds, uint32[CODES].
    """
    rows = section(TABLES, "letters").split(";")
    alike = {int(a, 16): b for a, b in re.findall(r"(\w+)=(\w)", " ".join(rows))}
    pairs = re.findall(r"(\w+)=(\w+)", section(TABLES, "single"))
    single = {int(a, 16): int(b, 16) for a, b in pairs}
    latin = [code for code in range(128) if chr(code).isalpha()]
    others = {code: chr(code) for code in latin} | alike
    kinds, scripts = np.zeros(CODES, np.uint32), []
    kinds[list(single)], kinds[latin] = SINGLE, LATIN
    for place, row in enumerate(rows):
        ranges = [(int(a, 16), int(b, 16)) for a, b in re.findall(r"(\w+)-(\w+)", row)]
        letters = frozenset(code for a, b in ranges for code in range(a, b + 1))
        # Of letters that look like one Latin letter, the first is the usual one.
        twins = {like: chr(code) for code, like in reversed(alike.items()) if code in letters}
        own = {code: twins.get(b, chr(code)) for code, b in others.items() if code not in letters}
        scripts.append((letters, own))
        kinds[list(letters)] |= 1 << LETTER + place
        kinds[list(letters - alike.keys() | SYMBOLS & letters)] |= 1 << SURE + place
        kinds[[code for code in latin if chr(code) not in twins]] |= 1 << SURE_LATIN + place
    return single, alike, scripts, kinds
