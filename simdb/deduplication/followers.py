"""Followers: the documents of one run after those of a reference, which all stay.

Both are compared as the documents of a run are, the reference first.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from simdb.deduplication.alike import Alike
from simdb.deduplication.decided import I64, Decided, Texts
from simdb.deduplication.question import Question
from simdb.deduplication.reference import Listed, Reference, either
from simdb.ground.choices import ErrorsName
from simdb.ground.errors import InputError
from simdb.sketch.kinds import AnySketcher


class Followers:
    """The documents of one run, in the order in which they are added; `with` frees them."""

    needs_texts = True

    def __init__(self, documents: Alike, question: Question, reference: Reference) -> None:
        """Add the `reference`, and then what is given, to `documents`."""
        self._documents, self._question, self._reference = documents, question, reference
        self._leading = 0

    def __enter__(self) -> "Followers":
        """Return the object itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Free the documents."""
        self._documents.__exit__(*error)

    @property
    def sketcher(self) -> AnySketcher:
        """What makes sketches of the same features."""
        return self._documents.sketcher

    @property
    def way(self) -> str:
        """How candidates are found, in words."""
        return self._documents.way

    @property
    def empty_count(self) -> int:
        """How many documents have no features, and are like nothing."""
        return int(np.count_nonzero(self._documents.is_empty[self._leading :]))

    def add_all(
        self, parts: Iterable[Any], count: Callable[[], float], *, errors: ErrorsName
    ) -> Iterator[int]:
        """Add the texts of all parts; yield how many there are after each; see `Alike`."""
        reference, done = self._reference, 0
        every = chain(self._led(), parts)
        try:
            for done in self._documents.add_all(
                every, lambda: count() + reference.expected, errors=errors
            ):
                if done > self._leading:
                    yield done - self._leading
        except InputError as error:
            if done < self._leading and isinstance(reference, Listed):
                rows = np.arange(done, self._leading)
                self._question.refuse(error, self.sketcher, reference.rows, rows, of="against")
            raise

    def decide(self, order: I64 | None, texts: Texts) -> Decided:
        """Return what becomes of the documents; see `Alike`."""
        leading = self._leading
        if order is not None:
            order = np.concatenate([np.arange(leading), order + leading])

        def both(positions: I64) -> Any:
            places = np.where(positions < leading, -1 - positions, positions - leading)
            return either(places, texts, self._reference.texts)

        decided = self._documents.decide(order, both, leading=leading)
        leaders = decided.leaders
        return replace(
            decided, removed=decided.removed - leading,
            leaders=np.where(leaders < leading, -1 - leaders, leaders - leading),
        )  # fmt: skip

    def _led(self) -> Iterator[Any]:
        """Yield the texts of the reference, and count them."""
        for texts in self._reference.portions():
            self._leading += len(texts)
            yield texts
