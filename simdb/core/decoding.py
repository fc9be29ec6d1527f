"""Decoding: the one place that turns bytes into text, for every door.

The first of these sources that is present decides the encoding of bytes:

1. The byte order mark of UTF-8, UTF-16 or UTF-32.
2. The charset in the header of a crawled page or of a part of a mail.
3. The charset that HTML or XML declares in its first 1,024 bytes, with the labels of browsers:
   `<meta charset>`, `<meta http-equiv>` or `<?xml encoding>`.
4. `encoding=` or `--encoding`, by default UTF-8.
5. A guess, only if step 4 has the word "guess".

Valid UTF-8 with non-ASCII characters is UTF-8, even if it declares another charset: a crawler may
have converted a page without changing its declaration.  A declared charset is ignored if the bytes
are not valid in it.

The result is a str or a `TextColumn`, which is never decoded again.  Valid UTF-8 in a `ByteColumn`
is not copied.

Only this module imports charset-normalizer, which guesses encodings: for a hint in a message, or
for `--encoding guess`.  Three cases need no guess: valid UTF-8, UTF-8 with some damage, and UTF-16
or UTF-32, whose NUL bytes are told apart from binary content.
"""

import codecs
import re
from base64 import b64decode
from collections import Counter
from contextlib import suppress
from importlib import import_module
from itertools import count
from typing import Any

import numpy as np

from simdb.core import kernel
from simdb.core.arrow import ByteColumn, TextColumn, arrays_of, joined, valid_bytes
from simdb.core.checks import shown
from simdb.core.dtypes import I64, U64
from simdb.core.errors import InputError, OptionError

UTF8 = "utf-8"
# The forms of hashes as text.
HEXADECIMAL, BASE64 = "hexadecimal", "base64"
HASH_BYTES = (8, 16, 32, 64)  # usual lengths of hashes; other bytes are more likely text
URL_SAFE, BASE64_GROUP = str.maketrans("-_", "+/"), 4
MARK = "\ufeff"
# UTF-32 is first: its little-endian mark begins with the mark of UTF-16.
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
UNORDERED = ("utf-16", "utf-32")

DECLARED_BYTES = 1024  # the HTML Standard looks for a declaration in these first bytes
COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
PAGE_START = re.compile(rb"\s*<(?:!doctype\b|\?xml\b|[a-z][a-z0-9]*[\s/>])", re.IGNORECASE)
META = re.compile(rb"""<meta\b((?:"[^"]*"|'[^']*'|[^>"'])*)""", re.IGNORECASE)
CONTENT = re.compile(rb"""\bcontent\s*=\s*(?:"[^"]*"|'[^']*')""", re.IGNORECASE)
CHARSET = re.compile(rb"""\bcharset\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)
XML = re.compile(rb"""\s*<\?xml\b[^>]*?\bencoding\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)
# As in the standard, browsers decode with a superset of the declared charset.  A declaration of
# UTF-16 is wrong, since it was itself read as ASCII.
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
    "utf-16": UTF8,
    "utf-16-le": UTF8,
    "utf-16-be": UTF8,
}
ALIASES = {"windows-31j": "cp932", "windows-874": "cp874", "user-defined": "cp1252"}
# A page must not choose Python's other codecs, such as rot13 and zlib.
KNOWN = re.compile(r"utf-8$|iso8859-|iso2022_jp$|cp\d+$|gb18030$|big5hkscs$|euc_jp$|koi8-|mac-")
# In these encodings, browsers read undefined bytes from 80 to 9F as control characters.
WINDOWS = re.compile(r"cp(125\d|874)$")
CONTROLS = "simdb-controls"

# An Arrow view: its size, the longest text inside it, and the place of that text.
VIEW_BYTES, INLINE_MAX, INLINE_START = 16, 12, 4

# The types of Arrow that hold texts.
KINDS = ("string", "binary", "large_string", "large_binary", "string_view", "binary_view")
INVALID = (
    "the Arrow array is not valid: its offsets or views leave its buffers; see what"
    " .validate(full=True) says, and make the array again"
)

# First bytes of texts that may declare an encoding, by a byte order mark or as a page.
MAY_DECLARE = np.isin(np.arange(256), [*b"<", *range(9, 14), ord(" "), 0xEF, 0xFE, 0xFF, 0])

