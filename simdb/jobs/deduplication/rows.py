"""Rows: data of any kind, as rows with fields.

pandas, polars, pyarrow and datasets are never imported here: data can be an object of such a
library only if the program has already loaded it.  A class for each kind of data returns a column,
all rows as records, and chosen rows as data of the same kind.  `RowTexts` has the text of each row,
with nulls.

Rows can also be vectors of floats, such as embeddings, which are compared by their cosine, or ready
fingerprints, which are compared by their distance.  `RowHashes` replaces `RowTexts` for rows that
are hashes, with a sketch of `Bits`: they are read once and kept packed.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, compress
from typing import Any, ClassVar, NoReturn, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from simdb import database, jobs
from simdb.core import arrow
from simdb.core.arrays import Fingerprints, class_of, is_table, object_array
from simdb.core.checks import shares, shown
from simdb.core.choices import ERROR
from simdb.core.decoding import UTF8, as_text, byte_column, decoded_column
from simdb.core.dtypes import I64, Array, Bools
from simdb.core.errors import InputError, OptionError
from simdb.core.fields import Field, FieldName, distinct, field_named
from simdb.core.keeping import is_missing
from simdb.core.options import AnySketch, Bits, Options, Simhash
from simdb.core.previews import counted
from simdb.core.scales import COSINES
from simdb.core.skipped import Skipped, part_of
from simdb.core.threads import mapped, thread_count
from simdb.core.values import dataclass, replace
from simdb.jobs.deduplication.question import DedupQuestion
from simdb.sketch import NO_RESOURCES, hash_bits, read_hashes, sketcher_of

DIGEST_BYTES = 16
ROW = "row {} of data"
# Rows per batch of texts.
READ_ROWS = 4096
Floats = npt.NDArray[np.floating]
# The columns that `RowTexts` decodes.
Undecoded: TypeAlias = arrow.TextColumn | arrow.ByteColumn | Sequence[Any]
WANTED = "vectors are an array float[n, d], or a list of arrays float[d]"

REMEDY = (
    "data must be texts or rows: a list of str, a dict of texts by their ids, a DataFrame or Series"
    " of pandas or polars, an Arrow table or array, a relation of DuckDB, a Dataset or DatasetDict"
    " of datasets, or an iterable of dicts"
)

# Data that must be converted first, and the remedy.
NOT_READ = {
    ("datasets", "IterableDataset"): "give iter(data), whose survivors are a list of dicts",
    ("datasets", "IterableDatasetDict"): "give iter() of one of its splits",
}


class DataRows(Protocol):
    """Data of one kind, as rows."""

    def __len__(self) -> int:
        """Count the rows."""

    def texts(self, name: FieldName) -> Undecoded:
        """Return the texts: the field `name` of each row, or the rows if they have no fields."""

    def column(self, name: FieldName) -> list[Any]:
        """Return the field `name` of each row; raise OptionError if there is none."""

    @property
    def names(self) -> Sequence[Any]:
        """The names of the columns, which can repeat; empty if rows have no columns."""

    def records(self) -> Iterator[Any]:
        """Yield each row: a dict with `distinct` names, or the text if it has no fields."""

    def chosen(self, is_chosen: Bools) -> Any:
        """Return the chosen rows, in their order, as data of the same kind."""

    def with_field(self, name: FieldName, values: Sequence[Any]) -> Any:
        """Return all rows with `values` in the field `name`, as data of the same kind.

        Rows without fields are replaced by the values.
        """


def rows_of(data: Any, skipped: Skipped | None = None, *, are_hashes: bool = False) -> DataRows:
    """Return the rows of `data`; raise InputError if its kind has no rows.

    If most rows are dicts, `skipped` takes the others, if it is allowed.  `are_hashes`: rows that
    could also be texts, vectors or fingerprints are hashes.
    """
    skipped = Skipped() if skipped is None else skipped
    for (module, name), remedy in NOT_READ.items():
        if is_of(data, module, name):
            raise InputError(f"data is a {module}.{name}; {remedy}")
    if is_of(data, "pandas", "DataFrame"):
        return PandasFrame(data)
    if is_of(data, "polars", "DataFrame"):
        return PolarsFrame(data)
    if is_of(data, "polars", "LazyFrame"):
        return PolarsFrame(data.collect(), is_lazy=True)
    if is_of(data, "pyarrow", "Table") or is_of(data, "pyarrow", "RecordBatch"):
        return ArrowTable(data)
    if is_of(data, "datasets", "Dataset"):
        return HubDataset(data)
    if is_of(data, "datasets", "DatasetDict"):
        return HubSplits(data, {name: HubDataset(split) for name, split in data.items()})
    if are_hashes and isinstance(data, np.ndarray | Fingerprints):
        return ReadyRows(data, data)
    if not are_hashes and (vectors := vectors_of(data, skipped)) is not None:
        return vectors
    is_series = is_of(data, "pandas", "Series") or is_of(data, "polars", "Series")
    is_array = is_of(data, "pyarrow", "Array") or is_of(data, "pyarrow", "ChunkedArray")
    if is_series or is_array or isinstance(data, np.ndarray):
        return Values(data)
    if isinstance(data, Mapping):
        return ById(data if skipped.is_allowed or are_hashes else checked_texts(data))
    if hasattr(data, arrow.STREAM):
        # A relation of DuckDB, a reader of batches, or a table of another library.
        return ArrowTable(arrow.load_arrow(f"data as {class_of(data)}").table(data))
    if isinstance(data, str | bytes) or not isinstance(data, Iterable):
        raise InputError(f"{REMEDY}; got {type(data).__name__} {shown(data)}")
    if is_table(data):
        raise InputError(f"{REMEDY}; convert the {class_of(data)} to one of these")
    values = data if isinstance(data, list | tuple) else list(data)
    are_texts = set(map(type, values)) <= {str, bytes}  # the usual case, many times faster
    count = 0 if are_texts else sum(isinstance(each, Mapping) for each in values)
    if not count or (skipped.is_allowed and count < len(values) / 2):
        return Values(values)
    if skipped.is_allowed and count < len(values):
        for row, each in enumerate(values):
            if not isinstance(each, Mapping):
                skipped.add(row, row, f"is {type(each).__name__}, but other rows are dicts")
        values = [each if isinstance(each, Mapping) else {} for each in values]
    return Records(values)


@dataclass(frozen=True, slots=True)
class Values:
    """Texts without fields: a list or tuple, a Series, or an array of numpy or Arrow."""

    names: ClassVar[Sequence[Any]] = ()
    data: Any

    def __len__(self) -> int:
        """Count the texts."""
        return len(self.data)

    def texts(self, name: FieldName) -> Undecoded:
        """Return the texts, for any `name`."""
        if isinstance(self.data, list | tuple):
            return self.data
        if isinstance(self.data, np.ndarray) and self.data.ndim != 1:
            raise InputError(f"{REMEDY}; got an array of the shape {self.data.shape}")
        return text_values(self.data)

    def column(self, name: FieldName) -> list[Any]:
        """Raise OptionError; but return [] for no texts, since empty data may have any fields."""
        if not len(self.data):
            return []
        raise OptionError(
            f"there is no field {name!r}, because data is a list of texts; give rows with fields,"
            " such as a DataFrame or dicts (or ids as a list: id=[...])"
        )

    def records(self) -> Iterator[Any]:
        """Yield each text."""
        return iter(listed(self.data))

    def chosen(self, is_chosen: Bools) -> Any:
        """Return the chosen texts, as data of the same kind."""
        if isinstance(self.data, list | tuple):
            places = np.flatnonzero(is_chosen).tolist()
            return type(self.data)([self.data[place] for place in places])
        return filtered(self.data, is_chosen)

    def with_field(self, name: FieldName, values: Sequence[Any]) -> Any:
        """Return the values, as data of the same kind."""
        if isinstance(self.data, list | tuple):
            return type(self.data)(values)
        if isinstance(self.data, np.ndarray):
            return np.array(values, self.data.dtype if self.data.dtype == object else None)
        if is_of(self.data, "pandas", "Series"):
            made = self.data.astype(object)
            made[:] = values
            return made
        if is_of(self.data, "polars", "Series"):
            return type(self.data)(self.data.name, values)
        pyarrow = arrow.load_arrow("an Arrow array")
        made = pyarrow.array(values, self.data.type)
        return made if is_of(self.data, "pyarrow", "Array") else pyarrow.chunked_array([made])


@dataclass(frozen=True, slots=True)
class ById(Values):
    """Texts without fields, by their ids: a dict."""

    def texts(self, name: FieldName) -> list[Any]:
        """Return the texts, for any `name`."""
        return list(self.data.values())

    def column(self, name: FieldName) -> list[Any]:
        """Return the field "id" or "text"; raise OptionError for any other name."""
        if name not in ("id", "text"):
            _refuse(name, ("id", "text"))
        return list(self.data) if name == "id" else self.texts(name)

    def records(self) -> Iterator[Any]:
        """Yield each id with its text."""
        return ({"id": id, "text": text} for id, text in self.data.items())

    def chosen(self, is_chosen: Bools) -> dict[Any, Any]:
        """Return the chosen texts with their ids."""
        return dict(compress(self.data.items(), is_chosen.tolist()))

    def with_field(self, name: FieldName, values: Sequence[Any]) -> dict[Any, Any]:
        """Return a dict of the values by the ids."""
        return dict(zip(self.data, values, strict=True))


def own_ids(rows: DataRows) -> list[Any] | None:
    """Return the keys of a dict of texts as ids; None for any other data."""
    return list(rows.data) if isinstance(rows, ById) else None


def checked_texts(data: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return `data`; raise InputError if it is a dict of columns or rows and not of texts."""
    for id, value in data.items():
        if not isinstance(value, str | bytes) and not is_missing(value):
            raise InputError(
                f"a dict has texts by their ids, but {shown(id)} has {shown(value)}"
                f" ({type(value).__name__}); give columns as a DataFrame or pyarrow.table(data),"
                " and rows as list(data.values())"
            )
    return data


