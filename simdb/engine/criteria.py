"""Criteria of verbs that have no queries to go by: pairs, clusters and plans."""

from dataclasses import replace
from typing import Protocol

from simdb.engine.lookup import Asked, make_criterion
from simdb.options import PROBING_METHODS, Options
from simdb.plan.question import Criterion


class Counts(Protocol):
    """Numbers of live documents: all, those without features, those without weights."""

    @property
    def document_count(self) -> int: ...  # noqa: D102

    @property
    def empty_count(self) -> int: ...  # noqa: D102

    @property
    def bare_count(self) -> int: ...  # noqa: D102


def of_any(options: Options, counts: Counts, asked: Asked) -> Criterion:
    """The criterion for a query yet unknown: by distance where no stored document has weights.

    A method that goes by the weights of the query is planned for a query that has them.
    """
    is_bare = counts.bare_count == counts.document_count - counts.empty_count
    is_weighted = not is_bare or not counts.bare_count or asked[3] in PROBING_METHODS
    return make_criterion(options, asked, is_weighted=is_weighted)


def of_pairs(options: Options, counts: Counts, asked: Asked) -> Criterion:
    """The criterion for stored documents among each other.

    For a similarity those without weights are left out; by distance they ask, too.
    """
    criterion = of_any(options, counts, asked)
    is_weighted = criterion.is_weighted
    if criterion.similarity is None and counts.bare_count:
        is_weighted = False
    is_weighted &= options.sketch.store_volatility
    return replace(criterion, is_weighted=is_weighted, is_stored=True)