GUESS = "guess"  # the value of --encoding
UTF8_MARKED = "utf-8-sig"
REMEDY = "pip install charset-normalizer"
WINDOW_BYTES = 1 << 14  # examined for a guess
BEFORE_BYTES = 1 << 12  # the part of the window before the invalid byte
HEAD_BYTES = 1 << 16  # searched for NUL bytes
HINTS_MAX = 1000  # guesses in messages of one run: each takes a millisecond, and few are shown

WIDE = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
# At most this share of the bytes of wide text looks like ASCII; its other bytes have any value.
NARROW = re.compile(rb"[\s!-~]")
NARROW_SHARE_MAX = 0.7
# The encodings to guess, as charset-normalizer names them; without the list, it often finds an
# encoding that nobody uses.
COMMON = (
    "cp1252", "cp1250", "cp1254", "cp1257", "cp1251", "koi8_r", "cp1253", "cp1255", "cp1256",
    "shift_jis", "euc_jp", "gb18030", "big5", "cp949",
)  # fmt: skip
# Most bytes are letters in each of these, so several often fit about equally well, by the library's
# measures of disorder and of language.  The first of them is the most common, and is chosen.
LATIN = COMMON[:4]
MORE_CHAOS, LESS_COHERENCE = 0.1, 0.1
# Only text in these encodings contains control bytes.
COMMON_WIDE = ("utf_16_le", "utf_16_be")
CONTROL_BYTES = re.compile(rb"[\x00-\x08\x0e-\x1f]")

# Number of files or streams decoded by each guess, in this run of the command.
GUESSED: Counter[str] = Counter()
_hints = count()


def known_encoding(name: str, *, is_hashes: bool = False) -> str:
    """Return the canonical name of a text encoding; raise OptionError if it is unknown.

    With `is_hashes`, documents are not texts, and only UTF-8 is accepted.

    UTF-8 becomes utf-8-sig, which reads text with and without a byte order mark.  The word `guess`
    is returned unchanged.
    """
    if type(name) is str and name in (UTF8, UTF8_MARKED):  # the usual case, many times faster
        return UTF8_MARKED
    if type(name) is str and name == GUESS:
        if _library() is None:
            raise OptionError(f"encoding='guess' needs the package charset-normalizer: {REMEDY}")
        return GUESS
    try:
        "".encode(name)
        canonical = codecs.lookup(name).name
    except (LookupError, ValueError, TypeError) as error:
        raise OptionError(
            f"no text encoding is called {shown(name)}; use for example utf-8 or latin-1"
        ) from error
    if is_hashes and without_mark(canonical) != UTF8:
        raise OptionError(f"encoding={name!r} is for texts, and hashes have none; leave it out")
    return UTF8_MARKED if canonical == UTF8 else canonical


def without_mark(encoding: str) -> str:
    """Return utf-8 for utf-8-sig, so that errors count bytes from the start, else `encoding`."""
    return UTF8 if encoding == "utf-8-sig" else encoding


def marked_or(head: bytes, encoding: str) -> str:
    """Return the encoding that a byte order mark names, or else `encoding`.

    Raises InputError if the byte order stays unknown.
    """
    marked = next((name for mark, name in MARKS if head.startswith(mark)), None)
    if marked is None and encoding in UNORDERED and head:
        raise InputError(
            f"no {encoding.upper()} byte order mark; name the byte order, for example --encoding"
            f" {guessed_wide(head) or encoding + '-le'}"
        )
    return marked or encoding


def decoded(
    content: bytes, encoding: str = UTF8, errors: str = "strict", label: str | None = None
) -> str:
    """Decode bytes by the rules of this module; return the text.

    `encoding`: from `known_encoding`.  `errors`: "strict" raises UnicodeDecodeError, "replace" puts
    U+FFFD in place of invalid bytes.  `label`: the charset in the header of a page or mail, empty
    if it names none.  With a label, binary content is refused, too.  Raises InputError for bytes
    that are not text.
    """
    settled = marked_or(content, "")
    if label is not None and not settled and b"\0" in content[:HEAD_BYTES]:
        settled = encoding_of(content[:HEAD_BYTES])
    declared = [] if settled else [*filter(None, (_codec(label or ""), _declared(content)))]
    if declared:
        text = _if_valid(content, UTF8)
        if text is not None and not text.isascii():
            return text
        for each in declared:
            text = _if_valid(content, each)
            if text is not None:
                return text
        # No encoding fits: the page knows best, unless the caller named one other than UTF-8.
        is_chosen = without_mark(encoding) != UTF8
        settled = encoding if is_chosen else declared[0]
    return _decode(content, settled or marked_or(content, encoding), errors)


