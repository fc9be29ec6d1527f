"""Question: the arguments of a search, and the criterion that follows from them.

A verb first makes a `Question` of its arguments.  The options of the database and the sketches of
the queries (or, for pairs, the counts of stored documents) turn it into a `Criterion` for the
planner.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, NoReturn

from simdb.core.arrays import BARE, WEIGHTED, Sketches
from simdb.core.bits import FINGERPRINT_BITS
from simdb.core.checks import is_one_of, is_whole, one_of, share, shown
from simdb.core.choices import MeasureName, VerifyName
from simdb.core.errors import InputError, OptionError
from simdb.core.options import (
    AUTO,
    BY_DISTANCE,
    BY_SIMILARITY,
    METHODS,
    MINHASH_METHODS,
    NO_SIMILARITY,
    OF_QUERIES,
    PROBING_METHODS,
    Options,
    Search,
    SearchLike,
    search_of,
)
from simdb.database.state.staged import LiveCounts
from simdb.plan import ATTEMPTS_MAX, Criterion, check_rotations


class Question(NamedTuple):
    """The arguments of a search as the caller gave them; for None the database's default applies.

    `limit`, `where`, `accept`, `contained`, `texts`: see `Database.query`.  `verify`: whether
    estimates or texts are compared.  `follows`: the fields of `Search` that the verb supports.
    `lose`: with the rule "contained", the number of word 3-grams of a document that its match may
    lack; None with another rule.
    """

    similarity: float | None = None
    distance: int | None = None
    recall: float | None = None
    search: SearchLike | None = None
    limit: int | None = None
    where: Any = None
    accept: Callable[..., Any] | None = None
    contained: float | None = None
    texts: Any = None
    verify: VerifyName | None = None
    follows: tuple[str, ...] = OF_QUERIES
    lose: int | None = None

    @property
    def how(self) -> Search:
        """The `Search` to follow.

        Raises OptionError if it is invalid or has fields the verb lacks.
        """
        return search_of(self.search, self.follows)

    @property
    def is_contained(self) -> bool:
        """Whether the question asks for documents that contain a text."""
        return self.contained is not None or self.texts is not None

    @property
    def has_bound(self) -> bool:
        """Whether a similarity or a distance is given."""
        return self.similarity is not None or self.distance is not None

    def least_similarity(self, options: Options, measure: MeasureName) -> float | None:
        """Return the least exact similarity of a match; None if only a distance is a bound."""
        if options.is_hashes:
            return None
        return self.similarity if self.has_bound else options.similarity_in(measure)

    def criterion(
        self, options: Options, *, is_weighted: bool, is_stored: bool = False, content: int = 0
    ) -> Criterion:
        """Return the criterion, with the database's defaults for missing arguments.

        Without a similarity and a distance, documents with weights match by similarity and
        documents without weights by distance.  `content`: see `Sketches`.  Raises OptionError for
        invalid arguments.
        """
        similarity, distance, recall = self.similarity, self.distance, self.recall
        scale = options.sketch.scale_of(content)
        how, is_weighted = self.how, is_weighted and not options.is_hashes
        if options.is_minhash:
            self._check_minhash(how)
        if not self.has_bound:
            if is_weighted and options.sketch.vector_bytes:
                similarity = options.similarity_in(scale.measure)
            else:
                distance = options.distance
        if similarity is not None:
            if options.is_hashes:
                raise OptionError(NO_SIMILARITY)
            share("similarity", similarity)
            if not is_weighted:
                raise OptionError(
                    "similarity= needs a query with weights; for a ready fingerprint without"
                    " weights use distance="
                )
        if distance is not None and not is_whole(distance, 0, options.bits):
            raise OptionError(
                f"distance must be a whole number from 0 to {options.bits}, got {shown(distance)}"
            )
        if recall is None:
            recall = options.recall
        else:
            share("recall", recall)
        method = AUTO if how.method is None else how.method
        one_of("search", method, options.methods)
        self._check_probing(how)
        return Criterion(
            None if similarity is None else scale.compared(similarity), distance, recall, method,
            is_weighted, is_stored, asked=similarity, attempts=how.attempts,
            header_bits=how.header_bits,
        )  # fmt: skip

    def _check_probing(self, how: Search) -> None:
        """Raise OptionError if arguments about headers are invalid or do not apply."""
        for name, value, least, most in (
            ("attempts", how.attempts, 0, ATTEMPTS_MAX),
            ("header_bits", how.header_bits, 1, FINGERPRINT_BITS),
        ):
            if value is None:
                continue
            if not is_whole(value, least, most):
                raise OptionError(
                    f"{name} must be a whole number from {least} to {most}, got {shown(value)}"
                )
            if not is_one_of(how.method, PROBING_METHODS):
                raise OptionError(
                    f"{name}= says how to look up likely headers; use it with search='psm' or"
                    " search='multiprobe'"
                )
        if how.attempts is not None and self.recall is not None:
            raise OptionError(
                "attempts= fixes the number of headers, which decides the recall; leave out"
                " recall= or attempts="
            )

    def _check_minhash(self, how: Search) -> None:
        """Raise OptionError for arguments that work only with fingerprints."""
        if self.distance is not None:
            raise OptionError(
                "distance= works only with fingerprints; this database stores MinHash signatures,"
                " so use similarity="
            )
        if is_one_of(how.method, METHODS) and how.method not in MINHASH_METHODS:
            raise OptionError(
                f"search={how.method!r} works only with fingerprints; this database stores MinHash"
                f" signatures, which have {', '.join(map(repr, MINHASH_METHODS))}"
            )


def check_limit(limit: object) -> None:
    """Raise OptionError unless `limit` is None or a positive whole number."""
    if limit is not None and not is_whole(limit, 1, 2**63):
        raise OptionError(f"limit must be a whole number of 1 or more, or None, got {shown(limit)}")


def criterion_of(
    options: Options, sketches: Sketches, question: Question, content: int = 0
) -> Criterion:
    """Return the criterion for these queries; queries without features do not affect it.

    `content`: the content of the stored documents, for queries without one; see `Sketches`.
    """
    has_vectors = options.sketch.vector_bytes > 0
    has_bound = not has_vectors or question.has_bound
    if len(sketches) == 1:
        is_bare = int(sketches.states[0]) == BARE
    else:
        is_bare = bool((sketches.states == BARE).any())
    if len(sketches) > 1 and is_bare and not has_bound and (sketches.states == WEIGHTED).any():
        refuse_mixed()
    is_stored = sketches.levels is None
    is_weighted = not is_bare and (has_vectors or not is_stored)
    return question.criterion(
        options, is_weighted=is_weighted, is_stored=is_stored, content=sketches.content or content
    )


def refuse_mixed() -> NoReturn:
    """Raise InputError, since by default only some of these documents would match by similarity."""
    raise InputError(
        "some of these documents have weights and others have none; give similarity= or distance="
    )


def of_any(options: Options, counts: LiveCounts, question: Question) -> Criterion:
    """Return the criterion for a future query: by distance if no stored document has weights.

    For a method that probes by weights, the query is assumed to have weights.
    """
    how = question.how
    check_rotations(how.method, how.rotations)
    is_bare = counts.bare_count == counts.document_count - counts.empty_count
    probes = is_one_of(how.method, PROBING_METHODS)
    is_weighted = not is_bare or not counts.bare_count or probes
    return question.criterion(options, is_weighted=is_weighted, content=counts.content)


def of_pairs(options: Options, counts: LiveCounts, question: Question) -> Criterion:
    """Return the criterion for the pairs of stored documents.

    Documents without weights take part in a search by distance, but not by similarity.
    """
    criterion = of_any(options, counts, question)
    is_weighted = criterion.is_weighted
    if criterion.similarity is None and counts.bare_count:
        is_weighted = False
    is_weighted &= options.has_similarities
    rotations = question.how.rotations
    return replace(criterion, is_weighted=is_weighted, is_stored=True, rotations=rotations)


def of_maintained(options: Options) -> Criterion:
    """Return the criterion of the maintained clusters; clusters by distance have recall 1."""
    by_distance = options.keep_clusters == BY_DISTANCE
    kept = Question(options.similarity)
    if by_distance:
        kept = Question(distance=options.distance, recall=1.0)
    return kept.criterion(options, is_weighted=not by_distance, is_stored=True)


def bounded(options: Options, question: Question, measure: MeasureName) -> Question:
    """Return the question; without a bound, with the bound of the maintained clusters.

    `measure`: the measure of the similarity of documents.
    """
    if question.has_bound or not options.keeps_clusters:
        return question
    if options.keep_clusters == BY_DISTANCE:
        return question._replace(distance=options.distance)
    return question._replace(similarity=options.similarity_in(measure))


def is_maintained(options: Options, question: Question, measure: MeasureName) -> bool:
    """Return whether the maintained clusters answer a question."""
    if question.how.method not in (None, AUTO):
        return False
    if options.keep_clusters == BY_DISTANCE:
        return question.similarity is None and question.distance == options.distance
    if options.keep_clusters == BY_SIMILARITY:
        is_recalled = question.recall is None or question.recall <= options.recall
        least = options.similarity_in(measure)
        is_same = question.distance is None and question.similarity == least
        return is_same and is_recalled
    return False
