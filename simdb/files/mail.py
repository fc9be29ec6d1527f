"""Mail: reads the messages of mailboxes (.mbox) and of files with one message each (.eml).

The text of a message is the text of its parts in order; among alternatives, plain text is preferred
to HTML.  Attachments and nested messages are skipped.  The id is the header Message-ID.  A message
that is cut off inside its text, or whose text cannot be decoded, becomes an `InputProblem`.
"""

import io
import re
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from time import strftime
from typing import Any

from simdb.core.decoding import decoded
from simdb.core.errors import InputError
from simdb.files.content import BUFFER_BYTES, DOCUMENT_BYTES_MAX
from simdb.files.records import Found, Record, SourceOptions, batched, made, make_record

# The line before each message; a mailbox begins with such a line and a header field.
SEPARATOR = re.compile(rb"From \S.*\d{1,2}:\d\d\b.*\b(19|20)\d\d\b")
MAILBOX = re.compile(SEPARATOR.pattern + rb".*\r?\n[!-9;-~]+:")
# A mailbox adds to a message: `>` before lines like its separators, and a last empty line.
ADDED = re.compile(rb"^>(?=>*From )|^\r?\n\Z", re.MULTILINE)
# Defects that the standard library reports for a damaged or truncated message.  A missing end of
# the parts (UNCLOSED) matters only if the last part has text.
UNCLOSED = "CloseBoundaryNotFoundDefect"
DEFECT = re.compile(f"MissingHeaderBody|InvalidBase64(Padding|Length)|{UNCLOSED}")


def read_mailbox(stream: io.BufferedReader, name: str, reading: SourceOptions) -> Found:
    """Yield the messages of a mailbox, see `read_message`."""
    return batched(made(map(_bare, _messages(stream)), name, partial(read_message, name, reading)))


def read_message(name: str, reading: SourceOptions, content: bytes, position: int = 0) -> Record:
    """Return a message with the fields `id`, `text`, `date` in UTC, `from` and `subject`.

    Missing fields are None.  Raises InputError for a message that is damaged or too long.
    """
    if len(content) > DOCUMENT_BYTES_MAX:
        raise InputError(f"a message of more than {DOCUMENT_BYTES_MAX >> 20} MiB; split it")
    try:
        policy = import_module("email.policy").default
        message = import_module("email").message_from_bytes(content, policy=policy)
        parts = _text_parts(message)
        bodies = [(each.get_payload(decode=True), each.get_content_charset("")) for each in parts]
        date = getattr(message["Date"], "datetime", None)
        value = {
            "id": (message["Message-ID"] or "").strip("<> "),
            "text": None,
            "date": date and strftime("%Y-%m-%dT%H:%M:%SZ", date.utctimetuple()),
            **{each.lower(): message[each] and str(message[each]) for each in ("From", "Subject")},
        }
    except Exception as error:  # that parser has many ways to fail
        raise InputError(f"a damaged mail ({error}); leave it out") from error
    defects = [*message.defects, *(found for each in parts for found in each.defects)]
    found, is_last = {type(each).__name__ for each in defects}, [*message.walk()][-1] in parts
    if not message.keys() or any(map(DEFECT.match, found if is_last else found - {UNCLOSED})):
        raise InputError("a mail that is damaged, cut off or without a header; leave it out")
    texts = [decoded(body, reading.encoding, reading.errors, label) for body, label in bodies]
    if len(texts) > 1:
        texts = [each.strip("\r\n") for each in texts if each.strip()]
    value["text"] = "\n\n".join(texts) if parts else None
    return make_record(value, reading, source=name, position=position, size_bytes=len(content))


def _text_parts(part: Any) -> list[Any]:
    """Return the text parts of a message, or of one part of it, in order."""
    if part.is_attachment() or part.get_content_maintype() not in ("text", "multipart"):
        return []
    if not part.is_multipart():  # a multipart without parts is one text
        return [part]
    found = [each for each in map(_text_parts, part.get_payload()) if each]
    if part.get_content_subtype() != "alternative":
        return [each for parts in found for each in parts]
    return max(found, key=_rank, default=[])


def _rank(parts: list[Any]) -> tuple[bool, ...]:
    """Rank an alternative: any with text before empty ones, then plain text, then HTML."""
    kind, bodies = parts[0].get_content_subtype(), (each.get_payload(decode=True) for each in parts)
    return any(map(bytes.strip, bodies)), kind == "plain", kind == "html"


def _bare(content: bytes) -> bytes:
    """Remove the additions of the mailbox from a message, unless it is too long."""
    return content if len(content) > DOCUMENT_BYTES_MAX else ADDED.sub(b"", content)


def _messages(stream: io.BufferedReader) -> Iterator[bytes]:
    """Yield the bytes of each message of a mailbox; only the beginning if it is too long."""
    lines: list[bytes] = []
    size, is_after_blank = 0, True
    for line in iter(partial(stream.readline, BUFFER_BYTES), b""):
        if lines and is_after_blank and SEPARATOR.match(line):
            yield b"".join(lines)
            lines, size = [], 0
        is_after_blank = not line.strip()
        if size <= DOCUMENT_BYTES_MAX and (lines or not is_after_blank):
            lines.append(line)
            size += len(line)
    if lines:
        yield b"".join(lines)
