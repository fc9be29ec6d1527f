"""Guessing: which encoding a content is likely in that is not in the one it was said to be.

Only ever a suggestion in a message.  Each encoding comes with the characters of which text in it
mostly consists; the first that decodes the content to mostly those is the guess.
"""

import codecs
import re
from collections.abc import Callable

# The bytes looked at, from some way before the place where decoding failed.
WINDOW_BYTES = 1 << 14
BEFORE_BYTES = 1 << 12

WIDE = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1f]")
# No more of the bytes of wide text look like ASCII; half of them are NUL, or they are of any value.
NARROW = re.compile(rb"[\s!-~]")
NARROW_SHARE_MAX = 0.7
HIGH = re.compile(rb"[\x80-\xff]")
# In Latin script letters with accents stand alone, in all others they are beside their like.
HIGH_BESIDE = re.compile(rb"[\x80-\xff]{2,}")
BIG5_COMMON_STOP = 0xC7  # the first byte of common ideographs is below

Usual = Callable[[str], bool]


def guessed_encoding(content: bytes, position: int) -> str | None:
    """The likely encoding of a content that is no valid UTF-8 at `position`; None if it is UTF-8.

    It is UTF-8 with some damage where most that is not ASCII is valid.
    """
    start = max(0, position - BEFORE_BYTES) & ~1
    wide = content[start : start + WINDOW_BYTES]
    # Characters of several bytes do not begin anywhere, but after a line they do.
    window = wide[wide.find(b"\n", 0, position - start) + 1 :] if start else wide
    found = window.decode("utf-8", "replace")
    if _share(found, lambda each: each != "\ufffd") > 0.5:
        return None
    # Wide characters are made of all bytes, controls too; of narrow text no byte is one.
    is_wide = CONTROLS.search(wide) is not None
    is_latin = sum(map(len, HIGH_BESIDE.findall(window))) <= len(HIGH.findall(window)) / 2
    for name, usual, least in CANDIDATES:
        if not is_wide if name in WIDE else is_latin:
            continue
        text = _decoded(wide if name in WIDE else window, name)
        if text is not None and _share(text, usual) >= least:
            return name
    # Windows has visible characters where latin-1 has controls.
    is_windows = any(0x80 <= byte < 0xA0 for byte in window)
    return "cp1252" if is_windows and _decoded(window, "cp1252") is not None else "latin-1"


def guessed_wide(head: bytes) -> str | None:
    """The encoding in which a content with NUL bytes is text after all; None where it is binary."""
    if len(NARROW.findall(head)) > NARROW_SHARE_MAX * len(head):
        return None  # narrow text with a few NUL bytes in it
    texts = {name: _decoded(head, name) for name in WIDE}
    plain = {name: text for name, text in texts.items() if text and _is_plain(text)}
    # In the wrong byte order spaces, digits and line ends are characters of other scripts.
    return max(plain, key=lambda name: sum(map(str.isascii, plain[name])), default=None)


def _decoded(content: bytes, encoding: str) -> str | None:
    """The text, without a character that is cut off at the end; None where it is no text."""
    try:
        return codecs.getincrementaldecoder(encoding)().decode(content)
    except UnicodeDecodeError:
        return None


def _share(text: str, usual: Usual) -> float:
    """The share of `usual` characters among those that are not ASCII."""
    others = [each for each in text if not each.isascii()]
    return sum(map(usual, others)) / len(others) if others else 0.0


def _is_plain(text: str) -> bool:
    return all(each.isprintable() or each.isspace() for each in text)


def _is_kana(character: str) -> bool:
    return "\u3041" <= character <= "\u30fe"


def _is_hangul(character: str) -> bool:
    return "\uac00" <= character <= "\ud7a3"


def _is_ideographic(character: str) -> bool:
    return "\u3001" <= character <= "\u9fff" or "\uff01" <= character <= "\uff60"


def _is_small_cyrillic(character: str) -> bool:
    return "\u0430" <= character <= "\u044f"


def _is_simplified(character: str) -> bool:
    return bool(character.encode("gb2312", "ignore"))


def _is_traditional(character: str) -> bool:
    return 0xA1 <= character.encode("big5", "replace")[0] < BIG5_COMMON_STOP


# With the least share of the usual characters: kana are seldom in any text that is not Japanese.
CANDIDATES: tuple[tuple[str, Usual, float], ...] = (
    ("utf-16-le", _is_ideographic, 0.9),
    ("utf-16-be", _is_ideographic, 0.9),
    ("euc_jp", _is_kana, 0.25),
    ("shift_jis", _is_kana, 0.25),
    ("euc_kr", _is_hangul, 0.9),
    ("gb18030", _is_simplified, 0.9),
    ("big5", _is_traditional, 0.9),
    ("gb18030", _is_ideographic, 0.9),
    ("cp1251", _is_small_cyrillic, 0.7),
    ("koi8-r", _is_small_cyrillic, 0.7),
)
