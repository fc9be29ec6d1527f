"""Skipped: the documents that a call skips because they cannot be read, with the reasons.

Documents are read in batches.  Only a batch that is refused is halved, until each bad document is
alone.  So calls without bad documents cost no more than with on_error="raise".
"""

import re
import warnings
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from simdb.core import arrow
from simdb.core.arrays import Fingerprints, flags_at, offsets_of
from simdb.core.checks import is_one_of, shown
from simdb.core.choices import RAISE, SKIP, OnError
from simdb.core.documents import Signatures
from simdb.core.dtypes import I64, Bools
from simdb.core.errors import InputError, OptionError
from simdb.core.previews import counted

Read = TypeVar("Read")
Found = TypeVar("Found", bound=Any)
# The number of a document at the start of an error, which would repeat `row`.
NUMBER = re.compile(r"(?:(?:document|row|id) \d+(?: of data)?(?: is|:)? )+")


class Skipped:
    """The documents that a call skips, by row; `on_error` says whether it may skip any."""

    __slots__ = ("_ids", "_known", "_note", "_reasons", "is_allowed")

    def __init__(self, on_error: OnError = RAISE) -> None:
        """Begin without documents; raise OptionError unless `on_error` is a word or a function."""
        if not callable(on_error) and not is_one_of(on_error, (RAISE, SKIP)):
            raise OptionError(
                "on_error must be 'raise', 'skip' or a function of row, id and reason, got"
                f" {shown(on_error)}"
            )
        self.is_allowed = on_error != RAISE
        self._note = on_error if callable(on_error) else None
        self._reasons: dict[int, str] = {}
        self._known: list[int] = []
        self._ids: dict[int, Any] = {}

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        """Return the state to pickle, without the caller's function."""
        return None, {name: getattr(self, name) for name in self.__slots__} | {"_note": None}

    def __len__(self) -> int:
        """Count the documents."""
        return len(self._reasons)

    @property
    def rows(self) -> list[int]:
        """The skipped rows, ascending."""
        return sorted(self._reasons)

    def add(self, row: int, id: Any, reason: object) -> None:
        """Skip one row."""
        self._reasons[row], self._ids[row] = NUMBER.sub("", str(reason), count=1), id

    @property
    def first(self) -> str:
        """The id and the reason of the first skipped document."""
        row = self.rows[0]
        return f"{self._ids[row]}: {self._reasons[row]}"

    def flags(self, count: int) -> Bools:
        """Return which of `count` rows are skipped: bool[count]."""
        return flags_at(self.rows, count)

    def note(self, read: Callable[[int, Any], object], start: int, documents: Any) -> None:
        """Skip the documents that `read(row, part)` refuses, also in all later reads."""
        for _ in self.readable(read, start, documents):
            pass
        self._known = self.rows

    def readable(
        self, read: Callable[[int, Any], Read], start: int, documents: Any
    ) -> Iterator[Read]:
        """Yield the results of `read(row, part)` for parts of documents, skipping unreadable ones.

        `start`: the row of the first document.  Several threads may read different documents.
        """
        if not self.is_allowed:
            yield read(start, documents)
            return
        first, last = (bisect_left(self._known, at) for at in (start, start + len(documents)))
        cuts = [start - 1, *self._known[first:last], start + len(documents)]
        for before, stop in pairwise(cuts):
            if before + 1 < stop:
                part = slice(before + 1 - start, stop - start)
                yield from self._halved(read, before + 1, part_of(documents, part))

    def named(self, ids: Sequence[Any] | None = None) -> "Skipped":
        """Take the ids of all rows of the call, if given, and call the caller's function."""
        for row in self.rows:
            if ids is not None:
                self._ids[row] = ids[row]
            if self._note is not None:
                self._note(row, self._ids[row], self._reasons[row])
        return self

    def spread(self, found: Found, ids: Sequence[Any] | None = None) -> Found:
        """Return `found` with an empty row for each skipped document."""
        if not self.is_allowed:
            return found
        if self._reasons:
            sizes = np.zeros(len(found) + len(self), np.int64)
            sizes[~self.flags(len(sizes))] = np.diff(found.offsets)
            found.offsets = offsets_of(sizes)
        found.left_out = self.named(ids)
        return found

    def other(self) -> "Skipped":
        """Return an object for other documents with the same permission, without the function."""
        return Skipped(SKIP if self.is_allowed else RAISE)

    def warn(self, of: str = "") -> None:
        """Issue a RuntimeWarning that names the first document, unless the caller gave a function.

        This is for skipped documents `of` another argument, which the result does not show.
        """
        if self._reasons and self._note is None:
            row = self.rows[0]
            count = counted(len(self), "document") + (f" of {of}" if of else "")
            warnings.warn(
                f"{count} left out, the first in row {row} with the id {shown(self._ids[row])}:"
                f" {self._reasons[row]}; on_error= takes a function of row, id and reason",
                RuntimeWarning,
                stacklevel=4,
            )

    def table(self) -> Any:
        """Return a pyarrow.Table of row int64, id and reason."""
        library, rows = arrow.load_arrow("a table of documents"), self.rows
        ids, reasons = ([column[row] for row in rows] for column in (self._ids, self._reasons))
        columns = {"row": np.array(rows, np.int64), "id": arrow.id_array(ids)}
        return library.table({**columns, "reason": library.array(reasons, library.string())})

    def _halved(
        self, read: Callable[[int, Any], Read], start: int, documents: Any
    ) -> Iterator[Read]:
        """Yield the results for `documents`, halving a part that is refused."""
        count = len(documents)
        try:
            found = read(start, documents)
        except InputError as error:
            if count == 1:
                self.add(start, start, error)
                return
        else:
            yield found
            return
        for part in (slice(0, count // 2), slice(count // 2, count)):
            yield from self._halved(read, start + part.start, part_of(documents, part))


def check_balance(read: int, **places: int) -> None:
    """Raise AssertionError unless the counts of all `places` sum to the records `read`."""
    if read != sum(places.values()):
        counts = ", ".join(f"{count:,} {name}" for name, count in places.items())
        raise AssertionError(
            f"of {read:,} records there are {counts}, which does not add up: a mistake of simdb,"
            " and nothing was written; please report it"
        )


def part_of(documents: Any, chosen: slice | I64) -> Any:
    """Return the documents at a slice or positions, in the form in which they were given."""
    if isinstance(documents, Signatures):
        return Signatures(documents.minima[chosen], documents.sketch, documents.is_empty[chosen])
    if isinstance(documents, Fingerprints):
        return documents.taken(chosen)
    if isinstance(documents, arrow.TextColumn | arrow.ByteColumn) and not isinstance(chosen, slice):
        return documents.chosen(chosen)
    if isinstance(chosen, slice) or hasattr(documents, "shape"):
        return documents[chosen]
    return [documents[row] for row in chosen.tolist()]
