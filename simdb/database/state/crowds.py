"""Crowds: how unevenly the documents of runs lie under the headers of tables."""

from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np

from simdb.core.bits import FINGERPRINT_BITS
from simdb.core.dtypes import F64
from simdb.database.state.view import View
from simdb.storage import Run, Source, Table

SAMPLE = 256  # documents of each table that tell how crowded its headers are
NEIGHBOURS = 4  # entries under the header of each that tell how near they are


class HeaderCrowds:
    """How crowded the headers of the tables of runs are; see `Population.crowds`."""

    def __init__(self, masks: Sequence[int], near: int = 0) -> None:
        """`masks`: the leading bits of each table; `near`: the distance of near entries."""
        self._masks, self._near = masks, near
        # Runs never change, and most of them are in many views.
        self._of_runs: WeakKeyDictionary[Run, F64] = WeakKeyDictionary()

    def of(self, view: View, source: Source) -> tuple[float, ...]:
        """Return how crowded the headers of each table of a view are; () without runs."""
        return tuple(self.and_near(view, source)[:, 0].tolist())

    def and_near(self, view: View, source: Source) -> F64:
        """Return how crowded the headers of each table are, and the share of near entries there.

        float64[tables, 2]; without runs, no rows.
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
        return np.array(found)


def _crowd(table: Table, mask: int, near: int) -> tuple[float, float]:
    """Return the entries beside a document under its leading bits, over the mean of all headers.

    A sample of the documents decides.  The result is about 1 if they are spread evenly, and never
    less.  Also return the share of these entries that are within the distance `near`, 0 if it is 0.
    """
    count = len(table.keys)
    if not count:
        return 1.0, 0.0
    width = min(mask.bit_count(), table.width)
    if width == 0:
        return 1.0, 0.0
    step = np.uint64(table.width - width)
    sampled = np.arange(0, count, -(-count // SAMPLE))
    headers = table.keys[sampled] >> np.uint64(FINGERPRINT_BITS - width)
    starts = table.directory[headers << step].astype(np.int64)
    stops = table.directory[(headers + np.uint64(1)) << step].astype(np.int64)
    beside = np.clip(stops - starts, 1, count) - 1
    crowd = max(float(beside.mean()) * (1 << width) / count, 1.0)
    if near == 0 or not beside.any():
        return crowd, 0.0
    # Of as many others as there are, some that are evenly far from each other.
    steps = np.arange(1, NEIGHBOURS + 1) * beside[:, None] // NEIGHBOURS
    others = starts[:, None] + (sampled - starts)[:, None] + steps
    others = np.where(others < stops[:, None], others, others - (beside + 1)[:, None])
    differing = np.bitwise_count(table.keys[others] ^ table.keys[sampled][:, None])
    is_near = (differing <= near) & (steps > 0)
    return crowd, float(np.average(is_near.mean(axis=1), weights=beside))
