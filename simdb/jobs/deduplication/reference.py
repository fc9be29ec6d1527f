"""Reference: the texts that data are compared with, which all stay and are written nowhere.

The documents of a reference have positions of their own.  Where one stands for a row of data, it is
the leader -1 - p, of the position p.
"""

import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any, NoReturn, Protocol

import numpy as np

from simdb import database
from simdb.core.arrays import Id, object_array
from simdb.core.arrow import TextColumn, joined
from simdb.core.dtypes import I64, Bools
from simdb.core.errors import NotPickledError
from simdb.files import Batch, Names, Origins, Staying, TextsAgain
from simdb.jobs.deduplication.texts import RowTexts


class Reference(Protocol):
    """The documents of a reference, by their positions."""

    @property
    def staying(self) -> Staying:
        """The files and folders that hold them, see `check_staying`."""

    @property
    def expected(self) -> float:
        """About how many documents there are."""

    def portions(self) -> Iterator[Any]:
        """Yield the texts of all documents, once; that of a null is empty."""

    def texts(self, positions: I64) -> Any:
        """Return the texts at some positions, None for one that is not known."""

    def names(self, positions: I64) -> Sequence[Any]:
        """Return the ids at some positions."""


def unknown(documents: Sequence[Any] | I64) -> list[None]:
    """Return the texts of stored documents, which nobody has given."""
    return [None] * len(documents)


def not_pickled() -> NotPickledError:
    """Return the error for a result that has no copy, because it reads texts again."""
    return NotPickledError(
        "this result cannot be pickled or copied, because it reads texts again in their files; take"
        " what you need of it, such as data and kept"
    )


class Listed:
    """A reference in memory: `rows` are its texts, and `ids` the id of each."""

    def __init__(self, rows: RowTexts, ids: Sequence[Any]) -> None:
        """Take the texts and the ids."""
        self.rows, self._ids = rows, ids
        self.staying: Staying = {}

    @property
    def expected(self) -> float:
        """How many documents there are."""
        return len(self.rows)

    def portions(self) -> Iterator[Any]:
        """Yield the texts of all documents; see `Reference`."""
        return self.rows.batches()

    def texts(self, positions: I64) -> Any:
        """Return the texts at some positions."""
        return self.rows.filled(positions)

    def names(self, positions: I64) -> list[Any]:
        """Return the ids at some positions."""
        return [self._ids[place] for place in positions.tolist()]


class FileReference:
    """A reference in files, whose texts are not in memory; temporary files go with this object."""

    def __init__(
        self, batches: Iterable[Batch], origins: Origins, expected: float, files: Sequence[str]
    ) -> None:
        """Read `batches`, which `files` hold.

        `origins`: where they can be read again, which this object frees.
        """
        self._batches, self.expected, self.staying = batches, expected, {"in against=": files}
        held = ExitStack()
        weakref.finalize(self, held.close)
        held.enter_context(origins)
        self._names, self._texts = Names(), TextsAgain(origins)
        for each in (self._names, self._texts):
            held.push(each)

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled."""
        raise not_pickled()

    def portions(self) -> Iterator[Any]:
        """Yield the texts of all documents; see `Reference`."""
        for batch in self._batches:
            self._names.add(batch)
            self._texts.add(batch)
            yield batch.texts

    def texts(self, positions: I64) -> Any:
        """Return the texts at some positions; InputError if a file was changed since."""
        return self._texts.texts(positions.astype(np.uint32))

    def names(self, positions: I64) -> list[Any]:
        """Return the ids at some positions, as they were read."""
        return self._names.of(positions, as_read=True)


class DatabaseReference:
    """The documents of a database as a reference; those that match something have positions."""

    expected = 0.0  # they are not read

    def __init__(self, held: database.Database) -> None:
        """Compare with what `held` has."""
        self.held = held
        self.staying: Staying = {}
        # Returns the texts of documents by their ids; a database keeps none.
        self.known: Callable[[list[Id]], Sequence[Any]] = unknown
        self._positions: dict[Id, int] = {}
        self._ids: list[Id] = []

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: without the database, which nothing asks again."""
        return vars(self) | {"held": None}

    def portions(self) -> Iterator[Any]:
        """Yield nothing: a database keeps no texts."""
        return iter(())

    def texts(self, positions: I64) -> Sequence[Any]:
        """Return the texts at some positions, None for one that is not known."""
        return self.known(self.names(positions))

    def names(self, positions: I64) -> list[Id]:
        """Return the ids at some positions."""
        return [self._ids[place] for place in positions.tolist()]

    def numbers(self, ids: Sequence[Id]) -> I64:
        """Return the positions of stored documents, which an id gets when it comes first."""
        found = np.empty(len(ids), np.int64)
        for at, id in enumerate(ids):
            found[at] = self._positions.setdefault(id, len(self._ids))
            if found[at] == len(self._ids):
                self._ids.append(id)
        return found


def either(
    positions: I64, own: Callable[[I64], Any], other: Callable[[I64], Any]
) -> "TextColumn | Sequence[Any]":
    """Return what `own` has for positions of data, and `other` for those of a reference."""
    is_own: Bools = positions >= 0
    if is_own.all():
        found: TextColumn | Sequence[Any] = own(positions)
        return found
    before = other(-1 - positions[~is_own])
    if not is_own.any():
        return before  # type: ignore[no-any-return]
    after = own(positions[is_own])
    columns = [each for each in (before, after) if isinstance(each, TextColumn)]
    if len(columns) == 2:
        places = np.where(is_own, np.cumsum(is_own) + len(before), np.cumsum(~is_own)) - 1
        return joined(columns).chosen(places)
    made = np.empty(len(positions), object)
    made[~is_own], made[is_own] = object_array(list(before)), object_array(list(after))
    return list(made)
