"""Stored: which of many documents a stored one matches, as a snapshot has it."""

from typing import TYPE_CHECKING, Any

from simdb.engine.search.question import Question, criterion_of
from simdb.engine.snapshot import Snapshot
from simdb.engine.write import claim
from simdb.engine.write.referee import Referee
from simdb.ground.ids import IdT
from simdb.results.matches import Matches
from simdb.values.arrays import Sketches

if TYPE_CHECKING:
    from simdb.engine.search.judge import Texts


def find_stored(
    snapshot: Snapshot[IdT],
    documents: Any,
    sketches: Sketches,
    question: Question,
    texts: "Texts[IdT] | None",
    threads: int,
) -> Matches[IdT]:
    """Return a match of each of many documents that a stored one matches.

    See `simdb.engine.transaction.find_stored`, which also notes what was seen.
    """
    criterion, referee = criterion_of(snapshot._store.options, sketches, question), None
    with snapshot._state() as state:
        state.threads = threads
        if texts is not None:
            criterion, judge = snapshot._judging(criterion, question, texts)
            referee = None if judge is None else Referee(judge, documents, state.next_ordinal)
        return claim.find_stored(state, sketches, criterion, referee)
