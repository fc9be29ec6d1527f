"""Crawls: reads the pages and texts of WARC files.

Each record of a WARC file has a header that states its length; in a `.warc.gz` file each record is
a gzip member.  A damaged member, a truncated record or stray bytes become an `InputProblem`, and
reading goes on with the next record.

Documents are server responses with HTML or plain text, and records of such content without a
server's header (`resource`, `conversion`).  Other records are skipped and counted.

Only this module imports fastwarc, which undoes the encodings of servers: chunks, gzip, deflate, br.
Some crawlers store a page decoded while its header still names an encoding; such a page is taken
as it is.
"""

import io
import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any

from simdb.core import kernel
from simdb.core.checks import installed
from simdb.core.decoding import decoded
from simdb.core.errors import InputError
from simdb.files.content import AMOUNT, BUFFER_BYTES, DOCUMENT_BYTES_MAX
from simdb.files.records import Found, Record, SourceOptions, batched, made, make_record

NEED = "reading WARC needs the package fastwarc: pip install fastwarc"
FIRST_LINE = re.compile(rb"WARC/[01]\.\d+[ \r]*\n")
LATER = b"\r\n\r\nWARC/1."  # in a record that lacks bytes and so reaches into the next
FIELD = re.compile(rb"^([\w-]+):[ \t]*(.*?)[ \t]*\r?$", re.MULTILINE)
# WARC types of records with a page or text, and content types of these.
KINDS = (b"response", b"resource", b"conversion")
TYPES = (b"text/html", b"application/xhtml+xml", b"text/plain")
HTTP = b"application/http"
HEADER_LINES = 1000
# A server's response as a record for fastwarc.
RESPONSE = b"WARC/1.0\r\nWARC-Type: response\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s"
CHUNK = re.compile(rb"[0-9a-fA-F]+[ \t]*[;\r\n]")

Fields = dict[bytes, bytes]


def read_crawl(stream: io.BufferedReader, name: str, reading: SourceOptions) -> Found:
    """Yield the pages and texts of a WARC stream, and count other records in `AMOUNT`.

    The fields of a page are `id` (its address), `text`, `date` (of the fetch), `type` (such as
    text/html) and `status` (such as 200; None without a server's header).
    """
    make = partial(_document, installed("fastwarc.warc", NEED), name, reading)
    return batched(made(_records(stream), name, make))


def _records(stream: io.BufferedReader) -> Iterator[tuple[Fields, bytes] | InputError]:
    """Yield each record's fields and content, or an error in place of a damaged record."""
    line, is_lost = b"", False
    while True:
        try:
            line = line or stream.readline(BUFFER_BYTES)
            if not line:
                return
            if line.isspace() or (is_lost and not FIRST_LINE.match(line)):
                line = b""
                continue
            found, line = _record(stream, line)
            is_lost = False
            yield found
        except InputError as error:
            line, is_lost = b"", True
            yield error


def _record(stream: io.BufferedReader, line: bytes) -> tuple[tuple[Fields, bytes], bytes]:
    """Return the record that begins with a line, and the line after it if that was read."""
    if not FIRST_LINE.match(line):
        raise InputError("no record of WARC begins here; create or download the file again")
    header: list[bytes] = []
    while (field := stream.readline(BUFFER_BYTES)).strip() and len(header) < HEADER_LINES:
        header.append(field)
    fields = {name.lower(): value for name, value in FIELD.findall(b"".join(header))}
    if not field.isspace() or not fields.get(b"content-length", b"").isdigit():
        raise InputError("the header of the record is cut off, or does not say how long it is")
    length = int(fields[b"content-length"])
    # One byte more than a document may have is kept, so that the excess is noticed.
    content = stream.read(min(length, DOCUMENT_BYTES_MAX + 1))
    rest = length - len(content)
    while rest and (piece := stream.read(min(rest, BUFFER_BYTES))):
        rest -= len(piece)
    # Two empty lines end a record.  Reading them also verified the gzip member.
    after = stream.readline(BUFFER_BYTES)
    after = stream.readline(BUFFER_BYTES) if after.isspace() else after
    is_ended = not after or after.isspace() or FIRST_LINE.match(after)
    if rest or not is_ended or LATER in content:
        raise InputError("the record is cut off, or does not end where its header says")
    return (fields, content), after.strip() and after


def _document(
    library: Any, name: str, reading: SourceOptions, found: tuple[Fields, bytes], position: int
) -> Record | None:
    """Return the document in a record; None if it is neither a page nor a text."""
    fields, content = found
    own, label, status = fields.get(b"content-type", b""), "", None
    is_http = own.startswith(HTTP)
    if is_http:
        head = content[:BUFFER_BYTES].replace(b"\r", b"").partition(b"\n\n")[0]
        header = dict(FIELD.findall(head.lower()))
        own = header.get(b"content-type") or fields.get(b"warc-identified-payload-type", b"")
    own = own.partition(b";")[0].strip().lower()
    if own not in TYPES or fields.get(b"warc-type", b"").lower() not in KINDS:
        AMOUNT.left_out += 1
        return None
    if is_http and len(content) <= DOCUMENT_BYTES_MAX:
        content, label, status = _page(library, content)
    if len(content) > DOCUMENT_BYTES_MAX:
        raise InputError(f"more than {DOCUMENT_BYTES_MAX >> 20} MiB, too long for one document")
    value = {
        "id": fields.get(b"warc-target-uri", b"").strip(b"<>").decode("utf-8", "backslashreplace"),
        "text": decoded(content, reading.encoding, reading.errors, label),
        "date": fields.get(b"warc-date", b"").decode("ascii", "replace") or None,
        "type": own.decode(),
        "status": status,
    }
    return make_record(value, reading, source=name, position=position, size_bytes=len(found[1]))


def _page(library: Any, response: bytes) -> tuple[bytes, str, int | None]:
    """Return the page in a response, the label of its charset and its status."""
    record, content = _parsed(library, response, "transfer")
    if content is None:
        record, content = _parsed(library, response, "none")
        if content is None or CHUNK.match(content):
            raise InputError("the page is damaged or cut off: its header or its chunks")
    encoding = (record.http_headers.get("Content-Encoding") or "").lower().removeprefix("x-")
    if encoding:
        header = f"HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}\r\n\r\n".encode()
        found, end = _parsed(library, header + content, "content")[1], content[-4:]
        size, checksum = len(found or b""), zlib.adler32(found or b"")
        # fastwarc does not report truncated content, so the stored size or checksum is compared.
        ends = {"gzip": size.to_bytes(8, "little")[:4], "deflate": checksum.to_bytes(4, "big")}
        is_whole = size > DOCUMENT_BYTES_MAX or ends.get(encoding, end) == end
        if found is not None and is_whole:
            content = found
        elif not content.lstrip().startswith(b"<") and not kernel.is_utf8(content):
            raise InputError(f"the page is damaged or cut off: its {encoding} is incomplete")
    return content, (record.http_charset or "").strip("\"'"), record.http_headers.status_code


def _parsed(library: Any, response: bytes, decode: str) -> tuple[Any, bytes | None]:
    """Return a response as a fastwarc record, and its content; None for damaged content."""
    record = library.WarcRecord.from_bytes(RESPONSE % (HTTP, len(response), response))
    with suppress(OSError):
        # Header lines may end in a line feed without a carriage return.
        record.parse_http(auto_decode=decode, quirks_mode=True)
        return record, record.reader.read(DOCUMENT_BYTES_MAX + 1)
    return record, None
