"""Records: holds the documents and the problems that readers find in the input.

Every reader yields batches and problems, in the order of the input.  A reader that makes records
one by one collects them with `batched`; a reader that parses many at once makes columns itself.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import chain, count
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from simdb.core.arrays import ID_BYTES_MAX
from simdb.core.arrow import SURROGATES, TextColumn, encoded, joined as joined_columns
from simdb.core.choices import KEEP, RAISE, SKIP
from simdb.core.decoding import decoded, digits_of, without_mark
from simdb.core.dtypes import I64, Bools
from simdb.core.errors import FieldError, InputError
from simdb.core.fields import Field, FieldName, RepeatedNames, field_named
from simdb.core.text_sketch import TextSketch
from simdb.core.values import dataclass, fields, replace
from simdb.files.content import CONTENT_ERRORS, explained, markup_hint, page_position
from simdb.files.origins import NOWHERE, Origins
from simdb.files.rows import text_form, waiting_line

NAMED_FIELDS = 8
NO_FIELD = "no field"
NO_TEXT = "null instead of a text"
ABSENT = f"{NO_TEXT}: "  # before the reason of a missing field that counts as a null
InputId = str | int
# Names of missing fields, each with a message.
Lacks: TypeAlias = tuple[tuple[str, str], ...]
# Limits of a batch that `batched` makes.
COLLECTED_RECORDS = 1024
COLLECTED_BYTES = 1 << 22
Value = TypeVar("Value")
# A TextColumn here is valid UTF-8 without nulls.
Texts = list[str] | TextColumn
# An id of at most this length is never too long: a character takes four bytes at most.
PLAIN_CHARACTERS = ID_BYTES_MAX // 4
INT_MIN, INT_STOP = -(2**63), 2**64


@dataclass(frozen=True, kw_only=True)
class SourceOptions:
    """The options for reading sources, named after the options of the command line.

    `has_lines`: records have their line for -o.  `has_paths`: the line of a file that is one
    document is its path; otherwise it is a JSON object like that of a record.  A row of a Parquet
    file never has a line.

    `given`: fields that every source of records must have; a source without one ends reading with a
    FieldError.  `has_fields`: records have their other fields.  `fields`: the only other fields
    that records have.  Without `has_texts`, records have no text.

    `on_null`: one of `ON_NULL`, or empty.  A null that is kept becomes an empty text; any other
    null is a problem that begins with `NO_TEXT`.  `has_absent`: a record without the text field
    counts as a null, too.  `on_error`: "skip", or "raise" to end with the first problem.

    `origins` registers the lines to be read again; None if none will be.  `threads`: see
    `thread_count`.  `memory`: memory of the run, see `simdb.core.memory`.

    `format`: kind of the sources whose names do not show it, see `simdb.files.sources`; empty to
    use their first bytes.  `delimiter`: delimiter of tables, if not the usual one.  `has_header`:
    the first row of a table has names.  `pads_rows`: short rows of tables get empty cells.
    `digits`: HEXADECIMAL or BASE64 if documents are hashes in this form or in bytes, which become
    hexadecimal texts; empty if documents are texts.
    """

    encoding: str = "utf-8-sig"
    errors: str = "strict"
    id_field: FieldName = "id"
    text_field: FieldName = "text"
    given: tuple[FieldName, ...] = ()
    fields: tuple[FieldName, ...] = ()
    has_int_ids: bool = False
    has_lines: bool = True
    has_paths: bool = False
    has_fields: bool = True
    has_texts: bool = True
    on_null: str = ""
    on_error: str = SKIP
    has_absent: bool = False
    origins: Origins | None = None
    threads: int | None = None
    memory: int | None = None
    format: str = ""
    delimiter: str = ""
    has_header: bool = True
    pads_rows: bool = False
    digits: str = ""

    def has_text(self, record: Mapping[str, Any]) -> bool:
        """Return whether a record has the field with the text."""
        return bool(field_named(self.text_field).used(record))

    def read_as(self, text: Any) -> Any:
        """Return the content of a field or a file; a hash becomes hexadecimal digits."""
        is_hash = self.digits and isinstance(text, str | bytes)
        return digits_of(text, self.digits) if is_hash else text

    @cached_property  # used for each record
    def asked(self) -> "Asked":
        """The fields to read."""
        texts = (self.text_field,) if self.has_texts else ()
        needed = dict.fromkeys((*texts, *self.given, *self.fields))
        return Asked(
            field_named(self.text_field) if self.has_texts else None,
            field_named(self.id_field),
            tuple(map(field_named, self.fields)),
            tuple(map(field_named, needed)),
        )

    @property
    def is_by_record(self) -> bool:
        """Whether records are read one by one, for more than the id and the text."""
        return self.has_fields or bool(self.fields) or not self.has_texts

    @property
    def stream_errors(self) -> str:
        """The error handler for decoding a stream, so that bad bytes spoil only their own record.

        With `strict`, bad bytes become surrogates, which `make_record` refuses.
        """
        return "replace" if self.errors == "replace" else "surrogateescape"


class Asked(NamedTuple):
    """The fields to read: `text` (None if not needed), `id` and `others`.

    `needed`: the fields that records should have; the id is one only if the user named it.
    """

    text: Field | None
    id: Field
    others: tuple[Field, ...]
    needed: tuple[Field, ...]

    @property
    def every(self) -> list[Field]:
        """All these fields."""
        return list(filter(None, (self.text, self.id, *self.others)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One document: its id, its text and its place in the input.

    `position`: line, row or element in the source, from 1; 0 for a file that is one document.
    `line`: line for -o, see `SourceOptions`: the record as it was read, without a line feed.
    `fields`: other fields of the record; None for a file.  Both are None unless `SourceOptions`
    asks for them.  `is_null`: the record had no text, so `text` is empty.  `lacks`: requested
    fields that the record lacks, each with a message.
    """

    id: InputId
    text: str
    source: str
    position: int
    size_bytes: int
    line: bytes | None = None
    fields: dict[str, Any] | None = None
    is_null: bool = False
    lacks: Lacks = ()

    @property
    def where(self) -> str:
        """The place of the record, for a message."""
        return place(self.source, self.position)