@dataclass(frozen=True, slots=True)
class Records:
    """Rows that are dicts; a missing field is null."""

    names: ClassVar[Sequence[Any]] = ()
    data: Sequence[Any]

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.data)

    def texts(self, name: FieldName) -> list[Any]:
        """Return the field `name` of each row."""
        return self.column(name)

    def column(self, name: FieldName) -> list[Any]:
        """Return the field `name` of each row, None if a row lacks it."""
        for row, each in enumerate(self.data):
            if not isinstance(each, Mapping):
                raise InputError(f"row {row} is {type(each).__name__}, but other rows are dicts")
        wanted = field_named(name)
        _check_fields(wanted, self.data, self.data[0])
        return list(map(wanted.of, self.data))

    def records(self) -> Iterator[Any]:
        """Yield each dict."""
        return iter(self.data)

    def chosen(self, is_chosen: Bools) -> list[Any]:
        """Return the chosen dicts."""
        return [self.data[place] for place in np.flatnonzero(is_chosen).tolist()]

    def with_field(self, name: FieldName, values: Sequence[Any]) -> list[Any]:
        """Return copies of the dicts with `values` in the field `name`."""
        wanted = field_named(name)
        pairs = zip(self.data, values, strict=True)
        return [wanted.replaced(row, value) for row, value in pairs]


