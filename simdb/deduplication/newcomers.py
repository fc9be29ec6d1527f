"""Newcomers: the documents of one run that match nothing in a database, which all stays.

Each is looked up in the database.  Those that match nothing there are compared with each other as
the documents of any run are.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from simdb import database, engine
from simdb.deduplication.alike import Alike
from simdb.deduplication.by_database import ByDatabase
from simdb.deduplication.decided import I64, Decided, Texts
from simdb.deduplication.question import Question
from simdb.deduplication.reference import Reference, Stored
from simdb.deduplication.sifted import Sifted, counted, places_in
from simdb.engine.state.incoming import sketch_all
from simdb.ground.choices import ErrorsName
from simdb.ground.errors import InputError
from simdb.results.matches import Matches
from simdb.settings.options import Options
from simdb.sketch.kinds import AnySketcher
from simdb.values.arrays import Sketches


class Gathered:
    """A temporary database with the texts of a reference, where their positions are ids."""

    def __init__(self, reference: Reference, options: Options, question: Question) -> None:
        """Begin without documents; OptionError for a question that cannot be answered."""
        self._own, self._reference = ByDatabase(options, question), reference
        self.texts = reference.texts

    @property
    def held(self) -> database.Database[int]:
        """The database."""
        return self._own.held

    def numbers(self, ids: Sequence[Any]) -> I64:
        """Return the ids, which are the positions in the reference."""
        return np.array(ids, np.int64)

    def fill(self, errors: ErrorsName) -> None:
        """Store the reference."""
        reference = self._reference
        try:
            for _ in self._own.add_all(
                reference.portions(), lambda: reference.expected, errors=errors
            ):
                pass
        except InputError as error:
            raise InputError(f"against: {error}") from error

    def close(self) -> None:
        """Remove the database."""
        self._own.__exit__()


class Newcomers:
    """The documents of one run, in the order in which they are added; `with` frees them."""

    def __init__(
        self, documents: Alike | ByDatabase, question: Question, holding: Gathered | Stored
    ) -> None:
        """Compare with what is in `holding`, and the rest as `documents`, which are freed, too.

        Raises OptionError for a question that the database cannot answer.
        """
        self._documents, self._question, self._holding = documents, question, holding
        self._sifted = Sifted()
        self._held = ExitStack()
        self._held.push(documents)
        if isinstance(holding, Gathered):
            self._held.callback(holding.close)
        try:
            self._sketcher = holding.held.sketcher
            self._sketcher.prepare()
            with holding.held.read() as snapshot:
                self._find(snapshot, [], self._sketcher.sketch([]))
        except BaseException:
            self._held.close()
            raise

    def __enter__(self) -> "Newcomers":
        """Return the object itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Free the documents."""
        self._held.close()

    @property
    def sketcher(self) -> AnySketcher:
        """What makes the sketches."""
        return self._sketcher

    @property
    def needs_texts(self) -> bool:
        """Whether `decide` asks for texts."""
        return self._documents.needs_texts

    @property
    def way(self) -> str:
        """How candidates among the documents themselves are found, in words."""
        return self._documents.way

    @property
    def empty_count(self) -> int:
        """How many documents have no features, and are like nothing."""
        return self._documents.empty_count

    def add_all(
        self, parts: Iterable[Any], count: Callable[[], float], *, errors: ErrorsName
    ) -> Iterator[int]:
        """Add the texts of all parts, about `count()` in all; yield how many there are so far."""
        if isinstance(self._holding, Gathered):
            self._holding.fill(errors)
        # Some parts are looked up ahead of those that are added.
        totals: deque[int] = deque()
        with self._holding.held.read() as snapshot:
            unknown = self._unknown(snapshot, parts, errors, totals)
            for _ in self._documents.add_all(unknown, count, errors=errors):
                yield totals.popleft()

    def decide(self, order: I64 | None, texts: Texts) -> Decided:
        """Return what becomes of the documents; see `Alike`."""
        fresh, matched = self._sifted.fresh, self._sifted.matched
        decided = self._documents.decide(
            places_in(fresh, order), lambda places: texts(fresh[places])
        )
        found = [each for _, each in matched]
        leaders = [-1 - self._holding.numbers(each.ids.tolist()) for each in found]
        distances = None
        if decided.distances is not None:
            distances = np.concatenate([decided.distances, *(each.distances for each in found)])
        positions = np.concatenate([fresh[decided.removed], *(at for at, _ in matched)])
        by_position = np.argsort(positions)
        return Decided(
            positions[by_position],
            np.concatenate([fresh[decided.leaders], *leaders])[by_position],
            np.concatenate([decided.similarities, *(each.similarities for each in found)])[
                by_position
            ],
            None if distances is None else distances.astype(np.int64)[by_position],
            counted(decided, found),
        )

    def _unknown(
        self, snapshot: Any, parts: Iterable[Any], errors: ErrorsName, totals: deque[int]
    ) -> Iterator[Any]:
        """Look up the texts of all parts, and yield those that match nothing stored."""
        for texts in parts:
            found = None
            if len(snapshot) and len(texts):
                sketches = sketch_all(
                    self._sketcher, texts, len(texts), errors=errors,
                    threads=self._question.threads, progress=None,
                )  # fmt: skip
                found = self._find(snapshot, texts, sketches)
            rest = self._sifted.sift(texts, found)
            totals.append(self._sifted.count)
            yield rest

    def _find(self, snapshot: Any, texts: Any, sketches: Sketches) -> Matches[Any]:
        question = self._question
        return engine.stored.find_stored(
            snapshot, texts, sketches, question.asked,
            self._known if question.is_exact else None, question.threads,
        )  # fmt: skip

    def _known(self, ids: list[Any]) -> Sequence[Any]:
        """Return the texts of stored documents."""
        found: Sequence[Any] = self._holding.texts(self._holding.numbers(ids))
        return found
