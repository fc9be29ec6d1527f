"""Arrivals: the documents of one run that are like nothing in a database, nor like each other.

Each document is looked up among the stored ones.  Those that match none of them are compared with
each other as the documents of a run without a database are, and those that stay are stored.  So
nothing is looked up among the documents of the run itself, and a database that is empty costs no
look-up.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from simdb import database
from simdb.core.arrays import Id, Sketches, object_array
from simdb.core.dtypes import I64, U8
from simdb.core.matches import Matches, Verification
from simdb.core.memory import Blocks
from simdb.jobs.deduplication.measures import apart
from simdb.jobs.deduplication.newcomers import Sifted, lookups_of
from simdb.jobs.deduplication.question import DedupQuestion, NamesAt, TextSource
from simdb.jobs.deduplication.repeat import Left
from simdb.jobs.deduplication.within import alone
from simdb.sketch import TEXT_CONTENT

# So many documents are stored at a time.
STORED_DOCUMENTS = 1 << 16

# From ids of stored documents to their texts, None for one that is not known.
KnownTexts: TypeAlias = Callable[[list[Id]], Sequence[Any]]


class LeftOut(NamedTuple):
    """The documents that are left out, by their ascending places, and what they match.

    `earlier`: how many of the documents that were compared match a stored one.
    """

    places: I64
    found: Left
    earlier: int
    verification: Verification | None


class Arrivals(ExitStack):
    """The documents of one run, in the order in which they are added; `with` frees them."""

    def __init__(
        self,
        held: database.Database,
        transaction: "database.WriteTransaction",
        question: DedupQuestion,
    ) -> None:
        """Compare with what the `transaction` of a database sees, and store in it.

        Raises OptionError for a question that the database cannot answer.
        """
        super().__init__()
        self._question, self._transaction = question, transaction
        self._sketcher = held.sketcher
        self._sketcher.prepare()
        self._has_stored = len(transaction) > 0
        memory = question.memory
        columns = [self.enter_context(Blocks(memory)) for _ in range(3)]
        self._bits, self._vectors, self._states = columns
        # It raises what the question raises.
        self._lookups(0, None).find([], self._sketcher.sketch([]))
        # How a database is searched says nothing of documents that are in none.
        self._within = alone(held.options, replace(question, search=None))
        self.push(self._within)
        self._sifted = Sifted(self._within, question.threads)
        self._stays = self._sifted.fresh

    @property
    def way(self) -> str:
        """How candidates among the documents themselves are found, in words."""
        return self._within.way

    def add_all(
        self, parts: Iterable[Any], count: Callable[[], float], known: KnownTexts | None
    ) -> Iterator[int]:
        """Add the texts of all parts, about `count()` in all; yield how many there are so far.

        `known`: the texts of stored documents; None if no text is known.
        """
        lookups = self._lookups(count(), known)
        yield from self._sifted.add_all(
            parts, count, lambda texts: self._taken(texts, lookups, count()),
            errors=self._question.errors,
        )  # fmt: skip

    def decide(self, order: I64 | None, texts: TextSource, names: NamesAt) -> LeftOut:
        """Return which documents are not stored, by their positions.

        `order` int64[n]: their positions, those to be preferred first; None for the order in which
        they were added.  `texts` and `names` return the texts and the ids at some positions.
        """
        decided, found = self._sifted.decide(order, texts), self._sifted.found
        removed, leaders = decided.removed, decided.leaders
        positions = np.concatenate([removed, *self._sifted.matched])
        by_position = np.argsort(positions)
        positions = positions[by_position]
        matches = [object_array(list(names(leaders))), *(each.ids for each in found)]
        distances = [self._apart(removed, leaders), *(each.distances for each in found)]
        similarities = [decided.similarities, *(each.similarities for each in found)]
        self._stays = np.setdiff1d(self._sifted.fresh, removed, assume_unique=True)
        columns = (np.concatenate(each)[by_position] for each in (matches, distances, similarities))
        left = Left(object_array(list(names(positions))), *columns)
        return LeftOut(positions, left, len(positions) - len(removed), decided.verification)

    def store(self, names: NamesAt, texts: TextSource) -> Iterator[tuple[I64, Sequence[Id]]]:
        """Store the documents that are not refused, and yield their positions and ids in portions.

        A portion is stored when it is yielded.  `names` and `texts`: see `decide`.
        """
        fresh = self._stays
        if len(fresh):
            bits, vectors, states = (
                each.whole() for each in (self._bits, self._vectors, self._states)
            )
        for start in range(0, len(fresh), STORED_DOCUMENTS):
            some = fresh[start : start + STORED_DOCUMENTS]
            ids = names(some)
            database.insert_sketched(
                self._transaction, ids,
                Sketches(bits[some], vectors[some], states[some], content=TEXT_CONTENT),
                partial(texts, some), self._question.threads,
            )  # fmt: skip
            yield some, ids

    def _taken(
        self, texts: Any, lookups: "database.Lookups[Any]", count: float
    ) -> tuple[Matches[Any] | None, Any]:
        """Keep the sketches of some texts, and look them up among what is stored; see `Sifted`."""
        if len(texts):
            errors = self._question.errors
            sketches, rest = self._sifted.sketched(self._sketcher, texts, count, errors)
        else:
            sketches, rest = self._sketcher.sketch([]), texts
        self._bits.add(sketches.bits)
        self._vectors.add(sketches.vectors)
        self._states.add(sketches.states)
        return lookups.find(texts, sketches) if self._has_stored else None, rest

    def _lookups(self, expected: float, known: KnownTexts | None) -> "database.Lookups[Any]":
        return lookups_of(self._transaction, self._question, known, expected)

    def _apart(self, left: I64, right: I64) -> U8:
        """Return the distances of some documents, as a database measures them."""
        if not len(left):
            return np.empty(0, np.uint8)
        sketch, bits, vectors = self._sketcher.options, self._bits.whole(), self._vectors.whole()
        return apart(sketch, bits, vectors, left, right)
