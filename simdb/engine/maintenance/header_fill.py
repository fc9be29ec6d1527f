"""Header fill: how the entries of each table spread over the headers of its directories."""

import numpy as np
import numpy.typing as npt

from simdb.engine.state.state import State
from simdb.engine.state.store import Store
from simdb.results.reports import HeaderFill
from simdb.storage.contents import table_names

# So many headers are counted at a time, whatever the size of a directory.
COUNTED_HEADERS = 1 << 20

I64 = npt.NDArray[np.int64]


def header_fill(store: Store) -> tuple[HeaderFill, ...]:
    """Return the fill of every table, all runs together."""
    with store.state() as state:
        return tuple(_fill_of(name, state) for name in table_names(store.options))


def _fill_of(name: bytes, state: State) -> HeaderFill:
    counts: I64 = np.zeros(0, np.int64)
    headers = entries = largest = 0
    for run in state.runs:
        table = run.named_table(name, state.source)
        headers += len(table.directory) - 1
        entries += len(table.keys)
        for start in range(0, len(table.directory) - 1, COUNTED_HEADERS):
            sizes = np.diff(table.directory[start : start + COUNTED_HEADERS + 1])
            largest = max(largest, int(sizes.max()))
            counts = _sum(counts, np.bincount(_classes(sizes)))
    return HeaderFill(name.decode(), headers, entries, largest, tuple(counts.tolist()))


def _classes(sizes: npt.NDArray[np.uint32]) -> npt.NDArray[np.intc]:
    """Return the class of each number of entries: 0 for 0, i for 2^(i - 1) to 2^i - 1."""
    return np.frexp(sizes.astype(np.float64))[1]


def _sum(left: I64, right: I64) -> I64:
    total = np.zeros(max(len(left), len(right)), np.int64)
    total[: len(left)] += left
    total[: len(right)] += right
    return total
