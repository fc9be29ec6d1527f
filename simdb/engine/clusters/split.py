"""Splitting: the parts into which a large cluster falls when it loses members.

The cluster stays whole if the former neighbours of the lost members are still connected with each
other, and a few comparisons mostly show that.  Otherwise each group of connected neighbours grows
by searching, first the group that holds the fewest documents, until groups meet, or until a group
has no new matches: this group is then a part.  So a small part costs its own size, however large
the rest of the cluster is.
"""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from simdb.engine.clusters.links import EXACT_MAX, parts_of
from simdb.engine.search.lookup import search
from simdb.engine.state.documents import stored_sketches
from simdb.engine.state.state import State
from simdb.ground.bits import bit_counts
from simdb.plan.problem import Criterion
from simdb.running import kernel
from simdb.storage import layout
from simdb.values.arrays import sorted_unique

# If more members are removed at once, all remaining members are compared.
REMOVED_MAX = 16
# This number of neighbours is compared with all neighbours before the groups grow.
COMPARED_NEIGHBOURS_MAX = 16
# The limits of the search, in groups, rounds and matches; beyond, all members are compared.
GROUPS_MAX = 16
ROUNDS_LEAST, ROUNDS_MAX = 8, 128
FOUND_MAX = 1 << 19
QUERIES_AT_ONCE = 16
# A round takes as long as comparing this number of members, some 100 microseconds.
ROUND_MEMBERS = 256

I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]
F32 = npt.NDArray[np.float32]


def labels_after(state: State, criterion: Criterion, members: U32, removed: U32) -> I64 | None:
    """Return the part of each of `members` after the cluster lost `removed`, as equal labels.

    `members`: all members that are left, ascending.  None if a short search cannot tell.
    """
    if len(removed) > REMOVED_MAX:
        return None
    found: list[set[int]] = []
    together = parts_of(state, criterion, removed, np.ones(len(removed), np.uint32))
    for number in sorted_unique(together):
        neighbours = _neighbours(state, criterion, members, removed[together == number])
        groups = _groups(state, criterion, neighbours)
        parts = _search(state, criterion, members, groups)
        # If two searches find parts, each may have found what the other takes for the rest.
        if parts is None or (parts and found):
            return None
        found += parts
    labels = np.zeros(len(members), np.int64)
    for number, part in enumerate(found, 1):
        labels[np.searchsorted(members, sorted(part))] = number
    return labels


def _neighbours(state: State, criterion: Criterion, members: U32, removed: U32) -> U32:
    """Return the members that match one of `removed`, the nearest first."""
    if criterion.similarity is None:
        exact = replace(criterion, recall=1.0, method="auto")
        rows = search(state, stored_sketches(state, removed), exact)
        found, far = rows.ordinals, rows.distances.astype(np.float32)
        inside = np.isin(found, members)
        found, far = found[inside], far[inside]
    else:
        each = [
            state.vectors(members).between(np.full(len(members), one, np.uint32), members)
            for one in removed
        ]
        far = np.negative(np.concatenate(each))
        chosen = far <= -np.float32(criterion.similarity)
        found, far = np.tile(members, len(removed))[chosen], far[chosen]
    distinct, first = np.unique(found[np.argsort(far, kind="stable")], return_index=True)
    ordered: U32 = distinct[np.argsort(first)]
    return ordered


def _groups(state: State, criterion: Criterion, neighbours: U32) -> list[set[int]]:
    """Return the neighbours in connected groups; at most `GROUPS_MAX` + 1 groups.

    Only the matches of the first neighbours are looked at, so connected groups may be apart.
    """
    forest = kernel.Forest(len(neighbours))
    every = np.arange(len(neighbours), dtype=np.uint32)
    labels = every
    for position in range(min(COMPARED_NEIGHBOURS_MAX, len(neighbours))):
        close = np.flatnonzero(_is_close(state, criterion, neighbours, position)).astype(np.uint32)
        forest.join(np.full(len(close), position, np.uint32), close)
        labels = forest.labels()
        if not labels.any():
            break
    return [
        set(neighbours[labels == label].tolist())
        for label in sorted_unique(labels)[: GROUPS_MAX + 1]
    ]


def _is_close(
    state: State, criterion: Criterion, neighbours: U32, position: int
) -> npt.NDArray[np.bool_]:
    """Return whether each of `neighbours` matches the neighbour at `position`."""
    close = np.ones(len(neighbours), np.bool_)
    if criterion.distance is not None:
        bits = state.column(layout.FINGERPRINT, neighbours)
        close &= bit_counts(bits ^ bits[position]) <= criterion.distance
    if criterion.similarity is not None:
        one = np.full(len(neighbours), neighbours[position], np.uint32)
        similarities: F32 = state.vectors(neighbours).between(one, neighbours)
        close &= similarities >= np.float32(criterion.similarity)
    return close


def _search(
    state: State, criterion: Criterion, members: U32, groups: list[set[int]]
) -> list[set[int]] | None:
    """Return all parts but one, found by growing `groups`; None if unsure or too long."""
    parts: list[set[int]] = []
    if len(groups) > GROUPS_MAX:
        return None
    waiting = [list(group) for group in groups]
    rounds = min(ROUNDS_MAX, ROUNDS_LEAST + len(members) // ROUND_MEMBERS)
    matches_left = FOUND_MAX
    while len(groups) > 1:
        at = min(range(len(groups)), key=lambda group: len(groups[group]))
        if not waiting[at]:
            if not _is_sure(criterion, members):
                return None
            parts.append(groups.pop(at))
            waiting.pop(at)
            continue
        queries, waiting[at] = waiting[at][:QUERIES_AT_ONCE], waiting[at][QUERIES_AT_ONCE:]
        reached = _reached(state, criterion, members, queries)
        rounds, matches_left = rounds - 1, matches_left - len(reached)
        if min(rounds, matches_left) < 0:
            return None
        fresh = set(reached.tolist()) - groups[at]
        groups[at] |= fresh
        waiting[at] += fresh
        _unite(groups, waiting, at)
    return parts


def _is_sure(criterion: Criterion, members: U32) -> bool:
    """Return whether a document that no search has reached counts as not connected."""
    return criterion.recall == 1.0 or criterion.similarity is None or len(members) > EXACT_MAX


def _reached(state: State, criterion: Criterion, members: U32, queries: list[int]) -> U32:
    """Return the members that match one of `queries`."""
    sketches = stored_sketches(state, np.array(queries, np.uint32))
    rows = search(state, sketches, criterion)
    reached: U32 = rows.ordinals[np.isin(rows.ordinals, members)]
    return reached


def _unite(groups: list[set[int]], waiting: list[list[int]], at: int) -> None:
    """Merge the group at `at`, which has grown, with all groups that it has met."""
    for other in reversed(range(len(groups))):
        if other != at and not groups[other].isdisjoint(groups[at]):
            met, queue = groups.pop(other), waiting.pop(other)
            at -= other < at
            groups[at] |= met
            waiting[at] += queue
