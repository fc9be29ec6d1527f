"""Pages of the map: had before they are used, and given back when that is over.

A file that is mapped may be larger than the memory.  What is to be searched is read in one go
instead of page by page, and what was searched leaves the memory of the process; the system keeps
it for others as long as it has room.
"""

import ctypes
import mmap
import os
from typing import Any

import numpy as np
import numpy.typing as npt

# Of madvise(2).  POPULATE_READ waits until all is there; systems that do not know it only begin.
WILL_NEED, DO_NOT_NEED, POPULATE_READ = 3, 4, 22

_MADVISE: Any = getattr(ctypes.CDLL(None), "madvise", None) if os.name == "posix" else None
_PAGE_BYTES = mmap.PAGESIZE


def is_mapped(array: npt.NDArray[Any]) -> bool:
    """Whether `array`, decoded from a stored value, lies in the map and is no copy."""
    root = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    return not root.flags.owndata


def fetch(array: npt.NDArray[Any]) -> None:
    """Have all pages of an array in memory, or on the way to it."""
    if array.nbytes >= _PAGE_BYTES and not _advise(array, POPULATE_READ):
        _advise(array, WILL_NEED)


def give_back(array: npt.NDArray[Any]) -> None:
    """Take the pages of an array in the map out of this process; its content stays readable.

    Never for an array that is not in the map: `is_mapped`.
    """
    _advise(array, DO_NOT_NEED)


def _advise(array: npt.NDArray[Any], advice: int) -> bool:
    """Tell the system about the whole pages of an array; whether it listened."""
    start = -(-array.ctypes.data // _PAGE_BYTES) * _PAGE_BYTES
    stop = (array.ctypes.data + array.nbytes) // _PAGE_BYTES * _PAGE_BYTES
    if _MADVISE is None or start >= stop:
        return False
    place, size = ctypes.c_void_p(start), ctypes.c_size_t(stop - start)
    return bool(_MADVISE(place, size, ctypes.c_int(advice)) == 0)
