"""Crowds: the uneven distribution of the documents of runs over the headers of tables."""

from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np

from simdb.core.bits import FINGERPRINT_BITS
from simdb.core.dtypes import F64
from simdb.database.state.view import View
from simdb.storage import Run, Source, Table

SAMPLE = 256  # documents that are sampled in each table
NEIGHBOURS = 4  # entries that are sampled under the header of each document


class HeaderCrowds:
    """The crowding of the headers in the tables of runs; see `Population.crowds`."""

    def __init__(self, masks: Sequence[int], near: int = 0) -> None:
        """`masks`: the leading bits of each table; `near`: the distance of near entries."""
        self._masks, self._near = masks, near
        # Runs never change, and most of them are in many views.
        self._of_runs: WeakKeyDictionary[Run, F64] = WeakKeyDictionary()

    def of(self, view: View, source: Source) -> tuple[float, ...]:
        """Return the crowding of headers in each table of a view; () without runs."""
        return tuple(self.and_near(view, source)[:, 0].tolist())

    def and_near(self, view: View, source: Source) -> F64:
        """Return the crowding of headers in each table, and the share of near entries there.

        float64[tables, 2]; without runs, no rows.  Documents that are equal in all tables are not
        near, since the search of pairs takes equal hashes together.
        """
        total = sum(run.info.entry_count for run in view.runs)
        sums: F64 = np.zeros((len(self._masks) if total else 0, 2))
        for run in view.runs if total else ():
            if run not in self._of_runs:
                self._of_runs[run] = self._of_run(run, source)
            sums += self._of_runs[run] * (run.info.entry_count / total)
        return sums

    def _of_run(self, run: Run, source: Source) -> F64:
        found = []
        for number, mask in enumerate(self._masks):
            found.append(_crowd(run.table(number, source), mask, self._near))
            run.give_back()  # the first read of a table touches all of its pages
        crowds, beside, near, equal = np.array(found).T
        return np.stack([crowds, (near - equal.min()) / np.maximum(beside, 1)], axis=1)


def _crowd(table: Table, mask: int, near: int) -> tuple[float, ...]:
    """Return the crowding of a table, and mean counts of other entries, from a sample of documents.

    The crowding is the number of other entries under a document's leading bits, over the mean of
    all headers.  It is about 1 if documents are spread evenly, and never less.  The counts are of
    other entries under a header, of entries within the distance `near`, and of equal entries.  The
    last two are 0 if `near` is 0.
    """
    count = len(table.keys)
    if not count:
        return 1.0, 0.0, 0.0, 0.0
    width = min(mask.bit_count(), table.width)
    if width == 0:
        return 1.0, 0.0, 0.0, 0.0
    step = np.uint64(table.width - width)
    sampled = np.arange(0, count, -(-count // SAMPLE))
    headers = table.keys[sampled] >> np.uint64(FINGERPRINT_BITS - width)
    starts = table.directory[headers << step].astype(np.int64)
    stops = table.directory[(headers + np.uint64(1)) << step].astype(np.int64)
    beside = np.clip(stops - starts, 1, count) - 1
    crowd = max(float(beside.mean()) * (1 << width) / count, 1.0)
    if near == 0 or not beside.any():
        return crowd, 0.0, 0.0, 0.0
    # The neighbours are spread evenly over the entries under the header.
    steps = np.arange(1, NEIGHBOURS + 1) * beside[:, None] // NEIGHBOURS
    others = sampled[:, None] + steps
    others = np.where(others < stops[:, None], others, others - (beside + 1)[:, None])
    differing = np.bitwise_count(table.keys[others] ^ table.keys[sampled][:, None])
    counts = [((differing <= most) & (steps > 0)).mean(axis=1) @ beside for most in (near, 0)]
    return crowd, float(beside.mean()), *(float(count) / len(sampled) for count in counts)
