"""Values of documents that lie one after the other are taken as from a list of lists."""

from itertools import pairwise

import numpy as np
from over import over

from simdb.core.arrays import Ragged

ROWS = [[1, 2], [], [3], [4, 5, 6], [], [7]]


@over(
    "chosen",
    [
        slice(None), slice(1, 4), slice(2, 2), slice(4, 1), slice(-3, None), slice(None, None, 2),
        slice(1, None, 3), slice(None, None, -1), np.array([3, 0, 3]), np.array([], np.int64),
    ],
)  # fmt: skip
def test_documents_are_taken_by_slice_or_position(chosen):
    offsets = np.cumsum([0, *map(len, ROWS)])
    ragged = Ragged(offsets, np.concatenate([np.array(row, np.int64) for row in ROWS]))

    taken = ragged.taken(chosen)

    expected = ROWS[chosen] if isinstance(chosen, slice) else [ROWS[at] for at in chosen]
    bounds = pairwise(taken.offsets)
    assert [taken.values[start:stop].tolist() for start, stop in bounds] == expected
