"""Sifted: which documents of one run match what was there before, as they come."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from simdb.columns.text_column import TextColumn
from simdb.deduplication.decided import I64, Decided, joined
from simdb.results.matches import Matches
from simdb.results.verification import Verification


class Sifted:
    """The documents of one run, by their positions: those that match something, and the rest.

    `count`: how many there are so far.  `matched`: positions of documents in portions, each with
    one match of each of them.
    """

    def __init__(self) -> None:
        """Begin without documents."""
        self.count = 0
        self.matched: list[tuple[I64, Matches[Any]]] = []
        self._fresh: list[I64] = []

    def sift(self, texts: Any, found: Matches[Any] | None) -> TextColumn | Sequence[Any]:
        """Take some texts and at most one match of each; return the texts that match nothing."""
        positions = np.arange(self.count, self.count + len(texts))
        self.count += len(texts)
        if found is None or not len(found.ordinals):
            self._fresh.append(positions)
            rest: TextColumn | Sequence[Any] = texts
            return rest
        is_match = np.diff(found.offsets) > 0
        self.matched.append((positions[is_match], found))
        self._fresh.append(positions[~is_match])
        chosen = np.flatnonzero(~is_match)
        if isinstance(texts, TextColumn):
            return texts.chosen(chosen)
        return [texts[at] for at in chosen.tolist()]

    @property
    def fresh(self) -> I64:
        """The positions of documents that match nothing, ascending."""
        return joined(self._fresh)


def places_in(fresh: I64, order: I64 | None) -> I64 | None:
    """Return the places in `fresh`, which ascends, of those in `order` that it has, in order.

    None for the order in which documents came.
    """
    if order is None:
        return None
    places = np.full(int(order.max(initial=-1)) + 1, -1, np.int64)
    places[fresh] = np.arange(len(fresh))
    found = places[order]
    return found[found >= 0]


def counted(decided: Decided, found: Sequence[Matches[Any]]) -> Verification | None:
    """Return what texts have decided in all: of the rest, and of the matches `found`."""
    counts = decided.verification
    if counts is not None:
        for each in found:
            if each.verification is not None:
                counts.judged += each.verification.judged
                counts.overruled += each.verification.overruled
                counts.unknown += each.verification.unknown
    return counts
