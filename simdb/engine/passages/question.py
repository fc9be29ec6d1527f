"""Question: what `contained=` asks, and whether the database can answer it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from simdb.engine.search.filters import check_filters
from simdb.engine.search.judge import by_ids
from simdb.engine.search.question import check_limit
from simdb.engine.state.store import Store
from simdb.ground import checks
from simdb.ground.checks import shown
from simdb.ground.errors import OptionError

OTHERS = ("similarity", "distance", "recall", "search")


# The arguments `contained` and `texts`; four that have no meaning beside them; `limit`, `where` and
# `accept`.
Containment = tuple[Any, Any, tuple[Any, Any, Any, Any], int | None, Any, Any]


class ContainedQuestion(NamedTuple):
    """The arguments of a query by containment.

    `least`: the least containment of a match.  `texts`: what gives the texts of documents by their
    ids; None if the grains estimate.  `is_of_many`: there is a list of queries, whose positions
    `accept` takes, too.
    """

    least: float
    texts: Callable[[list[Any]], Sequence[Any]] | None
    limit: int | None
    where: Any
    accept: Any
    is_of_many: bool


def check_verify(verify: Any) -> None:
    """Raise OptionError for `verify`: if there are texts, they measure the containment."""
    if verify is not None:
        raise OptionError(
            "verify= has no meaning beside contained=: texts= measures it, without texts= it is"
            " estimated; leave out verify="
        )


def question_of(
    store: Store,
    contained: Any,
    texts: Any,
    others: tuple[Any, Any, Any, Any],
    limit: int | None,
    where: Any,
    accept: Any,
    *,
    is_of_many: bool,
) -> ContainedQuestion:
    """Return the question; OptionError if arguments contradict it, or without passages.

    `others`: `similarity`, `distance`, `recall` and `search`, which have no meaning beside
    `contained`; None if not given.
    """
    if contained is None:
        raise OptionError("texts= measures how much of a query documents have: give contained=")
    checks.share("contained", contained)
    given = [name for name, value in zip(OTHERS, others, strict=True) if value is not None]
    if given:
        raise OptionError(
            f"{given[0]}= has no meaning beside contained=, which looks for shared passages; give"
            " one of the two"
        )
    if texts is not None and not isinstance(texts, Mapping) and not callable(texts):
        raise OptionError(
            "texts must be a mapping from id to text, or a function that takes a list of ids and"
            f" returns their texts, got {shown(texts)}"
        )
    if not store.options.passages:
        raise OptionError(
            f"{store.environment.path} has no passages; create a database with"
            " Options(passages=True), simdb create --passages, and insert the texts there"
        )
    if limit is not None:
        check_limit(limit)
    check_filters(where, accept)
    read = None if texts is None else by_ids("texts", texts)
    return ContainedQuestion(float(contained), read, limit, where, accept, is_of_many)