@dataclass(frozen=True, slots=True)
class InputProblem:
    """Input that is not a document: its place `where`, and the reason with a remedy.

    `source`: the file of records or the folder that contains it; empty for a file that was named.
    """

    source: str
    where: str
    reason: str

    @classmethod
    def at(cls, source: str, position: int, error: BaseException) -> "InputProblem":
        """Return the problem of one record; raise an error that is not due to its content."""
        return cls(source, place(source, position), explained(error))

    @property
    def is_null(self) -> bool:
        """Whether it is a record with a null instead of a text."""
        return self.reason.startswith(NO_TEXT)

    @property
    def is_lacking(self) -> bool:
        """Whether it is a record without a field."""
        return self.reason.startswith(NO_FIELD)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Batch:
    """A batch of documents: each column has one value per document, see `Record`.

    `lines` and `fields` are None unless `SourceOptions` asks for them.  `origins`: where lines can
    be read again, see `Origins`; None if no line can.  A document with an origin needs no line.  A
    row of a Parquet file has neither: its position identifies it.
    `nulls` bool[n]: True for documents without a text; None if all have one.  `lacks`: requested
    fields that no document has, each with a message.
    """

    ids: list[InputId]
    texts: Texts
    sources: list[str]
    positions: I64
    sizes: I64
    lines: list[bytes | None] | list[bytes] | None = None
    fields: list[dict[str, Any] | None] | None = None
    origins: I64 | None = None
    nulls: Bools | None = None
    lacks: Lacks = ()

    def __len__(self) -> int:
        """Return the number of documents."""
        return len(self.ids)

    def contents(self) -> list[bytes]:
        """Return the text of each document in UTF-8."""
        return list(encoded(self.texts))

    def where(self, at: int) -> str:
        """Return the place of one document in the input, for a message."""
        return place(self.sources[at], int(self.positions[at]))

    def texts_at(self, positions: Sequence[int] | I64) -> Texts:
        """Return the texts of the documents at some positions, in that order."""
        texts = self.texts
        if isinstance(texts, TextColumn):
            return texts.chosen(positions)
        return [texts[at] for at in positions]

    def part(self, start: int, stop: int) -> "Batch":
        """Return the documents from `start` up to, not including, `stop`."""
        return self._columns(lambda column: column[start:stop])

    def chosen(self, positions: Sequence[int] | I64) -> "Batch":
        """Return only the documents at `positions`, in that order."""
        return self._columns(
            lambda column: (
                column.chosen(positions)
                if isinstance(column, TextColumn)
                else column[np.asarray(positions, np.int64)]
                if isinstance(column, np.ndarray)
                else [column[at] for at in positions]
            )
        )

    @staticmethod
    def joined(batches: Sequence["Batch"]) -> "Batch":
        """Return consecutive batches, at least one, as one batch."""
        if len(batches) == 1:
            return batches[0]
        return Batch(
            ids=_chained(each.ids for each in batches),
            texts=_joined_texts([each.texts for each in batches]),
            sources=_chained(each.sources for each in batches),
            positions=np.concatenate([each.positions for each in batches]),
            sizes=np.concatenate([each.sizes for each in batches]),
            lines=_known(_chained(each.lines or [None] * len(each) for each in batches)),
            fields=_known(_chained(each.fields or [None] * len(each) for each in batches)),
            origins=_joined_arrays(batches, "origins", NOWHERE),
            nulls=_joined_arrays(batches, "nulls", False),
            lacks=_common([each.lacks for each in batches]),
        )

    def markup_hint(self, sketch: TextSketch) -> str | None:
        """Return the hint of `content.markup_hint` for the first text like HTML, or None."""
        at = page_position(self.texts)
        return None if at is None else markup_hint(self.texts[at], self.where(at), sketch)

    def other_ids(self, at: int) -> Iterator[InputId]:
        """Yield other ids for a document whose id is taken, without end."""
        return other_ids(self.ids[at], self.sources[at], int(self.positions[at]))

    def _columns(self, change: Callable[[Any], Any]) -> "Batch":
        """Return a batch with `change` applied to every column."""
        columns = {each.name: getattr(self, each.name) for each in fields(self)}
        del columns["lacks"]
        known = {name: column for name, column in columns.items() if column is not None}
        return replace(self, **{name: change(column) for name, column in known.items()})


