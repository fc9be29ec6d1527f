"""Batches: the documents that were read from the input, in columns.

Every reader yields batches and problems, in the order of the input.  A reader that makes one record
after the other collects them with `batched`; a reader that parses many at once makes the columns.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from typing import Any, TypeVar

import numpy as np

from simdb.core.arrays import ID_BYTES_MAX
from simdb.core.arrow import TextColumn, encoded, joined as joined_columns
from simdb.core.choices import RAISE
from simdb.core.dtypes import I64, Bools
from simdb.core.errors import FieldError, InputError
from simdb.core.fields import FieldName, field_named
from simdb.files.origins import NOWHERE
from simdb.files.records import (
    ABSENT,
    NO_FIELD,
    NO_TEXT,
    InputId,
    InputProblem,
    Lacks,
    Record,
    SourceOptions,
    make_id,
    place,
)

# How much `batched` collects.
COLLECTED_RECORDS = 1024
COLLECTED_BYTES = 1 << 22

Value = TypeVar("Value")
# A column is valid UTF-8 without nulls.
Texts = list[str] | TextColumn
# Shorter ids are not too long, however many bytes a character takes.
PLAIN_CHARACTERS = ID_BYTES_MAX // 4
INT_MIN, INT_STOP = -(2**63), 2**64


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Batch:
    """Some documents; each column has one value for each of them, see `Record` for their meaning.

    `lines` and `fields` are None if `SourceOptions` did not ask for them.  `origins`: where the
    lines of the documents can be read again, see `Origins`; None if none of them can.  A document
    with an origin needs no line.  A row of a Parquet file has none: its position says which row it
    is.
    `nulls` bool[n]: which documents have no text; None if all have one.  `lacks`: the fields that
    are asked for and that no document has, each with a message.
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


def joined(batches: Sequence[Batch]) -> Batch:
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


def checked(
    found: Found, reading: SourceOptions, names: Collection[FieldName] | None = None
) -> Found:
    """Yield what readers found; FieldError at the end for a field that no record at all has.

    Then its name is wrong.  `names`: the fields that are looked at, of those in `Asked.needed`;
    the text and `reading.fields` if not given.
    With on_error="raise", InputError for the first problem but nulls that are asked for.
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
            is_null = reading.on_null and each.reason.startswith(NO_TEXT)
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


def _common(every: Sequence[Lacks]) -> Lacks:
    """Return what all records lack, with the first message."""
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

    Its `ids` are what the id fields hold, None if a record has none.  A bad id is a problem.
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
    """Return what `make_id` returns for each id; None if they must be looked at one by one."""
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
