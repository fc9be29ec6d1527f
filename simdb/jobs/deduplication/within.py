"""Within: finds the documents of one run that are alike.

Where the similarity is Jaccard's, of sets or of weights, candidates come from minima, and there is
no database; where it is the cosine of weights, or fingerprints decide by their distance, they come
from a temporary one.
"""

from dataclasses import replace
from typing import TypeAlias

from simdb.core.dtypes import I64
from simdb.core.errors import InputError
from simdb.core.options import Options
from simdb.jobs.deduplication.alike import Alike, ByDatabase
from simdb.jobs.deduplication.by_cosine import ByCosine
from simdb.jobs.deduplication.newcomers import Followers, Gathered, Newcomers
from simdb.jobs.deduplication.question import DedupQuestion, Documents, by_table
from simdb.jobs.deduplication.reference import DatabaseReference, Reference
from simdb.jobs.deduplication.result import RowMatches, found_of
from simdb.jobs.deduplication.texts import Vectors

# So many rows are taken at a time.
TAKEN_ROWS = 1 << 12

Within: TypeAlias = Alike | ByDatabase | Followers | Newcomers


def within(options: Options, question: DedupQuestion, reference: Reference | None = None) -> Within:
    """Return what decides the documents of one run; OptionError for what cannot be decided.

    `reference`: what they are compared with besides each other.
    """
    if reference is None:
        return alone(options, question)
    if isinstance(reference, DatabaseReference):
        # How a database is searched says nothing of documents that are in none.
        own = alone(options, replace(question, search=None))
        return Newcomers(own, question, reference)
    own = alone(options, question)
    if isinstance(own, Alike):
        return Followers(own, question, reference)
    return Newcomers(own, question, Gathered(reference, options, question))


def alone(options: Options, question: DedupQuestion) -> Alike | ByDatabase:
    """Return what decides the documents of one run that are compared with each other only."""
    question.check(options.sketch)
    if question.is_plain and _is_measured(options, question):
        alike = Alike(options, question)
        if alike.is_possible:
            return alike
    return ByDatabase(options, question)


def _is_measured(options: Options, question: DedupQuestion) -> bool:
    """Return whether candidates can be measured by what is known of them."""
    if question.is_exact:
        return True
    # Certain is only a search that compares all sketches.
    recall = options.recall if question.recall is None else question.recall
    has_weights = options.sketch.vector_bytes > 0
    return has_weights and recall < 1 and options.sketch.unit != "moz"


def find_alike(
    texts: Documents,
    order: I64,
    options: Options,
    question: DedupQuestion,
    reference: Reference | None = None,
) -> RowMatches:
    """Return which rows are duplicates of others; everything is found by positions of rows.

    `order`: the rows to compare, those to be preferred first.  `reference`: see `within`.
    """
    return found_by(within(options, question, reference), texts, order, question)


def find_alike_vectors(
    vectors: Vectors, order: I64, options: Options | None, question: DedupQuestion
) -> RowMatches:
    """Return which rows are alike, see `find_alike`, of vectors; `question` is one of vectors."""
    if question.is_exact:
        return found_by(ByCosine(question), vectors.documents, order, question)
    fitting = vectors.fitting if options is None else options
    return found_by(ByDatabase(fitting, question), vectors.documents, order, question)


def found_by(
    search: Within | ByCosine, texts: Documents, order: I64, question: DedupQuestion
) -> RowMatches:
    """Return which rows are alike by a search that has none yet, and close it."""
    with search as documents:
        parts = [order[start : start + TAKEN_ROWS] for start in range(0, len(order), TAKEN_ROWS)]
        done = 0
        try:
            for done in documents.add_all(
                map(texts.at, parts), lambda: len(order), errors=question.errors
            ):
                question.report(done)
        except InputError as error:
            assert not isinstance(documents, ByCosine), "these vectors are checked"
            question.refuse(error, documents.sketcher, texts, order[done:])
        # They are added in the order of preference.
        decided = documents.decide(None, lambda places: texts.at(order[places]))
    question.check_share(len(decided.removed), len(texts))
    removed, leaders = order[decided.removed], by_table(order, decided.leaders)
    rows = replace(decided, removed=removed, leaders=leaders, distances=None)
    return found_of(rows.ascending(), order)
