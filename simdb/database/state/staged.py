"""Staged changes: the part of a write transaction that a state reads, with metadata and times."""

import math
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from heapq import merge
from time import time
from typing import Any, Protocol

import numpy as np

from simdb import storage
from simdb.core import arrays, kernel
from simdb.core.checks import shown
from simdb.core.dtypes import U32
from simdb.core.errors import InputError, OptionError
from simdb.storage import by_ordinal, metadata as records

SECONDS_MAX = 2**32 - 1
AGE = re.compile("([0-9]+)([smhdw])")
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}

Entry = tuple[int, bytes]


class StagedPassages:
    """The grains of new documents, in order; they are only added, or taken back."""

    def __init__(self, first: int) -> None:
        """Begin without documents; the first one will have the ordinal `first`."""
        self._first = first
        self._parts: list[arrays.Grains] = []
        self._sorted: tuple[int, storage.Table] = (0, storage.NO_TABLE)

    def __len__(self) -> int:
        """Return the number of insertions, for `restore`."""
        return len(self._parts)

    def restore(self, count: int) -> None:
        """Drop all insertions after the first `count`."""
        del self._parts[count:]
        if self._sorted[0] > count:
            self._sorted = (0, storage.NO_TABLE)

    def insert(self, grains: arrays.Grains) -> None:
        """Add the grains of the next documents."""
        self._parts.append(grains)

    def entries(self) -> storage.Table:
        """Return the entries of all documents, sorted."""
        if self._sorted[0] < len(self._parts):
            table = storage.entries_of_grains(
                self._first, arrays.joined_ragged(self._parts) or arrays.NO_GRAINS
            )
            kernel.sort(table.keys, table.ordinals)
            self._sorted = (len(self._parts), table)
        return self._sorted[1]

    @property
    def entry_count(self) -> int:
        """Number of entries."""
        return int(np.sum([len(part.values) for part in self._parts], dtype=np.int64))


class StagedBytes:
    """The features or texts of new documents, in order; they are only added, or taken back."""

    def __init__(self, first: int) -> None:
        """Begin without documents; the first one will have the ordinal `first`."""
        self.first = first
        self._parts: list[arrays.PackedBytes] = []
        self._starts = [first]

    def __len__(self) -> int:
        """Return the number of insertions, for `restore`."""
        return len(self._parts)

    def restore(self, count: int) -> None:
        """Drop all insertions after the first `count`."""
        del self._parts[count:]
        del self._starts[count + 1 :]

    def insert(self, column: arrays.PackedBytes) -> None:
        """Add the bytes of the next documents."""
        self._starts[len(self._parts) + 1 :] = [self._starts[len(self._parts)] + len(column)]
        self._parts.append(column)

    def of(self, ordinals: U32) -> arrays.PackedBytes:
        """Return the bytes of some of these documents, whose ordinals ascend."""
        which = np.searchsorted(self._starts, ordinals, side="right") - 1
        found = [
            self._parts[part].taken(ordinals[which == part].astype(np.int64) - self._starts[part])
            for part in arrays.sorted_unique(which).tolist()
        ]
        return arrays.joined_ragged(found) or arrays.NO_BYTES

    def whole(self) -> arrays.PackedBytes:
        """Return the bytes of all these documents."""
        return arrays.joined_ragged(self._parts) or arrays.NO_BYTES


def now_seconds() -> int:
    """Return the seconds since 1970, as they are stored: never 0, which means no time."""
    return min(max(int(time()), 1), SECONDS_MAX)


class StagedTimes:
    """The times that a transaction changes, in order; they are only added, or taken back."""

    def __init__(self) -> None:
        """Begin without changes."""
        self.changes: list[records.TimeChange] = []

    def __len__(self) -> int:
        """Return the number of changes, for `restore`."""
        return len(self.changes)

    def restore(self, count: int) -> None:
        """Drop all changes after the first `count`."""
        del self.changes[count:]

    def note(self, ordinals: U32, times: U32 | None = None) -> None:
        """Set the times of some documents, by default to now, unless they have later times."""
        if len(ordinals):
            self.changes.append((ordinals, now_seconds() if times is None else times))

    def over(self, stored: U32) -> U32:
        """Return the time of every ordinal, given a copy of the stored times with their length."""
        for ordinals, seconds in self.changes:
            stored[ordinals] = np.maximum(stored[ordinals], seconds)
        return stored


def seconds_of(before: Any, older_than: Any = None) -> int:
    """Return the seconds since 1970, rounded down, of a datetime or of the time `older_than` ago.

    Raises InputError for another kind of value, OptionError unless exactly one is given.
    """
    if (before is None) == (older_than is None):
        raise OptionError("expire needs one of before= and older_than=")
    if older_than is not None:
        return math.floor(time() - _age_of(older_than))
    if not isinstance(before, datetime):
        raise InputError(
            "before must be a datetime, such as datetime.now() - timedelta(days=30), got"
            f" {shown(before)}"
        )
    try:
        return math.floor(before.timestamp())
    except (OverflowError, ValueError, OSError) as error:
        raise InputError(f"before cannot be turned into seconds: {error}") from error