def as_text(
    document: Any, encoding: str = UTF8, errors: str = "strict", where: str = "document 0"
) -> Any:
    """Return a document, decoded if it is bytes; an InputError names it as `where`."""
    if not isinstance(document, bytes):
        return document
    try:
        return decoded(document, encoding, errors)
    except UnicodeDecodeError as error:
        name = without_mark(error.encoding)
        shown = name.upper() if name.startswith("utf") else name  # cp1252 is written so
        bits = 8 * len(document)
        hashes = f"; if it is a hash, use Options(sketch=simdb.Bits({bits})), or bits={bits}"
        raise InputError(
            f"{where} is not valid {shown}: {error}; name its encoding with encoding=, or use"
            f" errors='replace'{hashes if len(document) in HASH_BYTES else ''}"
        ) from error
    except InputError as error:
        raise InputError(f"{where}: {error}") from error


def as_texts(documents: Any, encoding: str = UTF8, errors: str = "strict", start: int = 0) -> Any:
    """Return a list, tuple or Arrow array of documents with text in place of bytes.

    Any other object is returned unchanged.  Error messages number the documents from `start`.
    """
    if not isinstance(documents, list | tuple):
        column = byte_column(documents)
        return documents if column is None else decoded_column(column, encoding, errors, start)
    if not any(issubclass(kind, bytes) for kind in set(map(type, documents))):
        return documents
    return [
        as_text(each, encoding, errors, f"document {at}")
        for at, each in enumerate(documents, start)
    ]


def all_texts(documents: Any, encoding: str = UTF8, errors: str = "strict", start: int = 0) -> Any:
    """Return the documents of any iterable as a column, list or tuple; see `as_texts`."""
    found = as_texts(documents, encoding, errors, start)
    if isinstance(found, TextColumn | list | tuple):
        return found
    return as_texts(list(found), encoding, errors, start)


def text_column(documents: Any, encoding: str = UTF8, errors: str = "strict") -> TextColumn | None:
    """Return an Arrow array of texts or bytes as a column of texts; None for any other object.

    Raises InputError for an inconsistent array and for undecodable bytes.  Strings that are not
    valid UTF-8 are decoded like bytes in UTF-8.
    """
    found = None if isinstance(documents, list | tuple) else as_texts(documents, encoding, errors)
    return found if isinstance(found, TextColumn) else None


def byte_column(documents: Any) -> ByteColumn | None:
    """Return an Arrow array of strings or bytes undecoded; None for any other object.

    Raises InputError for an inconsistent array.
    """
    if isinstance(documents, ByteColumn):
        return documents
    columns = [_column(array) for array in arrays_of(documents)]
    found = [column for column in columns if column is not None]
    if not found or len(found) < len(columns):
        return None
    return joined(found)


def valid_column(array: Any, digits: str = "") -> TextColumn | None:
    """Return an Arrow array of strings that are known to be valid; None for any other object.

    `digits`: the form of hashes (see `digits_of`); strings that are not such hashes give None.
    """
    column = byte_column(array)
    if column is None or not column.is_string:
        return None
    if digits == BASE64:
        with suppress(InputError):
            return digits_column(column, digits)
        return None
    return TextColumn(column.addresses, column.lengths, column.owners)


def decoded_column(
    column: ByteColumn, encoding: str, errors: str, start: int = 0, what: str = "document {}"
) -> TextColumn:
    """Return a column of bytes as texts; InputError names the first undecodable one."""
    addresses, lengths = column.addresses, column.lengths
    needs = ~kernel.are_utf8(addresses, lengths)
    if not column.is_string:
        is_utf8 = without_mark(encoding) == UTF8
        may = MAY_DECLARE[kernel.first_bytes(addresses, lengths)] if is_utf8 else True
        needs |= may & (lengths > 0)
    places = np.flatnonzero(needs)
    if not len(places):
        return TextColumn(addresses, lengths, column.owners)
    texts = [
        as_text(column[at], encoding, errors, what.format(start + at)).encode()
        for at in places.tolist()
    ]
    return with_texts(column, places, texts)


def digits_of(document: str | bytes, form: str) -> str:
    """Return a hash, given as bytes or as text of the `form` HEXADECIMAL or BASE64, in hexadecimal.

    Hexadecimal text is returned unchanged.  Raises InputError for text that is not base64.
    """
    if isinstance(document, str):
        if form == HEXADECIMAL:
            return document
        plain = document.rstrip("=").translate(URL_SAFE)
        try:
            document = b64decode(plain + "=" * (-len(plain) % BASE64_GROUP), validate=True)
        except ValueError as error:
            raise InputError(f"invalid base64 ({error}); correct {document!r:.80}") from error
    return document.hex()


