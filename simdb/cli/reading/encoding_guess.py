"""Encoding guess: names the likely encoding of bytes that are not valid UTF-8.

The guess is only suggested in a message.  Each candidate encoding has a set of usual characters;
the first candidate whose decoded text consists mostly of its usual characters is the guess.
"""

import codecs
import re
from collections.abc import Callable

# How many bytes are examined, and how many of them lie before the failed byte.
WINDOW_BYTES = 1 << 14
BEFORE_BYTES = 1 << 12

WIDE = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1f]")
# At most this share of the bytes of wide text look like ASCII; the others are NUL or any value.
NARROW = re.compile(rb"[\s!-~]")
NARROW_SHARE_MAX = 0.7
HIGH = re.compile(rb"[\x80-\xff]")
# In Latin script, accented letters are mostly single; in other scripts, high bytes come in groups.
HIGH_BESIDE = re.compile(rb"[\x80-\xff]{2,}")
BIG5_COMMON_STOP = 0xC7  # common ideographs have a smaller first byte

Usual = Callable[[str], bool]


def guessed_encoding(content: bytes, position: int) -> str | None:
    """Return the likely encoding of content with an invalid UTF-8 byte at `position`.

    None means damaged UTF-8: most characters that are not ASCII are valid.
    """
    start = max(0, position - BEFORE_BYTES) & ~1
    wide = content[start : start + WINDOW_BYTES]
    # The window begins after a line feed, since elsewhere it could cut a character.
    window = wide[wide.find(b"\n", 0, position - start) + 1 :] if start else wide
    found = window.decode("utf-8", "replace")
    if _share(found, lambda each: each != "\ufffd") > 0.5:
        return None
    # Text in UTF-16 or UTF-32 contains control bytes; other text contains none.
    is_wide = CONTROLS.search(wide) is not None
    is_latin = sum(map(len, HIGH_BESIDE.findall(window))) <= len(HIGH.findall(window)) / 2
    for name, usual, least in CANDIDATES:
        if not is_wide if name in WIDE else is_latin:
            continue
        text = _decoded(wide if name in WIDE else window, name)
        if text is not None and _share(text, usual) >= least:
            return name
    # cp1252 has visible characters at 0x80 to 0x9F, where latin-1 has controls.
    is_windows = any(0x80 <= byte < 0xA0 for byte in window)
    return "cp1252" if is_windows and _decoded(window, "cp1252") is not None else "latin-1"


def guessed_wide(head: bytes) -> str | None:
    """Return the UTF-16 or UTF-32 encoding in which bytes with NULs are text; None if binary."""
    if len(NARROW.findall(head)) > NARROW_SHARE_MAX * len(head):
        return None  # mostly ASCII with a few NUL bytes
    texts = {name: _decoded(head, name) for name in WIDE}
    plain = {name: text for name, text in texts.items() if text and _is_plain(text)}
    # In the wrong byte order, spaces, digits and line feeds become characters that are not ASCII.
    return max(plain, key=lambda name: sum(map(str.isascii, plain[name])), default=None)


def _decoded(content: bytes, encoding: str) -> str | None:
    """Return the decoded text, without a cut-off last character; None if it is not valid."""
    try:
        return codecs.getincrementaldecoder(encoding)().decode(content)
    except UnicodeDecodeError:
        return None


def _share(text: str, usual: Usual) -> float:
    """Return the share of `usual` characters among the characters that are not ASCII."""
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


# Encoding, usual characters, least share of them.  Kana are rare outside Japanese, so few suffice.
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
