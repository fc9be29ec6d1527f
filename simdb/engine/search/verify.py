"""Verifying: what was found by estimate, looked at exactly by the caller, who has the documents."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from simdb.errors import InputError, OptionError
from simdb.values import Id, Match, Matches, offsets_of

# True or False; or the exact similarity.
Verdict = float | bool
Verify = Callable[[Id], Verdict]
VerifyMany = Callable[[int, Id], Verdict]


def check_verify(verify: object) -> None:
    """Raise OptionError unless `verify` is None or can be called."""
    if verify is not None and not callable(verify):
        raise OptionError(f"verify is a callable or None, not {type(verify).__name__}")


def verified(matches: list[Match], verify: Verify, least: float | None) -> list[Match]:
    """Those of the matches of one query that `verify` confirms, best first.

    A number takes the place of the estimate, and less than `least` is no match.
    """
    judged = (_judged(match, verify(match.id), least) for match in matches)
    kept = [match for match in judged if match is not None]
    return sorted(kept, key=lambda match: 0.0 if match.similarity is None else -match.similarity)


def first_verified(matches: list[Match], verify: Verify, least: float | None) -> Match | None:
    """The first of the matches that `verify` confirms; it is not asked about those after it."""
    for match in matches:
        found = _judged(match, verify(match.id), least)
        if found is not None:
            return found
    return None


def verified_many(
    matches: Matches, verify: VerifyMany, least: float | None, *, limit: int | None, first: bool
) -> Matches:
    """The same for many queries: `verify` is called with the place of the query and the id."""
    counts, kept, places = [], [], []
    for place in range(len(matches)):
        every, asked = matches[place], partial(verify, place)
        at = {match.id: rank for rank, match in enumerate(every, int(matches.offsets[place]))}
        if first:
            only = first_verified(every, asked, least)
            found = [] if only is None else [only]
        else:
            found = verified(every, asked, least)[:limit]
        counts.append(len(found))
        kept += found
        places += [at[match.id] for match in found]
    chosen = np.array(places, np.int64)
    similarities = [np.nan if match.similarity is None else match.similarity for match in kept]
    ids = [match.id for match in kept]
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
            f"verify gave {verdict!r} for {match.id!r}; it gives True or False, or the exact"
            " similarity as a number"
        )
    if least is not None and verdict < least:
        return None
    return replace(match, similarity=float(verdict))
