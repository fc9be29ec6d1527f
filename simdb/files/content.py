"""Content: opens a file or standard input, checks its first bytes and decodes its text.

Compressed and binary content is recognised by its first bytes, before the whole file is read.  An
InputError says what is wrong and what to do; the caller adds the name of the file.

An `Amount` holds the bytes read from the sources and their total; compressed files count with their
size on disk.  A process runs one command, which reads its sources once.  So there is one `AMOUNT`,
to which every opened file adds.
"""

import io
import os
import re
import stat
import sys
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import IO, Any, BinaryIO

import numpy as np

from simdb.core import decoding, kernel
from simdb.core.arrow import TextColumn, load_arrow
from simdb.core.checks import installed
from simdb.core.errors import InputError, no_descriptor
from simdb.core.text_sketch import TextSketch
from simdb.files.formats import ARROW_MAGICS, BZIP2, COMPRESSIONS, GZIP, STANDARD_INPUT, XZ, ZSTD
from simdb.files.remote import is_remote, open_remote

BUFFER_BYTES = 1 << 16
# Estimates: bytes per document, and documents in sources of unknown size.
USUAL_BYTES, USUAL_DOCUMENTS = 1000, 1e6
SNIFFED_BYTES = 8192
# A longer file is not a useful document and would only fill the memory.
DOCUMENT_BYTES_MAX = 1 << 28

# The errors that reading and decoding bad content can raise.
CONTENT_ERRORS = (OSError, UnicodeError, InputError)

# First bytes of files that are not text: compressed files, Parquet, Arrow files and streams.
MAGICS = {
    b"\x1f\x8b": GZIP, b"\x28\xb5\x2f\xfd": ZSTD, b"\xfd7zXZ\0": XZ,
    **{b"BZh%d1AY&SY" % level: BZIP2 for level in range(1, 10)},
}  # fmt: skip
PARQUET_MAGIC, PDF_MAGIC = b"PAR1", b"%PDF-"
BEGINNINGS = (*MAGICS, PARQUET_MAGIC, *ARROW_MAGICS)

