"""Against: keeps the rows that a database has nothing like yet, and stores them in it.

Rows are claimed one after the other, so a row is also compared with those that were kept before it.
A row with the id of a stored document was seen before, and needs no search: a call that is made
again gives the same groups, and stores nothing.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb import database, engine
from simdb.clusters import Clusters
from simdb.deduplication.question import Question
from simdb.deduplication.result import Found
from simdb.deduplication.texts import Texts
from simdb.engine.search.judge import ByOrdinal
from simdb.engine.state.incoming import sketch_all
from simdb.errors import ExistsError, InputError
from simdb.values import Id, object_array, offsets_of
from simdb.verification import Verification

# So many rows are claimed at a time.
CLAIMED_ROWS = 1 << 15

I64 = npt.NDArray[np.int64]


class Claims:
    """The claims of one call, in one transaction: all new rows are stored or, after an error, none.

    `ids`: the id of each row.
    """

    def __init__(
        self,
        transaction: "engine.transaction.WriteTransaction",
        sketcher: Any,
        texts: Texts,
        ids: Sequence[Id],
        question: Question,
    ) -> None:
        """Begin without claims."""
        self._transaction = transaction
        self._sketcher = sketcher
        self._texts = texts
        self._ids = ids
        self._question = question
        self._stored: list[int] = []  # the rows stored by now, in the order of their ordinals
        self._known = ByOrdinal(self._texts_of, transaction.next_ordinal)
        self.matched: dict[int, tuple[Id, float]] = {}  # by row
        self.verification: Verification | None = None

    def claim(self, rows: I64) -> None:
        """Store the rows that match nothing, and note what each of the others matches."""
        is_seen = self._seen(rows)
        for row in rows[is_seen].tolist():
            self.matched[row] = (self._ids[row], 1.0)
        rows, question = rows[~is_seen], self._question
        try:
            matches = self._transaction.add_many_if_new(
                self._ids_of(rows), self._texts.at(rows),
                similarity=question.similarity, distance=question.distance, recall=question.recall,
                verify=question.verify, texts=self._known if question.is_exact else None,
                errors=question.errors, threads=question.threads,
            )  # fmt: skip
        except InputError as error:
            question.refuse(error, self._sketcher, self._texts, rows)
        is_match = np.diff(matches.offsets) > 0
        self._stored += rows[~is_match].tolist()
        found = zip(matches.ids, matches.similarities.tolist(), strict=True)
        self.matched.update(zip(rows[is_match].tolist(), found, strict=True))
        self._count(matches.verification)

    def _seen(self, rows: I64) -> npt.NDArray[np.bool_]:
        """Return which rows are stored already; ExistsError if another text has the id of one."""
        is_stored, stored_bits = self._transaction.bits_many(self._ids_of(rows))
        seen = rows[is_stored]
        if len(seen):
            own = sketch_all(
                self._sketcher, self._texts.at(seen), len(seen), errors=self._question.errors,
                threads=self._question.threads, progress=None,
            )  # fmt: skip
            other = np.flatnonzero(own.bits != stored_bits[is_stored])
            if len(other):
                row = int(seen[other[0]])
                raise ExistsError(
                    f"row {row} has the id {self._ids[row]!r}, with which the database holds"
                    " another text; give ids that stay with their texts, or leave out id="
                )
        return is_stored

    def _ids_of(self, rows: I64) -> list[Id]:
        return [self._ids[row] for row in rows.tolist()]

    def _texts_of(self, places: npt.NDArray[np.uint32]) -> Any:
        return self._texts.at(np.array(self._stored, np.int64)[places])

    def _count(self, verification: Verification | None) -> None:
        """Add what texts have decided in one step."""
        if verification is None or self.verification is None:
            self.verification = verification
            return
        self.verification.judged += verification.judged
        self.verification.overruled += verification.overruled
        self.verification.unknown += verification.unknown


def find_new(
    held: database.Database, texts: Texts, order: I64, ids: Sequence[Id], question: Question
) -> Found:
    """Store the rows that nothing in the database matches; everything is found by ids.

    `order`: the rows to compare, those to be preferred first.
    """
    _check_ids(ids, order)
    with held.write() as transaction:
        claims = Claims(transaction, held.sketcher, texts, ids, question)
        for start in range(0, len(order), CLAIMED_ROWS):
            some = order[start : start + CLAIMED_ROWS]
            claims.claim(some)
            question.report(start + len(some))
    removed = np.array(sorted(claims.matched), np.int64)
    found = [claims.matched[row] for row in removed.tolist()]
    similarities = np.array([each for _, each in found], np.float32)
    groups = _grouped(ids, claims)
    return Found(removed, [id for id, _ in found], similarities, groups)


def _grouped(ids: Sequence[Id], claims: Claims) -> Clusters:
    """Return what was matched with the rows that matched it, in the order of the rows."""
    members: dict[Id, list[Id]] = {}
    for row in sorted(claims.matched):
        representative, _ = claims.matched[row]
        if ids[row] != representative:
            members.setdefault(representative, [representative]).append(ids[row])
    every = [id for group in members.values() for id in group]
    offsets = offsets_of([len(group) for group in members.values()])
    return Clusters(offsets, object_array(every), claims.verification)


def _check_ids(ids: Sequence[Id], order: I64) -> None:
    """Raise InputError if two of the rows have one id."""
    first: dict[Id, int] = {}
    for row in np.sort(order).tolist():
        earlier = first.setdefault(ids[row], row)
        if earlier != row:
            raise InputError(
                f"the rows {earlier} and {row} have the id {ids[row]!r}; the database needs an id"
                " for each row: make them distinct, or leave out id="
            )