@dataclass(frozen=True, slots=True)
class Frame:
    """Rows in columns; `_column` finds a column by its name."""

    data: Any

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.data)

    def texts(self, name: FieldName) -> Undecoded:
        """Return the texts in the column `name`."""
        plain = field_named(name).plain
        return self.column(name) if plain is None else text_values(self._column(plain))

    @property
    def names(self) -> Sequence[Any]:
        """The names of the columns, which can repeat."""
        found = getattr(self.data, "column_names", None)
        return list(self.data.columns if found is None else found)

    def column(self, name: FieldName) -> list[Any]:
        """Return the column `name`, or the field that `name` combines from several columns."""
        wanted = field_named(name)
        if wanted.plain is not None:
            return self._values(wanted.plain)
        names = [each for each in dict.fromkeys(self.names) if each in wanted.tops]
        columns = [[None if is_missing(value) else value for value in self._values(each)]
                   for each in names]  # fmt: skip
        rows = [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]
        _check_fields(wanted, rows or [dict.fromkeys(names)], self.names)
        return list(map(wanted.of, rows))

    def _values(self, name: str) -> list[Any]:
        """Return one column as Python objects."""
        return list(listed(self._column(name)))

    def _one(self, name: FieldName) -> str:
        """Return the only column of a field; raise OptionError if the field is not one column."""
        wanted = field_named(name)
        known = [each for each in dict.fromkeys(self.names) if each in wanted.tops]
        if wanted.plain is None and (len(known) != 1 or (known[0],) not in wanted.paths):
            raise OptionError(
                f"changed texts are written back to one column, but {wanted.label!r} is not a"
                " single column; name one column"
            )
        return known[0] if wanted.plain is None else wanted.plain

    def _column(self, name: str) -> Any:
        """Return the column `name`; raise OptionError unless exactly one has the name."""
        names = list(self.names)
        if name not in names:
            _refuse(name, names)
        if names.count(name) > 1:
            raise OptionError(f"data has several columns with the name {name!r}; rename them")
        return self.data[name]


@dataclass(frozen=True, slots=True)
class PandasFrame(Frame):
    """A DataFrame of pandas."""

    def records(self) -> Iterator[Any]:
        """Yield each row as a dict."""
        names = distinct(self.names)
        return iter(self.data.set_axis(names, axis="columns").to_dict("records"))

    def chosen(self, is_chosen: Bools) -> Any:
        """Return the chosen rows, with their labels in the index."""
        return self.data[is_chosen]

    def with_field(self, name: FieldName, values: Sequence[Any]) -> Any:
        """Return a frame with `values` in the column `name`."""
        return self.data.assign(**{self._one(name): object_array(values)})


