"""Spaceless scripts: finds the characters of scripts written without spaces between words.

A script is spaceless if Unicode lets a line end after most of its letters (UAX #14), since the
lines of a script with spaces end at spaces:

* Line_Break is SA: Thai, Lao, Khmer, Myanmar, Tai Le, New Tai Lue, Tai Tham, Tai Viet, Ahom;
* AK, AP, AS, the letters of orthographic syllables: Balinese, Javanese, Cham, Batak, ...;
* ID, CJ: kana in all blocks, Bopomofo, Yi, Tangut, Nushu, ....

So is a script with a mark between syllables: Tibetan, in which a line ends at that mark, whether a
word does or not.  Such a mark is a character with INTERSYLLABIC in its name.

The characters are letters and marks of these scripts, not numbers.  A letter or mark that several
scripts share is included if all of them are spaceless.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import unicodedata2

BREAKING = {"SA", "AK", "AP", "AS", "ID", "CJ"}
BETWEEN_SYLLABLES = "INTERSYLLABIC"
SHARED = {"Common", "Inherited"}
FILES = ("LineBreak", "Scripts", "ScriptExtensions", "PropertyValueAliases")


def spaceless_characters(folder: Path) -> set[int]:
    """Return the letters and marks of spaceless scripts, by the files of a Unicode release."""
    for name in FILES:
        first = (folder / f"{name}.txt").read_text(encoding="utf-8").partition("\n")[0]
        if first != f"# {name}-{unicodedata2.unidata_version}.txt":
            raise SystemExit(f"{name}.txt begins with {first!r}: it is of another release")
    scripts = property_of(folder / "Scripts.txt")
    spaceless = spaceless_scripts(scripts, property_of(folder / "LineBreak.txt"))
    extensions = property_of(folder / "ScriptExtensions.txt")
    names = script_names(folder / "PropertyValueAliases.txt")
    found = set()
    for code, script in scripts.items():
        if unicodedata2.category(chr(code))[0] not in "LM":
            continue
        used_by = {script}
        if script in SHARED and code in extensions:
            used_by = {names[short] for short in extensions[code].split()}
        if used_by <= spaceless:
            found.add(code)
    return found


def spaceless_scripts(scripts: dict[int, str], breaks: dict[int, str]) -> set[str]:
    """Return the names of the scripts that are written without spaces between words."""
    breaking: defaultdict[str, Counter[bool]] = defaultdict(Counter)
    found = set()
    for code, script in scripts.items():
        if unicodedata2.category(chr(code))[0] == "L":
            breaking[script][breaks.get(code) in BREAKING] += 1
        if BETWEEN_SYLLABLES in unicodedata2.name(chr(code), ""):
            found.add(script)
    found |= {script for script, counts in breaking.items() if counts[True] > counts[False]}
    return found - SHARED


def property_of(path: Path) -> dict[int, str]:
    """Return the value of a property for each code point in a file of the database."""
    values = {}
    for characters, value in records(path):
        first, _, last = characters.partition("..")
        for code in range(int(first, 16), int(last or first, 16) + 1):
            values[code] = value
    return values


def script_names(path: Path) -> dict[str, str]:
    """Return the long name of each script by its short names."""
    rows = [row for row in records(path) if row[0] == "sc"]
    return {short: row[2] for row in rows for short in row[1:]}


def records(path: Path) -> Iterator[list[str]]:
    """Yield the fields of each line, without comments."""
    for line in path.read_text(encoding="utf-8").splitlines():
        content = line.partition("#")[0].strip()
        if content:
            yield [field.strip() for field in content.split(";")]
