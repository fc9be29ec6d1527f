"""Nearest where: the best k documents of each query among those whose metadata satisfy a function.

The function can refuse any number of the nearest documents, so more of them are searched until
enough are left.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from simdb.engine.search.rows import Rows, gathered
from simdb.engine.search.where import Where, kept
from simdb.engine.state.state import State
from simdb.values.arrays import Sketches

# Each search is for so many times as many documents as the one before.
MORE = 4
# So many found documents are in memory at a time, if one query does not find more.
FOUND_TOGETHER = 1 << 20

I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]


def of_sketches(
    find: Callable[[Sketches, int], Rows],
    state: State,
    sketches: Sketches,
    wanted: int,
    where: Where,
    own: U32 | None = None,
) -> Rows:
    """Return the `wanted` best documents of every sketch that satisfy `where`.

    `find` returns the best documents of some sketches, as many as it is told.
    `own`: the ordinals of the queries, if they are stored; each is left out of its own answer.
    """
    known: dict[int, bool] = {}
    parts: list[tuple[I64, Rows]] = []
    pending = np.arange(len(sketches))
    most = max(state.counts.document_count, 1)
    k = wanted
    while len(pending):
        k = min(MORE * k, most)
        step = max(FOUND_TOGETHER // k, 1)
        left = []
        for start in range(0, len(pending), step):
            some = pending[start : start + step]
            rows = find(sketches.taken(some), k)
            has_all = np.diff(rows.offsets) < k
            if own is not None:
                rows = rows.chosen(np.flatnonzero(rows.ordinals != own[some][rows.queries]))
            rows = kept(state, rows, where, wanted, known)
            is_done = has_all | (k >= most) | (np.diff(rows.offsets) >= wanted)
            parts.append((some[is_done], rows.of(np.flatnonzero(is_done))))
            left.append(some[~is_done])
        pending = np.concatenate(left)
    return gathered(len(sketches), parts)
