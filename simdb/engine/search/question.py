"""Criteria of verbs that have no queries to go by: pairs, clusters and plans."""

from dataclasses import replace
from typing import Protocol

from simdb.checks import is_one_of
from simdb.engine.search.lookup import Asked, make_criterion
from simdb.options import BY_DISTANCE, BY_SIMILARITY, PROBING_METHODS, Options
from simdb.plan.question import Criterion
from simdb.plan.rotation import check_rotations


class Counts(Protocol):
    """Numbers of live documents: all, those without features, those without weights."""

    @property
    def document_count(self) -> int: ...  # noqa: D102

    @property
    def empty_count(self) -> int: ...  # noqa: D102

    @property
    def bare_count(self) -> int: ...  # noqa: D102


def of_any(
    options: Options, counts: Counts, asked: Asked, rotations: int | None = None
) -> Criterion:
    """The criterion for a query yet unknown: by distance where no stored document has weights.

    A method that goes by the weights of the query is planned for a query that has them.
    `rotations`: refused, unless None, without method="rotation".
    """
    check_rotations(asked[3], rotations)
    is_bare = counts.bare_count == counts.document_count - counts.empty_count
    is_weighted = not is_bare or not counts.bare_count or is_one_of(asked[3], PROBING_METHODS)
    return make_criterion(options, asked, is_weighted=is_weighted)


def of_pairs(
    options: Options, counts: Counts, asked: Asked, rotations: int | None = None
) -> Criterion:
    """The criterion for stored documents among each other.

    For a similarity those without weights are left out; by distance they ask, too.  `rotations`:
    of method="rotation".
    """
    criterion = of_any(options, counts, asked, rotations)
    is_weighted = criterion.is_weighted
    if criterion.similarity is None and counts.bare_count:
        is_weighted = False
    is_weighted &= options.sketch.vector_bytes > 0
    return replace(criterion, is_weighted=is_weighted, is_stored=True, rotations=rotations)


def of_kept(options: Options) -> Criterion:
    """The criterion of the clusters that are kept: by distance it is exact."""
    if options.keep_clusters == BY_DISTANCE:
        return Criterion(None, options.distance, 1.0, "auto", is_stored=True)
    return Criterion(
        options.similarity, None, options.recall, "auto", is_weighted=True, is_stored=True
    )


def asked_of_kept(options: Options, asked: Asked) -> Asked:
    """What is asked of clusters: by the bound of those that are kept, if no other is given."""
    similarity, distance, recall, method = asked
    if similarity is None and distance is None:
        similarity = options.similarity if options.keep_clusters == BY_SIMILARITY else None
        distance = options.distance if options.keep_clusters == BY_DISTANCE else None
    return similarity, distance, recall, method


def is_kept(options: Options, asked: Asked) -> bool:
    """Whether the kept clusters answer this; OptionError for what cannot be asked at all."""
    similarity, distance, recall, method = asked
    make_criterion(options, asked, is_weighted=True)
    if method not in (None, "auto"):
        return False
    if options.keep_clusters == BY_DISTANCE:
        return similarity is None and distance == options.distance
    if options.keep_clusters == BY_SIMILARITY:
        is_found = recall is None or recall <= options.recall
        return distance is None and similarity == options.similarity and is_found
    return False
