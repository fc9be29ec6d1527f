"""Stored: which of many sketched documents a stored one matches; and storing the others."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from simdb.engine.search.question import Question, criterion_of
from simdb.engine.snapshot import Snapshot
from simdb.engine.transaction import WriteTransaction
from simdb.engine.write import claim
from simdb.engine.write.undecided import Referee
from simdb.results.matches import Matches
from simdb.values.arrays import IdT, Sketches

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

    `sketches`: those of the `documents`, which are a list or a column.  `texts`: those of stored
    documents, None if the sketches decide; see `WriteTransaction.add_many_if_new`.
    """
    criterion, referee = criterion_of(snapshot._store.options, sketches, question), None
    with snapshot._state() as state:
        state.threads = threads
        if texts is not None:
            criterion, judge = snapshot._judging(criterion, question, texts)
            referee = None if judge is None else Referee(judge, documents, state.next_ordinal)
        return claim.find_stored(state, sketches, criterion, referee)


def find_and_see(
    transaction: WriteTransaction[IdT],
    documents: Any,
    sketches: Sketches,
    question: Question,
    texts: "Texts[IdT] | None",
    threads: int,
) -> Matches[IdT]:
    """Do the same in a write transaction, where the matched documents count as seen."""
    criterion, referee = transaction._refereed(
        sketches, documents, question, texts, is_exact=texts is not None
    )
    writing = transaction._writing
    with writing.alone("the transaction must be idle to note what was matched"):
        state = writing.current()
        state.threads = threads
        found = claim.find_stored(state, sketches, criterion, referee)
        writing.staging.see(found.ordinals.astype(np.uint32, copy=False))
        return found


def insert_sketched(
    transaction: WriteTransaction[IdT],
    ids: Sequence[IdT],
    sketches: Sketches,
    documents: Callable[[], Any],
    threads: int,
) -> None:
    """Store documents that are sketched already.

    `documents` returns them, if the database also stores something else that is made of them.
    """
    beside = transaction._store.beside
    if beside is not None:
        sketches = beside.added(sketches, documents(), errors="replace")
    transaction.insert_many(ids, sketches, threads=threads)
