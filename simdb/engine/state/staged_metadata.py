"""Staged metadata: what a write transaction changes in the metadata of documents."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from heapq import merge

from simdb.storage.records.metadata import NO_METADATA

Entry = tuple[int, bytes]


class StagedMetadata:
    """The metadata of new documents, and later changes, in their stored form by ordinal.

    Both lists only grow, so that changes can be taken back.  A change to `NO_METADATA` removes.
    """

    def __init__(self) -> None:
        """Begin without changes."""
        self._new: list[Entry] = []
        self._changes: list[Entry] = []
        self._changed: dict[int, bytes] = {}

    @property
    def counts(self) -> tuple[int, int]:
        """How much was staged, for `restore`."""
        return len(self._new), len(self._changes)

    @property
    def has_changes(self) -> bool:
        """Whether metadata were changed after their documents were inserted."""
        return bool(self._changes)

    def restore(self, counts: tuple[int, int]) -> None:
        """Forget what was staged since `counts`."""
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
        return (entry for entry in merge(kept, staged) if entry[1] != NO_METADATA)

    def new_from(self, first: int) -> list[Entry]:
        """Return the metadata of documents from the ordinal `first` on, by ordinal."""
        if not self._changed:
            return self._new
        return [entry for entry in self.over(iter(())) if entry[0] >= first]

    def changed_before(self, first: int) -> dict[int, bytes]:
        """Return the changes of documents before the ordinal `first`."""
        return {at: packed for at, packed in self._changed.items() if at < first}
