"""Memory: how much of it this process may use, as far as the system tells."""

import os
import resource
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath

UNKNOWN = 1 << 62
CONTROL = Path("/sys/fs/cgroup")
# The file that has the limit of a control group, under each kind of root.
LIMITS = ((CONTROL, "memory.max"), (CONTROL / "memory", "memory.limit_in_bytes"))


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
                    yield int((root / inside.relative_to("/") / name).read_text(encoding="ascii"))
                except (OSError, ValueError):
                    continue  # no such group, or no limit


def _resource_limits() -> Iterator[int]:
    """Yield the limits of the address space and of the resident pages, if there are any."""
    for kind in (resource.RLIMIT_AS, resource.RLIMIT_RSS):
        limit, _ = resource.getrlimit(kind)
        if limit != resource.RLIM_INFINITY:
            yield limit
