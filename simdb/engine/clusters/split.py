"""Parting: what a large cluster falls into when it loses some members.

It stays whole if the former neighbours of those members are still connected with each other, which
a few comparisons mostly show.  Otherwise the search goes on from each group of neighbours, the one
that has seen the fewest documents first, until groups meet or one of them has seen all that it
reaches, which is then a part.  So a small part costs what it holds, however large the rest is.
"""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from simdb import kernel
from simdb.bits import bit_counts
from simdb.engine.clusters.links import EXACT_MAX, parts_of
from simdb.engine.search.lookup import search
from simdb.engine.state.documents import stored_sketches
from simdb.engine.state.state import State
from simdb.plan.problem import Criterion
from simdb.storage import layout

# More members that go at once are left to a comparison of all that stay.
GONE_MAX = 16
# So many neighbours are compared with all the others before the search goes on from them.
HUBS_MAX = 16
# So many groups, rounds of the search and matches in them; what needs more is compared as a whole.
SIDES_MAX = 16
ROUNDS_LEAST, ROUNDS_MAX = 8, 128
FOUND_MAX = 1 << 19
ASKED_AT_ONCE = 16
# A round takes as long as the comparison of so many members, some 100 microseconds.
ROUND_MEMBERS = 256

I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]
F32 = npt.NDArray[np.float32]


def labels_after(state: State, criterion: Criterion, members: U32, gone: U32) -> I64 | None:
    """The part of each of `members` after the cluster has lost `gone`: equal labels, one part.

    `members`: all that are left, ascending.  None when that cannot be told by a short search.
    """
    if len(gone) > GONE_MAX:
        return None
    found: list[set[int]] = []
    together = parts_of(state, criterion, gone, np.ones(len(gone), np.uint32))
    for first in np.unique(together):
        near = _neighbours(state, criterion, members, gone[together == first])
        sides = _groups(state, criterion, near)
        parts = _search(state, criterion, members, sides)
        # Two searches that both find parts may each take what the other leaves for the same rest.
        if parts is None or (parts and found):
            return None
        found += parts
    labels = np.zeros(len(members), np.int64)
    for number, part in enumerate(found, 1):
        labels[np.searchsorted(members, sorted(part))] = number
    return labels


def _neighbours(state: State, criterion: Criterion, members: U32, gone: U32) -> U32:
    """The members that match one of `gone`, the nearest first."""
    if criterion.similarity is None:
        exact = replace(criterion, recall=1.0, method="auto")
        rows = search(state, stored_sketches(state, gone), exact)
        near, far = rows.ordinals, rows.distances.astype(np.float32)
        inside = np.isin(near, members)
        near, far = near[inside], far[inside]
    else:
        each = [
            state.vectors(members).between(np.full(len(members), one, np.uint32), members)
            for one in gone
        ]
        far = np.negative(np.concatenate(each))
        chosen = far <= -np.float32(criterion.similarity)
        near, far = np.tile(members, len(gone))[chosen], far[chosen]
    distinct, first = np.unique(near[np.argsort(far, kind="stable")], return_index=True)
    ordered: U32 = distinct[np.argsort(first)]
    return ordered


def _groups(state: State, criterion: Criterion, near: U32) -> list[set[int]]:
    """The neighbours in groups, connected by what some of them match; or all that is told."""
    forest = kernel.Forest(len(near))
    every = np.arange(len(near), dtype=np.uint32)
    labels = every
    for hub in range(min(HUBS_MAX, len(near))):
        close = np.flatnonzero(_is_close(state, criterion, near, hub)).astype(np.uint32)
        forest.join(np.full(len(close), hub, np.uint32), close)
        labels = forest.labels()
        if not labels.any():
            break
    return [set(near[labels == label].tolist()) for label in np.unique(labels)[: SIDES_MAX + 1]]


def _is_close(state: State, criterion: Criterion, near: U32, hub: int) -> npt.NDArray[np.bool_]:
    """Whether each of `near` matches the one at position `hub`."""
    close = np.ones(len(near), np.bool_)
    if criterion.distance is not None:
        bits = state.column(layout.FINGERPRINT, near)
        close &= bit_counts(bits ^ bits[hub]) <= criterion.distance
    if criterion.similarity is not None:
        one = np.full(len(near), near[hub], np.uint32)
        similarities: F32 = state.vectors(near).between(one, near)
        close &= similarities >= np.float32(criterion.similarity)
    return close


def _search(
    state: State, criterion: Criterion, members: U32, sides: list[set[int]]
) -> list[set[int]] | None:
    """All parts but one, when each of `sides` goes on to what it reaches; None if that is far."""
    parts: list[set[int]] = []
    if len(sides) > SIDES_MAX:
        return None
    waiting = [list(side) for side in sides]
    rounds = min(ROUNDS_MAX, ROUNDS_LEAST + len(members) // ROUND_MEMBERS)
    room = FOUND_MAX
    while len(sides) > 1:
        at = min(range(len(sides)), key=lambda side: len(sides[side]))
        if not waiting[at]:
            if not _is_sure(criterion, members):
                return None
            parts.append(sides.pop(at))
            waiting.pop(at)
            continue
        asked, waiting[at] = waiting[at][:ASKED_AT_ONCE], waiting[at][ASKED_AT_ONCE:]
        reached = _reached(state, criterion, members, asked)
        rounds, room = rounds - 1, room - len(reached)
        if min(rounds, room) < 0:
            return None
        fresh = set(reached.tolist()) - sides[at]
        sides[at] |= fresh
        waiting[at] += fresh
        _unite(sides, waiting, at)
    return parts


def _is_sure(criterion: Criterion, members: U32) -> bool:
    """Whether a document that no look-up has reached is as good as not connected."""
    return criterion.recall == 1.0 or criterion.similarity is None or len(members) > EXACT_MAX


def _reached(state: State, criterion: Criterion, members: U32, asked: list[int]) -> U32:
    """The members that match one of `asked`."""
    sketches = stored_sketches(state, np.array(asked, np.uint32))
    rows = search(state, sketches, criterion)
    reached: U32 = rows.ordinals[np.isin(rows.ordinals, members)]
    return reached


def _unite(sides: list[set[int]], waiting: list[list[int]], at: int) -> None:
    """Make one side of the one that has grown and all that it has met."""
    for other in reversed(range(len(sides))):
        if other != at and not sides[other].isdisjoint(sides[at]):
            sides[at] |= sides.pop(other)
            waiting[at] += waiting.pop(other)
            at -= other < at
