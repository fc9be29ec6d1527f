"""Passages: all grains that a state sees, in stored runs and staged by a write transaction."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from simdb.storage.passages.passage_run import (
    KEY_BITS,
    NO_ENTRIES,
    PassageRun,
    grains_of_entries,
    only,
    sorted_entries,
)
from simdb.storage.records.manifest import PassageInfo
from simdb.storage.runs.merge import merge_tables
from simdb.storage.runs.source import Source
from simdb.storage.runs.table import Entries, Table, entries_of, joint
from simdb.values.arrays import ORDINALS_MAX, Grains

# So many entries are in a part of a run and in a window of all runs, on average at most: 24 MB.
WINDOW_ENTRIES = 1 << 21

I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]


class Passages:
    """The entries of the documents of a state; those of deleted documents may be among them."""

    def __init__(self, runs: Sequence[PassageRun], staged: Table = NO_ENTRIES) -> None:
        """`runs` in the order of ordinals; `staged`: of later documents, sorted."""
        self.runs = runs
        self._staged = staged

    @property
    def entry_count(self) -> int:
        """Number of entries."""
        return sum(run.info.entry_count for run in self.runs) + len(self._staged.keys)

    @property
    def written(self) -> Entries:
        """Number and sum of the entries as they were written."""
        staged = entries_of(self._staged.keys, self._staged.ordinals)
        rows = (run.info for run in self.runs)
        return joint([staged, *(Entries(row.entry_count, row.checksum) for row in rows)])

    def with_staged(self, staged: Table) -> "Passages":
        """Return these passages and those of staged documents."""
        return Passages(self.runs, staged)

    def find(self, keys: U64, source: Source) -> tuple[I64, U32]:
        """Return places in `keys`, which ascend strictly, and ordinals of all entries with them."""
        staged = self._staged
        found = [run.find(keys, source) for run in self.runs]
        if len(staged.keys) and len(keys):
            places = np.searchsorted(keys, staged.keys)
            places[places == len(keys)] = 0
            at = np.flatnonzero(keys[places] == staged.keys)
            found.append((places[at], staged.ordinals[at]))
        if len(found) == 1:
            return found[0]
        places = np.concatenate([np.empty(0, np.int64), *(each for each, _ in found)])
        ordinals = np.concatenate([np.empty(0, np.uint32), *(each for _, each in found)])
        return places, ordinals

    def counts(self, keys: U64, source: Source) -> I64:
        """Return how many entries have each of `keys`, which ascend strictly."""
        staged = self._staged.keys
        found = np.searchsorted(staged, keys, side="right") - np.searchsorted(staged, keys)
        for run in self.runs:
            found += run.counts(keys, source)
        return np.asarray(found, np.int64)

    def windows(self, source: Source) -> Iterator[Table]:
        """Yield all entries, sorted, in windows that end between two keys."""
        bits = bits_for(self.entry_count)
        starts = np.zeros(1, np.uint64)
        if bits:
            starts = np.arange(1 << bits, dtype=np.uint64) << np.uint64(KEY_BITS - bits)
        bounds = [*np.searchsorted(self._staged.keys, starts), len(self._staged.keys)]
        for number in range(1 << bits):
            inside = slice(bounds[number], bounds[number + 1])
            staged = sorted_entries(self._staged.keys[inside], self._staged.ordinals[inside])
            tables = [*(run.window(number, bits, source) for run in self.runs), staged]
            yield merge_tables([each for each in tables if len(each.keys)] or [NO_ENTRIES])

    def grains_of(self, ordinals: U32, source: Source) -> Grains:
        """Return the grains of some documents, whose ordinals ascend; reads all entries."""
        chosen = (only(table, ordinals) for table in self._parts(0, ORDINALS_MAX, source))
        return grains_of_entries(chosen, 0, len(ordinals))

    def grains(self, start: int, stop: int, source: Source) -> Grains:
        """Return the grains of the documents start .. stop, deleted or not; reads all entries."""
        return grains_of_entries(self._parts(start, stop, source), start, stop)

    def _parts(self, start: int, stop: int, source: Source) -> Iterator[Table]:
        """Yield the entries of all runs that have some of the documents start .. stop."""
        for run in self.runs:
            if run.info.start < stop and start < run.info.stop:
                for number in range(len(run.info.counts)):
                    yield run.part(number, source)
        yield self._staged


def stored_passages(rows: Sequence[PassageInfo]) -> Passages:
    """Return what is stored, without staged documents."""
    return Passages([PassageRun(row) for row in rows])


def bits_for(entry_count: int) -> int:
    """Return by how many bits of the key entries are cut, so that a part is no large value."""
    return max(((entry_count - 1) // WINDOW_ENTRIES).bit_length(), 0) if entry_count else 0
