"""Table merges: one table of several runs, merged window by window in memory.

A window is a range of keys.  Merging a table of millions of entries takes a while; window by window
the time is spread over several commits, and then the table is written at once.
"""

from collections.abc import Sequence

import numpy as np

from simdb.storage.records.tombstones import Bitmap
from simdb.storage.runs import page_cache
from simdb.storage.runs.merge import merge_tables, without
from simdb.storage.runs.source import Source
from simdb.storage.runs.table import NO_ENTRIES, Entries, Table, entries_of, joint, table_with_room


class TableMerge:
    """One table of several runs, as far as it is merged.

    `read`: the entries that were read, `kept`: those among them that were not left out, and
    `written`: the entries of the merged table.
    """

    def __init__(self, lengths: Sequence[int], count: int | None = None) -> None:
        """Allocate memory for tables of these lengths; nothing is merged yet.

        `count`: how many entries are expected to be left; it saves memory if others are left out.
        """
        self._lengths = lengths
        self._positions = [0] * len(lengths)
        self._merged = table_with_room(sum(lengths) if count is None else count)
        self._count = 0
        self.read = self.kept = self.written = NO_ENTRIES

    @property
    def is_complete(self) -> bool:
        """Whether all entries are merged."""
        return self._positions == list(self._lengths)

    @property
    def merged(self) -> Table:
        """The merged table, once it is complete; the directory is left empty."""
        return self._merged

    def advance(
        self, tables: Sequence[Table], source: Source, dead: Bitmap | None, most: int
    ) -> None:
        """Merge about `most` more entries of `tables` that are not dead; all if so few are left.

        The tables and the tombstones are the same in each call, but may have moved in memory.
        `source` sees the tables.
        """
        stops = self._stops(tables, most)
        parts = [
            Table(table.keys[start:stop], table.ordinals[start:stop], table.directory)
            for table, start, stop in zip(tables, self._positions, stops, strict=True)
        ]
        for array in (each for part in parts for each in (part.keys, part.ordinals)):
            pages = source.pages_of(array)
            if pages is not None:
                page_cache.fetch(pages)
        if dead is not None:
            self.read = joint([self.read, *map(_entries, parts)])
            parts = [without(part, dead) for part in parts]
            self.kept = joint([self.kept, *map(_entries, parts)])
        count = sum(len(part.keys) for part in parts)
        if self._count + count > len(self._merged.keys):
            self._reserve(self._count + count)
        inside = slice(self._count, self._count + count)
        keys, ordinals, directory = self._merged
        room = Table(keys[inside], ordinals[inside], directory)
        merged = merge_tables(parts, room)
        if len(parts) == 1:
            room.keys[:], room.ordinals[:] = merged.keys, merged.ordinals
        self.written = joint([self.written, _entries(room)])
        if dead is None:
            self.read = self.kept = self.written
        self._positions = stops
        self._count += count
        if self.is_complete and self._count < len(keys):
            self._reserve(self._count)

    def _reserve(self, count: int) -> None:
        """Move what is merged into a table with room for `count` entries."""
        keys, ordinals, _ = self._merged
        self._merged = table_with_room(count)
        self._merged.keys[: self._count] = keys[: self._count]
        self._merged.ordinals[: self._count] = ordinals[: self._count]

    def _stops(self, tables: Sequence[Table], most: int) -> list[int]:
        """Return where the next window ends in each table: all entries up to some key are in it."""
        left = [
            length - start for length, start in zip(self._lengths, self._positions, strict=True)
        ]
        if sum(left) <= most:
            return list(self._lengths)
        longest = int(np.argmax(left))
        last = self._positions[longest] + left[longest] * most // sum(left)
        key = tables[longest].keys[last]
        stops = [
            start + int(np.searchsorted(table.keys[start:], key, side="right"))
            for table, start in zip(tables, self._positions, strict=True)
        ]
        # Keys that damage has put out of order must not keep the window from moving on.
        stops[longest] = max(stops[longest], last + 1)
        return stops


def _entries(table: Table) -> Entries:
    return entries_of(table.keys, table.ordinals)
