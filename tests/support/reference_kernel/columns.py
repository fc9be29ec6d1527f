"""Columns: checks the arrays of one run in one table, and the window of a run, in numpy."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from reference_kernel.vectors import array

U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

# Keys, ordinals and directory of one run in one table.
Column = tuple[U64, U32, U32]
# Entries of a directory, start .. stop.
Window = tuple[int, int]

HEADER_BITS_MAX = 32


def checked_column(column: Column) -> Column:
    """Return the three arrays of one run in one table; ValueError if they do not fit together."""
    keys, ordinals, directory = column
    array(keys, np.uint64)
    array(ordinals, np.uint32)
    array(directory, np.uint32)
    if len(keys) != len(ordinals):
        raise ValueError(f"{len(keys)} keys but {len(ordinals)} ordinals")
    count = len(directory) - 1
    if count < 1 or count & (count - 1) or count > 1 << HEADER_BITS_MAX:
        raise ValueError(f"a directory of {count + 1} entries; wanted a power of two and one")
    return column


def checked_windows(runs: list[list[Column]], windows: Sequence[Window] | None) -> list[Window]:
    """Return the directory entries of each run that are searched; ValueError for bad windows."""
    if windows is None:
        return [(0, len(run[0][2]) - 1) for run in runs]
    if len(windows) != len(runs):
        raise ValueError(f"{len(windows)} windows of {len(runs)} runs")
    for (start, stop), run in zip(windows, runs, strict=True):
        for _, _, directory in run:
            if not 0 <= start < stop < len(directory):
                raise ValueError(
                    f"the window {start} .. {stop} of a directory of {len(directory)} entries"
                )
    return list(windows)


def is_inside(window: Window, first: I64) -> Flags:
    """Return whether the window contains the buckets that begin at these directory entries."""
    return (first >= window[0]) & (first < window[1])


def header_width(column: Column) -> int:
    """Return how many leading bits of a key the directory of a column indexes."""
    return (len(column[2]) - 1).bit_length() - 1
