"""Write the table of characters that normalisation leaves alone, the same on every Python.

    python3.10 -m pip install unicodedata2 && python3.10 tools/generate/normalisation_table.py

Python 3.10, the oldest that simdb supports, has Unicode 13.0.  The table lists characters that are
newer and that normalisation would change, up to the release of the installed `unicodedata2`.  A new
release may only add to the table: simdb must go on leaving these characters alone.
"""

import textwrap
import unicodedata

import unicodedata2
from unicode_table import CODE_POINTS, runs, write_section

OLDEST = "13.0.0"


def main() -> None:
    assert unicodedata.unidata_version == OLDEST, "run this with Python 3.10"
    rows = runs((code, None) for code in newer_characters())
    text = " ".join(f"{first:x}-{first + count - 1:x}" for first, count, _ in rows)
    write_section("newer version", unicodedata2.unidata_version)
    write_section("newer", textwrap.fill(text, 99, break_on_hyphens=False))


def newer_characters() -> list[int]:
    """Return the code points newer than OLDEST that are combined, decomposed or composed."""
    active = {
        code
        for code in range(CODE_POINTS)
        if unicodedata2.combining(chr(code)) or unicodedata2.decomposition(chr(code))
    }
    parts = {
        int(part, 16)
        for code in active
        for part in unicodedata2.decomposition(chr(code)).split()
        if not part.startswith("<")
    }
    return sorted(code for code in active | parts if is_newer(code))


def is_newer(code: int) -> bool:
    return unicodedata.category(chr(code)) == "Cn" != unicodedata2.category(chr(code))


if __name__ == "__main__":
    main()
