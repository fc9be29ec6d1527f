"""Sorting: makes sorted tables of many words on several threads, without scratch memory.

The words of a table, permuted to keys, are moved to bins by their leading bits, and then each bin
is sorted where it is.  Threads share the words while they are moved, and the bins while they are
sorted.  A bin fits the cache, so this is also the faster way for a single thread.  Bins begin below
the bits in which a sample of the keys agrees.  Keys that nearly all agree still give one large bin,
which one thread sorts.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import sorted_unique
from simdb.core.bits import ALL_BITS
from simdb.core.dtypes import I64, U32, U64
from simdb.core.threads import PARTS, mapped, parts_of
from simdb.storage import codec
from simdb.storage.runs.table import Table, table_with_room

# Fewer entries are sorted in one piece: a thread would take longer to start.
BINNED_ENTRIES = 1 << 17
# A bin should have so many entries.
BIN_ENTRIES = 1 << 14
# With more bins, the lines that are written to no longer fit the cache.
BIN_BITS_MIN, BIN_BITS_MAX = 6, 10
SAMPLED_KEYS = 1 << 10


class _Bins(NamedTuple):
    """The bins of the keys that `mask` makes: the first begins at `low`, each has 2^`shift`."""

    mask: int
    low: int
    shift: int


class Sorting:
    """Makes tables of the same words: `words` uint64[n] permuted by each of `masks`, sorted."""

    def __init__(self, words: U64, ordinals: U32, masks: Sequence[int], threads: int) -> None:
        """Count the keys of all tables; `words` and `ordinals` uint32[n] must stay as they are."""
        self._words, self._ordinals = words, ordinals
        self._masks, self._threads = masks, threads
        count = len(words)
        self._parts: list[slice] = []
        if count >= BINNED_ENTRIES:
            self._parts = parts_of(count, threads, most=count)
        width = min(max((count // BIN_ENTRIES).bit_length(), BIN_BITS_MIN), BIN_BITS_MAX)
        sample = np.ascontiguousarray(words[:: max(1, count // SAMPLED_KEYS)])
        self._bins = [_bins_of(sample, mask, width) for mask in masks if self._parts]

        def counts(part: slice) -> I64:
            found = np.zeros((len(self._bins), 1 << width), np.int64)
            for own, bins in zip(found, self._bins, strict=True):
                kernel.count_bins(words[part], *bins, own)
            return found

        # By part, mask and bin.
        self._counts = list(mapped(counts, self._parts, threads))

    def write(self, number: int, keys: U64, ordinals: U32) -> None:
        """Write the keys of mask `number`, sorted, and their ordinals; equal keys keep order."""
        if not self._parts:
            kernel.permute(self._words, self._masks[number], keys)
            np.copyto(ordinals, self._ordinals)
            kernel.sort(keys, ordinals)
            return
        counts = np.array([part[number] for part in self._counts])
        bounds = np.zeros(counts.shape[1] + 1, np.int64)
        np.cumsum(counts.sum(axis=0), out=bounds[1:])
        # Where each part writes its first entry of each bin: behind the parts before it.
        starts = bounds[:-1] + np.cumsum(counts, axis=0) - counts

        def move(at: int) -> None:
            part = self._parts[at]
            kernel.to_bins(
                self._words[part], self._ordinals[part], *self._bins[number], starts[at],
                keys, ordinals,
            )  # fmt: skip

        def sort(some: I64) -> None:
            kernel.sort_bins(keys, ordinals, some)

        for _ in mapped(move, range(len(self._parts)), self._threads):
            pass
        for _ in mapped(sort, _shared(bounds, self._threads), self._threads):
            pass


def sorted_table(keys: U64, ordinals: U32, threads: int = 1) -> Table:
    """Return the table of some entries, sorted, without a directory.

    A few `keys` are sorted where they are, so nobody else may need them; `ordinals` are copied.
    """
    if len(keys) >= BINNED_ENTRIES:
        table = table_with_room(len(keys))
        Sorting(keys, ordinals, [ALL_BITS], threads).write(0, table.keys, table.ordinals)
        return table
    copied = codec.allocated(ordinals)
    kernel.sort(keys, copied)
    return Table(keys, copied)


def _bins_of(sample: U64, mask: int, width: int) -> _Bins:
    """Return 2^`width` bins for the keys of words like those of a sample."""
    keys = np.empty_like(sample)
    kernel.permute(sample, mask, keys)
    low = int(keys.min())
    varying = (low ^ int(keys.max())).bit_length()
    return _Bins(mask, low >> varying << varying, max(varying - width, 0))


def _shared(bounds: I64, threads: int) -> list[I64]:
    """Cut the bins into parts with about the same number of entries; give the bounds of each."""
    parts = 2 * PARTS * threads if threads > 1 else 1
    cuts = np.searchsorted(bounds, np.arange(1, parts) * int(bounds[-1]) // parts)
    ends = sorted_unique(np.concatenate([[0], cuts, [len(bounds) - 1]]))
    return [bounds[start : stop + 1] for start, stop in pairwise(ends)]