@dataclass(frozen=True, slots=True)
class PolarsFrame(Frame):
    """A polars DataFrame; `is_lazy`: the input was a LazyFrame, and so are the results."""

    is_lazy: bool = False

    def records(self) -> Iterator[Any]:
        """Yield each row as a dict."""
        return iter(self.data.iter_rows(named=True))

    def chosen(self, is_chosen: Bools) -> Any:
        """Return the chosen rows."""
        return self._given(self.data[np.flatnonzero(is_chosen)])

    def with_field(self, name: FieldName, values: Sequence[Any]) -> Any:
        """Return a frame with `values` in the column `name`."""
        series = sys.modules["polars"].Series(self._one(name), values)
        return self._given(self.data.with_columns(series))

    def _given(self, frame: Any) -> Any:
        return frame.lazy() if self.is_lazy else frame


@dataclass(frozen=True, slots=True)
class ArrowTable(Frame):
    """A Table or a RecordBatch of pyarrow."""

    def records(self) -> Iterator[Any]:
        """Yield each row as a dict."""
        batches = self.data.to_batches() if hasattr(self.data, "to_batches") else [self.data]
        for batch in batches:
            yield from arrow.python_values(batch)

    def chosen(self, is_chosen: Bools) -> Any:
        """Return the chosen rows."""
        return filtered(self.data, is_chosen)

    def with_field(self, name: FieldName, values: Sequence[Any]) -> Any:
        """Return a table with `values` in the column `name`."""
        names, name = self.data.schema.names, self._one(name)
        are_texts = not any(isinstance(value, list) for value in values)
        kind = self.data.schema.field(name).type if name in names and are_texts else None
        column = arrow.load_arrow("an Arrow table").array(values, kind)
        if name not in names:
            return self.data.append_column(name, column)
        return self.data.set_column(names.index(name), name, column)

    def _values(self, name: str) -> list[Any]:
        """Return one column as Python objects."""
        return arrow.python_values(self._column(name))


@dataclass(frozen=True, slots=True)
class HubDataset(Frame):
    """A Dataset of the package datasets, whose texts are not copied and may be on disk."""

    def records(self) -> Iterator[Any]:
        """Yield each row as a dict, for any format of the dataset."""
        return iter(self.data.with_format(None))

    def chosen(self, is_chosen: Bools) -> Any:
        """Return the chosen rows as a selection from the same files."""
        return self.data.select(np.flatnonzero(is_chosen))

    def with_field(self, name: FieldName, values: Sequence[Any]) -> Any:
        """Return a dataset with `values` in the column `name`."""
        others, name = self.data, self._one(name)
        if name in self.data.column_names:
            others = self.data.remove_columns(name)
        return others.add_column(name, list(values))

    def _column(self, name: str) -> Any:
        if name not in self.names:
            _refuse(name, self.names)
        return self.data.with_format("arrow", columns=[name])[:].column(name)


@dataclass(frozen=True, slots=True)
class HubSplits:
    """A DatasetDict of the package datasets: the rows of all splits, in order."""

    data: Any
    splits: Mapping[str, HubDataset]

    def __len__(self) -> int:
        """Count the rows of all splits."""
        return sum(map(len, self.splits.values()))

    def texts(self, name: FieldName) -> Undecoded:
        """Return the texts in the column `name` of all splits."""
        return joined_texts([split.texts(name) for split in self.splits.values()])

    def column(self, name: FieldName) -> list[Any]:
        """Return the column `name` of all splits."""
        return [value for split in self.splits.values() for value in split.column(name)]

    @property
    def names(self) -> Sequence[Any]:
        """The names of the columns."""
        return next((split.names for split in self.splits.values()), ())

    def records(self) -> Iterator[Any]:
        """Yield each row as a dict."""
        return chain.from_iterable(split.records() for split in self.splits.values())

    def chosen(self, is_chosen: Bools) -> Any:
        """Return the chosen rows, in their splits."""
        stops = np.cumsum([len(split) for split in self.splits.values()], dtype=np.int64)
        parts = np.split(is_chosen, stops)[:-1]
        pairs = zip(self.splits.items(), parts, strict=True)
        return type(self.data)({name: split.chosen(part) for (name, split), part in pairs})

    def with_field(self, name: FieldName, values: Sequence[Any]) -> Any:
        """Return the splits with `values` in their columns `name`."""
        made, start = {}, 0
        for split, rows in self.splits.items():
            made[split] = rows.with_field(name, values[start : start + len(rows)])
            start += len(rows)
        return type(self.data)(made)


def _check_fields(wanted: Field, rows: Sequence[Any], names: Iterable[Any]) -> None:
    """Raise OptionError for a field, or a part of a field, that no row has."""
    missing: set[str] | None = None
    for row in rows:
        own = wanted.lacking(row)
        missing = set(own) if missing is None else missing.intersection(own)
        if not missing:
            return
    for name in sorted(missing or ()):
        _refuse(name, names)


def _refuse(name: Any, names: Iterable[Any]) -> None:
    known = ", ".join(map(repr, names)) or "none"
    raise OptionError(f"there is no field {name!r} in data; its fields are {known}")


