"""Seen: a set of keys in sorted arrays, 8 bytes each, which tells what is new to it."""

from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from simdb.values.arrays import is_first

NOTE = "parts/"
# 8 MiB in a note.
PIECE_KEYS = 1 << 20
# The name of runs that cannot be repeated.
NAMELESS = ""

Bools = npt.NDArray[np.bool_]
U64 = npt.NDArray[np.uint64]


class SeenKeys:
    """The distinct keys so far.

    They are in a few ascending arrays without a common key.  Each is more than twice as large as
    the next one, so that a key is moved few times, and looked up in few places.
    """

    def __init__(self) -> None:
        """Begin without keys."""
        self._parts: list[U64] = []

    def __len__(self) -> int:
        """Count the keys."""
        return sum(map(len, self._parts))

    def add(self, keys: U64) -> Bools:
        """Take keys; return which of them are there for the first time: bool[n]."""
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
        is_new = is_first(ordered)
        for part in self._parts:
            is_new &= ~is_among(part, ordered)
        found = np.zeros(len(keys), np.bool_)
        found[order[is_new]] = True
        self._append(ordered[is_new])
        return found

    def all(self) -> U64:
        """Return all keys, ascending."""
        while len(self._parts) > 1:
            self._merge()
        return self._parts[0] if self._parts else np.empty(0, np.uint64)

    def _append(self, keys: U64) -> None:
        if len(keys):
            self._parts.append(keys)
        while any(len(larger) <= 2 * len(other) for larger, other in pairwise(self._parts[-2:])):
            self._merge()

    def _merge(self) -> None:
        """Make one of the last two arrays."""
        smaller, larger = self._parts.pop(), self._parts.pop()
        merged = np.concatenate([larger, smaller])
        del larger, smaller
        merged.sort(kind="stable")  # which merges what is sorted
        self._parts.append(merged)


def is_among(known: U64, keys: U64) -> Bools:
    """Tell which of some keys are among the `known` ones, which ascend: bool[n]."""
    if not len(known):
        return np.zeros(len(keys), np.bool_)
    at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    found: Bools = known[at] == keys
    return found


class Noted(Protocol):
    """A transaction, by its notes."""

    def note(self, name: str) -> Any:
        """Return the content of a note; None without one."""

    def set_note(self, name: str, content: Any) -> None:
        """Store the content of a note."""


class UnitKeys:
    """The keys of one unit in a database."""

    def __init__(self, transaction: Noted, unit: str) -> None:
        """Read which runs have stored keys."""
        self._transaction, self._name = transaction, NOTE + unit
        directory = transaction.note(self._name)
        self._runs: list[str] = [] if directory is None else directory["pieces"]

    def settle(self, keys: U64, run: str) -> Bools:
        """Return which of some keys, distinct and ascending, other runs have; store the rest.

        `run`: the name of this run.
        """
        is_old = np.zeros(len(keys), np.bool_)
        is_own = np.zeros(len(keys), np.bool_)
        for number, name in enumerate(self._runs):
            piece = np.frombuffer(self._transaction.note(f"{self._name}/{number}"), "<u8")
            start, stop = np.searchsorted(keys, piece[0]), np.searchsorted(keys, piece[-1], "right")
            is_here = is_own if name == run and run != NAMELESS else is_old
            is_here[start:stop] |= is_among(piece, keys[start:stop])
        self._add(keys[~is_old & ~is_own], run)
        return is_old

    def _add(self, keys: U64, run: str) -> None:
        for start in range(0, len(keys), PIECE_KEYS):
            piece = keys[start : start + PIECE_KEYS].astype("<u8").tobytes()
            self._transaction.set_note(f"{self._name}/{len(self._runs)}", piece)
            self._runs.append(run)
        if len(keys):
            self._transaction.set_note(self._name, {"pieces": self._runs})
