"""Stored: look-ups of sketched documents among stored ones, and storing of new ones."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic

import numpy as np

from simdb.core.arrays import IdT, Sketches
from simdb.core.matches import Matches
from simdb.core.options import SEEN
from simdb.database.search.question import Question
from simdb.database.snapshot import Snapshot
from simdb.database.state.documents import known_ordinals
from simdb.database.state.kinds import with_sealed
from simdb.database.state.state import State
from simdb.database.state.view import Sealed
from simdb.database.transaction import WriteTransaction
from simdb.database.write import claim
from simdb.database.write.claim import refereed

if TYPE_CHECKING:
    from simdb.database.search.judge import Texts


class Lookups(Generic[IdT]):
    """A look-up of the documents of one job among the stored ones, portion by portion.

    The tables of all stored documents are gathered in memory if that pays for `expected` look-ups;
    see `database/state/kinds.py`.  They are freed with the object.
    """

    def __init__(
        self,
        held: Snapshot[IdT] | WriteTransaction[IdT],
        question: Question,
        texts: "Texts[IdT] | None",
        *,
        is_exact: bool,
        expected: float,
        threads: int,
    ) -> None:
        """Look up in `held`; in a transaction, documents that are matched count as seen.

        `is_exact`: texts are compared; see `WriteTransaction.add_many_if_new`.  `texts` has the
        texts of stored documents; None if none is known.
        """
        self._held, self._question, self._texts = held, question, texts
        self._is_exact, self._expected, self._threads = is_exact, expected, threads
        self._of: Sealed | None = None  # the runs whose tables are gathered
        self._gathered: Sealed | None = None

    def find(self, documents: Any, sketches: Sketches) -> Matches[IdT]:
        """Return a stored match of each document that has one.

        `sketches`: the sketches of `documents`, which are a list or a column.
        """
        held = self._held
        if isinstance(held, WriteTransaction):
            with held._changing("note what was matched") as writing:
                found = self._found(writing.current(), documents, sketches)
                writing.staging.see(found.ordinals.astype(np.uint32, copy=False))
                return found
        with held._state() as state:
            return self._found(state, documents, sketches)

    def _found(self, state: State, documents: Any, sketches: Sketches) -> Matches[IdT]:
        criterion, referee = refereed(
            state, sketches, documents, self._question, self._texts, is_exact=self._is_exact
        )
        state.threads = self._threads
        sealed = state.view.sealed
        if len(sketches) and self._of is not sealed:
            self._of = sealed
            self._gathered = claim.gathered_of(state, criterion, self._expected)
        if self._gathered is not None:
            state = state.over(with_sealed(state.view, self._gathered))
        return claim.find_stored(state, sketches, criterion, referee)


def id_key(transaction: WriteTransaction[Any]) -> bytes:
    """Return the key under which a database hashes ids; empty if an older version made it."""
    return transaction._writing.staging.id_key


def note_seen(transaction: WriteTransaction[IdT], ids: Sequence[IdT]) -> None:
    """Note the time when stored documents appeared again, if the database keeps it."""
    if transaction._store.options.keep_times != SEEN:
        return
    with transaction._changing("note what came again") as writing:
        writing.staging.see(known_ordinals(writing.current(), list(ids)))


def insert_sketched(
    transaction: WriteTransaction[IdT],
    ids: Sequence[IdT],
    sketches: Sketches,
    documents: Callable[[], Any],
    threads: int,
) -> None:
    """Store documents that are sketched already.

    `documents` returns them, for a database that also stores grains, features or texts.
    """
    beside = transaction._store.beside
    if beside is not None:
        sketches = beside.added(sketches, documents(), errors="replace")
    transaction.insert_many(ids, sketches, threads=threads)