class RowTexts:
    """The decoded texts of rows; `is_null` bool[n]: whether each row has no text."""

    def __init__(
        self, values: Undecoded, encoding: str = UTF8, errors: str = "strict", start: int = 0
    ) -> None:
        """Decode `values`, one for each row; InputError names a row that is neither text nor null.

        Error messages number the rows from `start`.
        """
        self._given = values
        if isinstance(values, arrow.ByteColumn):
            values = decoded_column(values, encoding, errors, start, ROW)
        self._values: arrow.TextColumn | Sequence[Any] = values
        if isinstance(values, arrow.TextColumn):
            self.is_null: Bools = values.lengths < 0
            return
        self.is_null = np.zeros(len(values), np.bool_)
        kinds = set(map(type, values))
        if kinds <= {str}:  # the usual case, many times faster
            return
        if bytes in kinds:
            rows = enumerate(values, start)
            values = [as_text(each, encoding, errors, ROW.format(row)) for row, each in rows]
            self._values = values
        for row, value in enumerate(values, start):
            if is_missing(value):
                self.is_null[row - start] = True
            elif not isinstance(value, str):
                remedy = f"; {WANTED}" if isinstance(value, list | np.ndarray) else ""
                if isinstance(value, int):
                    remedy = "; ready fingerprints are an array uint64[n]"
                raise InputError(
                    f"row {row} has {shown(value)} ({type(value).__name__}) where a text should"
                    f" be; text= names the field with the texts{remedy}"
                )

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.is_null)

    def every(self) -> arrow.TextColumn | Sequence[Any]:
        """Return the texts of all rows, None for a null."""
        return self._values

    def at(self, rows: I64) -> arrow.TextColumn | list[Any]:
        """Return the texts at the positions `rows`, in that order."""
        if isinstance(self._values, arrow.TextColumn):
            return self._values.chosen(rows)
        return [self._values[row] for row in rows.tolist()]

    def filled(self, rows: I64) -> arrow.TextColumn | list[Any]:
        """Return the texts at the positions `rows`, in that order; an empty text for a null."""
        found = self.at(rows)
        if isinstance(found, arrow.TextColumn):
            return found.filled()
        return [each if isinstance(each, str) else "" for each in found]

    def changed(self, rests: Mapping[int, str]) -> list[Any]:
        """Return the given texts with the new texts `rests` at some rows; bytes remain bytes."""
        given = self._given
        is_binary = isinstance(given, arrow.ByteColumn) and not given.is_string
        values = [given[at] for at in range(len(self))] if is_binary else list(self._values)
        if not isinstance(given, arrow.ByteColumn):
            values = list(given)
        for at, rest in rests.items():
            values[at] = rest.encode() if isinstance(values[at], bytes) else rest
        return values

    def batches(self) -> Iterator[arrow.TextColumn | list[Any]]:
        """Yield the texts of all rows in portions; an empty text for a null."""
        for start in range(0, len(self), READ_ROWS):
            yield self.filled(np.arange(start, min(start + READ_ROWS, len(self))))

    def checked_nulls(self, on_null: str) -> Bools:
        """Return `is_null`; raise InputError if any row has no text and `on_null` is "error"."""
        if on_null == ERROR and self.is_null.any():
            row, count = int(self.is_null.argmax()), int(np.count_nonzero(self.is_null))
            raise InputError(
                f"row {row} has no text ({count} of {len(self)} rows have none); on_null='keep'"
                " keeps such rows, and on_null='drop' removes them"
            )
        return self.is_null

    def sizes(self) -> I64:
        """Return the length of each text in UTF-8 bytes, 0 for a null: int64[n]."""
        if isinstance(self._values, arrow.TextColumn):
            return np.maximum(self._values.lengths, 0)
        return np.fromiter(map(len, self._contents()), np.int64, len(self))

    def digests(self) -> list[str]:
        """Return a distinct name for each row, derived from its text; "" for a null.

        The n-th row with a given text gets the same name in every call.
        """
        counts: dict[str, int] = {}
        names = []
        for content, has_none in zip(self._contents(), self.is_null.tolist(), strict=True):
            if has_none:
                names.append("")
                continue
            digest = jobs.digest(content, DIGEST_BYTES)
            number = counts[digest] = counts.get(digest, 0) + 1
            names.append(digest if number == 1 else f"{digest}-{number}")
        return names

    def _contents(self) -> Iterator[bytes]:
        """Yield each text in UTF-8; empty bytes for a null."""
        if isinstance(self._values, arrow.TextColumn):
            return arrow.encoded(self._values)
        nulls = zip(self._values, self.is_null.tolist(), strict=True)
        return arrow.encoded("" if has_none else value for value, has_none in nulls)


