"""Encoding guess: the only import of charset-normalizer, which guesses the encoding of bytes.

A guess is a hint in a message, unless the user asks for `--encoding guess`.  What needs no guess is
done here: valid UTF-8 is UTF-8, UTF-8 with some damage is recognised, and so is text in UTF-16 or
UTF-32 by its NUL bytes, which tell it from binary content.
"""

import codecs
import re
from collections import Counter
from importlib import import_module
from itertools import count
from typing import Any

from simdb.core.errors import InputError, OptionError

GUESS = "guess"  # the value of --encoding
UTF8_MARKED = "utf-8-sig"
REMEDY = "pip install charset-normalizer"
# How many bytes are examined, and how many of them lie before the failed byte.
WINDOW_BYTES = 1 << 14
BEFORE_BYTES = 1 << 12
# NUL bytes are looked for in the first bytes.
HEAD_BYTES = 1 << 16
# So many messages of a run have a guess: it takes a millisecond, and few messages are shown.
HINTS_MAX = 1000

WIDE = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
# At most this share of the bytes of wide text look like ASCII; the others are NUL or any value.
NARROW = re.compile(rb"[\s!-~]")
NARROW_SHARE_MAX = 0.7
# The encodings that are guessed, by names of charset-normalizer; without this list it often finds
# one that nobody uses.
COMMON = (
    "cp1252", "cp1250", "cp1254", "cp1257", "cp1251", "koi8_r", "cp1253", "cp1255", "cp1256",
    "shift_jis", "euc_jp", "gb18030", "big5", "cp949",
)  # fmt: skip
# Most bytes are letters in each of these.  Of those that are about as good, by the library's
# measures of disorder and of language, the first is taken, because it is the most common.
LATIN = COMMON[:4]
MORE_CHAOS, LESS_COHERENCE = 0.1, 0.1
# Text in these contains control bytes; other text contains none.
COMMON_WIDE = ("utf_16_le", "utf_16_be")
CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1f]")

# How many files or streams were decoded by each guess, in this run of the command.
GUESSED: Counter[str] = Counter()
_hints = count()


def check_guessing() -> None:
    """Raise OptionError if charset-normalizer is not installed."""
    if _library() is None:
        raise OptionError(f"encoding='guess' needs the package charset-normalizer: {REMEDY}")


def hint(content: bytes, position: int) -> str:
    """Return what to do about the invalid UTF-8 byte at `position`, with a guess if possible."""
    known = _library() is not None and next(_hints) < HINTS_MAX
    likely = likely_encoding(content, position) if known else None
    if likely is not None:
        return f"use encoding={likely!r} (a guess) or errors='replace'"
    install = "" if _library() is not None else f"; {REMEDY} adds a guess here"
    return f"name its encoding, such as encoding='latin-1', or use errors='replace'{install}"


def is_damaged(content: bytes, position: int) -> bool:
    """Return whether content with an invalid byte at `position` is UTF-8 with some damage.

    It is if most characters around that byte that are not ASCII are valid.
    """
    found = _window(content, position).decode("utf-8", "replace")
    others = [each for each in found if not each.isascii()]
    return others.count("\ufffd") < len(others) / 2


def likely_encoding(content: bytes, position: int) -> str | None:
    """Return the encoding that fits content with an invalid UTF-8 byte at `position`, or None."""
    window = _window(content, position)
    names = COMMON_WIDE if CONTROLS.search(window) else COMMON
    if names is COMMON:
        window = b"\n".join(line for line in window.split(b"\n") if not line.isascii())
    found = list(_library().from_bytes(window, cp_isolation=list(names)))
    if not found:
        return None
    best = found[0]
    fitting = set(best.could_be_from_charset)
    if fitting & set(LATIN):
        for each in found:
            is_as_good = (
                each.chaos <= best.chaos + MORE_CHAOS
                and each.coherence >= best.coherence - LESS_COHERENCE
            )
            fitting |= set(each.could_be_from_charset) & set(LATIN) if is_as_good else set()
    return codecs.lookup(next(name for name in names if name in fitting)).name


def guessed(content: bytes) -> str:
    """Return what `encoding_of` does, and count it among the guesses of this run."""
    found = encoding_of(content)
    GUESSED[found] += 1
    return found


def encoding_of(content: bytes) -> str:
    """Return the encoding of text, or of its first bytes; InputError if it is none.

    It is UTF-8 if that is valid, or damaged.
    """
    head = content[:HEAD_BYTES]
    if b"\0" in head:
        wide = guessed_wide(head)
        if wide is None:
            raise InputError("binary content (NUL bytes), not text; leave it out")
        return wide
    try:
        codecs.getincrementaldecoder("utf-8")().decode(content)  # a character can be cut off
    except UnicodeDecodeError as error:
        if not is_damaged(content, error.start):
            return likely_encoding(content, error.start) or UTF8_MARKED
    return UTF8_MARKED


def guessed_wide(head: bytes) -> str | None:
    """Return the UTF-16 or UTF-32 encoding in which bytes with NULs are text; None if binary."""
    if len(NARROW.findall(head)) > NARROW_SHARE_MAX * len(head):
        return None  # mostly ASCII with a few NUL bytes
    texts = {name: _decoded(head, name) for name in WIDE}
    plain = {name: text for name, text in texts.items() if text and _is_plain(text)}
    # In the wrong byte order, spaces, digits and line feeds become characters that are not ASCII.
    return max(plain, key=lambda name: sum(map(str.isascii, plain[name])), default=None)


def guessed_note() -> str | None:
    """Return what was decoded by a guess in this run; None if nothing was."""
    found = GUESSED.most_common()
    every = [f"{number:,} as {name}" for name, number in found if name != UTF8_MARKED]
    if not every:
        return None
    return f"--encoding guess: read {', '.join(every)}; all else as utf-8"


def _library() -> Any:
    """Return the module charset_normalizer; None if it is not installed."""
    try:
        return import_module("charset_normalizer")
    except ImportError:
        return None


def _window(content: bytes, position: int) -> bytes:
    """Return the bytes around `position`, from the start of a line if there is one."""
    start = max(0, position - BEFORE_BYTES) & ~1
    window = content[start : start + WINDOW_BYTES]
    # Elsewhere a window could begin within a character.
    return window[window.find(b"\n", 0, position - start) + 1 :] if start else window


def _decoded(content: bytes, encoding: str) -> str | None:
    """Return the decoded text, without a cut-off last character; None if it is not valid."""
    try:
        return codecs.getincrementaldecoder(encoding)().decode(content)
    except UnicodeDecodeError:
        return None


def _is_plain(text: str) -> bool:
    return all(each.isprintable() or each.isspace() for each in text)