def _age_of(older_than: Any) -> float:
    """Return the seconds of a timedelta or a text such as 30d.

    Raises InputError for anything else.
    """
    found = AGE.fullmatch(older_than) if isinstance(older_than, str) else None
    if found is not None:
        return min(int(found[1][:20]) * SECONDS[found[2]], SECONDS_MAX)
    if isinstance(older_than, timedelta) and older_than >= timedelta(0):
        return older_than.total_seconds()
    raise InputError(
        "older_than must be a timedelta, or a whole number and s, m, h, d or w (seconds to weeks),"
        f" such as 30d, got {shown(older_than)}"
    )


class StagedMetadata:
    """The metadata of new documents, and later changes, in their stored form by ordinal.

    Both lists only grow, so that changes can be taken back.  A change to `NO_METADATA` removes
    metadata.
    """

    def __init__(self) -> None:
        """Begin without changes."""
        self._new: list[Entry] = []
        self._changes: list[Entry] = []
        self._changed: dict[int, bytes] = {}

    @property
    def counts(self) -> tuple[int, int]:
        """The numbers of staged entries, for `restore`."""
        return len(self._new), len(self._changes)

    @property
    def has_changes(self) -> bool:
        """Whether metadata were changed after their documents were inserted."""
        return bool(self._changes)

    def restore(self, counts: tuple[int, int]) -> None:
        """Drop the entries that were staged since `counts`."""
        del self._new[counts[0] :]
        del self._changes[counts[1] :]
        self._changed = dict(self._changes)

    def insert(self, first: int, metadata: Sequence[Entry]) -> None:
        """Add the metadata of new documents, given with their positions counted from `first`."""
        self._new += [(first + at, packed) for at, packed in metadata]

    def change(self, ordinal: int, packed: bytes) -> None:
        """Replace the metadata of one document."""
        self._changes.append((ordinal, packed))
        self._changed[ordinal] = packed

    def of(self, ordinal: int) -> bytes | None:
        """Return the staged metadata of a document; None if nothing is staged for it."""
        changed = self._changed.get(ordinal)
        if changed is not None:
            return changed
        at = bisect_left(self._new, (ordinal, b""))
        return self._new[at][1] if at < len(self._new) and self._new[at][0] == ordinal else None

    def over(self, stored: Iterator[Entry]) -> Iterator[Entry]:
        """Yield all metadata, by ordinal, given the `stored` ones by ordinal."""
        staged = sorted({**dict(self._new), **self._changed}.items())
        kept = (entry for entry in stored if entry[0] not in self._changed)
        return (entry for entry in merge(kept, staged) if entry[1] != records.NO_METADATA)

    def new_from(self, first: int) -> list[Entry]:
        """Return the metadata of documents by ordinal, starting at the ordinal `first`."""
        if not self._changed:
            return self._new
        return [entry for entry in self.over(iter(())) if entry[0] >= first]

    def changed_before(self, first: int) -> dict[int, bytes]:
        """Return the changes of documents before the ordinal `first`."""
        return {at: packed for at, packed in self._changed.items() if at < first}


class LiveCounts(Protocol):
    """Numbers of live documents: all, without features, without weights."""

    @property
    def document_count(self) -> int: ...  # noqa: D102

    @property
    def empty_count(self) -> int: ...  # noqa: D102

    @property
    def bare_count(self) -> int: ...  # noqa: D102

    @property
    def content(self) -> int:
        """The content of the first document; see `Sketches`."""


class Known(LiveCounts, Protocol):
    """Numbers of live documents, and the fields of the manifest that searching and storing need."""

    @property
    def passages(self) -> tuple[storage.PassageInfo, ...]: ...  # noqa: D102

    @property
    def fields_version(self) -> int: ...  # noqa: D102

    @property
    def id_key(self) -> bytes: ...  # noqa: D102


class Changes(Protocol):
    """The staged changes that a view lacks; None for a column that the database does not keep."""

    metadata: StagedMetadata
    times: StagedTimes | None
    staged_passages: StagedPassages | None
    staged_columns: dict[by_ordinal.ByOrdinal, StagedBytes]
    staged_codes: "storage.StagedCodes | None"
    # The packed content of notes by their keys; None for a note that is removed.
    notes: dict[bytes, bytes | None]


class Staged(Protocol):
    """A write transaction as its states see it."""

    @property
    def changes(self) -> Changes:
        """The staged changes."""

    def membership(self) -> "storage.Membership | None":
        """Return the maintained clusters with all staged changes; None if there are none."""
