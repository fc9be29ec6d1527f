"""Content: the bytes of a file or of standard input, opened, looked at and decoded.

What is not text is recognised by its first bytes, before the whole is read.  An InputError says
what was found and what would help; the caller adds where.
"""

import codecs
import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from simdb.cli.reading.encoding_guess import guessed_encoding, guessed_wide
from simdb.errors import InputError, OptionError

STANDARD_INPUT = "-"
SNIFFED_BYTES = 8192
# Past this, a file is no document that anybody compares; it would only fill the memory.
DOCUMENT_BYTES_MAX = 1 << 28
BUFFER_BYTES = 1 << 16

# What reading and decoding may raise for content that is not as it should be.
CONTENT_ERRORS = (OSError, EOFError, zlib.error, UnicodeError, InputError)

GZIP_MAGIC = b"\x1f\x8b"
MARK = "\ufeff"
# UTF-32 first: its little-endian mark begins with that of UTF-16.
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
UNORDERED = ("utf-16", "utf-32")


def known_encoding(name: str) -> str:
    """The canonical name of a text encoding, UTF-8 with or without its mark; OptionError else."""
    try:
        "".encode(name)
        canonical = codecs.lookup(name).name
    except (LookupError, ValueError) as error:
        raise OptionError(f"no text encoding is called {name!r}; try utf-8 or latin-1") from error
    return "utf-8-sig" if canonical == "utf-8" else canonical


def is_wide(encoding: str) -> bool:
    """Whether one character takes several bytes that may be NUL or a line feed."""
    return encoding.startswith(UNORDERED)


@contextmanager
def opened(path: str) -> Iterator[io.BufferedReader]:
    """The decompressed bytes of the file `path`, or of standard input for `-`."""
    if path == STANDARD_INPUT:
        yield io.BufferedReader(_Unclosed(sys.stdin.buffer), BUFFER_BYTES)
        return
    with open(path, "rb") as file:
        if not path.lower().endswith(".gz"):
            yield file
            return
        with gzip.GzipFile(fileobj=file) as inner:
            yield io.BufferedReader(inner, BUFFER_BYTES)


def settled_encoding(stream: io.BufferedReader, encoding: str) -> str:
    """The encoding of a stream: that of its byte order mark, or else `encoding`.

    Raises InputError when the first bytes cannot be text in it; consumes nothing.
    """
    head = stream.peek(SNIFFED_BYTES)[:SNIFFED_BYTES]
    if head.startswith(GZIP_MAGIC):
        raise InputError("gzip data; give it a name that ends in .gz, or decompress it")
    marked = next((name for mark, name in MARKS if head.startswith(mark)), None)
    if marked is not None:
        return marked
    if encoding in UNORDERED and head:
        raise InputError(
            f"no {encoding.upper()} byte order mark; use --encoding"
            f" {guessed_wide(head) or encoding + '-le'}, or another"
        )
    if b"\0" in head and not is_wide(encoding):
        wide = guessed_wide(head)
        if wide is None:
            raise InputError("binary content (NUL bytes), no text; leave it out")
        raise InputError(f"NUL bytes, as in text that is {wide}; use --encoding {wide}")
    return encoding


def read_text(stream: BinaryIO, encoding: str, errors: str) -> tuple[str, int]:
    """The whole of a stream as text, and how many bytes it took."""
    content = stream.read(DOCUMENT_BYTES_MAX + 1)
    if len(content) > DOCUMENT_BYTES_MAX:
        raise InputError(
            f"more than {DOCUMENT_BYTES_MAX >> 20} MiB, too much for one document; split it"
        )
    text = content.decode(without_mark(encoding), errors)
    return text.removeprefix(MARK), len(content)


def without_mark(encoding: str) -> str:
    """The codec whose errors count bytes from the beginning: UTF-8 with its mark, as it stands."""
    return "utf-8" if encoding == "utf-8-sig" else encoding


def read_file(path: str, encoding: str, errors: str) -> str:
    """The text of one file, or of standard input for `-`; InputError when there is none."""
    try:
        with opened(path) as stream:
            return read_text(stream, settled_encoding(stream, encoding), errors)[0]
    except CONTENT_ERRORS as error:
        raise InputError(f"{path}: {explained(error)}") from error


def explained(error: BaseException) -> str:
    """What was wrong with a content, and what would help, in one line."""
    if isinstance(error, UnicodeDecodeError):
        return _explained_decoding(error)
    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, EOFError | zlib.error | gzip.BadGzipFile):
        return f"damaged gzip data ({error}); make or fetch the file again"
    if isinstance(error, PermissionError):
        return "no permission to read it; change its mode, or leave it out"
    if isinstance(error, OSError) and error.strerror:
        return f"cannot be read ({error.strerror}); leave it out"
    return f"cannot be read ({error}); leave it out"


def _explained_decoding(error: UnicodeDecodeError) -> str:
    name = without_mark(error.encoding)
    if name != "utf-8":
        return f"no valid {name} at byte {error.start}; use --encoding utf-8 or --errors replace"
    likely = guessed_encoding(error.object, error.start)
    if likely is not None:
        remedy = f"--encoding {likely} (by the looks of it) or --errors replace"
        return f"no valid utf-8 at byte {error.start}; use {remedy}"
    is_cut = error.reason == "unexpected end of data" and error.end >= len(error.object)
    what = "cut off inside a utf-8 character" if is_cut else "no valid utf-8"
    return f"{what} at byte {error.start}, while the rest is; use --errors replace"


class _Unclosed(io.RawIOBase):
    """A stream that somebody else closes."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        # At most one read of the system, so that a slow pipe gives what it has.
        read = getattr(self._stream, "read1", self._stream.read)
        content: bytes = read(len(buffer))
        buffer[: len(content)] = content
        return len(content)
