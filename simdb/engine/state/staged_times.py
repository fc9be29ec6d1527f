"""Staged times: when documents were inserted or seen in a write transaction."""

import math
from datetime import datetime
from time import time
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.ground.checks import shown
from simdb.ground.errors import InputError
from simdb.storage.records.times import Change

U32 = npt.NDArray[np.uint32]

SECONDS_MAX = 2**32 - 1


def now_seconds() -> int:
    """Return the seconds since 1970, as they are stored: never 0, which means no time."""
    return min(max(int(time()), 1), SECONDS_MAX)


class StagedTimes:
    """The times that a transaction changes, in order; `changes` only grows, or is taken back."""

    def __init__(self) -> None:
        """Begin without changes."""
        self.changes: list[Change] = []

    def __len__(self) -> int:
        """Number of changes, for `restore`."""
        return len(self.changes)

    def restore(self, count: int) -> None:
        """Forget all changes but the first `count`."""
        del self.changes[count:]

    def note(self, ordinals: U32) -> None:
        """Give some documents the present time."""
        if len(ordinals):
            self.changes.append((ordinals, now_seconds()))

    def over(self, stored: U32) -> U32:
        """Return the time of every ordinal, given a copy of the stored times with their length."""
        for ordinals, seconds in self.changes:
            stored[ordinals] = seconds
        return stored


def seconds_of(before: Any) -> int:
    """Return the seconds since 1970 of a datetime, rounded down; InputError for anything else."""
    if not isinstance(before, datetime):
        raise InputError(
            "before must be a datetime, such as datetime.now() - timedelta(days=30), got"
            f" {shown(before)}"
        )
    try:
        return math.floor(before.timestamp())
    except (OverflowError, ValueError, OSError) as error:
        raise InputError(f"before cannot be turned into seconds: {error}") from error
