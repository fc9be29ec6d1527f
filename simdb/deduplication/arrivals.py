"""Arrivals: documents that come to a database, of which those stay that are like no other.

Each is looked up among the stored documents.  Those that match none of them are compared with each
other as the documents of a run without a database are, and those that stay are stored.  So nothing
is looked up among the documents of the run itself, and a database that is empty costs no look-up.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb import database, engine
from simdb.deduplication.measures import apart
from simdb.deduplication.minima import Blocks
from simdb.deduplication.newcomers import Sifted
from simdb.deduplication.question import F32, I64, DedupQuestion, TextSource
from simdb.deduplication.within import alone
from simdb.engine.state.incoming import sketch_all
from simdb.ground.choices import ErrorsName
from simdb.results.matches import Matches, Verification
from simdb.values.arrays import Id, Sketches, object_array

# So many documents are stored at a time.
STORED_DOCUMENTS = 1 << 16

# From positions of documents to their ids.
Names = Callable[[I64], Sequence[Id]]


@dataclass(frozen=True, slots=True)
class Refused:
    """The documents that are not stored, by their positions, and what each of them matches.

    `positions` int64[k], ascending; `matches` object[k], the ids of documents that stay;
    `distances` uint8[k]; `similarities` float32[k], NaN for none.  `earlier`: how many of them
    match documents that were stored before.
    """

    positions: I64
    matches: npt.NDArray[np.object_]
    distances: npt.NDArray[np.uint8]
    similarities: F32
    earlier: int
    verification: Verification | None


class Arrivals:
    """The documents of one run, in the order in which they are added; `with` frees them."""

    def __init__(
        self,
        held: database.Database,
        transaction: "engine.transaction.WriteTransaction",
        question: DedupQuestion,
        known: Callable[[list[Id]], Sequence[Any]],
    ) -> None:
        """Compare with what the `transaction` of a database sees, and store in it.

        `known` returns the texts of stored documents by their ids, None for one that is not known.
        Raises OptionError for a question that the database cannot answer.
        """
        self._question, self._transaction, self._known = question, transaction, known
        self._sketcher = held.sketcher
        self._sketcher.prepare()
        self._has_stored = len(transaction) > 0
        memory = question.memory
        self._bits, self._vectors, self._states = Blocks(memory), Blocks(memory), Blocks(memory)
        self._held = ExitStack()
        for column in (self._bits, self._vectors, self._states):
            self._held.callback(column.close)
        self._find_stored([], self._sketched([]))
        # How a database is searched says nothing of documents that are in none.
        self._within = alone(held.options, replace(question, search=None))
        self._held.push(self._within)
        self._sifted = Sifted(self._within)
        self._stays = self._sifted.fresh

    def __enter__(self) -> "Arrivals":
        """Return the object itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Free the documents."""
        self._held.close()

    @property
    def way(self) -> str:
        """How candidates among the documents themselves are found, in words."""
        return self._within.way

    def add_all(
        self, parts: Iterable[Any], count: Callable[[], float], *, errors: ErrorsName
    ) -> Iterator[int]:
        """Add the texts of all parts, about `count()` in all; yield how many there are so far."""
        yield from self._sifted.add_all(
            parts, count, lambda texts: self._taken(texts, errors), errors=errors
        )

    def decide(self, order: I64 | None, texts: TextSource, names: Names) -> Refused:
        """Return which documents are not stored.

        `order` int64[n]: their positions, those to be preferred first; None for the order in which
        they were added.  `texts` and `names` return the texts and the ids at some positions.
        """
        decided, found = self._sifted.decide(order, texts), self._sifted.found
        removed, leaders = decided.removed, decided.leaders
        positions = np.concatenate([removed, *self._sifted.matched])
        by_position = np.argsort(positions)
        matches = [object_array(list(names(leaders))), *(each.ids for each in found)]
        distances = [self._apart(removed, leaders), *(each.distances for each in found)]
        similarities = [decided.similarities, *(each.similarities for each in found)]
        self._stays = np.setdiff1d(self._sifted.fresh, removed, assume_unique=True)
        return Refused(
            positions[by_position],
            np.concatenate(matches)[by_position],
            np.concatenate(distances)[by_position],
            np.concatenate(similarities)[by_position],
            len(positions) - len(removed),
            decided.verification,
        )

    def store(self, names: Names, texts: TextSource) -> Iterator[tuple[I64, Sequence[Id]]]:
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
            engine.stored.insert_sketched(
                self._transaction, ids, Sketches(bits[some], vectors[some], states[some]),
                partial(texts, some), self._question.threads,
            )  # fmt: skip
            yield some, ids

    def _taken(self, texts: Any, errors: ErrorsName) -> Matches[Any] | None:
        """Keep the sketches of some texts, and look them up among what is stored."""
        sketches = self._sketched(texts, errors)
        self._bits.add(sketches.bits)
        self._vectors.add(sketches.vectors)
        self._states.add(sketches.states)
        return self._find_stored(texts, sketches) if self._has_stored else None

    def _sketched(self, texts: Any, errors: ErrorsName = "strict") -> Sketches:
        if not len(texts):
            return self._sketcher.sketch([])
        return sketch_all(
            self._sketcher, texts, len(texts), errors=errors, threads=self._question.threads,
            progress=None,
        )  # fmt: skip

    def _find_stored(self, texts: Any, sketches: Sketches) -> Any:
        question = self._question
        return engine.stored.find_and_see(
            self._transaction, texts, sketches, question.asked,
            self._known if question.is_exact else None, question.threads,
        )  # fmt: skip

    def _apart(self, left: I64, right: I64) -> npt.NDArray[np.uint8]:
        """Return the distances of some documents, as a database measures them."""
        if not len(left):
            return np.empty(0, np.uint8)
        sketch, bits, vectors = self._sketcher.options, self._bits.whole(), self._vectors.whole()
        return apart(sketch, bits, vectors, left, right)