class RowHashes(RowTexts):
    """The hashes of rows: uint8[n, bits / 8], or uint64[n] for 64 bits; zeros for a null."""

    def __init__(self, hashes: Array, is_null: Bools) -> None:
        """Take the hashes; `is_null`: whether each row has none."""
        self.hashes, self.is_null = hashes, is_null

    @staticmethod
    def read(values: Any, sketch: Bits, skipped: Skipped, is_null: Any = None) -> "RowHashes":
        """Read `values`, one for each row; InputError names a row that is neither hash nor null.

        `skipped` takes such rows, if it is allowed.  `is_null`: whether each row is null, if that
        is known.
        """
        is_null = _nulls(values) if is_null is None else is_null
        if is_null.any():
            pairs = zip(values, is_null.tolist(), strict=True)
            values = [bytes(sketch.bits // 8) if none else value for value, none in pairs]
        hashes = read_hashes([bytes(sketch.bits // 8)], sketch.bits).repeat(len(values), axis=0)

        def put(row: int, some: Any) -> None:
            hashes[row : row + len(some)] = read_hashes(some, sketch.bits, row)

        skipped.note(put, 0, values)
        return RowHashes(hashes, is_null)

    def at(self, rows: I64) -> Any:
        """Return the hashes at the positions `rows`, in that order."""
        return self.hashes[rows]

    filled = at

    def sizes(self) -> I64:
        """Raise OptionError, since hashes have no lengths to choose by."""
        raise OptionError('hashes have one length; keep= is "first", "last", a field or a function')

    def fitted(self, options: Options) -> Options:
        """Return options with an order of bits that divides these hashes evenly into blocks."""
        sketch = options.sketch
        if not isinstance(sketch, Bits) or not options.is_wide or sketch.order:
            return options
        fitted = database.fit_bits(self.hashes, sketch, blocks=options.blocks)
        return replace(options, sketch=fitted)

    def _contents(self) -> Iterator[bytes]:
        """Yield each hash."""
        return (each.tobytes() for each in self.hashes)


def readable_texts(
    values: Undecoded, skipped: Skipped, sketch: AnySketch | None, encoding: str, errors: str
) -> RowTexts:
    """Return the texts of rows, with an empty text for each row that cannot be read.

    `skipped` takes these rows, if it is allowed; otherwise InputError names the first row that is
    neither text nor null.  `sketch`: the sketch, whose tokeniser may refuse texts; None for a
    usual one.
    """
    if not skipped.is_allowed:
        return RowTexts(values, encoding, errors)
    sketcher = None
    if sketch is not None and sketch.tokeniser:  # a function, which may refuse a text
        sketcher = sketcher_of(sketch, NO_RESOURCES, [sketch.tokeniser])

    def read(row: int, some: Any) -> None:
        found = RowTexts(some, encoding, errors, row)
        texts = found.filled(np.arange(len(found)))
        if sketcher is not None:
            sketcher.sketch(texts, errors=errors)
        elif errors == "strict" and not isinstance(texts, arrow.TextColumn):
            for each in texts:
                try:
                    each.encode()
                except UnicodeError as error:
                    raise InputError(f"document {row} is not valid Unicode: {error}") from error

    for start in range(0, len(values), READ_ROWS):
        skipped.note(read, start, values[start : start + READ_ROWS])
    if not len(skipped):
        return RowTexts(values, encoding, errors)
    flags = skipped.flags(len(values))
    if isinstance(values, arrow.TextColumn | arrow.ByteColumn):
        left = replace(values, lengths=np.where(flags, 0, values.lengths))
        return RowTexts(left, encoding, errors)
    pairs = zip(values, flags.tolist(), strict=True)
    return RowTexts(["" if is_bad else value for value, is_bad in pairs], encoding, errors)


def _nulls(values: Any) -> Bools:
    """Return whether each value is missing: bool[n]."""
    if isinstance(values, arrow.TextColumn | arrow.ByteColumn):
        return np.asarray(values.lengths < 0)
    flags = map(is_missing, values) if isinstance(values, list | tuple) else [False] * len(values)
    return np.fromiter(flags, np.bool_, len(values))


def is_of(data: Any, module: str, name: str) -> bool:
    """Return whether `data` is an instance of a class, if its package is loaded."""
    return isinstance(data, getattr(sys.modules.get(module), name, ()))


def text_values(values: Any) -> Undecoded:
    """Return a column of any library as texts, without a Python object for each if possible."""
    # A Series of Python objects has texts that Arrow would only copy.
    column = None if str(getattr(values, "dtype", "")) == "object" else byte_column(values)
    return listed(values) if column is None else column


def joined_texts(parts: list[Undecoded]) -> Undecoded:
    """Return the texts of several columns as one column."""
    filled = [part for part in parts if len(part)]
    columns = [part for part in filled if isinstance(part, arrow.ByteColumn)]
    if columns and len(columns) == len(filled):
        return arrow.joined(columns)
    return [part[at] for part in filled for at in range(len(part))]


def listed(values: Any) -> Sequence[Any]:
    """Return a column of any library as Python objects."""
    if isinstance(values, list | tuple):
        return values
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(values, method):
            return list(getattr(values, method)())
    return list(values)


def filtered(values: Any, is_chosen: Bools) -> Any:
    """Return the chosen values of a Series or an array, or rows of an Arrow table."""
    if type(values).__module__.partition(".")[0] == "pyarrow":
        return _arrow_filtered(values, arrow.load_arrow("an Arrow table").array(is_chosen))
    is_polars = is_of(values, "polars", "Series")
    return values[np.flatnonzero(is_chosen) if is_polars else is_chosen]


def _arrow_filtered(values: Any, is_chosen: Any) -> Any:
    """Return the chosen values of an Arrow array, or rows of a table or batch."""
    if hasattr(values, "schema"):
        columns = [_arrow_filtered(column, is_chosen) for column in values.columns]
        return type(values).from_arrays(columns, schema=values.schema)
    if hasattr(values, "chunks"):
        starts = np.cumsum([0, *map(len, values.chunks)]).tolist()
        parts = zip(values.chunks, starts, strict=False)
        chosen = mapped(
            lambda part: _arrow_filtered(part[0], is_chosen[part[1] : part[1] + len(part[0])]),
            parts, thread_count(),
        )  # fmt: skip
        return arrow.load_arrow("an Arrow table").chunked_array(list(chosen), values.type)
    return arrow.filtered_array(values, is_chosen)


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """Vectors as they were given, and as an array: `values` real[n, d], no row of zeros."""

    names: ClassVar[Sequence[Any]] = ()
    field: ClassVar[str] = "vector"  # their field in a file of records
    data: Any
    values: Any

    def __len__(self) -> int:
        """Count the vectors."""
        return len(self.values)

    def texts(self, name: FieldName) -> NoReturn:
        """Raise InputError, since vectors are not texts."""
        raise InputError("data are vectors, but this needs texts, or rows with a field of texts")

    def column(self, name: FieldName) -> NoReturn:
        """Raise OptionError, since vectors have no fields."""
        raise OptionError(
            f"there is no field {name!r}, because data are vectors; ids are given as a list,"
            ' id=[...], and keep= is "first", "last" or a function of a vector'
        )

    def records(self) -> Iterator[Any]:
        """Yield each vector as an array."""
        return iter(self.values)

    def chosen(self, is_chosen: Bools) -> Any:
        """Return the chosen vectors, as an array, list or tuple."""
        if isinstance(self.data, np.ndarray):
            return self.data[is_chosen]
        return type(self.data)([self.data[row] for row in np.flatnonzero(is_chosen).tolist()])

    def with_field(self, name: FieldName, values: Sequence[Any]) -> NoReturn:
        """Raise as `column` does."""
        self.column(name)

    def at(self, rows: I64) -> Any:
        """Return the vectors at the positions `rows`."""
        return part_of(self.values, rows)

    def no_texts(self, rows: I64) -> NoReturn:
        """Raise OptionError, since a page needs texts."""
        raise OptionError("report() shows texts, and these rows are vectors; look at .removed")

    @property
    def fitting(self) -> Options:
        """The options of a database for such vectors."""
        return Options(sketch=Simhash(vector_length=self.values.shape[1]))

    def asked(self, question: DedupQuestion, options: Options | None) -> DedupQuestion:
        """Return the question for vectors; raise OptionError for an argument that needs texts."""
        if question.verify == database.NUMBERS:
            raise OptionError("verify='numbers' compares texts, and data are vectors")
        if question.is_exact:
            refused = {
                f"policy={question.policy!r}": not question.is_star,
                "distance=": question.distance is not None,
                "sketch=": options is not None,
            }
            for name, is_given in refused.items():
                if is_given:
                    raise OptionError(f"for vectors, {name} needs verify='estimate'")
            shares(similarity=question.similarity, recall=question.recall)
        if question.similarity is not None or question.distance is not None:
            return question
        return replace(question, similarity=COSINES.usual)

    def sizes(self) -> NoReturn:
        """Raise OptionError, since vectors have no lengths to choose by."""
        raise OptionError('vectors have one length; keep= is "first", "last" or a function')


class ReadyRows(Vectors):
    """Ready fingerprints or hashes: `values` uint64[n], uint8[n, b] or `Fingerprints`."""

    field = "fingerprint"

    def texts(self, name: FieldName) -> Any:
        """Return the fingerprints, which are hashes."""
        return self.values

    def records(self) -> Iterator[Any]:
        """Yield each fingerprint: a number for 64 bits, otherwise hexadecimal text."""
        is_ready = isinstance(self.values, Fingerprints)
        bits = (self.values if is_ready else Fingerprints(self.values)).bits
        return iter(bits.tolist()) if bits.ndim == 1 else (each.tobytes().hex() for each in bits)

    def chosen(self, is_chosen: Bools) -> Any:
        """Return the chosen fingerprints, in the given form."""
        return self.at(np.flatnonzero(is_chosen))

    @property
    def fitting(self) -> Options:
        """The options of a database for such fingerprints."""
        return Options()

    def asked(self, question: DedupQuestion, options: Options | None) -> DedupQuestion:
        """Return the question, decided by estimates.

        Raises OptionError if that needs weights or texts.
        """
        values = self.values
        is_bare = not isinstance(values, Fingerprints) or (
            values.weights is None and values.vectors is None
        )
        if question.verify == database.NUMBERS:
            raise OptionError("verify='numbers' compares texts, and data are ready fingerprints")
        if is_bare and (question.distance is None or question.similarity is not None):
            raise OptionError(
                "data are ready fingerprints without weights, which are compared by distance only;"
                " give distance=, such as distance=3, and no similarity="
            )
        return replace(question, verify=database.ESTIMATE)


def vectors_of(data: Any, skipped: Skipped) -> Vectors | None:
    """Return `data` as vectors; None if it is something else.

    Raises InputError, which names the first row that is not a vector, not finite or all zeros.  If
    skipping is allowed, rows that are not finite or all zeros go to `skipped` instead.
    """
    if hasattr(data, "tocsr"):
        raise InputError(f"data is a sparse matrix; {WANTED}: give data.toarray()")
    if isinstance(data, Fingerprints):
        return ReadyRows(data, data)
    if isinstance(data, np.ndarray):
        return _of_array(data, skipped)
    first = data[0] if isinstance(data, list | tuple) and len(data) else None
    if isinstance(first, np.ndarray) and first.ndim:
        return Vectors(data, _checked(_stacked(data), skipped))
    if isinstance(first, list | tuple) and first and isinstance(first[0], float):
        stacked = _stacked([_array(row, at) for at, row in enumerate(data)])
        return Vectors(data, _checked(stacked, skipped))
    return None


def _of_array(data: npt.NDArray[Any], skipped: Skipped) -> Vectors | None:
    if data.dtype.kind == "f" and data.ndim == 2:
        return Vectors(data, _checked(data, skipped))
    if (data.dtype == np.uint64 and data.ndim == 1) or hash_bits(data):
        return ReadyRows(data, data)
    if data.dtype.kind in "iu" and data.ndim == 1 and len(data):
        raise InputError(
            f"data is an array of {data.dtype}; ready fingerprints are uint64[n], and texts are str"
        )
    if data.dtype.kind == "f" or (data.dtype.kind in "iub" and data.ndim > 1):
        cast = "" if data.dtype.kind == "f" else "; whole numbers need .astype(numpy.float32)"
        raise InputError(
            f"data is an array of {data.dtype} with the shape {data.shape}; {WANTED}{cast}"
        )
    return None


def _array(row: Any, at: int) -> Floats:
    """Return a list of numbers as an array."""
    try:
        return np.array(row, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"row {at} of data is {shown(row)}; {WANTED}") from error


def _stacked(rows: Sequence[Any]) -> Floats:
    """Return rows as one array.

    Raises InputError for a row that is not a vector of the same length.
    """
    length = len(rows[0])
    for at, row in enumerate(rows):
        if not isinstance(row, np.ndarray) or row.ndim != 1 or row.dtype.kind != "f":
            found = f"{row.dtype} of the shape {row.shape}" if hasattr(row, "dtype") else shown(row)
            raise InputError(f"row {at} of data is {found}; {WANTED}")
        if len(row) != length:
            raise InputError(
                f"row {at} of data has {len(row)} coordinates, but row 0 has {length};"
                " vectors of one model have one length"
            )
    return np.stack(rows)


def _checked(values: Floats, skipped: Skipped) -> Floats:
    """Return real[n, d]; raise InputError for a row that is not finite, or all zeros.

    If such rows may be skipped, `skipped` takes them, and ones replace their coordinates.
    """
    if not values.shape[1]:
        raise InputError("data are vectors without coordinates; they need 1 or more")
    if skipped.is_allowed:
        skipped.note(lambda row, some: _checked(some, Skipped()), 0, values)
        return np.where(skipped.flags(len(values))[:, None], values.dtype.type(1), values)
    wrong = np.logical_not(np.isfinite(values).all(axis=1))
    if wrong.any():
        row = int(wrong.argmax())
        column = int((~np.isfinite(values[row])).argmax())
        raise InputError(
            f"row {row} of data has {values[row, column]} at coordinate {column}"
            f" ({counted(int(wrong.sum()), 'such row')}); leave them out:"
            " data[numpy.isfinite(data).all(axis=1)]"
        )
    zero = np.logical_not(values.any(axis=1))
    if zero.any():
        raise InputError(
            f"row {int(zero.argmax())} of data is all zeros, which have no direction"
            f" ({counted(int(zero.sum()), 'such row')}); leave them out: data[data.any(axis=1)]"
        )
    return values
