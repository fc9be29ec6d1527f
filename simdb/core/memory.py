"""Memory: the limit of this process, and its division within a run.

A run gives half of its bytes to blocks of the input in progress, and half to columns with an entry
for each document.  The part of a column that does not fit waits in a temporary file.
"""

import os
import resource
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from simdb.core.checks import is_whole, shown
from simdb.core.dtypes import U32, Array
from simdb.core.errors import OptionError
from simdb.core.threads import thread_count
from simdb.core.values import dataclass

MEMORY_LEAST = 1 << 26  # enough for the blocks of a few threads
# The defaults without a limit, for a column and for a block of the input.
COLUMN_BYTES, BLOCK_BYTES = 1 << 26, 1 << 22
BLOCK_LEAST = 1 << 16
# The columns of a run, and the blocks in memory for each thread: two steps have two blocks each in
# progress, and their results.
COLUMNS, BLOCKS = 7, 8
UNKNOWN = 1 << 62
CONTROL = Path("/sys/fs/cgroup")
# The file with the limit of a control group, for both versions of control groups.
LIMITS = ((CONTROL, "memory.max"), (CONTROL / "memory", "memory.limit_in_bytes"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The number of threads and the memory of a call, for its argument `threads`.

    Parameters
    ----------
    threads : int, optional
        Number of threads; see `Database.insert_many`.
    memory : int, optional
        Bytes for documents that are read or compared, at least 2**26 (64 MiB); the rest waits in
        temporary files.  About 64 bytes for each document are needed in addition.

    Raises
    ------
    OptionError
        If a value is impossible.

    Notes
    -----
    Half of `memory` is for blocks of files, and half for columns with a value for each document,
    such as its place in a file.  The default is 64 MiB for each of at most seven columns, and
    blocks of 4 MiB.  Texts that are not in files do not count.

    Examples
    --------
    >>> budget = simdb.Budget(threads=2, memory=2**28)
    >>> simdb.deduplicate(["a page about ships", "A page about ships!"], threads=budget).data
    ['a page about ships']
    """

    threads: int | None = None
    memory: int | None = None

    def __post_init__(self) -> None:
        """Raise OptionError for an impossible value."""
        thread_count(self.threads)
        check_memory("memory", self.memory)


def budget_of(threads: Any) -> tuple[int, int | None]:
    """Return the number of threads and of bytes that the `threads` argument of a verb means.

    Raises OptionError for an impossible value.
    """
    use = threads if isinstance(threads, Budget) else Budget(threads=threads)
    return thread_count(use.threads), use.memory


def check_memory(name: str, memory: object) -> None:
    """Raise OptionError unless the argument `name`, `memory`, is None or a number of bytes."""
    if memory is not None and not is_whole(memory, MEMORY_LEAST):
        raise OptionError(f"{name} must be {MEMORY_LEAST} bytes (64M) or more, got {shown(memory)}")


def column_bytes(memory: int | None) -> int:
    """Return the number of bytes of a column that are held in memory."""
    return COLUMN_BYTES if memory is None else memory // 2 // COLUMNS


def block_bytes(memory: int | None, threads: int) -> int:
    """Return the size of a block of the input when `threads` threads read."""
    if memory is None:
        return BLOCK_BYTES
    return max(min(memory // 2 // (BLOCKS * threads), BLOCK_BYTES), BLOCK_LEAST)


@cache
def memory_bytes() -> int:
    """Return the memory of the machine, or a smaller limit of a control group or of the user."""
    if os.name != "posix":
        return UNKNOWN
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min([pages, *_limits(), *_resource_limits()])


def _limits() -> Iterator[int]:
    """Yield the limits of all control groups of this process."""
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
    """Yield the limits of the address space and of the resident pages, if they are set."""
    for kind in (resource.RLIMIT_AS, resource.RLIMIT_RSS):
        limit, _ = resource.getrlimit(kind)
        if limit != resource.RLIM_INFINITY:
            yield limit


class Blocks(ExitStack):
    """A sequence of arrays, in memory or, if they are large, in a temporary file.

    A `with` statement frees both.
    """

    def __init__(self, memory: int | None = None) -> None:
        """Begin without arrays; `memory`: the limit of the run, 0 to hold no array in memory."""
        super().__init__()
        self._held_bytes = column_bytes(memory)
        self._held: list[Array] = []
        self._mapped: list[Array] = []  # the whole file, once it was read
        for arrays in (self._held, self._mapped):
            self.callback(arrays.clear)
        self._waiting: list[tuple[int, tuple[int, ...]]] = []  # places and shapes in the file
        self._size = 0
        self._file: Any = None

    def add(self, block: Array) -> None:
        """Append an array."""
        self._held.append(block)
        self._size += block.nbytes
        if self._size > self._held_bytes:
            self._spill()

    def row(self, number: int) -> U32:
        """Join row `number` of all arrays, which hold keys; several threads may call this."""
        held, waiting = [block[number] for block in self._held], self._waiting
        ends = np.cumsum([0, *(count for _, (_, count) in waiting)]).tolist()
        found = np.empty(ends[-1] + sum(map(len, held)), np.uint32)
        for (start, stop), (place, _) in zip(pairwise(ends), waiting, strict=True):
            part = found[start:stop]
            os.preadv(self._file.fileno(), [part.data], place + number * part.nbytes)
        np.concatenate([found[:0], *held], out=found[ends[-1] :])
        return found

    def whole(self) -> Array:
        """Join all arrays, whose rows have the same width."""
        if self._waiting:
            if self._held:
                self._spill()
            if not self._mapped:
                # Reading a plain array is faster than reading a memmap.
                every = np.asarray(np.memmap(self._file, self._dtype, "r"))
                self._mapped.append(every.reshape(-1, *self._waiting[0][1][1:]))
            return self._mapped[0]
        if len(self._held) > 1:
            self._held[:] = [np.concatenate(self._held)]
        return self._held[0]

    def _spill(self) -> None:
        """Move the arrays in memory into the file."""
        if self._file is None:
            self._file = self.enter_context(tempfile.TemporaryFile("w+b"))  # noqa: SIM115
        for block in self._held:
            self._dtype = block.dtype
            self._waiting.append((self._file.tell(), block.shape))
            self._file.write(block.data)
        self._file.flush()
        self._held.clear()
        self._mapped.clear()
        self._size = 0
