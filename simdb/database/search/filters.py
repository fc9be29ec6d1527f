"""Filters: the user's functions that accept or drop the documents found, or give their texts.

`where` is called with the metadata of a document, and `accept` with the id of a match.  `accept`
may return the exact similarity of the match.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, TypeAlias

import numpy as np

from simdb import storage
from simdb.core.arrays import Id, IdT, sorted_unique
from simdb.core.bits import bitmap
from simdb.core.checks import shown
from simdb.core.dtypes import U32
from simdb.core.errors import InputError, OptionError
from simdb.core.matches import Match, Matches
from simdb.core.options import Options
from simdb.database.search.rows import Rows
from simdb.database.state.documents import find_ids
from simdb.database.state.state import State
from simdb.storage import is_deleted, metadata as records

# Called with the metadata of a document, or None if it has none; returns true to keep it.
Condition: TypeAlias = Callable[[Any], Any]
# A condition, or the values that fields in `Options.fields` must have.
Where: TypeAlias = Condition | Mapping[str, Any]

BATCH_IDS = 256
BATCH_METADATA = 1 << 16

# True or False, or the exact similarity.
Verdict = float | bool
Accept = Callable[[IdT], Verdict]
AcceptMany = Callable[[int, IdT], Verdict]


def parted(options: Options, where: Any) -> "tuple[Condition | None, storage.FieldValues]":
    """Split `where` into its function, or None, and the values of fields that it asks for.

    Raises InputError if `where` is neither, OptionError for a field that the database does not
    index.
    """
    if where is None or callable(where):
        return where, ()
    if not (type(where) is dict or isinstance(where, Mapping)) or not where:
        is_empty = isinstance(where, Mapping)
        raise InputError(
            "where must be a function of the metadata, such as lambda metadata: ..., or the values"
            f" of fields, such as {{'tenant': 't7'}}, got {shown(where)}"
            f"{'; to set no condition, leave out where=' if is_empty else ''}"
        )
    fields, values = options.fields, []
    for field, value in where.items():
        if field not in fields:
            raise OptionError(
                f"where= names the field {shown(field)}, and the database indexes"
                f" {', '.join(map(repr, fields)) or 'none'}; use where=lambda metadata: ..., or"
                f" create a database with Options(fields=...) that names it"
            )
        values.append((fields.index(field), storage.coded_value(field, value, "where=".format)))
    return None, tuple(values)


def check_filters(options: Options, where: Any, accept: Any = None) -> None:
    """Raise InputError or OptionError if `where` or `accept` is neither None nor valid."""
    parted(options, where)
    if accept is not None and not callable(accept):
        raise OptionError(f"accept must be a callable or None, got {type(accept).__name__}")


def satisfying(state: State, ordinals: U32, where: Where) -> U32:
    """Return the ascending `ordinals` whose metadata satisfy `where`.

    The metadata are read once, in order, in batches of some thousands.
    """
    condition, values = parted(state.store.options, where)
    if condition is None:
        left_out = None, state.codes(), state.wanted(values)
        return ordinals[~is_deleted(left_out, ordinals)]
    is_meant = np.zeros(len(ordinals), np.bool_)
    for start in range(0, len(ordinals), BATCH_METADATA):
        part = ordinals[start : start + BATCH_METADATA].tolist()
        packed = state.metadata_of_many(part)
        for at, ordinal in enumerate(part, start):
            is_meant[at] = bool(condition(records.unpacked(packed, ordinal)))
    return ordinals[is_meant]


def only_where(state: State, where: Where) -> State:
    """Return a state of the documents whose metadata satisfy `where`; it ends with `state`."""
    is_left_out = np.ones(state.next_ordinal, np.bool_)
    is_left_out[satisfying(state, state.live(), where)] = False
    return state.without(bitmap(np.flatnonzero(is_left_out), state.next_ordinal))


def kept_matches(
    state: State, matches: list[Match[Any]], where: Condition, limit: int | None
) -> list[Match[Any]]:
    """Return the first `limit` matches of one query whose metadata satisfy `where`."""
    chosen: list[Match[Any]] = []
    for start in range(0, len(matches), BATCH_IDS):
        part = matches[start : start + BATCH_IDS]
        ordinals = find_ids(state, [match.id for match in part]).tolist()
        packed = state.metadata_of_many(ordinals)
        for match, ordinal in zip(part, ordinals, strict=True):
            if len(chosen) == limit:
                return chosen
            if where(records.unpacked(packed, ordinal)):
                chosen.append(match)
    return chosen


def kept(
    state: State,
    rows: Rows,
    where: Condition,
    limit: int | None,
    known: dict[int, bool] | None = None,
) -> Rows:
    """Return the first `limit` matches of each query whose metadata satisfy `where`.

    `where` is called once for each document, and only while a query still needs matches.  `known`:
    answers by ordinal, which are used and added to.
    """
    known = {} if known is None else known
    packed: dict[int, bytes] = {}
    read_stop = 0
    chosen: list[int] = []
    for start, stop in zip(rows.offsets[:-1].tolist(), rows.offsets[1:].tolist(), strict=True):
        count = 0
        for at in range(start, stop):
            if limit is not None and count == limit:
                break
            if at >= read_stop:
                read_stop = at + BATCH_METADATA
                packed = state.metadata_of_many(sorted_unique(rows.ordinals[at:read_stop]).tolist())
            ordinal = int(rows.ordinals[at])
            if ordinal not in known:
                known[ordinal] = bool(where(records.unpacked(packed, ordinal)))
            if known[ordinal]:
                chosen.append(at)
                count += 1
    return rows.chosen(np.array(chosen, np.int64))


def accepted(
    matches: list[Match], accept: Accept, least: float | None, limit: int | None, *, first: bool
) -> list[Match]:
    """Return at most `limit` matches of one query that `accept` accepts, best first.

    If `accept` returns a number, it replaces the estimate; below `least` the match is dropped.
    `first`: return only the first accepted match, and do not ask about later ones.
    """
    judged = (_judged(match, accept(match.id), least) for match in matches)
    confirmed = (match for match in judged if match is not None)
    if first:
        return list(islice(confirmed, 1))
    return sorted(
        confirmed, key=lambda match: 0.0 if match.similarity is None else -match.similarity
    )[:limit]


def accepted_many(
    matches: Matches, accept: AcceptMany, least: float | None, *, limit: int | None, first: bool
) -> Matches:
    """Return the accepted matches of many queries, by calling `accept(query position, id)`.

    `limit`: the most matches of each query.  `first`: only the first accepted match.
    """
    counts, confirmed, places = [], [], []
    for query in range(len(matches)):
        every = matches[query]
        at = {match.id: rank for rank, match in enumerate(every, int(matches.offsets[query]))}
        found = accepted(every, partial(accept, query), least, limit, first=first)
        counts.append(len(found))
        confirmed += found
        places += [at[match.id] for match in found]
    chosen = np.array(places, np.int64)
    similarities = [np.nan if match.similarity is None else match.similarity for match in confirmed]
    kept = matches.chosen(chosen, np.array(counts, np.int64))
    kept.similarities = np.array(similarities, np.float32)
    return kept


def by_ids(name: str, given: Any) -> Callable[[list[Id]], Sequence[Any]]:
    """Return a function that maps ids to the values in the argument `name` of a verb.

    `given`: a mapping from ids, or a function of a list of ids.  Raises OptionError for anything
    else.  Unknown values are None.
    """
    if isinstance(given, Mapping):
        return lambda ids: [given.get(id) for id in ids]
    if not callable(given):
        raise OptionError(
            f"{name} must be a mapping from id to {name.removesuffix('s')}, or a function that"
            f" takes a list of ids and returns their {name}; got {shown(given)}"
        )

    def get(ids: list[Id]) -> Sequence[Any]:
        found: Sequence[Any] = given(ids)
        if len(found) != len(ids):
            raise InputError(
                f"{name}= was called with {len(ids)} ids and returned {len(found)} {name}; it must"
                " return one for each id, in their order, and None for an unknown one"
            )
        return found

    return get


def _judged(match: Match, verdict: Any, least: float | None) -> Match | None:
    if isinstance(verdict, bool | np.bool_):
        return match if verdict else None
    similarity = exact_value(verdict, match.id, "similarity")
    if least is not None and similarity < least:
        return None
    return replace(match, similarity=similarity)


def exact_value(verdict: Any, id: Any, what: str) -> float:
    """Return the number that `accept` returned for a match; raise InputError for anything else."""
    is_number = isinstance(verdict, int | float | np.floating | np.integer)
    if not is_number or verdict != verdict:
        raise InputError(
            f"accept must return True, False or the exact {what} as a number, got {verdict!r}"
            f" for {id!r}"
        )
    return float(verdict)
