"""Mail: reads the messages of mailboxes (.mbox) and of files with one message each (.eml).

The text of a message is its body as plain text, or else as HTML; attachments and messages within
the message are left out.  The id is the message's own.  A message that is cut off inside its text,
or whose text cannot be decoded, becomes an `InputProblem`.
"""

import io
import re
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from time import strftime

from simdb.core.decoding import decoded
from simdb.core.errors import InputError
from simdb.files.content import BUFFER_BYTES, DOCUMENT_BYTES_MAX
from simdb.files.records import Found, Record, SourceOptions, batched, made, make_record

# The line before each message of a mailbox, and how a mailbox begins.
SEPARATOR = re.compile(rb"From \S.*\d{1,2}:\d\d\b.*\b(19|20)\d\d\b")
MAILBOX = re.compile(SEPARATOR.pattern + rb".*\r?\n[!-9;-~]+:")
# What the parser of the standard library finds in a message that is damaged or cut off; if another
# part than the last has the text, the parts need no end.
UNCLOSED = "CloseBoundaryNotFoundDefect"
DEFECT = re.compile(f"MissingHeaderBody|InvalidBase64(Padding|Length)|{UNCLOSED}")


def read_mailbox(stream: io.BufferedReader, name: str, reading: SourceOptions) -> Found:
    """Yield the messages of a mailbox, see `read_message`."""
    return batched(made(_messages(stream), name, partial(read_message, name, reading)))


def read_message(name: str, reading: SourceOptions, content: bytes, position: int = 0) -> Record:
    """Return a message with the fields `id`, `text`, `date` in UTC, `from` and `subject`.

    What it does not have is None.  Raises InputError for a message that is damaged or too long.
    """
    if len(content) > DOCUMENT_BYTES_MAX:
        raise InputError(f"a message of more than {DOCUMENT_BYTES_MAX >> 20} MiB; split it")
    try:
        policy = import_module("email.policy").default
        message = import_module("email").message_from_bytes(content, policy=policy)
        # What is called a multipart and has no parts is one text.
        is_bare = message.get_content_maintype() == "multipart" and not message.is_multipart()
        part = message if is_bare else message.get_body(("plain", "html"))
        body = b"" if part is None else part.get_payload(decode=True)
        label = "" if part is None else part.get_content_charset("")
        date = getattr(message["Date"], "datetime", None)
        value = {
            "id": (message["Message-ID"] or "").strip("<> "),
            "text": None,
            "date": date and strftime("%Y-%m-%dT%H:%M:%SZ", date.utctimetuple()),
            **{each.lower(): message[each] and str(message[each]) for each in ("From", "Subject")},
        }
    except Exception as error:  # that parser has many ways to fail
        raise InputError(f"a damaged mail ({error}); leave it out") from error
    found = {type(each).__name__ for each in (*message.defects, *getattr(part, "defects", ()))}
    is_last = part is [*message.walk()][-1]
    if not message.keys() or any(map(DEFECT.match, found if is_last else found - {UNCLOSED})):
        raise InputError("a mail that is damaged, cut off or without a header; leave it out")
    if part is not None:
        value["text"] = decoded(body, reading.encoding, reading.errors, label)
    return make_record(value, reading, source=name, position=position, size_bytes=len(content))


def _messages(stream: io.BufferedReader) -> Iterator[bytes]:
    """Yield the bytes of each message of a mailbox; of one that is too long only the beginning."""
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
