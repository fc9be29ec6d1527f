"""Accepting: the caller's own function accepts each match that was found by an estimate."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from simdb.ground.errors import InputError, OptionError
from simdb.ground.ids import IdT
from simdb.results.matches import Match, Matches
from simdb.values.arrays import offsets_of

# True or False, or the exact similarity.
Verdict = float | bool
Accept = Callable[[IdT], Verdict]
AcceptMany = Callable[[int, IdT], Verdict]


def check_accept(accept: object) -> None:
    """Raise OptionError unless `accept` is None or can be called."""
    if accept is not None and not callable(accept):
        raise OptionError(f"accept must be a callable or None, got {type(accept).__name__}")


def accepted(matches: list[Match], accept: Accept, least: float | None) -> list[Match]:
    """Return the matches of one query that `accept` accepts, best first.

    If `accept` returns a number, it replaces the estimate; below `least` the match is dropped.
    """
    judged = (_judged(match, accept(match.id), least) for match in matches)
    confirmed = [match for match in judged if match is not None]
    return sorted(
        confirmed, key=lambda match: 0.0 if match.similarity is None else -match.similarity
    )


def first_accepted(matches: list[Match], accept: Accept, least: float | None) -> Match | None:
    """Return the first match that `accept` accepts, without a look at the matches after it."""
    for match in matches:
        found = _judged(match, accept(match.id), least)
        if found is not None:
            return found
    return None


def accepted_many(
    matches: Matches, accept: AcceptMany, least: float | None, *, limit: int | None, first: bool
) -> Matches:
    """Return the accepted matches of many queries: `accept(position of the query, id)`.

    `limit`: at most this many for each query.  `first`: only the first match that is accepted.
    """
    counts, confirmed, places = [], [], []
    for query in range(len(matches)):
        every, accept_one = matches[query], partial(accept, query)
        at = {match.id: rank for rank, match in enumerate(every, int(matches.offsets[query]))}
        if first:
            only = first_accepted(every, accept_one, least)
            found = [] if only is None else [only]
        else:
            found = accepted(every, accept_one, least)[:limit]
        counts.append(len(found))
        confirmed += found
        places += [at[match.id] for match in found]
    chosen = np.array(places, np.int64)
    similarities = [np.nan if match.similarity is None else match.similarity for match in confirmed]
    ids = [match.id for match in confirmed]
    return Matches(
        offsets_of(counts),
        matches.ordinals[chosen],
        matches.distances[chosen],
        np.array(similarities, np.float32),
        lambda: ids,
    )


def _judged(match: Match, verdict: Any, least: float | None) -> Match | None:
    if isinstance(verdict, bool | np.bool_):
        return match if verdict else None
    is_number = isinstance(verdict, int | float | np.floating | np.integer)
    if not is_number or verdict != verdict:
        raise InputError(
            f"accept must return True, False or the exact similarity as a number, got {verdict!r}"
            f" for {match.id!r}"
        )
    if least is not None and verdict < least:
        return None
    return replace(match, similarity=float(verdict))