def digits_column(column: ByteColumn, form: str) -> TextColumn:
    """Return a column of hashes as hexadecimal texts (see `digits_of`); nulls are kept."""
    if column.is_string and form == HEXADECIMAL:
        return decoded_column(column, UTF8, "strict")
    places = np.flatnonzero(column.lengths >= 0)
    known = (column[at] for at in places.tolist())
    texts = (each.decode() for each in known) if column.is_string else known
    return with_texts(column, places, [digits_of(each, form).encode() for each in texts])


def with_texts(column: Any, places: I64, texts: list[bytes]) -> TextColumn:
    """Return a column of texts or bytes with `texts` put at `places`."""
    addresses, lengths = column.addresses.copy(), column.lengths.copy()
    memory = np.frombuffer(b"".join([*texts, b"\0"]), np.uint8)
    sizes = np.fromiter(map(len, texts), np.int64, len(texts))
    addresses[places] = (np.cumsum(sizes) - sizes + memory.ctypes.data).astype(np.uint64)
    lengths[places] = sizes
    return TextColumn(addresses, lengths, (*column.owners, memory))


def _decode(content: bytes, encoding: str, errors: str) -> str:
    if encoding == GUESS:
        encoding = guessed(content)
    return content.decode(without_mark(encoding), errors).removeprefix(MARK)


def _if_valid(content: bytes, encoding: str) -> str | None:
    try:
        return content.decode(encoding, CONTROLS if WINDOWS.match(encoding) else "strict")
    except UnicodeDecodeError:
        return None


def _declared(content: bytes) -> str | None:
    """Return the codec for the encoding that a page declares; None if there is none."""
    if content[:1] not in b"< \t\n\f\r":
        return None
    head = COMMENT.sub(b"", content[:DECLARED_BYTES])
    label = _label(head) if PAGE_START.match(head) else None
    return _codec(label.decode("ascii", "replace")) if label else None


def _codec(label: str) -> str | None:
    """Return the codec for the label of an encoding; None if it is unknown."""
    known = label.lower().removeprefix("x-")
    try:
        name = codecs.lookup(ALIASES.get(known, known)).name
    except (LookupError, ValueError):
        return None
    name = READ_AS.get(name, name)
    return name if KNOWN.match(name) else None


def _label(head: bytes) -> bytes | None:
    """Return the encoding in the first meta element that names one, or else in the XML header."""
    for tag in META.finditer(head):
        # A description may mention a charset in its content.
        told = tag[1] if b"http-equiv" in tag[1].lower() else CONTENT.sub(b"", tag[1])
        if found := CHARSET.search(told):
            return found[1]
    header = XML.match(head)
    return header and header[1]


def _control(error: UnicodeError) -> tuple[str, int]:
    """Return the control character that replaces an undefined byte, as in browsers."""
    assert isinstance(error, UnicodeDecodeError)
    byte = error.object[error.start]
    if not 0x80 <= byte < 0xA0:
        raise error
    return chr(byte), error.start + 1


def _column(array: Any) -> ByteColumn | None:
    """Return a pyarrow array as a column; None unless it holds texts."""
    kind = str(array.type)
    if kind.startswith("dictionary<"):
        return _of_dictionary(array)
    if kind.startswith("fixed_size_binary"):
        kind = "large_binary"
        array = array.cast(kind)
    if kind not in KINDS:
        return None
    try:
        plain = valid_bytes(array)
    except (ValueError, IndexError) as error:
        raise InputError(INVALID) from error
    addresses, lengths = _of_views(plain) if kind.endswith("_view") else _of_offsets(plain)
    if plain.null_count:
        lengths[plain.is_null().to_numpy(zero_copy_only=False)] = -1
    return ByteColumn(addresses, lengths, (plain,), is_string="string" in kind)


def _of_offsets(array: Any) -> tuple[U64, I64]:
    """Return the addresses and lengths of consecutive texts in an array with offsets."""
    _, places, content = array.buffers()
    every = np.frombuffer(places or b"", np.int64 if "large" in str(array.type) else np.int32)
    offsets = every[array.offset : array.offset + len(array) + 1].astype(np.int64)
    start = np.uint64(content.address if content else 0)
    return offsets[:-1].astype(np.uint64) + start, np.diff(offsets)


