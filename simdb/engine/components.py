"""Connected components as arrays, from the label that a forest gives every number."""

import numpy as np
import numpy.typing as npt

from simdb.values import offsets_of

U32 = npt.NDArray[np.uint32]


def grouped(labels: U32) -> tuple[npt.NDArray[np.int64], U32]:
    """Offsets int64[c + 1] and members uint32[k] of every component of two and more.

    `labels`: the smallest member of each number's component.  Components are in the order of
    their smallest members, and members ascend.
    """
    joined = np.flatnonzero(labels != np.arange(len(labels), dtype=np.uint32)).astype(np.uint32)
    firsts = np.unique(labels[joined])
    members = np.concatenate([firsts, joined])
    owners = np.concatenate([firsts, labels[joined]])
    members = members[np.lexsort((members, owners))]
    sizes = np.bincount(np.searchsorted(firsts, owners), minlength=len(firsts))
    return offsets_of(sizes), members