Found = Iterator[Batch | InputProblem]


def batch_of(records: Sequence[Record]) -> Batch:
    """Return records as a batch."""
    nulls = np.array([record.is_null for record in records], np.bool_)
    return Batch(
        ids=[record.id for record in records],
        texts=[record.text for record in records],
        sources=[record.source for record in records],
        positions=np.array([record.position for record in records], np.int64),
        sizes=np.array([record.size_bytes for record in records], np.int64),
        lines=_known([record.line for record in records]),
        fields=_known([record.fields for record in records]),
        nulls=nulls if nulls.any() else None,
        lacks=_common([record.lacks for record in records]),
    )


def batched(found: Iterable[Record | InputProblem]) -> Found:
    """Yield the records in batches, and each problem where it occurs between them.

    If reading raises an exception, the records before it are yielded first.
    """
    records: list[Record] = []
    size = 0
    try:
        for each in found:
            if isinstance(each, Record):
                records.append(each)
                size += each.size_bytes
                if len(records) < COLLECTED_RECORDS and size < COLLECTED_BYTES:
                    continue
            if records:
                yield batch_of(records)
                records, size = [], 0
            if isinstance(each, InputProblem):
                yield each
    except Exception:
        if records:
            yield batch_of(records)
        raise
    if records:
        yield batch_of(records)


def made(
    found: Iterable[Any], name: str, make: Callable[[Any, int], Record | None], first: int = 1
) -> Iterator[Record | InputProblem]:
    """Yield `make(item, number)` for each item found, unless that is None.

    An error that `make` raises, or that is found in place of an item, becomes a problem.
    """
    for position, each in enumerate(found, first):
        try:
            if isinstance(each, InputError):
                raise each
            if (record := make(each, position)) is not None:
                yield record
        except CONTENT_ERRORS as error:
            yield InputProblem.at(name, position, error)


