"""Within: the search for duplicates among the documents of one run.

For a Jaccard similarity, of sets or of weights, minima find the candidates, without a database.
For the cosine of weights, or the distance of fingerprints, a temporary database finds them.

All documents of a reference are kept.  `Newcomers` are looked up one by one in the database of a
reference, and those without a match there are compared with each other.  `Followers` are added
after the texts of a reference, and compared together with these.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from simdb import database
from simdb.core.arrays import Sketches
from simdb.core.choices import ErrorsName
from simdb.core.dtypes import I64
from simdb.core.errors import InputError, OptionError
from simdb.core.matches import Matches
from simdb.core.options import Options
from simdb.core.skipped import part_of
from simdb.database import sketch_all
from simdb.jobs.deduplication.alike import Alike, ByDatabase
from simdb.jobs.deduplication.by_cosine import ByCosine
from simdb.jobs.deduplication.minima import Signed
from simdb.jobs.deduplication.question import (
    Decided,
    DedupQuestion,
    Documents,
    TextSource,
    by_table,
    joined,
)
from simdb.jobs.deduplication.reference import DatabaseReference, Listed, Reference, either, naming
from simdb.jobs.deduplication.rows import Vectors
from simdb.sketch import AnySketcher, gram_sketch

PART_ROWS = 1 << 12


class Gathered(ExitStack):
    """A temporary database with the texts of a reference, by their positions; `with` removes it."""

    def __init__(self, reference: Reference, options: Options, question: DedupQuestion) -> None:
        """Create an empty database; raise OptionError for a question that it cannot answer."""
        super().__init__()
        self._own, self._reference = self.enter_context(ByDatabase(options, question)), reference
        self.held, self.texts = self._own.held, reference.texts

    def numbers(self, ids: Sequence[Any]) -> I64:
        """Return the positions in the reference, which are the ids."""
        return np.array(ids, np.int64)

    def fill(self, errors: ErrorsName) -> None:
        """Store the reference."""
        reference = self._reference
        with naming():
            for _ in self._own.add_all(
                reference.portions(), lambda: reference.expected, errors=errors
            ):
                pass


def lookups_of(
    held: Any,
    question: DedupQuestion,
    known: Callable[[list[Any]], Sequence[Any]] | None,
    expected: float,
) -> "database.Lookups[Any]":
    """Return lookups of about `expected` documents in `held`, a snapshot or a transaction.

    `known` returns the texts of stored documents by their ids; None if no text is known.
    """
    is_exact = question.is_exact
    return database.Lookups(
        held, question.asked, known if is_exact else None, is_exact=is_exact, expected=expected,
        threads=question.threads,
    )  # fmt: skip


class Newcomers(ExitStack):
    """The documents of one run that are looked up in a reference; `with` frees them."""

    def __init__(
        self,
        documents: Alike | ByDatabase,
        question: DedupQuestion,
        holding: Gathered | DatabaseReference,
    ) -> None:
        """Look documents up in `holding`; `documents` compares those without a match there.

        `with` also frees `documents`.  Raises OptionError for a question that the database cannot
        answer.
        """
        super().__init__()
        self._documents, self._question, self._holding = documents, question, holding
        self.needs_texts = documents.needs_texts
        self._sifted = Sifted(documents, question.threads)
        with ExitStack() as held:
            held.push(documents)
            if isinstance(holding, Gathered):
                held.push(holding)
            self.sketcher = holding.held.sketcher
            self.sketcher.prepare()
            with holding.held.read() as snapshot:
                self._lookups(snapshot, 0).find([], self.sketcher.sketch([]))
            self.push(held.pop_all())

    @property
    def way(self) -> str:
        """The search for candidates among the documents themselves, in words."""
        return self._documents.way

    @property
    def empty_count(self) -> int:
        """The number of documents without features, which never match."""
        return self._documents.empty_count

    def add_all(
        self, parts: Iterable[Any], count: Callable[[], float], *, errors: ErrorsName
    ) -> Iterator[int]:
        """Add the texts of all parts, about `count()` in all; yield the number of texts so far."""
        if isinstance(self._holding, Gathered):
            self._holding.fill(errors)
        with self._holding.held.read() as snapshot:
            lookups = self._lookups(snapshot, count())

            def find(texts: Any) -> tuple[Matches[Any] | None, Any]:
                if not len(snapshot) or not len(texts):
                    return None, texts
                sketches, rest = self._sifted.sketched(self.sketcher, texts, count(), errors)
                return lookups.find(texts, sketches), rest

            yield from self._sifted.add_all(parts, count, find, errors=errors)

    def decide(self, order: I64 | None, texts: TextSource) -> Decided:
        """Return which documents are removed; see `ByDatabase.decide`."""
        decided = self._sifted.decide(order, texts)
        found = self._sifted.found
        leaders = [-1 - self._holding.numbers(each.ids.tolist()) for each in found]
        distances = None
        if decided.distances is not None:
            apart = [each.distances.astype(np.int64) for each in found]
            distances = np.concatenate([decided.distances, *apart])
        similarities = [decided.similarities, *(each.similarities for each in found)]
        return replace(
            decided, removed=np.concatenate([decided.removed, *self._sifted.matched]),
            leaders=np.concatenate([decided.leaders, *leaders]),
            similarities=np.concatenate(similarities), distances=distances, lost=None,
        ).ascending()  # fmt: skip

    def _lookups(self, snapshot: Any, expected: float) -> "database.Lookups[Any]":
        return lookups_of(snapshot, self._question, self._known, expected)

    def _known(self, ids: list[Any]) -> Sequence[Any]:
        """Return the texts of stored documents."""
        return self._holding.texts(self._holding.numbers(ids))


class Sifted:
    """The documents of one run, by their positions, divided by a lookup.

    Documents without a match go on to a search among the documents themselves.  `matched`: the
    positions of matched documents, in portions; `found`: one match of each, in equal portions.
    """

    def __init__(self, documents: Alike | ByDatabase, threads: int) -> None:
        """Begin without documents; `documents` takes the ones without a match."""
        self._documents, self._threads = documents, threads
        self.matched: list[I64] = []
        self.found: list[Matches[Any]] = []
        self._count = 0
        self._fresh: list[I64] = []

    @property
    def fresh(self) -> I64:
        """The positions of documents without a match, ascending."""
        return joined(self._fresh)

    def add_all(
        self,
        parts: Iterable[Any],
        count: Callable[[], float],
        find: Callable[[Any], tuple[Matches[Any] | None, Any]],
        *,
        errors: ErrorsName,
    ) -> Iterator[int]:
        """Add the texts of all parts, about `count()` in all; yield the number of texts so far.

        `find` returns at most one match of each text (None if no text has one), and the texts, or
        the `Signed` part that `sketched` returned.
        """
        # Parts are looked up some time before they are added.
        totals: deque[int] = deque()

        def unknown() -> Iterator[Any]:
            for texts in parts:
                rest = self._sift(*find(texts))
                totals.append(self._count)
                yield rest

        for _ in self._documents.add_all(unknown(), count, errors=errors):
            yield totals.popleft()

    def sketched(
        self, sketcher: AnySketcher, texts: Any, count: float, errors: ErrorsName
    ) -> tuple[Sketches, Any]:
        """Return the sketches of texts, and their `Signed` part if it saves time, else the texts.

        `count`: the approximate number of all texts.
        """
        documents = self._documents
        if isinstance(documents, Alike):
            made = documents.sketch_and_sign(sketcher, texts, count, errors)
            if made is not None:
                return made
        sketches = sketch_all(sketcher, texts, len(texts), errors=errors, threads=self._threads)
        return sketches, texts

    def decide(self, order: I64 | None, texts: TextSource) -> Decided:
        """Return which documents without a match are removed, by positions among all documents.

        `order`: all documents, the preferred first.  The verification in the result also counts the
        lookups.
        """
        fresh = self.fresh
        decided = self._documents.decide(
            _places_in(fresh, order), lambda places: texts(fresh[places])
        )
        counts = decided.verification
        if counts is not None:
            for each in self.found:
                if each.verification is not None:
                    counts.judged += each.verification.judged
                    counts.overruled += each.verification.overruled
                    counts.unknown += each.verification.unknown
        return replace(decided, removed=fresh[decided.removed], leaders=fresh[decided.leaders])

    def _sift(self, found: Matches[Any] | None, texts: Any) -> Any:
        """Take some texts and their matches; return the texts without a match."""
        positions = np.arange(self._count, self._count + len(texts))
        self._count += len(texts)
        if found is None or not len(found.ordinals):
            self._fresh.append(positions)
            return texts
        is_match = np.diff(found.offsets) > 0
        self.matched.append(positions[is_match])
        self.found.append(found)
        self._fresh.append(positions[~is_match])
        chosen = np.flatnonzero(~is_match)
        return texts.chosen(chosen) if isinstance(texts, Signed) else part_of(texts, chosen)


def _places_in(fresh: I64, order: I64 | None) -> I64 | None:
    """Return the places in ascending `fresh` of the positions in `order`, skipping absent ones.

    Returns None for the order of adding, where `order` is None.
    """
    if order is None:
        return None
    places = np.full(int(order.max(initial=-1)) + 1, -1, np.int64)
    places[fresh] = np.arange(len(fresh))
    found = places[order]
    return found[found >= 0]


class Followers(ExitStack):
    """The documents of one run, added after the texts of a reference; `with` frees them."""

    needs_texts = True

    def __init__(self, documents: Alike, question: DedupQuestion, reference: Reference) -> None:
        """Add the texts of `reference`, and later the texts of the run, to `documents`."""
        super().__init__()
        self._documents, self._question = self.enter_context(documents), question
        self.sketcher = documents.sketcher
        self._reference, self._leading = reference, 0

    @property
    def way(self) -> str:
        """The search for candidates, in words."""
        return self._documents.way

    @property
    def empty_count(self) -> int:
        """The number of documents without features, which never match."""
        return int(np.count_nonzero(self._documents.is_empty[self._leading :]))

    def add_all(
        self, parts: Iterable[Any], count: Callable[[], float], *, errors: ErrorsName
    ) -> Iterator[int]:
        """Add the texts of all parts; yield their number after each part."""
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

    def decide(self, order: I64 | None, texts: TextSource) -> Decided:
        """Return which documents are removed; see `ByDatabase.decide`."""
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
        """Yield the texts of the reference in portions, and count them."""
        for texts in self._reference.portions():
            self._leading += len(texts)
            yield texts


Within: TypeAlias = Alike | ByDatabase | Followers | Newcomers


def within(options: Options, question: DedupQuestion, reference: Reference | None = None) -> Within:
    """Return the search for a question; raise OptionError if nothing can answer it.

    `reference`: more documents to compare with.
    """
    if reference is None:
        return alone(options, question)
    if isinstance(reference, DatabaseReference):
        if question.lose is not None and not reference.is_exact:
            raise OptionError("rule='contained' needs a database with Options(features=True)")
        # `search` chooses how to search the database, not the documents of the run.
        own = alone(options, replace(question, search=None))
        return Newcomers(own, question, reference)
    own = alone(options, question)
    if isinstance(own, Alike):
        return Followers(own, question, reference)
    return Newcomers(own, question, Gathered(reference, options, question))


def by_rule(options: Options, question: DedupQuestion) -> Options:
    """Return the options of a comparison: the rule "contained" compares sets of word 3-grams."""
    if question.lose is None or options.sketch == (grams := gram_sketch(options.sketch)):
        return options
    return Options(sketch=grams)


def alone(options: Options, question: DedupQuestion) -> Alike | ByDatabase:
    """Return the search among the documents of one run alone."""
    question.check(options.sketch)
    options = by_rule(options, question)
    if question.is_plain and _is_measured(options, question):
        alike = Alike(options, question)
        if alike.is_possible:
            return alike
    if question.lose is not None:
        raise OptionError("rule='contained' needs a similarity= of .01 or more")
    return ByDatabase(options, question)


def _is_measured(options: Options, question: DedupQuestion) -> bool:
    """Return whether texts or estimates can measure candidates without a database."""
    if question.is_exact:
        return True
    # Only a search that compares all sketches finds every match.
    recall = options.recall if question.recall is None else question.recall
    return options.has_similarities and recall < 1 and options.sketch.unit != "moz"


def find_alike(
    texts: Documents,
    order: I64,
    options: Options,
    question: DedupQuestion,
    reference: Reference | None = None,
) -> Decided:
    """Return which rows are removed, by positions of rows.

    `order`: the rows to compare, the preferred first.  `reference`: see `within`.
    """
    return found_by(within(options, question, reference), texts, order, question)


def find_alike_vectors(
    vectors: Vectors, order: I64, options: Options | None, question: DedupQuestion
) -> Decided:
    """Return which vectors are removed; see `find_alike`."""
    if question.is_exact:
        return found_by(ByCosine(question), vectors, order, question)
    fitting = vectors.fitting if options is None else options
    return found_by(ByDatabase(fitting, question), vectors, order, question)


def found_by(
    search: Within | ByCosine, texts: Documents, order: I64, question: DedupQuestion
) -> Decided:
    """Add rows to an empty search, return which of them are removed, and close the search."""
    with search as documents:
        parts = [order[start : start + PART_ROWS] for start in range(0, len(order), PART_ROWS)]
        done = 0
        try:
            for done in documents.add_all(
                map(texts.at, parts), lambda: len(order), errors=question.errors
            ):
                question.report(done)
        except InputError as error:
            assert not isinstance(documents, ByCosine), "these vectors are checked"
            question.refuse(error, documents.sketcher, texts, order[done:])
        # The rows were added in the order of preference, so `order` is None.
        decided = documents.decide(None, lambda places: texts.at(order[places]))
    question.check_share(len(decided.removed), len(texts))
    removed, leaders = order[decided.removed], by_table(order, decided.leaders)
    return replace(decided, removed=removed, leaders=leaders).ascending()
