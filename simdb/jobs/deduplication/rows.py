"""Rows: data of any kind that people have texts in, as rows with fields.

pandas, polars, pyarrow and datasets are never imported: data can be an object of theirs only if the
program has loaded them.  Each kind of data knows how to give a column, the rows as records, and
the chosen rows as data of the same kind.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from typing import Any, ClassVar, Protocol

import numpy as np

from simdb.core.arrays import class_of, is_table, object_array
from simdb.core.arrow import STREAM, load_arrow, python_values
from simdb.core.checks import shown
from simdb.core.dtypes import Bools
from simdb.core.errors import InputError, OptionError
from simdb.core.fields import Field, FieldName, distinct, field_named
from simdb.core.keeping import is_missing
from simdb.core.skipped import Skipped
from simdb.jobs.deduplication.texts import (
    Undecoded,
    filtered,
    is_of,
    joined_texts,
    listed,
    text_values,
    vectors_of,
)

REMEDY = (
    "data must be texts or rows: a list of str, a dict of texts by their ids, a DataFrame or Series"
    " of pandas or polars, an Arrow table or array, a relation of DuckDB, a Dataset or DatasetDict"
    " of datasets, or an iterable of dicts"
)

# What is no table yet, and how it becomes one.
NOT_READ = {
    ("datasets", "IterableDataset"): "give iter(data), whose survivors are a list of dicts",
    ("datasets", "IterableDatasetDict"): "give iter() of one of its splits",
}


class DataRows(Protocol):
    """Some data as rows."""

    def __len__(self) -> int:
        """Count the rows."""

    def texts(self, name: FieldName) -> Undecoded:
        """Return the texts: the field `name` of each row, or the rows if they have no fields."""

    def column(self, name: FieldName) -> list[Any]:
        """Return the field `name` of each row; OptionError if there is none."""

    @property
    def names(self) -> Sequence[Any]:
        """The names of the columns, which can be equal; none if rows have no columns."""

    def records(self) -> Iterator[Any]:
        """Yield each row: a dict with `distinct` names, or the text itself without fields."""

    def chosen(self, is_chosen: Bools) -> Any:
        """Return some rows, in their order, as data of the same kind."""

    def with_field(self, name: FieldName, values: Sequence[Any]) -> Any:
        """Return all rows with `values` in the field `name`, as data of the same kind.

        Rows without fields become the values.
        """


def rows_of(data: Any, skipped: Skipped | None = None) -> DataRows:
    """Return the rows of `data`; InputError if it is of no kind that has rows.

    `skipped` takes rows that are of another kind than the others, if it is allowed.
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
    if (vectors := vectors_of(data, skipped)) is not None:
        return vectors
    is_series = is_of(data, "pandas", "Series") or is_of(data, "polars", "Series")
    is_array = is_of(data, "pyarrow", "Array") or is_of(data, "pyarrow", "ChunkedArray")
    if is_series or is_array or isinstance(data, np.ndarray):
        return Values(data)
    if isinstance(data, Mapping):
        return ById(data if skipped.is_allowed else checked_texts(data))
    if hasattr(data, STREAM):
        # A relation of DuckDB, a reader of batches, and tables that are not known here.
        return ArrowTable(load_arrow(f"data as {class_of(data)}").table(data))
    if isinstance(data, str | bytes) or not isinstance(data, Iterable):
        raise InputError(f"{REMEDY}; got {type(data).__name__} {shown(data)}")
    if is_table(data):
        raise InputError(f"{REMEDY}; convert the {class_of(data)} to one of these")
    values = data if isinstance(data, list | tuple) else list(data)
    count = sum(isinstance(each, Mapping) for each in values)
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
    """Texts without fields: a list or tuple, a Series, an array of numpy or Arrow."""

    names: ClassVar[Sequence[Any]] = ()
    data: Any

    def __len__(self) -> int:
        """Count the texts."""
        return len(self.data)

    def texts(self, name: FieldName) -> Undecoded:
        """Return the texts; `name` does not matter."""
        if isinstance(self.data, list | tuple):
            return self.data
        if isinstance(self.data, np.ndarray) and self.data.ndim != 1:
            raise InputError(f"{REMEDY}; got an array of the shape {self.data.shape}")
        return text_values(self.data)

    def column(self, name: FieldName) -> list[Any]:
        """Raise OptionError, unless there are no texts: then these can be rows without fields."""
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
        """Return some texts."""
        if isinstance(self.data, list | tuple):
            places = np.flatnonzero(is_chosen).tolist()
            return type(self.data)([self.data[place] for place in places])
        return filtered(self.data, is_chosen)

    def with_field(self, name: FieldName, values: Sequence[Any]) -> Any:
        """Return the values."""
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
        arrow = load_arrow("an Arrow array")
        made = arrow.array(values, self.data.type)
        return made if is_of(self.data, "pyarrow", "Array") else arrow.chunked_array([made])