BEGINNING_CHARACTERS = 4096
HTML_START = re.compile(
    r"""\s* (?: <\?xml [^>]* > \s* )? (?: <!-- (?: (?!-->) . )* --> \s* )*
    < (?: !doctype \s+ html | html | head | title | meta | body | div | p | table | article ) \b""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
# True for each byte that can begin a matching text: "<", or white space in UTF-8.
MAY_BEGIN = np.isin(np.arange(256), [*b"<", *range(9, 14), *range(28, 33), 0xC2, 0xE1, 0xE2, 0xE3])
# Modules of the standard library, which some builds of Python lack, and their classes.
FILES = {BZIP2: ("bz2", "BZ2File"), XZ: ("lzma", "LZMAFile")}
# First bytes of a gzip member, and window bits that make zlib read its header and checksum.
DEFLATED = b"\x1f\x8b\x08"
GZIP_WINDOW = 16 + zlib.MAX_WBITS
# Bytes of a member that are kept: if it is damaged, the next member is looked for in them.
AGAIN_BYTES = 1 << 20


class Amount:
    """The bytes read since `begin`, and their total if all sources are files.

    `left_out`: number of crawl records skipped since then.
    """

    def __init__(self) -> None:
        """Start at nothing."""
        self.begin()

    def begin(self) -> None:
        """Reset the counters before sources are read, and forget guessed encodings."""
        decoding.GUESSED.clear()
        self.read_bytes = self.left_out = 0
        self._total_bytes: int | None = None
        self._is_expected = False

    def expect(self, sources: Collection[str]) -> None:
        """Set the total to the size of `sources`; a second call before `begin` does nothing.

        The total is unknown if a source is a folder, a pipe or standard input.
        """
        if self._is_expected:
            return
        self._is_expected = True
        self._total_bytes = _bytes_of(sources)

    def add(self, count: int) -> None:
        """Count bytes that were read."""
        self.read_bytes += count

    def expected_documents(self, sources: Collection[str] | None = None) -> float:
        """Estimate the number of documents in `sources`, by default in all, from their sizes."""
        size = self._total_bytes if sources is None else _bytes_of(sources)
        return USUAL_DOCUMENTS if size is None else max(size / USUAL_BYTES, 1.0)

    def share(self) -> float | None:
        """Return the share of the total that was read, 0 to 1; None if the total is unknown."""
        if not self._total_bytes or self.read_bytes > self._total_bytes:
            return None
        return self.read_bytes / self._total_bytes


AMOUNT = Amount()


def _bytes_of(sources: Collection[str]) -> int | None:
    places = {os.path.realpath(source) for source in sources}
    return sum(map(os.path.getsize, places)) if all(map(os.path.isfile, places)) else None


class CountedFile(io.FileIO):
    """A file that adds the bytes read from it to `AMOUNT`."""

    def readinto(self, buffer: Any) -> int | None:
        """Read and count some bytes."""
        count = super().readinto(buffer)
        AMOUNT.add(count or 0)
        return count

    def readall(self) -> bytes:
        """Read and count all remaining bytes."""
        content = super().readall()
        AMOUNT.add(len(content))
        return content


def is_wide(encoding: str) -> bool:
    """Return whether the encoding is UTF-16 or UTF-32, in which a character may have NUL bytes."""
    return encoding.startswith(decoding.UNORDERED)


@contextmanager
def opened(path: str, *, is_counted: bool = True) -> Iterator[io.BufferedReader]:
    """Yield a stream of the decompressed bytes of the file `path`; `-` is standard input.

    The first bytes, or else the ending of the name, determine the compression.  `is_counted`: add
    the bytes read to `AMOUNT`.
    """
    with ExitStack() as held:
        file: io.BufferedReader
        if path == STANDARD_INPUT:
            file = io.BufferedReader(_Waiting(sys.stdin.buffer), BUFFER_BYTES)
        else:
            kind = open_remote if is_remote(path) else CountedFile if is_counted else io.FileIO
            file = held.enter_context(io.BufferedReader(kind(path), BUFFER_BYTES))
            is_local = isinstance(file.raw, io.FileIO)
            if is_local and not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                file = io.BufferedReader(_Waiting(file), BUFFER_BYTES)
        head, name = file.peek(SNIFFED_BYTES), path.lower()
        found = (end for magic, end in MAGICS.items() if head.startswith(magic))
        packed = next(found, next(filter(name.endswith, COMPRESSIONS), ""))
        if packed:
            pieces = _members(file)
            if packed != GZIP:
                inner = held.enter_context(packed_file(file, packed))
                pieces = iter(lambda: inner.read1(BUFFER_BYTES), b"")
            file = io.BufferedReader(_Unpacked(pieces, packed), BUFFER_BYTES)
        yield file


def may_wait(stream: io.BufferedReader) -> bool:
    """Return whether a stream is a pipe or a device, so that reading may wait for a program."""
    return isinstance(stream.raw, _Waiting)


def is_plain(stream: io.BufferedReader) -> bool:
    """Return whether a stream reads a regular local file without decompression."""
    return isinstance(stream.raw, io.FileIO)


def settled_encoding(stream: io.BufferedReader, encoding: str) -> str:
    """Return the encoding that the byte order mark of a stream names, or else `encoding`.

    `guess` is replaced by a guess from the bytes that can be peeked at, at most 64 KiB.  Consumes
    nothing.  Raises InputError if the first bytes cannot be text in this encoding.
    """
    settled = _checked(stream, encoding)
    return decoding.guessed(stream.peek(SNIFFED_BYTES)) if settled == decoding.GUESS else settled


def _checked(stream: io.BufferedReader, encoding: str) -> str:
    """Return what `settled_encoding` does, but leave `guess` as it is."""
    head = stream.peek(SNIFFED_BYTES)[:SNIFFED_BYTES]
    if head.startswith(PDF_MAGIC):
        raise InputError("a PDF, not text; convert it to text first, for example by pdftotext")
    settled = decoding.marked_or(head, encoding)
    if b"\0" in head and settled != decoding.GUESS and not is_wide(settled):
        wide = decoding.guessed_wide(head)
        if wide is None:
            raise InputError("binary content (NUL bytes), not text; leave it out")
        raise InputError(f"NUL bytes, probably text in {wide}; use encoding={wide!r}")
    return settled


def read_text(
    stream: io.BufferedReader, encoding: str, errors: str, *, is_document: bool = True
) -> tuple[str, int]:
    """Return the text of a stream (see `decoded`) and its size in bytes.

    Raises InputError for binary content and for a document that is too long.
    """
    _checked(stream, encoding)
    content = stream.read(DOCUMENT_BYTES_MAX + 1 if is_document else -1)
    if is_document and len(content) > DOCUMENT_BYTES_MAX:
        raise InputError(
            f"more than {DOCUMENT_BYTES_MAX >> 20} MiB, too long for one document; split it"
        )
    return decoding.decoded(content, encoding, errors), len(content)


def read_file(path: str, encoding: str, errors: str, *, is_document: bool = True) -> str:
    """Return the text of one file, or of standard input for `-`; raise InputError if unreadable."""
    try:
        with opened(path) as stream:
            return read_text(stream, encoding, errors, is_document=is_document)[0]
    except CONTENT_ERRORS as error:
        raise InputError(f"{path}: {explained(error)}") from error


def page_position(texts: Sequence[str] | TextColumn) -> int | None:
    """Return the position of the first text that begins like HTML; None if none does."""
    # Few texts pass the quick test of the first byte.
    likely: Iterable[int] = range(len(texts))
    if isinstance(texts, TextColumn):
        firsts = kernel.first_bytes(texts.addresses, texts.lengths)
        likely = np.flatnonzero(MAY_BEGIN[firsts]).tolist()
    return next((at for at in likely if _begins(texts[at])), None)


def markup_hint(text: str, where: str, sketch: TextSketch) -> str | None:
    """Return a hint if a text begins like HTML but is read as plain text, else None."""
    if sketch.markup != "none" or not _begins(text):
        return None
    told = "this looks like HTML, and its tags are compared as words; --markup html compares"
    return f"{where}: {told} the visible text only (of a database: when it is created)"


def explained(error: BaseException) -> str:
    """Explain in one line what is wrong with content and what to do.

    Raises FullError if the process may open no more files: the content is not at fault.
    """
    if full := no_descriptor(error):
        raise full from error
    if isinstance(error, UnicodeDecodeError):
        return _explained_decoding(error)
    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, PermissionError):
        return "no permission to read it; change its permissions, or leave it out"
    if isinstance(error, FileNotFoundError):
        return "there is no such file; check the name, or leave it out"
    if isinstance(error, OSError) and error.strerror:
        return f"cannot be read ({error.strerror}); leave it out"
    return f"cannot be read ({error}); leave it out"


def _explained_decoding(error: UnicodeDecodeError) -> str:
    name = decoding.without_mark(error.encoding)
    if name != "utf-8":
        return f"invalid {name} at byte {error.start}; use encoding='utf-8' or errors='replace'"
    if not decoding.is_damaged(error.object, error.start):
        return f"invalid utf-8 at byte {error.start}; {decoding.hint(error.object, error.start)}"
    is_cut = error.reason == "unexpected end of data" and error.end >= len(error.object)
    what = "cut off inside a utf-8 character" if is_cut else "invalid utf-8"
    return f"{what} at byte {error.start}, but valid elsewhere; use errors='replace'"


class _Unpacked(io.RawIOBase):
    """The decompressed bytes of a stream; reading damaged bytes raises InputError.

    Then a gzip file continues with its next member; any other stream has ended.
    """

    def __init__(self, pieces: Iterator[bytes | Exception], packed: str) -> None:
        self._pieces, self._held = pieces, b""
        self._name = {GZIP: "gzip", ZSTD: "zstd"}.get(packed, packed[1:])

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        try:
            piece = self._held or next(self._pieces, b"")
            if isinstance(piece, Exception):
                raise piece
        except InputError:
            raise
        except Exception as error:  # each library has errors of its own
            if getattr(error, "errno", None) is not None:
                raise
            raise InputError(
                f"damaged {self._name} data ({error}); create or download the file again"
            ) from error
        part, self._held = piece[: len(buffer)], piece[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)


def _members(file: io.BufferedReader) -> Iterator[bytes | Exception]:
    """Yield the decompressed bytes of a gzip file, and an error in place of a damaged member.

    The last bytes of a member are yielded after its checksum was verified; bytes from a pipe are
    yielded at once.
    """
    rest = b""
    while rest := (rest or file.read1(BUFFER_BYTES)):
        seen = piece = rest.lstrip(b"\0")  # zeros may precede a member
        member, held, rest = zlib.decompressobj(GZIP_WINDOW), b"", b""
        try:
            while seen and not member.eof:
                held += member.decompress(piece, BUFFER_BYTES + 1 - len(held))
                piece = member.unconsumed_tail
                if len(held) > BUFFER_BYTES or (held and not piece and may_wait(file)):
                    yield held[:BUFFER_BYTES]
                    held = held[BUFFER_BYTES:]
                if not piece and not member.eof:
                    piece = file.read1(BUFFER_BYTES)
                    seen = seen + piece if len(seen) < AGAIN_BYTES else piece
                    if not piece:
                        raise EOFError("it ends before the end of its last member")
            if held:
                yield held
            rest = member.unused_data
        except (zlib.error, EOFError) as error:
            yield error
            while (start := seen.find(DEFLATED, 1)) < 0 and (piece := file.read1(BUFFER_BYTES)):
                seen = seen[-len(DEFLATED) :] + piece
            rest = seen[start:] if start > 0 else b""


class _Waiting(io.RawIOBase):
    """A pipe or a device; `close` leaves the inner stream open.

    Its format is recognised by the first bytes or the first line, so `__init__` waits for these.
    """

    def __init__(self, stream: BinaryIO) -> None:
        # read1 makes at most one system call, so a slow pipe gives what it already has.
        self._read = getattr(stream, "read1", stream.read)
        self._head = b""
        while b"\n" not in self._head and not self._head.startswith(BEGINNINGS):
            piece = self._read(BUFFER_BYTES - len(self._head))
            self._head += piece
            if not piece:
                break

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        # A BufferedReader of BUFFER_BYTES asks for no less.
        content: bytes = self._head or self._read(len(buffer))
        self._head = b""
        buffer[: len(content)] = content
        return len(content)


def _begins(text: str) -> bool:
    return HTML_START.match(text[:BEGINNING_CHARACTERS]) is not None


def packed_file(file: IO[bytes], compression: str, mode: str = "rb") -> Any:
    """Return a stream that reads a compressed file or, except for ZSTD, writes one."""
    if compression == ZSTD:
        return load_arrow("reading .zst").CompressedInputStream(file, "zstd")
    module, name = FILES[compression]
    made = getattr(installed(module, f"{compression} needs the module {module} of Python"), name)
    return made(file, mode)
