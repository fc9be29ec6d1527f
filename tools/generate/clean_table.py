"""Write the table by which the kernel cleans texts: invisible, folded and combining signs.

    python tools/generate/clean_table.py

The properties have the values of Unicode 13.0, which every supported Python knows.  So a
fingerprint does not depend on the version of Python: later characters are not changed, as in
`simdb/sketch/normalisation.py`.  No Python has Default_Ignorable_Code_Point; its ranges are taken
from DerivedCoreProperties.txt, with reserved code points.
"""

import unicodedata
from pathlib import Path

from unicode_table import CODE_POINTS, filled, runs

from simdb.core.cold import section
from simdb.sketch.normalisation import TABLES, lower_cased

SURROGATES = range(0xD800, 0xE000)
HANGUL_PARTS = (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))  # vowels and final consonants
# Not folded: the dotted capital of Turkish, which Unicode folds to two characters and the kernel to
# i.  Nor are two Latin letters: they are so rare that testing every text for them is not worth it.
NOT_FOLDED = (0x130, 0x149, 0x1F0)
IGNORABLE = """
ad-ad 34f-34f 61c-61c 115f-1160 17b4-17b5 180b-180f 200b-200f 202a-202e 2060-206f 3164-3164
fe00-fe0f feff-feff ffa0-ffa0 fff0-fff8 1bca0-1bca3 1d173-1d17a e0000-e0fff
"""
# Characters that PDF and Word leave inside words: controls (category Cc) without White_Space, the
# marks of interlinear annotations, and the place of an object.
STRAYS = "0-8 e-1f 7f-84 86-9f fff9-fffc"
ROOT = Path(__file__).parents[2]


def main() -> None:
    old = [code for code in range(CODE_POINTS) if is_old(code)]
    tables = {
        "Ranges of invisible characters: first code point, number of code points.": (
            "IGNORABLE_RANGES[][2]",
            [(first, last - first + 1) for first, last in ranges_of(IGNORABLE)],
        ),
        "Ranges of characters that PDF and Word insert into words: first code point, number.": (
            "STRAY_RANGES[][2]",
            [(first, last - first + 1) for first, last in ranges_of(STRAYS)],
        ),
        "Ranges of combining characters: first code point, number, canonical combining class.": (
            "COMBINING_RANGES[][3]",
            runs((code, kind) for code in old if (kind := unicodedata.combining(chr(code)))),
        ),
        "Ranges that NFC may change, alone or with a character before: first code point, number.": (
            "COMPOSING_RANGES[][2]",
            [row[:2] for row in runs((code, None) for code in sorted(composing(old)))],
        ),
        "A code point, and up to three code points to which case folding maps it; 0 is none.": (
            "FOLDS[][4]",
            folds(old),
        ),
    }
    parts = [
        f"/* {comment} */\nstatic const int32_t {name} = {{\n{filled(rows, ',')}\n}};\n"
        for comment, (name, rows) in tables.items()
    ]
    content = HEADER + "\n".join(parts) + "\n#endif\n"
    (ROOT / "simdb_ext/sketch/text/clean_table.h").write_text(content)


def ranges_of(text: str) -> list[tuple[int, int]]:
    """Return the first and last code point of each range."""
    rows = (row.split("-") for row in text.split())
    return [(int(first, 16), int(last, 16)) for first, last in rows]


NEWER = {
    code for first, last in ranges_of(section(TABLES, "newer")) for code in range(first, last + 1)
}


def is_old(code: int) -> bool:
    """Return whether the code point is a character that normalisation may change."""
    return code not in SURROGATES and code not in NEWER


def composing(codes: list[int]) -> set[int]:
    """Return the characters whose NFC_Quick_Check is not "yes": no, or maybe."""
    found = {code for code in codes if not unicodedata.is_normalized("NFC", chr(code))}
    for code in codes:
        parts = unicodedata.decomposition(chr(code)).split()
        is_canonical = len(parts) == 2 and not parts[0].startswith("<")
        if is_canonical and unicodedata.is_normalized("NFC", chr(code)):
            found.add(int(parts[1], 16))
    return found | set(HANGUL_PARTS)


def folds(codes: list[int]) -> list[tuple[int, ...]]:
    """Return each character with equals besides its lower case, and their representative.

    A character whose capital form is several characters becomes their composed lower case.  So a
    text and its capitals agree.
    """
    rows = []
    for code in codes:
        character = chr(code)
        is_several = len(character.upper()) > 1
        capital = unicodedata.normalize("NFC", character.upper())
        folded = lower_cased(capital if is_several else character.casefold())
        if code not in NOT_FOLDED and folded != lower_cased(character):
            rows.append((code, *map(ord, folded), *[0] * (3 - len(folded))))
    return rows


HEADER = f"""/* Properties of characters by which texts are cleaned, from Unicode 13.0.

   Written by {Path(__file__).relative_to(ROOT)}. */

#ifndef SIMDB_CLEAN_TABLE_H
#define SIMDB_CLEAN_TABLE_H

#include <stdint.h>

"""

if __name__ == "__main__":
    main()