@dataclass(frozen=True, slots=True)
class ById(Values):
    """Texts without fields, by their ids: a dict."""

    def texts(self, name: FieldName) -> list[Any]:
        """Return the texts; `name` does not matter."""
        return list(self.data.values())

    def column(self, name: FieldName) -> list[Any]:
        """Return the ids or the texts; OptionError for another field."""
        if name not in ("id", "text"):
            _refuse(name, ("id", "text"))
        return list(self.data) if name == "id" else self.texts(name)

    def records(self) -> Iterator[Any]:
        """Yield each id with its text."""
        return ({"id": id, "text": text} for id, text in self.data.items())

    def chosen(self, is_chosen: Bools) -> dict[Any, Any]:
        """Return some texts with their ids."""
        return dict(compress(self.data.items(), is_chosen.tolist()))

    def with_field(self, name: FieldName, values: Sequence[Any]) -> dict[Any, Any]:
        """Return the values, by the ids."""
        return dict(zip(self.data, values, strict=True))


def own_ids(rows: DataRows) -> list[Any] | None:
    """Return the ids that rows have without a field for them: the keys of a dict; or None."""
    return list(rows.data) if isinstance(rows, ById) else None


def checked_texts(data: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return a dict of texts; InputError for a dict of columns, or of rows."""
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
    """Dicts, each a row; a row without a field has null in it."""

    names: ClassVar[Sequence[Any]] = ()
    data: Sequence[Any]

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.data)

    def texts(self, name: FieldName) -> list[Any]:
        """Return the field `name` of each row."""
        return self.column(name)

    def column(self, name: FieldName) -> list[Any]:
        """Return the field `name` of each row, None where a row has no such field."""
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
        """Return some dicts."""
        return [self.data[place] for place in np.flatnonzero(is_chosen).tolist()]

    def with_field(self, name: FieldName, values: Sequence[Any]) -> list[Any]:
        """Return new dicts."""
        wanted = field_named(name)
        pairs = zip(self.data, values, strict=True)
        return [wanted.replaced(row, value) for row, value in pairs]


@dataclass(frozen=True, slots=True)
class Frame:
    """Rows in columns, each of which is found by `_column`."""

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
        """The names of the columns, which can be equal."""
        found = getattr(self.data, "column_names", None)
        return list(self.data.columns if found is None else found)

    def column(self, name: FieldName) -> list[Any]:
        """Return the column `name`, or what several have together."""
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
        """Return one column."""
        return list(listed(self._column(name)))

    def _one(self, name: FieldName) -> str:
        """Return the one column that a field is; OptionError for another field."""
        wanted = field_named(name)
        known = [each for each in dict.fromkeys(self.names) if each in wanted.tops]
        if wanted.plain is None and (len(known) != 1 or (known[0],) not in wanted.paths):
            raise OptionError(
                f"what changes texts needs one column with them, and {wanted.label!r} is none"
            )
        return known[0] if wanted.plain is None else wanted.plain

    def _column(self, name: str) -> Any:
        """Return the column `name`; OptionError if there is none."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class PandasFrame(Frame):
    """A DataFrame of pandas."""

    def records(self) -> Iterator[Any]:
        """Yield each row as a dict."""
        names = distinct(self.names)
        return iter(self.data.set_axis(names, axis="columns").to_dict("records"))

    def chosen(self, is_chosen: Bools) -> Any:
        """Return some rows, with their labels in the index."""
        return self.data[is_chosen]

    def with_field(self, name: FieldName, values: Sequence[Any]) -> Any:
        """Return a frame with a new column."""
        return self.data.assign(**{self._one(name): object_array(values)})

    def _column(self, name: str) -> Any:
        if name not in self.data.columns:
            _refuse(name, self.data.columns)
        series = self.data[name]
        if getattr(series, "ndim", 1) != 1:
            raise OptionError(f"data has several columns with the name {name!r}; rename them")
        return series


@dataclass(frozen=True, slots=True)
class PolarsFrame(Frame):
    """A DataFrame of polars; `is_lazy`: it was read from a LazyFrame, and gives such frames."""

    is_lazy: bool = False

    def records(self) -> Iterator[Any]:
        """Yield each row as a dict."""
        return iter(self.data.iter_rows(named=True))

    def chosen(self, is_chosen: Bools) -> Any:
        """Return some rows."""
        return self._given(self.data[np.flatnonzero(is_chosen)])

    def with_field(self, name: FieldName, values: Sequence[Any]) -> Any:
        """Return a frame with a new column."""
        series = sys.modules["polars"].Series(self._one(name), values)
        return self._given(self.data.with_columns(series))

    def _given(self, frame: Any) -> Any:
        return frame.lazy() if self.is_lazy else frame

    def _column(self, name: str) -> Any:
        if name not in self.data.columns:
            _refuse(name, self.data.columns)
        return self.data[name]


@dataclass(frozen=True, slots=True)
class ArrowTable(Frame):
    """A Table or a RecordBatch of pyarrow."""

    def records(self) -> Iterator[Any]:
        """Yield each row as a dict."""
        batches = self.data.to_batches() if hasattr(self.data, "to_batches") else [self.data]
        for batch in batches:
            yield from python_values(batch)

    def chosen(self, is_chosen: Bools) -> Any:
        """Return some rows."""
        return filtered(self.data, is_chosen)

    def with_field(self, name: FieldName, values: Sequence[Any]) -> Any:
        """Return a table with a new column."""
        names, name = self.data.schema.names, self._one(name)
        are_texts = not any(isinstance(value, list) for value in values)
        kind = self.data.schema.field(name).type if name in names and are_texts else None
        column = load_arrow("an Arrow table").array(values, kind)
        if name not in names:
            return self.data.append_column(name, column)
        return self.data.set_column(names.index(name), name, column)

    def _column(self, name: str) -> Any:
        names = self.data.schema.names
        if name not in names:
            _refuse(name, names)
        if names.count(name) > 1:
            raise OptionError(f"data has several columns with the name {name!r}; rename them")
        return self.data.column(name)

    def _values(self, name: str) -> list[Any]:
        """Return one column."""
        return python_values(self._column(name))


@dataclass(frozen=True, slots=True)
class HubDataset(Frame):
    """A Dataset of the package datasets; its texts stay where they are, on the disk too."""

    def records(self) -> Iterator[Any]:
        """Yield each row as a dict, whatever the format that the dataset has."""
        return iter(self.data.with_format(None))

    def chosen(self, is_chosen: Bools) -> Any:
        """Return some rows: the same files, and which of their rows."""
        return self.data.select(np.flatnonzero(is_chosen))

    def with_field(self, name: FieldName, values: Sequence[Any]) -> Any:
        """Return a dataset with a new column."""
        others, name = self.data, self._one(name)
        if name in self.data.column_names:
            others = self.data.remove_columns(name)
        return others.add_column(name, list(values))

    def _column(self, name: str) -> Any:
        if name not in self.data.column_names:
            _refuse(name, self.data.column_names)
        return self.data.with_format("arrow", columns=[name])[:].column(name)


@dataclass(frozen=True, slots=True)
class HubSplits:
    """A DatasetDict of the package datasets: the rows of its splits, one after the other."""

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
        """Return some rows, in the splits that they came from."""
        stops = np.cumsum([len(split) for split in self.splits.values()], dtype=np.int64)
        parts = np.split(is_chosen, stops)[:-1]
        pairs = zip(self.splits.items(), parts, strict=True)
        return type(self.data)({name: split.chosen(part) for (name, split), part in pairs})

    def with_field(self, name: FieldName, values: Sequence[Any]) -> Any:
        """Return the splits with a new column each."""
        made, start = {}, 0
        for split, rows in self.splits.items():
            made[split] = rows.with_field(name, values[start : start + len(rows)])
            start += len(rows)
        return type(self.data)(made)


def _check_fields(wanted: Field, rows: Sequence[Any], names: Iterable[Any]) -> None:
    """Raise OptionError for a field, or a part of one, that no row has."""
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
