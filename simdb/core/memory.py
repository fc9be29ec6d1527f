"""Memory: how much of it this process may use, and how a run shares its part.

Of the bytes that a run holds of its documents, half are for blocks of the input on their way, half
for columns that have a place for each document; what is more of a column waits in a temporary file.
"""

import os
import resource
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath

from simdb.core.checks import is_whole, shown
from simdb.core.errors import OptionError

# Less would not hold the blocks of a few threads.
MEMORY_LEAST = 1 << 26
# Of a column, and of a block of the input, if no limit is given.
COLUMN_BYTES, BLOCK_BYTES = 1 << 26, 1 << 22
BLOCK_LEAST = 1 << 16
# The columns of a run, and how many times a block of each thread is in memory: two are begun by
# each of two steps, with what was made of them.
COLUMNS, BLOCKS = 7, 8
UNKNOWN = 1 << 62
CONTROL = Path("/sys/fs/cgroup")
# The file that has the limit of a control group, under each kind of root.
LIMITS = ((CONTROL, "memory.max"), (CONTROL / "memory", "memory.limit_in_bytes"))


def check_memory(name: str, memory: object) -> None:
    """Raise OptionError unless `memory`, the argument `name`, is None or a number of bytes."""
    if memory is not None and not is_whole(memory, MEMORY_LEAST):
        raise OptionError(
            f"{name} must be a number of bytes from {MEMORY_LEAST} (64M) on, got {shown(memory)}"
        )


def column_bytes(memory: int | None) -> int:
    """Return how many bytes of a column are held."""
    return COLUMN_BYTES if memory is None else memory // 2 // COLUMNS


def block_bytes(memory: int | None, threads: int) -> int:
    """Return how large a block of the input is, if several threads read."""
    if memory is None:
        return BLOCK_BYTES
    return max(min(memory // 2 // (BLOCKS * threads), BLOCK_BYTES), BLOCK_LEAST)


@cache
def memory_bytes() -> int:
    """Return the memory of the machine, or the least limit of its control group and its user."""
    if os.name != "posix":
        return UNKNOWN
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min([pages, *_limits(), *_resource_limits()])


def _limits() -> Iterator[int]:
    """Yield the limits of all control groups in which this process is, if there are any."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        group = PurePosixPath(line.rpartition(":")[2])
        for inside in (group, *group.parents):
            for root, name in LIMITS:
                try:
                    yield int((root / inside.relative_to("/") / name).read_bytes())
                except (OSError, ValueError):
                    continue  # no such group, or no limit


def _resource_limits() -> Iterator[int]:
    """Yield the limits of the address space and of the resident pages, if there are any."""
    for kind in (resource.RLIMIT_AS, resource.RLIMIT_RSS):
        limit, _ = resource.getrlimit(kind)
        if limit != resource.RLIM_INFINITY:
            yield limit
