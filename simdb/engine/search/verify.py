"""Verifying: the caller's own function confirms each match that was found by an estimate."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from simdb.errors import InputError, OptionError
from simdb.ids import IdT
from simdb.matches import Match, Matches
from simdb.values import offsets_of

# True or False, or the exact similarity.
Verdict = float | bool
Verify = Callable[[IdT], Verdict]
VerifyMany = Callable[[int, IdT], Verdict]


def check_verify(verify: object) -> None:
    """Raise OptionError unless `verify` is None or can be called."""
    if verify is not None and not callable(verify):
        raise OptionError(f"verify must be a callable or None, got {type(verify).__name__}")


def verified(matches: list[Match], verify: Verify, least: float | None) -> list[Match]:
    """Return the matches of one query that `verify` confirms, best first.

    If `verify` returns a number, it replaces the estimate; below `least` the match is dropped.
    """
    judged = (_judged(match, verify(match.id), least) for match in matches)
    confirmed = [match for match in judged if match is not None]
    return sorted(
        confirmed, key=lambda match: 0.0 if match.similarity is None else -match.similarity
    )


def first_verified(matches: list[Match], verify: Verify, least: float | None) -> Match | None:
    """Return the first match that `verify` confirms, without a look at the matches after it."""
    for match in matches:
        found = _judged(match, verify(match.id), least)
        if found is not None:
            return found
    return None


def verified_many(
    matches: Matches, verify: VerifyMany, least: float | None, *, limit: int | None, first: bool
) -> Matches:
    """Return the confirmed matches of many queries: `verify(position of the query, id)`.

    `limit`: at most this many for each query.  `first`: only the first match that is confirmed.
    """
    counts, confirmed, places = [], [], []
    for query in range(len(matches)):
        every, verify_one = matches[query], partial(verify, query)
        at = {match.id: rank for rank, match in enumerate(every, int(matches.offsets[query]))}
        if first:
            only = first_verified(every, verify_one, least)
            found = [] if only is None else [only]
        else:
            found = verified(every, verify_one, least)[:limit]
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
            f"verify must return True, False or the exact similarity as a number, got {verdict!r}"
            f" for {match.id!r}"
        )
    if least is not None and verdict < least:
        return None
    return replace(match, similarity=float(verdict))
