"""Where: keeps the documents whose metadata satisfy a function of the user."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from simdb.engine.search.rows import Rows
from simdb.engine.state.documents import find_ids
from simdb.engine.state.state import State
from simdb.ground.bits import bitmap
from simdb.ground.checks import shown
from simdb.ground.errors import InputError
from simdb.results.matches import Match
from simdb.storage.records.metadata import unpacked
from simdb.values.arrays import sorted_unique

# Called with the metadata of a document, None if it has none; true if the document is meant.
Where: TypeAlias = Callable[[Any], Any]

# The ordinals of so many matches are looked up at once.
FOUND_TOGETHER = 256
# The metadata of so many matches of a batch are read at once.
READ_TOGETHER = 1 << 16

U32 = npt.NDArray[np.uint32]


def check_where(where: Any) -> None:
    """Raise InputError if `where` cannot be called."""
    if not callable(where):
        raise InputError(
            f"where must be a function of the metadata, such as lambda metadata: ..., got"
            f" {shown(where)}"
        )


def check_optional(where: Any) -> None:
    """Raise InputError if `where` is neither None nor callable."""
    if where is not None:
        check_where(where)


def satisfying(state: State, ordinals: U32, where: Where) -> U32:
    """Return those of some ordinals, ascending, whose metadata satisfy `where`.

    Their metadata are read once, in order, some thousands at a time.
    """
    is_meant = np.zeros(len(ordinals), np.bool_)
    for start in range(0, len(ordinals), READ_TOGETHER):
        part = ordinals[start : start + READ_TOGETHER].tolist()
        packed = state.metadata_of_many(part)
        for at, ordinal in enumerate(part, start):
            is_meant[at] = bool(where(unpacked(packed, ordinal)))
    return ordinals[is_meant]


def only_where(state: State, where: Where) -> State:
    """Return a state of the documents whose metadata satisfy `where`; it ends with `state`."""
    is_left_out = np.ones(state.next_ordinal, np.bool_)
    is_left_out[satisfying(state, state.live(), where)] = False
    return state.without(bitmap(np.flatnonzero(is_left_out), state.next_ordinal))


def kept_matches(
    state: State, matches: list[Match[Any]], where: Where, limit: int | None
) -> list[Match[Any]]:
    """Return the first `limit` matches of one query whose metadata satisfy `where`."""
    chosen: list[Match[Any]] = []
    for start in range(0, len(matches), FOUND_TOGETHER):
        part = matches[start : start + FOUND_TOGETHER]
        ordinals = find_ids(state, [match.id for match in part]).tolist()
        packed = state.metadata_of_many(ordinals)
        for match, ordinal in zip(part, ordinals, strict=True):
            if len(chosen) == limit:
                return chosen
            if where(unpacked(packed, ordinal)):
                chosen.append(match)
    return chosen


def kept(
    state: State,
    rows: Rows,
    where: Where,
    limit: int | None,
    known: dict[int, bool] | None = None,
) -> Rows:
    """Return the first `limit` matches of each query whose metadata satisfy `where`.

    A document is asked about once, however many queries it matches, and only if a query still
    needs matches.  `known`: answers for ordinals, which are used and added to.
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
                read_stop = at + READ_TOGETHER
                packed = state.metadata_of_many(sorted_unique(rows.ordinals[at:read_stop]).tolist())
            ordinal = int(rows.ordinals[at])
            if ordinal not in known:
                known[ordinal] = bool(where(unpacked(packed, ordinal)))
            if known[ordinal]:
                chosen.append(at)
                count += 1
    return rows.chosen(np.array(chosen, np.int64))
