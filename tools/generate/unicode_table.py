"""Write the built-in table of character properties, once for C and once in `unicode.txt`.

    pip download --no-deps --no-binary :all: unicodedata2 && tar xf unicodedata2-*.tar.gz
    python tools/generate/unicode_table.py unicodedata2-*/unicodedata2/unicodetype_db.h UCD

The general categories come from the installed `unicodedata2`; the simple lower-case mapping is only
in its source.  UCD is a folder with files of the Unicode Character Database, from which
`spaceless_scripts.py` finds the scripts without spaces.  All must be of the same release.  A new
Unicode version changes fingerprints, so the table is part of the database format: write a new table
only with a new format version.
"""

import re
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import unicodedata2
from spaceless_scripts import spaceless_characters

CODE_POINTS = 0x110000
OTHER, WORD, CJK, SPACE = range(4)
SPACELESS = CJK | 4  # the lowest two bits are the class where these characters are cut as CJK is
CJK_RANGES = (
    (0x3040, 0x30FF),  # hiragana, katakana
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xAC00, 0xD7AF),  # Hangul syllables
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)
EXTENDED_CASE = 0x4000
BLOCK_SHIFT = 6
ROOT = Path(__file__).parents[2]


def main() -> None:
    header = Path(sys.argv[1]).read_text()
    spaceless = spaceless_characters(Path(sys.argv[2]))
    classes = [character_class(code, code in spaceless) for code in range(CODE_POINTS)]
    ranges = class_ranges(classes)
    lower = lower_ranges(lower_deltas(header))
    write_section("version", unicodedata2.unidata_version)
    write_section("classes", filled(ranges, " "))
    write_section("lower", filled(lower, " "))
    (ROOT / "simdb_ext/sketch/text/unicode_table.h").write_text(c_table(ranges, lower))


def character_class(code: int, is_spaceless: bool) -> int:
    """Return the class of a character, which may belong to a script without spaces.

    White space is the Unicode property White_Space: the separators and six controls.
    """
    category = unicodedata2.category(chr(code))
    if category in ("Zs", "Zl", "Zp") or code in (9, 10, 11, 12, 13, 0x85):
        return SPACE
    if category[0] not in "LMN" and category != "Pc":
        return OTHER
    if any(first <= code <= last for first, last in CJK_RANGES):
        return CJK
    return SPACELESS if is_spaceless else WORD


def runs(values: Iterable[tuple[int, Any]]) -> list[tuple[int, int, Any]]:
    """Return (first, count, value) of consecutive code points with one value."""
    rows: list[tuple[int, int, Any]] = []
    for code, value in values:
        first, count, last = rows[-1] if rows else (code, 0, value)
        if (code, value) == (first + count, last) and rows:
            rows[-1] = first, count + 1, value
        else:
            rows.append((code, 1, value))
    return rows


def class_ranges(classes: list[int]) -> list[tuple[int, ...]]:
    """Return (code points skipped, code points in the range, class) of every range but OTHER."""
    ranges, stop = [], 0
    for first, count, kind in runs(enumerate(classes)):
        if kind != OTHER:
            ranges.append((first - stop, count, kind))
            stop = first + count
    return ranges


def lower_deltas(header: str) -> dict[int, int]:
    """Return the lower-case mapping less the character, for each character that has one."""
    records = [
        [int(number) for number in line.split(",")]
        for line in re.findall(r"^    \{(.*)\},$", array(header, "_PyUnicode_TypeRecords"), re.M)
    ]
    extended = numbers(array(header, "_PyUnicode_ExtendedCase"))
    blocks = numbers(array(header, "index1"))
    indices = numbers(array(header, "index2"))
    deltas = {}
    for code in range(CODE_POINTS):
        block = blocks[code >> BLOCK_SHIFT] << BLOCK_SHIFT
        _, lower, _, _, _, flags = records[indices[block + (code & ((1 << BLOCK_SHIFT) - 1))]]
        delta = extended[lower & 0xFFFF] - code if flags & EXTENDED_CASE else lower
        if delta:
            deltas[code] = delta
    return deltas


def array(header: str, name: str) -> str:
    start = header.index(f"{name}[] = {{\n")
    return header[header.index("\n", start) + 1 : header.index("};", start)]


def numbers(content: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", content)]


def lower_ranges(deltas: dict[int, int]) -> list[tuple[int, ...]]:
    """Return (first, count, step, delta): `count` characters `step` apart move by `delta`."""
    ranges: list[tuple[int, ...]] = []
    for code, delta in sorted(deltas.items()):
        if ranges and ranges[-1][3] == delta:
            first, count, step, _ = ranges[-1]
            gap = code - (first + (count - 1) * step)
            if gap <= 2 and (count == 1 or gap == step):
                ranges[-1] = (first, count + 1, gap, delta)
                continue
        ranges.append((code, 1, 1, delta))
    return ranges


def write_section(name: str, lines: str) -> None:
    """Replace the lines of a table in `unicode.txt`."""
    path = ROOT / "simdb/sketch/unicode.txt"
    before, head, after = path.read_text().partition(f"\n[{name}]\n")
    rest = after[after.index("\n\n") :] if "\n\n" in after else "\n"
    path.write_text(before + head + lines.strip() + rest)


def c_table(ranges: list[tuple[int, ...]], lower: list[tuple[int, ...]]) -> str:
    return f"""/* Character properties of Unicode {unicodedata2.unidata_version}.

   Written by tools/generate/unicode_table.py, with simdb/sketch/unicode.txt. */

#ifndef SIMDB_UNICODE_TABLE_H
#define SIMDB_UNICODE_TABLE_H

#include <stdint.h>

/* Code points skipped since the last range, code points in this one, their class. */
static const int32_t CLASS_RANGES[][3] = {{
{filled(ranges, ",")}
}};

/* First code point, number of them, step between them, what to add for the lower case. */
static const int32_t LOWER_RANGES[][4] = {{
{filled(lower, ",")}
}};

#endif
"""


def filled(rows: list[tuple[int, ...]], separator: str) -> str:
    """Put the rows one after the other in lines of at most 100 columns."""
    opening, closing = ("{", "},") if separator == "," else ("", " ")
    text = " ".join(opening + separator.join(map(str, row)) + closing for row in rows)
    return textwrap.fill(" ".join(text.split()), 99, break_on_hyphens=False)


if __name__ == "__main__":
    main()
