"""Decided: what became of the documents of one run, in arrays."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from simdb.results.matches import Verification
from simdb.values.arrays import offsets_of

I64 = npt.NDArray[np.int64]
F32 = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]


class TextSource(Protocol):
    """Returns the texts of documents; several threads may call it."""

    def __call__(self, positions: I64, /) -> Any:
        """Return the texts at some positions, in that order."""


@dataclass(frozen=True, slots=True)
class Decided:
    """The documents that go, by their positions in the input; the others stay.

    `removed` and `leaders` int64[k]: a document that goes, ascending, and the one that stays for
    it, or -1 - p for that at the position p of a reference; `similarities` float32[k] of both,
    `distances` int64[k] or None if they are not known.  `verification`: what texts have decided;
    None if they were not asked.
    """

    removed: I64
    leaders: I64
    similarities: F32
    distances: I64 | None
    verification: Verification | None

    def chosen(self, is_chosen: npt.NDArray[np.bool_]) -> "Decided":
        """Return what is decided if only some of these documents go: bool[k]."""
        return replace(
            self, removed=self.removed[is_chosen], leaders=self.leaders[is_chosen],
            similarities=self.similarities[is_chosen],
            distances=None if self.distances is None else self.distances[is_chosen],
        )  # fmt: skip

    def groups(self, order: I64 | None) -> tuple[I64, I64, I64]:
        """Return the groups: where each begins, its members, and the place of each in `removed`.

        The first member of a group stays, and its place is -1.  `order`: the documents, those to be
        preferred first; groups and members are in that order, None for that of the input.  Groups
        of a reference come first.
        """
        places = np.arange(len(self.removed))
        leading, going = self.leaders, self.removed
        if order is not None:
            rank = np.empty(int(order.max(initial=-1)) + 1, np.int64)
            rank[order] = np.arange(len(order))
            leading, going = by_table(rank, leading), rank[going]
        leading = _in_order(leading)
        by_group = np.lexsort((going, leading))
        leaders, firsts = np.unique(leading[by_group], return_index=True)
        sizes = np.diff(firsts, append=len(by_group))
        stays = _in_order(leaders)
        if order is not None:
            stays = by_table(order, stays)
        members = np.insert(self.removed[by_group], firsts, stays)
        return offsets_of(sizes + 1), members, np.insert(places[by_group], firsts, -1)


def by_table(table: I64, positions: I64) -> I64:
    """Return what a table has for positions; those of a reference, below 0, stay as they are."""
    found = positions.copy()
    is_own = positions >= 0
    found[is_own] = table[positions[is_own]]
    return found


def _in_order(leaders: I64) -> I64:
    """Return leaders with those of a reference, which descend from -1, in ascending order.

    A second call gives back what the first one was given.
    """
    return np.where(leaders < 0, np.iinfo(np.int64).min - leaders, leaders)


def joined(parts: Sequence[I64]) -> I64:
    """Return positions that were gathered in parts as one array."""
    return np.concatenate([np.empty(0, np.int64), *parts])
