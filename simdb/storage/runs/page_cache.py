"""The page cache: read ahead what will be scanned, and release what was scanned.

A mapped file may be larger than the memory.  A column that will be scanned is read at once and not
page by page, and a scanned column leaves the memory of the process; the system keeps the pages for
later as long as it has room.

All of this is about `Pages` of the data file.  Memory that is not in the map has no `Pages`, since
releasing it would replace what it holds by zeros.
"""

import ctypes
import os
import sys
from typing import Any

from simdb.storage.environment.mapped import Pages

# Of madvise(2).  POPULATE_READ waits until all pages are read; WILL_NEED, for systems without it,
# only starts reading.
RANDOM, WILL_NEED, DO_NOT_NEED, POPULATE_READ = 1, 3, 4, 22

# The system starts to read no more than this of a longer range, if it is set up as usual.
AHEAD_BYTES = 128 << 10

_MADVISE: Any = getattr(ctypes.CDLL(None), "madvise", None) if os.name == "posix" else None


def fetch(pages: Pages) -> None:
    """Read pages into memory, or start reading them."""
    # Pages of which `expect_random` was told would otherwise be read one by one.
    _advise(pages, WILL_NEED, AHEAD_BYTES)
    _advise(pages, POPULATE_READ)


def expect_random(pages: Pages) -> None:
    """Let the system read single pages, not their neighbours too."""
    _advise(pages, RANDOM)


def give_back(pages: Pages) -> None:
    """Release pages from this process; their content stays readable."""
    _advise(pages, DO_NOT_NEED)


def _advise(pages: Pages, advice: int, part_bytes: int = sys.maxsize) -> None:
    """Give the system advice about pages, in parts of at most `part_bytes`, while it accepts."""
    start, accepted = pages.start, _MADVISE is not None
    while start < pages.stop and accepted:
        place, size = ctypes.c_void_p(start), ctypes.c_size_t(min(pages.stop - start, part_bytes))
        accepted = _MADVISE(place, size, ctypes.c_int(advice)) == 0
        start += size.value
