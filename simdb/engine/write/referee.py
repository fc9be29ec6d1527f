"""Referee: confirms the matches of documents that are about to be stored, by their texts."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.engine.search.couples import Couples
from simdb.engine.search.judge import Judge
from simdb.engine.search.rows import Rows
from simdb.engine.state.state import State
from simdb.results.verification import Verification

U32 = npt.NDArray[np.uint32]


class Referee:
    """A judge of the matches of the documents of one call, which have no ordinals yet.

    To the judge, an undecided document has the ordinal that it would have if all documents before
    it in its group were stored.  `stored`: the positions in the call of what is stored by now.
    """

    def __init__(self, judge: Judge, documents: Sequence[Any], next_ordinal: int) -> None:
        """Let `judge` decide about `documents`; its texts are those of documents stored before.

        `next_ordinal`: the ordinal of the first document of the call to be stored.
        """
        self.stored: list[int] = []
        self._documents = documents
        self._first = next_ordinal
        self._texts_before = judge.texts
        self._places = np.empty(0, np.int64)
        self._judge = judge

    @property
    def counts(self) -> Verification:
        """What the texts have decided so far."""
        return self._judge.counts

    def confirmed(
        self,
        state: State,
        places: npt.NDArray[np.int64],
        rows: Rows,
        *,
        is_inside: bool = False,
    ) -> Rows:
        """Return the matches of a group that the texts confirm, best first.

        `places`: the positions in the call of the documents of the group.  `is_inside`: the matches
        are positions in the group.
        """
        self._places = places
        queries, undecided = rows.queries, self._first + len(self.stored)
        left = (queries + undecided).astype(np.uint32)
        right = rows.ordinals + np.uint32(undecided if is_inside else 0)
        couples = Couples(left, right, rows.distances, rows.similarities)
        try:
            known = self._judge.over(self._texts).measured(state, couples)
        finally:
            # Else both would keep each other, and the texts of the call, until Python looks for
            # such circles.
            self._judge.over(self._texts_before)
        rows = Rows(rows.offsets, rows.ordinals, rows.distances, known.similarities)
        chosen = np.flatnonzero(known.similarities >= np.float32(self._judge.least))
        far = -known.similarities[chosen]
        return rows.chosen(chosen[np.lexsort((rows.ordinals[chosen], far, queries[chosen]))])

    def _texts(self, state: State, ordinals: U32) -> list[Any]:
        """Return the texts of documents stored before the call, in it, and of undecided ones."""
        before, count = int(np.searchsorted(ordinals, self._first)), len(self.stored)
        places = (
            self.stored[at] if at < count else int(self._places[at - count])
            for at in (ordinals[before:].astype(np.int64) - self._first).tolist()
        )
        texts = self._texts_before(state, ordinals[:before]) if before else []
        return [*texts, *(self._documents[place] for place in places)]
