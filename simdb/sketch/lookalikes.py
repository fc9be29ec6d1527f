"""Look-alikes: words written in letters of one script, and digits of ASCII.

A word may have letters of another script that look like its own: Cyrillic letters in a Latin word,
or Latin letters in a Cyrillic word.  UTS 39, section 4, gives the Latin letter that a letter looks
like; two letters that look like the same Latin letter look like each other.  If a word can be
spelled in only one script, it is spelled so.  If it can be spelled in two, it gets the script that
has letters without look-alikes in the text.  So a wholly Cyrillic word becomes a Latin word only in
a text without any surely Cyrillic letter.
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
# Greek letters that are also symbols in Latin text.  Words of up to SYMBOLIC letters with such a
# letter do not become Latin.
SYMBOLS, SYMBOLIC = frozenset(map(ord, "\u03b1\u03b3\u03b9\u03bd\u03c1\u03c3\u03c5")), 3
# Letters that only Pashto or Urdu distinguishes, and letters that reveal these languages.
YEH, PASHTO = 0x6CC, re.compile("[\u0681\u0685\u0696\u069a\u06bc\u06cd]")
HEH, URDU = 0x6BE, "\u06c1"
ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][\da-fA-F]{1,6}|[a-zA-Z]\w{1,30});", re.ASCII)
WORD = re.compile(r"[^\W\d_]+")
FOREIGN = re.compile(r"(?<![^\W\d_])[A-Za-z]*[^\W\d_A-Za-z][^\W\d_]*")  # a word not in ASCII
CODES = 1 << 17  # all characters that change have smaller code points
# Bits of kinds of characters: SINGLE changes in any text, LATIN is a Latin letter.  Each script has
# three bits.  LETTER is for its letters, SURE for letters without a similar Latin letter, and
# SURE_LATIN for Latin letters without a similar letter in the script.
SINGLE, LATIN, LETTER, SURE, SURE_LATIN = 1, 1 << 7, 8, 16, 24


def without_entities(text: str) -> str:
    """Return the text with entities of HTML replaced by their characters."""
    return ENTITY.sub(lambda found: unescape(found[0]), text) if "&" in text else text


def folded(text: str) -> str:
    """Return a text in NFKC with each word in one script, if possible, and digits in ASCII."""
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
    """Return a text with each word in letters of a script or in Latin letters, if possible.

    `is_latin`, `is_other`: whether the text has letters that are surely Latin, or surely of the
    script.
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
    """Return four tables of characters by code point.

    * The replacement of a character that changes in any text.
    * The Latin letter that a letter looks like.
    * For each script, its letters, and for Latin letters and look-alikes of other scripts, the
      letter of the script that each looks like, or else itself.
    * The kinds, uint32[CODES].
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
        # If several letters look like one Latin letter, the first is the usual one.
        twins = {like: chr(code) for code, like in reversed(alike.items()) if code in letters}
        own = {code: twins.get(b, chr(code)) for code, b in others.items() if code not in letters}
        scripts.append((letters, own))
        kinds[list(letters)] |= 1 << LETTER + place
        kinds[list(letters - alike.keys() | SYMBOLS & letters)] |= 1 << SURE + place
        kinds[[code for code in latin if chr(code) not in twins]] |= 1 << SURE_LATIN + place
    return single, alike, scripts, kinds
