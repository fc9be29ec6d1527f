"""The page cache: read ahead what will be scanned, and release what was scanned.

A mapped file may be larger than the memory.  A column that will be scanned is read at once and not
page by page, and a scanned column leaves the memory of the process; the system keeps the pages for
later as long as it has room.
"""

import ctypes
import mmap
import os
import sys
from typing import Any

import numpy as np
import numpy.typing as npt

# Of madvise(2).  POPULATE_READ waits until all pages are read; WILL_NEED, for systems without it,
# only starts reading.
RANDOM, WILL_NEED, DO_NOT_NEED, POPULATE_READ = 1, 3, 4, 22

# The system starts to read no more than this of a longer range, if it is set up as usual.
AHEAD_BYTES = 128 << 10

_MADVISE: Any = getattr(ctypes.CDLL(None), "madvise", None) if os.name == "posix" else None
_PAGE_BYTES = mmap.PAGESIZE


def is_mapped(array: npt.NDArray[Any]) -> bool:
    """Whether `array`, decoded from a stored value, lies in the map and is not a copy."""
    root = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    return not root.flags.owndata


def fetch(array: npt.NDArray[Any]) -> None:
    """Read all pages of an array into memory, or start reading them."""
    if array.nbytes >= _PAGE_BYTES:
        # Pages of which `expect_random` was told would otherwise be read one by one.
        _advise(array, WILL_NEED, AHEAD_BYTES)
        _advise(array, POPULATE_READ)


def expect_random(array: npt.NDArray[Any]) -> None:
    """Let the system read single pages of a mapped array, not their neighbours too."""
    _advise(array, RANDOM)


def give_back(array: npt.NDArray[Any]) -> None:
    """Release the pages of a mapped array from this process; its content stays readable.

    Do not call this for an array that is not in the map, see `is_mapped`.
    """
    _advise(array, DO_NOT_NEED)


def _advise(array: npt.NDArray[Any], advice: int, part_bytes: int = sys.maxsize) -> bool:
    """Give the system advice about the whole pages of an array; return whether it accepted.

    The advice is given for parts of at most `part_bytes`.
    """
    start = -(-array.ctypes.data // _PAGE_BYTES) * _PAGE_BYTES
    stop = (array.ctypes.data + array.nbytes) // _PAGE_BYTES * _PAGE_BYTES
    if _MADVISE is None or start >= stop:
        return False
    accepted = True
    while start < stop and accepted:
        place, size = ctypes.c_void_p(start), ctypes.c_size_t(min(stop - start, part_bytes))
        accepted = _MADVISE(place, size, ctypes.c_int(advice)) == 0
        start += size.value
    return accepted