def checked(
    found: Found, reading: SourceOptions, names: Collection[FieldName] | None = None
) -> Found:
    """Yield what readers find; raise FieldError at the end for a field that no record has.

    The name of such a field must be wrong.  `names`: fields to check, which are in `Asked.needed`;
    by default the text and `reading.fields`.  With on_error="raise", InputError is raised for the
    first problem, except for nulls that `on_null` handles.
    """
    usual = (*((reading.text_field,) if reading.has_texts else ()), *reading.fields)
    fields = list(map(field_named, usual if names is None else names))
    known = {part.name for each in fields for parts in each.choices for part in parts}
    known |= {each.label for each in fields}
    text = field_named(reading.text_field).label
    lacks: dict[str, str] = {}
    present: set[str] = set()
    for each in found:
        own: dict[str, str] = {}
        if isinstance(each, Batch) and len(each):
            own = {name: f"{each.where(0)}: {lack}" for name, lack in each.lacks}
            present |= known - own.keys()
        elif isinstance(each, InputProblem):
            lack = each.reason.removeprefix(ABSENT)
            is_null = reading.on_null and each.is_null
            if reading.on_error == RAISE and not is_null:
                raise InputError(f"{each.where}: {lack}")
            is_given = reading.text_field in reading.given
            if lack.startswith(f"{NO_FIELD} {text!r};") and (is_given or lack != each.reason):
                own = {text: f"{each.where}: {lack}"}
            elif lack.startswith(NO_TEXT):
                present.add(text)
        lacks = {**own, **lacks}
        yield each
    for name in sorted(lacks.keys() & known - present):
        raise FieldError(lacks[name])


def make_record(
    value: Any,
    reading: SourceOptions,
    *,
    source: str,
    position: int,
    size_bytes: int,
    line: str | None = None,
) -> Record:
    """Return the record that a parsed object describes; raise InputError if it is invalid.

    `line`: the object as text, as it was read; None makes a JSON line from `value`.
    """
    if not isinstance(value, dict):
        raise InputError(f"{_kind(value)} instead of an object with fields; correct it")
    if isinstance(value, RepeatedNames):
        _check_repeated(value, reading)
    asked = reading.asked
    wanted, lacks = asked.text, lacks_of(value, reading)
    text, is_null = "", False
    if wanted is not None:
        content, lack = wanted.of(value), dict(lacks).get(wanted.label, "")
        is_null = content is None and bool(reading.on_null) and (reading.has_absent or not lack)
        if is_null and reading.on_null != KEEP:
            what = f"{ABSENT}{lack}" if lack else f"{NO_TEXT} in the field {wanted.label!r}"
            remedy = "on_null='keep' keeps such records, on_null='drop' leaves them out"
            raise InputError(f"{what}; {remedy}")
        if lack and not is_null:
            raise InputError(lack)
        text = "" if is_null else _text(content, reading)
    id = make_id(asked.id.of(value), reading, place(source, position))
    written = None
    if reading.has_lines:
        written = waiting_line(value) if line is None else line.encode("utf-8", "surrogateescape")
    fields: dict[Any, Any] | None = None
    if reading.fields:
        fields = {each.name: each.of(value) for each in asked.others}
    elif reading.has_fields:
        fields = asked.id.without(value if wanted is None else wanted.without(value))
    return Record(
        id=id, text=text, source=source, position=position, size_bytes=size_bytes, line=written,
        fields=fields, is_null=is_null, lacks=lacks,
    )  # fmt: skip


def place(source: str, position: int) -> str:
    """Return the place of a document in the input; position 0 is the whole source."""
    return f"{source}:{position}" if position else source


def check_columns(
    header: Sequence[str], reading: SourceOptions, name: str, shape: Mapping[str, Any] | None = None
) -> None:
    """Check the columns of the table `name`, and note their names in `Origins`.

    `shape`: objects in the columns, by name.  Raises InputError if a needed column is missing or
    appears twice, or FieldError if the user named its field.  The columns of `fields` may be
    missing unless they are in `given`.
    """
    if reading.origins is not None:
        reading.origins.headers[name] = header
        if shape is None and not reading.has_header:
            reading.origins.nameless.add(name)
    record = dict.fromkeys(header, True) if shape is None else shape
    for wanted in dict.fromkeys(reading.asked.every):
        names = {place[0] for place in wanted.used(record)}
        repeated = next((own for own in names if header.count(own) > 1), None)
        lacking = wanted.lacking(record) if wanted in reading.asked.needed else []
        problem = _lack(lacking[0], wanted.name, reading, header, "column") if lacking else ""
        is_asked = wanted.name in (*reading.given, *reading.fields)
        if repeated is not None:
            problem = f"several columns are called {repeated!r}; rename one, or name another"
            problem += f" (found: {_names(header)})"
        if problem and (wanted.name in reading.given or (is_asked and repeated is not None)):
            raise FieldError(f"{name}: {problem}")
        if problem and not is_asked:
            raise InputError(problem)


