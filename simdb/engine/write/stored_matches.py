"""Stored matches: which stored documents match the documents of a group that is to be claimed.

A document that matches a flood of copies is compared with few of them.  Only if none of these is a
match, all are looked at: a document is new only if nothing stored that a search finds matches it,
and nothing that a copy of it matched in the same call.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from simdb.engine.search import lookup
from simdb.engine.search.couples import Batches
from simdb.engine.search.method import SURE_SHARE
from simdb.engine.search.rows import Rows, gathered, merged
from simdb.engine.state.documents import stored_sketches
from simdb.engine.state.incoming import EncodedIds, make_batch
from simdb.engine.state.state import State
from simdb.engine.write.among import matches_in
from simdb.engine.write.conflicts import Own
from simdb.engine.write.refusals import Refusals
from simdb.plan.problem import Criterion
from simdb.storage.records.tombstones import is_deleted
from simdb.values.arrays import Sketches

# So many candidates of a document are enough if some of them match: see `Method`.
MATCHES_ENOUGH = 64
# So many candidates of a document, the most similar ones, are judged by their texts at first.
JUDGED_FIRST = 64

I64 = npt.NDArray[np.int64]


def stored_matches(
    state: State,
    sketches: Sketches,
    own: Own | None,
    criterion: Criterion,
    confirm: Callable[..., Rows] | None,
) -> Rows:
    """Return the best match of each sketch, or some of the matches that texts confirm, best first.

    `own`: the documents of the group that are stored.  `confirm`: returns the matches of a group
    that texts confirm; None if the criterion alone decides.
    """
    count = len(sketches)
    rows = _look_up(state, sketches, own, criterion, first=MATCHES_ENOUGH)
    if confirm is None:
        return rows.limited(1)
    rows = rows.limited(JUDGED_FIRST)
    found = confirm(rows)
    is_many = np.diff(rows.offsets) >= max(MATCHES_ENOUGH // SURE_SHARE, 1)
    unsure = np.flatnonzero(is_many & (np.diff(found.offsets) == 0))
    parts = [(np.arange(count), found)]
    batches = Batches(unsure.astype(np.uint32), 1, first=1)
    for batch in batches:
        some = np.sort(batch.astype(np.int64))
        every = _look_up(state, sketches.taken(some), own, criterion, first=0)
        batches.found(len(every.ordinals))
        parts += _judged(gathered(count, [(some, every)]), confirm)
    return gathered(count, parts)


def matches_again(
    state: State,
    sketches: Sketches,
    rows: Rows,
    refusals: Refusals,
    criterion: Criterion,
    confirm: Callable[..., Rows] | None,
) -> Rows:
    """Return `rows`, and matches of documents without any among what refused their copies.

    `confirm`: as for `stored_matches`.
    """
    unknown = np.flatnonzero(np.diff(rows.offsets) == 0)
    again, leaders = refusals.leaders(sketches.bits[unknown])
    leaders = leaders[~is_deleted(state.dead, leaders)]
    if not len(leaders):
        return rows
    some, count = unknown[again], len(sketches)
    # Ids are in no search.
    stored = make_batch(EncodedIds([*range(len(leaders))]), stored_sketches(state, leaders))
    among = matches_in(state, stored, sketches.taken(some), criterion, first=MATCHES_ENOUGH)
    among.ordinals = leaders[among.ordinals]
    found = gathered(count, [(some, among)])
    found = found.limited(1) if confirm is None else confirm(found.limited(JUDGED_FIRST))
    every = np.arange(count)
    return gathered(count, [(every, rows), (every, found)])


def _judged(rows: Rows, confirm: Callable[..., Rows]) -> list[tuple[I64, Rows]]:
    """Return matches of each document that texts confirm, in parts as for `gathered`.

    Candidates are judged best first, some at a time, until one is a match.
    """
    every, parts = np.arange(len(rows.offsets) - 1), []
    size = JUDGED_FIRST
    while len(rows.ordinals):
        counts = np.diff(rows.offsets)
        places = np.arange(len(rows.ordinals)) - np.repeat(rows.offsets[:-1], counts)
        found = confirm(rows.chosen(np.flatnonzero(places < size)))
        parts.append((every, found))
        is_open = np.repeat(np.diff(found.offsets) == 0, counts)
        rows = rows.chosen(np.flatnonzero((places >= size) & is_open))
        size *= 2
    return parts


def _look_up(
    state: State, sketches: Sketches, own: Own | None, criterion: Criterion, *, first: int
) -> Rows:
    """Return the matches of sketches that are stored, best first; `first` as for `lookup.search`.

    Tables alone can miss a match of `own`, that was found by comparing when both were new.
    """
    rows = lookup.search(state, sketches, criterion, first=first)
    if own is None:
        return rows
    found = matches_in(state, own.stored, sketches, criterion, first=first)
    if not len(found.ordinals):
        return rows
    found.ordinals = own.rows.ordinals[found.ordinals]
    every = np.arange(len(sketches))
    parts = [(every, rows), (every, found)]
    return merged(len(sketches), parts, by_similarity=criterion.similarity is not None)
