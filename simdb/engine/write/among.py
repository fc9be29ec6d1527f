"""Among: which documents of a group match each other, while none of them is stored yet.

Only documents that stay can keep others out.  So where a document matches many others of its group,
some documents at a time are compared with each other; those that none before them keeps out stay,
and the whole group is compared with them.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from simdb.engine.search import lookup
from simdb.engine.search.method import SURE_SHARE
from simdb.engine.search.rows import Rows, gathered, merged, no_rows
from simdb.engine.state.incoming import chosen_batch
from simdb.engine.state.state import State
from simdb.engine.state.view import View
from simdb.plan.problem import Criterion
from simdb.settings.options import EXHAUSTIVE
from simdb.storage.records.batch import StoredBatch
from simdb.storage.records.delta import Delta
from simdb.values.arrays import Sketches

# At first so many candidates of a document are enough; a document with fewer matches than one in
# `SURE_SHARE` of them has no others.
MATCHES_FIRST = 128
# So many documents are then compared with each other first; later, so many for each one that stays.
COMPARED_FIRST = 64
GROWTH = 8

I64 = npt.NDArray[np.int64]


def matches_among(
    state: State,
    group: StoredBatch,
    undecided: I64,
    criterion: Criterion,
    confirm: Callable[..., Rows] | None,
) -> Rows:
    """Return the matches of each document with `undecided` ones before it, as positions in `group`.

    Matches with a document that an earlier undecided document keeps out may be missing.  `confirm`:
    returns the matches of a group that texts confirm; None if the criterion alone decides.
    """
    if len(group) < 2 or not len(undecided):
        return no_rows(len(group))
    sketches = Sketches(group.fingerprints, group.vectors, group.states)

    def found_in(chosen: I64, queries: Sketches, first: int = 0) -> Rows:
        among = group if len(chosen) == len(group) else chosen_batch(group, chosen)
        rows = matches_in(state, among, queries, criterion, first=first)
        rows.ordinals = chosen[rows.ordinals].astype(np.uint32)
        return rows

    def earlier(rows: Rows) -> Rows:
        before = rows.chosen(np.flatnonzero(rows.ordinals < rows.queries))
        return before if confirm is None else confirm(before, is_inside=True)

    found = found_in(undecided, sketches, MATCHES_FIRST)
    if not (np.diff(found.offsets) >= max(MATCHES_FIRST // SURE_SHARE, 1)).any():
        return earlier(found)
    every, parts, size = np.arange(len(group)), [], COMPARED_FIRST
    while len(undecided):
        some = undecided[:size]
        inside = gathered(len(group), [(some, found_in(some, sketches.taken(some)))])
        stay = _staying(earlier(inside), some)
        kept_out = earlier(found_in(stay, sketches))
        parts.append((every, kept_out))
        is_left = np.diff(kept_out.offsets) == 0
        is_left[some] = False
        undecided = undecided[is_left[undecided]]
        size = max(COMPARED_FIRST, GROWTH * len(stay))
    return merged(len(group), parts, by_similarity=criterion.similarity is not None)


def matches_in(
    state: State, stored: StoredBatch, queries: Sketches, criterion: Criterion, *, first: int
) -> Rows:
    """Return the matches of each query among the documents of a batch, as positions in the batch.

    `first`: so many matches of each query are enough, as for `lookup.search`.
    """
    delta = Delta(0, state.width, state.keying)
    delta.append(stored)
    among = state.over(View([], delta.view(), None, state.kind, None))
    exhaustive = Criterion(criterion.least, criterion.distance, criterion.recall, EXHAUSTIVE)
    return lookup.search(among, queries, exhaustive, first=first)


def _staying(rows: Rows, some: I64) -> I64:
    """Return which of `some` documents match no document before them that stays."""
    stay: list[int] = []
    for at in some.tolist():
        near = rows.ordinals[rows.offsets[at] : rows.offsets[at + 1]].tolist()
        if set(stay).isdisjoint(near):
            stay.append(at)
    return np.array(stay, np.int64)