def byte_count(text: str) -> int:
    """Return the number of bytes of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def valid_name(path: str) -> str:
    """Return a path as valid Unicode, with \\xNN for each byte that is not UTF-8."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def check_id(id: InputId) -> None:
    """Raise InputError for an id that a database cannot store."""
    if isinstance(id, int):
        if not -(2**63) <= id < 2**64:
            raise InputError(f"the id {id} does not fit in 64 bits; leave out --int-ids")
        return
    if SURROGATES.search(id):
        raise InputError("the id is not valid Unicode; correct it")
    if len(id) > ID_BYTES_MAX or len(id.encode()) > ID_BYTES_MAX:
        raise InputError(f"the id {id[:40]!r}... is longer than {ID_BYTES_MAX} bytes; shorten it")


def lacks_of(record: Mapping[str, Any], reading: SourceOptions) -> Lacks:
    """Return the fields that a record should have but lacks."""
    return tuple(
        (name, _lack(name, each.name, reading, record))
        for each in reading.asked.needed
        if each.plain not in record
        for name in each.lacking(record)
    )


def _lack(
    name: str, wanted: FieldName, reading: SourceOptions, found: Iterable[str], what: str = "field"
) -> str:
    remedy = f"use id= to name the {what} with the id"
    if reading.has_texts and wanted == reading.text_field:
        remedy = f"use text= to name the {what} with the text"
    elif wanted in reading.fields:
        is_given = wanted in reading.given
        remedy = f"fields= names {what}s that every source has" if is_given else "name another"
    return f"no {what} {name!r}; {remedy} (found: {_names(found)})"


def _check_repeated(value: RepeatedNames, reading: SourceOptions) -> None:
    used = (place[0] for each in reading.asked.every for place in each.used(value))
    repeated = next(filter(value.repeated.__contains__, used), None)
    if repeated is not None:
        raise InputError(f"several fields are called {repeated!r}; rename all but one of them")


def _text(text: Any, reading: SourceOptions) -> str:
    name, text = field_named(reading.text_field).label, reading.read_as(text)
    if isinstance(text, bytes):
        text = decoded(text, reading.encoding, reading.errors)
    if not isinstance(text, str):
        raise InputError(
            f"the field {name!r} holds {_kind(text)}, not text; use text= to name another"
        )
    return valid_text(text, f"the field {name!r} holds ", reading)


def valid_text(text: str, subject: str, reading: SourceOptions) -> str:
    """Return `text` with U+FFFD for each undecodable byte; raise InputError unless `replace`.

    `subject` is the start of the message, such as "the field 'text' holds ".
    """
    with suppress(UnicodeEncodeError):  # encoding is faster than searching
        text.encode()
        return text
    if reading.errors != "replace":
        raise InputError(f"{subject}{_undecoded(text, reading.encoding)}")
    return SURROGATES.sub("\ufffd", text)


def _undecoded(text: str, encoding: str) -> str:
    """Explain what was wrong with bytes that decoding turned into surrogates."""
    name = without_mark(encoding)
    try:
        text.encode(name, "surrogateescape").decode(name)
    except UnicodeDecodeError as error:
        return explained(error)
    except UnicodeEncodeError:
        pass
    return "half of a character (a lone surrogate); use errors='replace'"


def make_id(id: Any, reading: SourceOptions, default: str) -> InputId:
    """Return the id that a field holds, or `default` if it is empty.

    Values that only tables have become text: dates, numbers, UUIDs and bytes.  Bytes that are not
    printable text become hexadecimal digits.  Raises InputError if the value is not an id.
    """
    if isinstance(id, bytes):
        form = text_form(id)
        id = form if isinstance(form, str) and form.isprintable() else id.hex()
    if id is None or id == "":
        if reading.has_int_ids:
            name = field_named(reading.id_field).label
            raise InputError(f"{NO_FIELD} {name!r}, but --int-ids needs it; add it")
        id = default
    if isinstance(id, bool | list | dict):
        name = field_named(reading.id_field).label
        raise InputError(
            f"the field {name!r} holds {_kind(id)}, not an id; use id= to name another"
        )
    made = as_int_id(id) if reading.has_int_ids else str(id)
    check_id(made)
    return made


