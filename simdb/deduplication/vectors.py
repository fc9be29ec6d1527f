"""Vectors: rows that are vectors of floats, such as embeddings, compared by their cosine."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from simdb.deduplication.question import DedupQuestion
from simdb.engine.search.judge import NUMBERS
from simdb.ground.checks import share, shown
from simdb.ground.errors import InputError, OptionError
from simdb.settings.options import Options

Bools = npt.NDArray[np.bool_]
I64 = npt.NDArray[np.int64]
Floats = npt.NDArray[np.floating]

# From which cosine on vectors are alike, if nothing is said.
SIMILARITY = 0.95

# What a vector is called in a file of records.
FIELD = "vector"
WANTED = "vectors are an array float[n, d], or a list of arrays float[d]"


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """Vectors as they were given, and `values` real[n, d], of which none is zero."""

    data: Any
    values: Floats

    def __len__(self) -> int:
        """Count the vectors."""
        return len(self.values)

    def texts(self, name: str) -> NoReturn:
        """Raise InputError: a vector is no text."""
        raise InputError("data are vectors, but this needs texts, or rows with a field of texts")

    def column(self, name: str) -> NoReturn:
        """Raise OptionError: vectors have no fields."""
        raise OptionError(
            f"there is no field {name!r}, because data are vectors; ids are given as a list,"
            ' id=[...], and keep= is "first", "last" or a function of a vector'
        )

    def records(self) -> Iterator[Any]:
        """Yield each vector as an array."""
        return iter(self.values)

    def chosen(self, is_chosen: Bools) -> Any:
        """Return some vectors, as an array or a list."""
        if isinstance(self.data, np.ndarray):
            return self.data[is_chosen]
        return type(self.data)([self.data[row] for row in np.flatnonzero(is_chosen).tolist()])

    def with_field(self, name: str, values: Sequence[Any]) -> NoReturn:
        """Raise as `column` does."""
        self.column(name)

    def at(self, rows: I64) -> NoReturn:
        """Raise OptionError where the texts of rows are wanted."""
        raise OptionError("report() shows texts, and these rows are vectors; look at .removed")

    @property
    def documents(self) -> "VectorValues":
        """The values, as a search takes them."""
        return VectorValues(self.values)

    def asked(self, question: DedupQuestion, options: Options | None) -> DedupQuestion:
        """Return what is asked of vectors; OptionError for what is only asked of texts."""
        if question.verify == NUMBERS:
            raise OptionError("verify='numbers' compares texts, and data are vectors")
        if question.is_exact:
            refused = {
                f"policy={question.policy!r}": not question.is_star,
                "distance=": question.distance is not None,
                "sketch= and options=": options is not None,
            }
            for name, is_given in refused.items():
                if is_given:
                    raise OptionError(f"of vectors, {name} needs verify='estimate'")
            for name, value in (("similarity", question.similarity), ("recall", question.recall)):
                if value is not None:
                    share(name, value)
        if question.similarity is not None or question.distance is not None:
            return question
        return replace(question, similarity=SIMILARITY)

    def sizes(self) -> NoReturn:
        """Raise OptionError where the lengths of texts are wanted."""
        raise OptionError('vectors have one length; keep= is "first", "last" or a function')


@dataclass(frozen=True, slots=True, eq=False)
class VectorValues:
    """The values of vectors, real[n, d]."""

    values: Floats

    def __len__(self) -> int:
        """Count the vectors."""
        return len(self.values)

    def at(self, rows: I64) -> Floats:
        """Return some vectors."""
        return self.values[rows]


def vectors_of(data: Any) -> Vectors | None:
    """Return the vectors that data are, None if they are something else.

    InputError names the first row that is no vector, or has no direction.
    """
    if hasattr(data, "tocsr"):
        raise InputError(f"data is a sparse matrix; {WANTED}: give data.toarray()")
    if isinstance(data, np.ndarray):
        return _of_array(data)
    first = data[0] if isinstance(data, list | tuple) and len(data) else None
    if isinstance(first, np.ndarray) and first.ndim:
        return Vectors(data, _checked(_stacked(data)))
    if isinstance(first, list | tuple) and first and isinstance(first[0], float):
        return Vectors(data, _checked(_stacked([_array(row, at) for at, row in enumerate(data)])))
    return None


def _of_array(data: npt.NDArray[Any]) -> Vectors | None:
    if data.dtype.kind == "f" and data.ndim == 2:
        return Vectors(data, _checked(data))
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
    """Return rows as one array; InputError for one that is no vector, or of another length."""
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


def _checked(values: Floats) -> Floats:
    """Return real[n, d]; InputError for a row without a direction."""
    if not values.shape[1]:
        raise InputError("data are vectors without coordinates; they need 1 or more")
    wrong = np.logical_not(np.isfinite(values).all(axis=1))
    if wrong.any():
        row = int(wrong.argmax())
        column = int((~np.isfinite(values[row])).argmax())
        raise InputError(
            f"row {row} of data has {values[row, column]} at coordinate {column}"
            f" ({_counted(wrong)}); leave them out: data[numpy.isfinite(data).all(axis=1)]"
        )
    zero = np.logical_not(values.any(axis=1))
    if zero.any():
        raise InputError(
            f"row {int(zero.argmax())} of data is all zeros, which have no direction"
            f" ({_counted(zero)}); leave them out: data[data.any(axis=1)]"
        )
    return values


def _counted(wrong: Bools) -> str:
    count = int(np.count_nonzero(wrong))
    return f"{count:,} such row{'' if count == 1 else 's'}"
