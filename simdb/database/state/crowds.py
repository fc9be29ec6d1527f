"""Crowds: how unevenly the documents of runs lie under the headers of tables."""

from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np

from simdb.core.bits import FINGERPRINT_BITS
from simdb.database.state.view import View
from simdb.storage import Run, Source, Table

SAMPLE = 256  # documents of each table that tell how crowded its headers are


class HeaderCrowds:
    """How crowded the headers of the tables of runs are; see `Population.crowds`."""

    def __init__(self, masks: Sequence[int]) -> None:
        """`masks`: the leading bits of each table."""
        self._masks = masks
        # Runs never change, and most of them are in many views.
        self._of_runs: WeakKeyDictionary[Run, tuple[float, ...]] = WeakKeyDictionary()

    def of(self, view: View, source: Source) -> tuple[float, ...]:
        """Return how crowded the headers of each table of a view are; () without runs."""
        total = sum(run.info.entry_count for run in view.runs)
        sums = [0.0] * len(self._masks)
        for run in view.runs:
            crowds = self._of_runs.get(run)
            if crowds is None:
                crowds = self._of_runs[run] = self._of_run(run, source)
            share = run.info.entry_count / max(total, 1)
            sums = [sum + share * crowd for sum, crowd in zip(sums, crowds, strict=True)]
        return tuple(sums) if total else ()

    def _of_run(self, run: Run, source: Source) -> tuple[float, ...]:
        found = []
        for number, mask in enumerate(self._masks):
            found.append(_crowd(run.table(number, source), mask))
            run.give_back()  # the first read of a table touches all of its pages
        return tuple(found)


def _crowd(table: Table, mask: int) -> float:
    """Return the entries beside a document under its leading bits, over the mean of all headers.

    A sample of the documents decides.  The result is about 1 if they are spread evenly, and never
    less.
    """
    count = len(table.keys)
    if not count:
        return 1.0
    width = min(mask.bit_count(), table.width)
    if width == 0:
        return 1.0
    step = np.uint64(table.width - width)
    sampled = np.arange(0, count, -(-count // SAMPLE))
    headers = table.keys[sampled] >> np.uint64(FINGERPRINT_BITS - width)
    starts = table.directory[headers << step].astype(np.float64)
    stops = table.directory[(headers + np.uint64(1)) << step].astype(np.float64)
    beside = np.clip(stops - starts, 1, count) - 1
    return max(float(beside.mean()) * (1 << width) / count, 1.0)