def as_int_id(id: Any) -> int:
    """Return an id as an int; raise InputError unless it is a whole number."""
    with suppress(ValueError, OverflowError, TypeError):
        number = int(id)
        if isinstance(id, str) or number == id:
            return number
    raise InputError(f"the id {id!r} is not a whole number; leave out --int-ids")


def _names(value: Iterable[str]) -> str:
    names = [str(name) for name in value]
    shown = ", ".join(repr(name[:40]) for name in names[:NAMED_FIELDS])
    return (shown or "none") + (", ..." if len(names) > NAMED_FIELDS else "")


def _kind(value: Any) -> str:
    """Return the kind of a value in the words of JSON."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "text"
    return "a list" if isinstance(value, list) else "an object"


def _common(every: Sequence[Lacks]) -> Lacks:
    """Return the fields that all records lack, each with its first message."""
    if not every or not all(every):
        return ()
    common = set.intersection(*({name for name, _ in lacks} for lacks in every))
    return tuple((name, lack) for name, lack in every[0] if name in common)


def _joined_texts(parts: list[Texts]) -> Texts:
    columns = [part for part in parts if isinstance(part, TextColumn)]
    if len(columns) == len(parts):
        return joined_columns(columns)
    return [text for part in parts for text in part if isinstance(text, str)]


def _joined_arrays(batches: Sequence[Batch], name: str, missing: int) -> Any:
    """Return a column of all batches, `missing` in those without it; None if none has it."""
    columns = [getattr(each, name) for each in batches]
    if all(column is None for column in columns):
        return None
    filled = (np.full(len(each), missing) for each in batches)
    pairs = zip(columns, filled, strict=True)
    return np.concatenate([other if column is None else column for column, other in pairs])


def _chained(columns: Iterable[Iterable[Value]]) -> list[Value]:
    return list(chain.from_iterable(columns))


def _known(column: list[Value | None]) -> list[Value | None] | None:
    """Return a column, or None if all values are missing."""
    return None if column.count(None) == len(column) else column


def with_ids(batch: Batch, reading: SourceOptions) -> Found:
    """Yield the records of a batch, at least one and all of one source.

    Its `ids` are the values of the id fields, None if a record has none.  A bad id is a problem.
    """
    ids = _plain_ids(batch, reading)
    name, places = batch.sources[0], batch.positions.tolist()
    problems: list[tuple[int, str]] = []
    if ids is None:
        ids = []
        for at, (id, position) in enumerate(zip(batch.ids, places, strict=True)):
            try:
                ids.append(make_id(id, reading, place(name, position)))
            except InputError as error:
                ids.append("")
                problems.append((at, str(error)))
    batch, start = replace(batch, ids=ids), 0
    for at, reason in problems:
        if start < at:
            yield batch.part(start, at)
        yield InputProblem(name, batch.where(at), reason)
        start = at + 1
    if not start:
        yield batch
    elif start < len(batch):
        yield batch.part(start, len(batch))


def _plain_ids(batch: Batch, reading: SourceOptions) -> list[InputId] | None:
    """Return the result of `make_id` for each id; None if ids must be checked one by one."""
    given: list[Any] = batch.ids
    kinds = set(map(type, given))
    if kinds == {int}:
        if reading.has_int_ids:
            return given if min(given) >= INT_MIN and max(given) < INT_STOP else None
        texts = [str(id) for id in given]
        return [*texts] if max(map(len, texts)) <= PLAIN_CHARACTERS else None
    if reading.has_int_ids:
        return None
    if kinds == {str}:
        return given if "" not in given and max(map(len, given)) <= PLAIN_CHARACTERS else None
    if kinds == {type(None)} and len(batch.where(-1)) <= PLAIN_CHARACTERS:
        name = batch.sources[0]
        return [place(name, position) for position in batch.positions.tolist()]
    return None


def other_ids(own: InputId, source: str, position: int) -> Iterator[InputId]:
    """Yield other ids for a document whose id is taken, without end."""
    base = f"{own}"
    if position:
        base = f"{source}:{position}:{own}"
        short = f"{source}:{own}"
        if len(base.encode()) + len("#9999") > ID_BYTES_MAX:
            base = short = f"{source}:{position}"
        yield short
        yield base
    for number in count(2):
        yield f"{base}#{number}"