def _of_views(array: Any) -> tuple[U64, I64]:
    """Return the addresses and lengths of views.

    A view has 16 bytes.  Its length precedes the text itself if that has at most 12 bytes.
    Otherwise four bytes of the text follow, the number of its buffer, and its place there.
    """
    _, own, *others = array.buffers()
    first, stop = array.offset, array.offset + len(array)
    words = np.frombuffer(own or b"", np.int32)[4 * first : 4 * stop].astype(np.int64)
    lengths, _, numbers, places = words.reshape(-1, 4).T.copy()
    lengths[array.is_null().to_numpy(zero_copy_only=False)] = 0
    is_inside = lengths <= INLINE_MAX
    starts: U64 = np.array([each.address if each else 0 for each in (own, *others)], np.uint64)
    inside = np.arange(first, stop) * VIEW_BYTES + INLINE_START
    starts = starts[np.where(is_inside, 0, numbers + 1)]
    return starts + np.where(is_inside, inside, places).astype(np.uint64), lengths


def _of_dictionary(array: Any) -> ByteColumn | None:
    """Return the texts of a dictionary array, chosen by its indices."""
    known = _column(array.dictionary)
    if known is None:
        return None
    places = array.indices.cast("int64", safe=False).fill_null(-1).to_numpy()
    if (places >= len(known)).any() or np.sum(places < 0) != array.indices.null_count:
        raise InputError(INVALID)
    # An added last element is null; index -1 finds it.
    addresses, lengths = np.append(known.addresses, np.uint64(0)), np.append(known.lengths, -1)
    return ByteColumn(addresses[places], lengths[places], known.owners, known.is_string)


def hint(content: bytes, position: int) -> str:
    """Return a remedy for the invalid UTF-8 byte at `position`, with a guess if possible."""
    known = _library() is not None and next(_hints) < HINTS_MAX
    likely = likely_encoding(content, position) if known else None
    if likely is not None:
        return f"use encoding={likely!r} (a guess) or errors='replace'"
    install = "" if _library() is not None else f"; {REMEDY} adds a guess here"
    return f"name its encoding, such as encoding='latin-1', or use errors='replace'{install}"


def is_damaged(content: bytes, position: int) -> bool:
    """Return whether content with an invalid byte at `position` is UTF-8 with some damage.

    It is if most non-ASCII characters around that byte are valid.
    """
    found = _window(content, position).decode("utf-8", "replace")
    others = [each for each in found if not each.isascii()]
    return others.count("\ufffd") < len(others) / 2


def likely_encoding(content: bytes, position: int) -> str | None:
    """Return the encoding that fits content with an invalid UTF-8 byte at `position`, or None."""
    window = _window(content, position)
    names = COMMON_WIDE if CONTROL_BYTES.search(window) else COMMON
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
    """Return the result of `encoding_of`, and count it among the guesses of this run."""
    found = encoding_of(content)
    GUESSED[found] += 1
    return found


def encoding_of(content: bytes) -> str:
    """Return the encoding of text, or of its first bytes; raise InputError for binary content.

    Valid UTF-8 and UTF-8 with some damage are UTF-8.
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
    """Return the UTF-16 or UTF-32 encoding of bytes with NULs; None if they are binary."""
    if len(NARROW.findall(head)) > NARROW_SHARE_MAX * len(head):
        return None  # mostly ASCII with a few NUL bytes
    texts = {name: _prefix_decoded(head, name) for name in WIDE}
    plain = {name: text for name, text in texts.items() if text and _is_plain(text)}
    # In the wrong byte order, spaces, digits and line feeds become non-ASCII characters.
    return max(plain, key=lambda name: sum(map(str.isascii, plain[name])), default=None)


def guessed_note() -> str | None:
    """Return a note on the guesses of this run; None if there were none."""
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
    """Return the bytes around `position`, if possible from the start of a line."""
    start = max(0, position - BEFORE_BYTES) & ~1
    window = content[start : start + WINDOW_BYTES]
    # Without this cut, a window could begin within a character.
    return window[window.find(b"\n", 0, position - start) + 1 :] if start else window


def _prefix_decoded(content: bytes, encoding: str) -> str | None:
    """Return the decoded text, without a cut-off last character; None if it is not valid."""
    try:
        return codecs.getincrementaldecoder(encoding)().decode(content)
    except UnicodeDecodeError:
        return None


def _is_plain(text: str) -> bool:
    return all(each.isprintable() or each.isspace() for each in text)


codecs.register_error(CONTROLS, _control)
