"""Encodings: decodes the bytes of documents, HTML pages by the encoding that they declare."""

import codecs
import re

from simdb.ground.errors import InputError

MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# The HTML Standard looks for a declaration in no more bytes than these.
DECLARED_BYTES = 1024
DECLARATION = re.compile(
    rb"""<(?:meta\b[^>]*?\bcharset|\?xml\b[^>]*?\bencoding)\s*=\s*["']?\s*([\w.:-]+)""",
    re.IGNORECASE,
)
# As in the standard: browsers decode with a larger character set that contains the declared one.
# A declaration that was found by reading ASCII cannot be right if it says UTF-16.
READ_AS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "utf-16": "utf-8",
    "utf-16-le": "utf-8",
    "utf-16-be": "utf-8",
}
ALIASES = {"windows-31j": "cp932", "windows-874": "cp874"}
# Python has other codecs too (rot13, zlib), which a page must not be able to choose.
KNOWN = re.compile(r"utf-8$|iso8859-|iso2022_jp$|cp\d+$|gb18030$|big5hkscs$|euc_jp$|koi8-|mac-")


def decoded(document: str | bytes, encoding: str, *, position: int, replace: bool) -> str:
    """Return the text of document number `position`.

    With `replace`, invalid bytes become U+FFFD; without, they raise InputError.
    """
    if isinstance(document, str):
        return document
    try:
        return document.decode(encoding, "replace" if replace else "strict")
    except UnicodeDecodeError as error:
        raise InputError(
            f"document {position} is not valid {_shown(encoding)}: {error}; decode it yourself,"
            " or use errors='replace'"
        ) from error


def page_encoding(page: bytes) -> tuple[str, int]:
    """Return the encoding of a page and the length of its byte order mark (0 without one).

    The mark decides; without one, the declaration in a meta element or an XML header; without
    that, UTF-8.
    """
    for mark, encoding in MARKS:
        if page.startswith(mark):
            return encoding, len(mark)
    found = DECLARATION.search(page, 0, DECLARED_BYTES)
    return _declared(found.group(1).decode("ascii", "replace")) if found else "utf-8", 0


def _declared(label: str) -> str:
    """Return the codec for a declared encoding; UTF-8 if the label is unknown or not allowed."""
    label = label.lower().removeprefix("x-")
    try:
        name = codecs.lookup(ALIASES.get(label, label)).name
    except LookupError:
        return "utf-8"
    name = READ_AS.get(name, name)
    return name if KNOWN.match(name) else "utf-8"


def _shown(encoding: str) -> str:
    """Spell an encoding for a message: UTF-8, but cp1252."""
    return encoding.upper() if encoding.startswith("utf") else encoding
