"""Normalisation: the normal form and the lower case of a text, and tokens of a user's tokeniser.

The oldest supported Python does not know characters of later Unicode versions and leaves them
unchanged.  So they are left unchanged on every Python, and the text between them is normalised
piece by piece.  Lower case follows the one-to-one table that the kernel uses, too.

A database stores only the name of a tokeniser, and may come from anywhere.  So the function is
imported only if the caller names it as well.
"""

import re
import unicodedata
from collections.abc import Callable, Collection
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from simdb import sketch as modules
from simdb.core import kernel
from simdb.core.arrow import Texts
from simdb.core.choices import DROP
from simdb.core.cold import section
from simdb.core.errors import InputError, OptionError
from simdb.core.text_sketch import LENIENT, NFC, NONE, TextSketch

TABLES = Path(__file__).with_name("unicode.txt")
PLANE = 1 << 16  # code points beyond have more than 16 bits
FORMS: "dict[str, Form]" = {"nfc": "NFC", "nfd": "NFD", "nfkc": "NFKC", "lenient": "NFKC"}
# Accents and points of Latin, Greek, Cyrillic, Hebrew, Arabic and Syriac, and the tatweel.
MARKS = re.compile(
    "[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a"
    "\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0711"
    "\u0730-\u074a\u08d3-\u08e1\u08e3-\u08ff\u1ab0-\u1ac0\u1dc0-\u1df9\u1dfb-\u1dff\u20d0-\u20f0"
    "\ufe20-\ufe2f]+"
)
Form = Literal["NFC", "NFD", "NFKC"]
Tokenise = Callable[[str], list[str]]


class Normalisation:
    """The step that normalises texts if the kernel cannot, and cleans them for a tokeniser."""

    def __init__(self, options: TextSketch) -> None:
        """Normalise texts by `options`."""
        self._options = options

    def apply(self, texts: Texts, *, replace: bool, start: int) -> list[str]:
        """Return the normalised texts."""
        options = self._options
        made = [spelled(text, options) for text in texts]
        return [cleaned(text, options) for text in made] if options.tokeniser else made


class Tokeniser:
    """The step of the pipeline from texts to lists of tokens."""

    def __init__(self, name: str, allowed: Collection[str], *, lowercase: bool) -> None:
        """Import the callable `name`; raise OptionError if it is not in `allowed`."""
        if name not in allowed:
            raise OptionError(
                f"this database needs the tokeniser {name!r}, which is imported only if you allow"
                f" it; if you trust it, use simdb.open(path, allow=[{name!r}]), or --allow {name}"
            )
        self._name = name
        self._tokenise = _imported(name)
        self._lowercase = lowercase

    def apply(self, texts: Texts, *, replace: bool, start: int) -> list[list[str]]:
        """Return the tokens of each text; error messages number the texts from `start`."""
        return [self._tokens(text, position) for position, text in enumerate(texts, start)]

    def _tokens(self, text: str, position: int) -> list[str]:
        """Return the tokens of one text.

        Raises InputError if the tokeniser fails or returns no tokens.
        """
        try:
            tokens = self._tokenise(text)
        except Exception as error:
            raise InputError(
                f"document {position}: the tokeniser {self._name!r} raised"
                f" {type(error).__name__}: {error}"
            ) from error
        if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
            raise InputError(
                f"document {position}: the tokeniser {self._name!r} returned {_shown(tokens)}, not"
                " a list of str"
            )
        return [lower_cased(token) for token in tokens] if self._lowercase else tokens


def normalised(text: str, normalisation: str) -> str:
    """Return the text in the normal form "nfc", "nfd" or "nfkc"; "lenient" means "nfkc".

    With "none", the text is unchanged.
    """
    form = FORMS.get(normalisation)
    if form is None or text.isascii() or unicodedata.is_normalized(form, text):
        return text
    may_be, newer = _newer_characters()
    if not may_be.search(text):
        return unicodedata.normalize(form, text)
    pieces = newer.split(text)
    # The newer characters are at odd positions and stay unchanged.
    pieces[::2] = [unicodedata.normalize(form, piece) for piece in pieces[::2]]
    return "".join(pieces)


def without_marks(text: str) -> str:
    """Return the text in NFC, without accents and points; see MARKS."""
    return text if text.isascii() else normalised(MARKS.sub("", normalised(text, "nfd")), "nfc")


def lower_cased(text: str) -> str:
    """Return the text in lower case; its number of characters does not change."""
    return text.lower() if text.isascii() else text.translate(_lower_case())


def cleaning_of(options: TextSketch) -> dict[str, Any]:
    """Return the kernel's arguments for cleaning texts; empty if they are not cleaned."""
    if not options.clean:
        return {}
    compose = str if options.normalisation == NONE else composed
    cleaning = kernel.TURKIC * options.turkic_case + kernel.STRAYS * (options.edition > 1)
    return {"compose": compose, "cleaning": cleaning}


def cleaned(text: str, options: TextSketch) -> str:
    """Return a text as the kernel cleans it before it cuts words."""
    cleaning = cleaning_of(options)
    return kernel.cleaned(text, lowercase=options.lowercase, **cleaning) if cleaning else text


def spelled(text: str, options: TextSketch) -> str:
    """Return a text in the normal form; the options may also drop marks and look-alikes."""
    is_lenient = options.normalisation == LENIENT
    text = modules.lookalikes.without_entities(text) if is_lenient else text
    text = normalised(text, options.normalisation)
    text = without_marks(text) if options.marks == DROP else text
    return modules.lookalikes.folded(text) if is_lenient and not text.isascii() else text


def composed(text: str) -> str:
    """Return the text in NFC."""
    return normalised(text, NFC)


@cache
def _newer_characters() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return a quick pattern for characters that may be newer, and an exact one to split at.

    Regular expressions try ranges beyond 16 bits one by one, so the quick pattern has only one.
    """
    ranges = [
        [int(code, 16) for code in row.split("-")] for row in section(TABLES, "newer").split()
    ]
    low = [each for each in ranges if each[1] < PLANE]
    high = [each for each in ranges if each[0] >= PLANE]
    may_be = re.compile(f"[{_members([*low, [high[0][0], high[-1][1]]])}]")
    return may_be, re.compile(f"([{_members(ranges)}]+)")


def _members(ranges: list[list[int]]) -> str:
    """Write ranges of code points for a character class of a regular expression."""
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)


@cache
def _lower_case() -> dict[int, int]:
    """Return the lower case of each character that has one, by code point."""
    numbers = [int(number) for number in section(TABLES, "lower").split()]
    rows = zip(*(iter(numbers),) * 4, strict=True)
    return {
        code: code + delta
        for first, count, step, delta in rows
        for code in range(first, first + count * step, step)
    }


def _imported(name: str) -> Tokenise:
    """Import "module:function"; raise OptionError if that fails or it is not a callable."""
    module, _, function = name.partition(":")
    try:
        found = getattr(import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise OptionError(f"the tokeniser {name!r} cannot be imported: {error}") from error
    if not callable(found):
        raise OptionError(f"the tokeniser {name!r} is {type(found).__name__}, not a callable")
    tokenise: Tokenise = found
    return tokenise


def _shown(value: object) -> str:
    """Describe, for a message, a value that is not a list of str."""
    if isinstance(value, list):
        kinds = sorted({type(each).__name__ for each in value if not isinstance(each, str)})
        return f"a list with {', '.join(kinds)}"
    return type(value).__name__
