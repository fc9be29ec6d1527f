"""Stored: the keys of the parts that earlier runs have kept, in the notes of a database.

A run stores the keys that no other run has stored, as ascending pieces of at most `PIECE_KEYS`:

    parts/UNIT          pieces, a list of names of runs, one for each piece
    parts/UNIT/NUMBER   uint64[k], ascending: the keys of a piece, by its number

What a run has stored is not counted as seen before when a run of this name is repeated.  So the
same run keeps and drops the same again, whatever other runs have stored since.
"""

from typing import Any, Protocol

import numpy as np

from simdb.deduplication.parts.seen import U64, Bools, is_among

NOTE = "parts/"
# 8 MiB in a note.
PIECE_KEYS = 1 << 20
# The name of runs that cannot be repeated.
NAMELESS = ""


class Noted(Protocol):
    """A transaction, by its notes."""

    def note(self, name: str) -> Any:
        """Return the content of a note; None without one."""

    def set_note(self, name: str, content: Any) -> None:
        """Store the content of a note."""


class Stored:
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
