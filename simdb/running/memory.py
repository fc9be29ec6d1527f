"""Memory: how many bytes a run holds of its documents, and how they are shared.

Half of them is for blocks of the input on their way, half for columns that have a place for each
document; what is more of a column waits in a temporary file.
"""

from simdb.ground.checks import shown
from simdb.ground.errors import OptionError

# Less would not hold the blocks of a few threads.
MEMORY_LEAST = 1 << 26
# Of a column, and of a block of the input, if no limit is given.
COLUMN_BYTES, BLOCK_BYTES = 1 << 26, 1 << 22
BLOCK_LEAST = 1 << 16
# The columns of a run, and how many times a block of each thread is in memory: two are begun by
# each of two steps, with what was made of them.
COLUMNS, BLOCKS = 5, 8


def check_memory(name: str, memory: object) -> None:
    """Raise OptionError unless `memory`, the argument `name`, is None or a number of bytes."""
    is_whole = isinstance(memory, int) and not isinstance(memory, bool)
    if memory is not None and not (is_whole and memory >= MEMORY_LEAST):  # type: ignore[operator]
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
