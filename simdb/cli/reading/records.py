"""Records: documents as they come out of a source, and what could not be one.

A `Record` or a `Problem` comes for everything that was read, in order.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from simdb.cli.reading.content import explained, without_mark
from simdb.errors import InputError

ID_BYTES_MAX = 1023
NAMED_FIELDS = 8
SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How sources are read: see the options of the same names.

    `is_whole`: all columns are wanted, for their survivors are written or their metadata stored.
    """

    encoding: str = "utf-8-sig"
    errors: str = "strict"
    id_field: str = "id"
    text_field: str = "text"
    has_int_ids: bool = False
    is_whole: bool = True

    @property
    def stream_errors(self) -> str:
        """How to decode a stream of records: bad bytes spoil only the record they are in.

        They become surrogates, which `make_record` refuses.
        """
        return "replace" if self.errors == "replace" else "surrogateescape"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One document: its id, its text, and where it stands.

    `position`: line, row or element in the source, from 1; 0 for a file that is one document.
    `line`: what a list of survivors says of it: the record as read, or the path of the file.
    `fields`: the record without id and text; None for a file.
    """

    id: str | int
    text: str
    source: str
    position: int
    line: str
    size_bytes: int
    fields: dict[str, Any] | None = None

    @property
    def where(self) -> str:
        """Where it stands, for a message."""
        return f"{self.source}:{self.position}" if self.position else self.source


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is no document: `where` it stands, and why not, with what would help.

    `source`: the file of many records that it is in; empty when it is a file as a whole.
    """

    source: str
    where: str
    reason: str


Found = Iterator[Record | Problem]


def make_record(
    value: Any, reading: Reading, *, source: str, position: int, line: str | None, size_bytes: int
) -> Record:
    """The record in a parsed object; InputError when there is none.

    `line`: the object as it was read, where it was text.
    """
    if not isinstance(value, dict):
        raise InputError(f"{_kind(value)}, not an object with fields; give objects")
    text = _text(value, reading)
    fields = {
        name: content
        for name, content in value.items()
        if name not in (reading.id_field, reading.text_field)
    }
    return Record(
        id=_id(value, reading, f"{source}:{position}"),
        text=text,
        source=source,
        position=position,
        line=as_line(value) if line is None else line,
        size_bytes=size_bytes,
        fields=fields,
    )


def as_line(value: Any) -> str:
    """An object as one line of JSON."""
    return json.dumps(value, ensure_ascii=False, default=str)


def byte_count(text: str) -> int:
    """How many bytes a text takes in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def valid_name(path: str) -> str:
    """A path as valid Unicode: bytes that are none appear as \\xNN."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def check_id(id: str | int) -> None:
    """Raise InputError for an id that a database cannot take."""
    if isinstance(id, int):
        if not -(2**63) <= id < 2**64:
            raise InputError(f"the id {id} is no 64-bit number; leave out --int-ids")
        return
    if SURROGATES.search(id):
        raise InputError("the id is no valid Unicode; correct it")
    if len(id) > ID_BYTES_MAX or len(id.encode()) > ID_BYTES_MAX:
        raise InputError(f"the id {id[:40]!r}... is longer than {ID_BYTES_MAX} bytes; shorten it")


def _text(value: dict[str, Any], reading: Reading) -> str:
    name = reading.text_field
    if name not in value:
        raise InputError(
            f"no field {name!r}; name the one that holds the text by --text-field"
            f" (there are {_names(value)})"
        )
    text = value[name]
    if isinstance(text, bytes):
        text = text.decode(reading.encoding, reading.errors)
    if not isinstance(text, str):
        raise InputError(
            f"the field {name!r} holds {_kind(text)}, not text; choose another by --text-field"
        )
    return valid_text(text, f"the field {name!r} holds ", reading)


def valid_text(text: str, subject: str, reading: Reading) -> str:
    """`text` without the surrogates that undecoded bytes became; InputError unless replaced.

    `subject`: how the message begins.
    """
    if text.isascii() or not SURROGATES.search(text):
        return text
    if reading.errors != "replace":
        raise InputError(f"{subject}{_undecoded(text, reading.encoding)}")
    return SURROGATES.sub("\ufffd", text)


def _undecoded(text: str, encoding: str) -> str:
    """What was wrong with the bytes that became a text with surrogates."""
    name = without_mark(encoding)
    try:
        text.encode(name, "surrogateescape").decode(name)
    except UnicodeDecodeError as error:
        return explained(error)
    except UnicodeEncodeError:
        pass
    return "half of a character (a lone surrogate); use --errors replace"


def _id(value: dict[str, Any], reading: Reading, default: str) -> str | int:
    id = value.get(reading.id_field)
    if id is None or id == "":
        if reading.has_int_ids:
            raise InputError(f"no field {reading.id_field!r}, which --int-ids needs; add one")
        id = default
    if isinstance(id, bool) or not isinstance(id, str | int | float):
        raise InputError(
            f"the field {reading.id_field!r} holds {_kind(id)}, not an id; choose another by"
            " --id-field"
        )
    if reading.has_int_ids:
        id = as_int_id(id)
    elif not isinstance(id, str):
        id = str(id)
    check_id(id)
    return id


def as_int_id(id: str | int | float) -> int:
    """A number given as an id; InputError when it is not a whole one."""
    try:
        number = int(id)
    except (ValueError, OverflowError) as error:
        raise InputError(f"the id {id!r} is no whole number; leave out --int-ids") from error
    if isinstance(id, float) and number != id:
        raise InputError(f"the id {id!r} is no whole number; leave out --int-ids")
    return number


def _names(value: dict[str, Any]) -> str:
    names = [str(name) for name in value]
    shown = ", ".join(repr(name[:40]) for name in names[:NAMED_FIELDS])
    return (shown or "none") + (", ..." if len(names) > NAMED_FIELDS else "")


def _kind(value: Any) -> str:
    """What a value is, in the words of JSON."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "text"
    return "a list" if isinstance(value, list) else "an object"
