"""Links: the matches that connect documents, and the parts of a cluster that has lost members.

Maintained clusters are made of the links of new documents with stored ones and with each other.
Equal documents are linked to the first of them, and only this document is searched for.  A document
that equals a stored document is linked to that document only.

A large cluster that loses members stays whole if the former neighbours of these members are still
connected with each other, and a few comparisons mostly show that.  Otherwise the groups of
connected neighbours grow by searching, the smallest group first.  Groups that meet become one, and
a group without new matches is a separate part.  So splitting off a small part takes time for this
part only, not for the whole cluster.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import EMPTY, WEIGHTED, Sketches, sorted_unique
from simdb.core.dtypes import F32, I64, U32, Bools
from simdb.core.options import AUTO
from simdb.database.search.buckets import first_equal
from simdb.database.search.couples import distances_of
from simdb.database.search.lookup import search
from simdb.database.search.pairs import join_links, look_up
from simdb.database.state.documents import stored_sketches
from simdb.database.state.state import State
from simdb.database.state.view import FINGERPRINTS, HASHES, SIGNATURES, View
from simdb.plan import Criterion
from simdb.storage import Delta, StoredBatch, groups_of, rewriting, with_deleted

# Up to this number, documents are compared directly; more get tables of their own.
COMPARED_MAX = 128
# Up to this size a cluster by similarity is split exactly; above, with the recall of the criterion.
EXACT_MAX = 4096
EQUAL = Criterion(None, 0, 1.0, AUTO, is_stored=True)
# If more members are removed at once, all remaining members are compared.
REMOVED_MAX = 16
# Number of neighbours that are compared with all neighbours before the groups grow.
COMPARED_NEIGHBOURS_MAX = 16
# Limits of the search: groups, rounds and matches.  Beyond them, all members are compared.
GROUPS_MAX = 16
ROUNDS_LEAST, ROUNDS_MAX = 8, 128
FOUND_MAX = 1 << 19
QUERIES_AT_ONCE = 16
# Number of members that are compared in the time of a round, about 100 microseconds.
ROUND_MEMBERS = 256

Links = tuple[U32, U32]


def links_of(state: State, criterion: Criterion, fresh: U32) -> Iterator[Links]:
    """Yield the links of the live documents `fresh` to stored documents and to each other."""
    is_measured = criterion.similarity is not None or state.store.options.is_wide
    sketches = stored_sketches(state, fresh)
    searchable = np.flatnonzero(
        sketches.states == WEIGHTED if is_measured else sketches.states != EMPTY
    )
    fresh, sketches = fresh[searchable], sketches.taken(searchable)
    earlier = state.without(with_deleted(state.dead, fresh, state.next_ordinal))
    first = first_equal(sketches, is_measured=is_measured)
    distinct = first == np.arange(len(fresh))
    yield fresh[first[~distinct]], fresh[~distinct]
    fresh, sketches = fresh[distinct], sketches.taken(np.flatnonzero(distinct))
    for left, right in _links_among(state, criterion, sketches):
        yield fresh[left], fresh[right]
    equals = _stored_equals(earlier, sketches, is_measured=is_measured)
    has_equal = equals >= 0
    yield fresh[has_equal], equals[has_equal].astype(np.uint32)
    plan = earlier.plan(criterion)
    unmatched = fresh[~has_equal]
    for couples in look_up(earlier, criterion, plan, unmatched, later_only=False):
        yield couples.left, couples.right


def parts_of(state: State, criterion: Criterion, members: U32, numbers: U32) -> I64:
    """Return the position of the first member still connected with each of `members`.

    `numbers`: the cluster of each member.  Members of different clusters are not compared.
    """
    sketches = stored_sketches(state, members)
    is_measured = criterion.similarity is not None or state.store.options.is_wide
    first = first_equal(sketches, is_measured=is_measured)
    forest = kernel.Forest(len(members))
    every = np.arange(len(members))
    forest.join(first.astype(np.uint32), every.astype(np.uint32))
    distinct = np.flatnonzero(first == every)
    order, offsets = groups_of(numbers[distinct])
    distinct, sizes = distinct[order], np.diff(offsets)
    few = np.repeat(sizes <= COMPARED_MAX, sizes)
    left, right = _compared(state, criterion, members, numbers, distinct[few])
    forest.join(left.astype(np.uint32), right.astype(np.uint32))
    for group in np.flatnonzero(sizes > COMPARED_MAX):
        inside = distinct[offsets[group] : offsets[group + 1]]
        is_exact = criterion.similarity is None or len(inside) <= EXACT_MAX
        exact = replace(criterion, recall=1.0) if is_exact else criterion
        for starts, ends in _links_among(state, exact, sketches.taken(inside)):
            forest.join(inside[starts].astype(np.uint32), inside[ends].astype(np.uint32))
    return np.asarray(forest.labels(), np.int64)


def labels_after(state: State, criterion: Criterion, members: U32, removed: U32) -> I64 | None:
    """Label the parts of a cluster that lost `removed`; None if a short search cannot tell.

    `members`: the remaining members, ascending.  Returns a label for each of them.
    """
    if len(removed) > REMOVED_MAX:
        return None
    found: list[set[int]] = []
    together = parts_of(state, criterion, removed, np.ones(len(removed), np.uint32))
    for number in sorted_unique(together):
        neighbours = _neighbours(state, criterion, members, removed[together == number])
        groups = _groups(state, criterion, neighbours)
        parts = _search(state, criterion, members, groups)
        # If two searches find parts, the part that one search omits may be a part of the other.
        if parts is None or (parts and found):
            return None
        found += parts
    labels = np.zeros(len(members), np.int64)
    for number, part in enumerate(found, 1):
        labels[np.searchsorted(members, sorted(part))] = number
    return labels


def _compared(
    state: State, criterion: Criterion, members: U32, numbers: U32, chosen: I64
) -> tuple[I64, I64]:
    """Return positions of members that match, after comparing each of `chosen` with its cluster.

    The members of a cluster are next to each other in `chosen`, so two members of the same cluster
    are less than its size apart.
    """
    found: list[tuple[I64, I64]] = [(chosen[:0], chosen[:0])]
    group = numbers[chosen]
    for shift in range(1, len(chosen)):
        same = group[shift:] == group[:-shift]
        if not same.any():
            break
        left, right = chosen[:-shift][same], chosen[shift:][same]
        close = _are_close(state, criterion, members[left], members[right])
        found.append((left[close], right[close]))
    lefts, rights = zip(*found, strict=True)
    return np.concatenate(lefts), np.concatenate(rights)


def _links_among(state: State, criterion: Criterion, sketches: Sketches) -> Iterator[Links]:
    """Yield positions of matching sketches: enough pairs to connect all sketches that match."""
    count = len(sketches)
    if count < 2:
        return
    nothing = np.zeros(count + 1, np.int64)
    batch = StoredBatch(
        sketches.bits, sketches.states, sketches.vectors, np.zeros(count, np.uint64), nothing,
        np.empty(0, np.uint8),
    )  # fmt: skip
    delta = batch.view(0, state.keying)
    runs = []
    if count > COMPARED_MAX:
        runs.append(rewriting.seal(delta, state.keying, state.source.header_offset))
        delta = Delta(count, state.width, state.keying).view()
    among = state.over(View(runs, delta, None, state.kind, None))
    yield from join_links(among, criterion, kernel.Forest(count))


def _stored_equals(state: State, sketches: Sketches, *, is_measured: bool) -> I64:
    """Return the ordinal of a stored document equal to each sketch; -1 if none is found.

    If `is_measured`, only one document with the same fingerprint, or with an equal band, is
    compared; the search for matches finds any others.
    """
    equals = np.full(len(sketches), -1, np.int64)
    queries, found = FIND_EQUAL[state.kind.stores](state, sketches)
    if is_measured and len(found):
        vectors = state.vectors(found).gather(found)
        equal = (vectors == sketches.vectors[queries]).all(axis=1)
        queries, found = queries[equal], found[equal]
    equals[queries] = found
    return equals


def _equal_fingerprints(state: State, sketches: Sketches) -> tuple[I64, U32]:
    """Return queries, and for each query one document with the same fingerprint."""
    rows = search(state, sketches, EQUAL, first=True)
    return rows.queries, rows.ordinals


def _equal_bands(state: State, sketches: Sketches) -> tuple[I64, U32]:
    """Return queries and documents: for each query and band, one with the same band key."""
    found: tuple[I64, U32] = state.tables().any_of_each(sketches.vectors)
    return found


def _neighbours(state: State, criterion: Criterion, members: U32, removed: U32) -> U32:
    """Return the members that match one of `removed`, nearest first."""
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
    return distinct[np.argsort(first)]


def _groups(state: State, criterion: Criterion, neighbours: U32) -> list[set[int]]:
    """Return the neighbours in connected groups; at most `GROUPS_MAX` + 1 groups.

    Only the first neighbours are compared with the others, so connected groups may stay separate.
    """
    forest = kernel.Forest(len(neighbours))
    every = np.arange(len(neighbours), dtype=np.uint32)
    labels = every
    for position in range(min(COMPARED_NEIGHBOURS_MAX, len(neighbours))):
        one = np.full(len(neighbours), neighbours[position], np.uint32)
        close = np.flatnonzero(_are_close(state, criterion, one, neighbours)).astype(np.uint32)
        forest.join(np.full(len(close), position, np.uint32), close)
        labels = forest.labels()
        if not labels.any():
            break
    return [
        set(neighbours[labels == label].tolist())
        for label in sorted_unique(labels)[: GROUPS_MAX + 1]
    ]


def _are_close(state: State, criterion: Criterion, left: U32, right: U32) -> Bools:
    """Return whether the documents left[i] and right[i] match."""
    close = np.ones(len(left), np.bool_)
    if criterion.distance is not None:
        close &= distances_of(state, left, right) <= criterion.distance
    if criterion.similarity is not None:
        similarities: F32 = state.vectors(np.concatenate([left, right])).between(left, right)
        close &= similarities >= np.float32(criterion.similarity)
    return close


def _search(
    state: State, criterion: Criterion, members: U32, groups: list[set[int]]
) -> list[set[int]] | None:
    """Grow `groups`; return all parts except one, or None if unsure or too slow."""
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
    """Return whether a document that no search reaches counts as not connected."""
    return criterion.recall == 1.0 or criterion.similarity is None or len(members) > EXACT_MAX


def _reached(state: State, criterion: Criterion, members: U32, queries: list[int]) -> U32:
    """Return the members that match one of `queries`."""
    sketches = stored_sketches(state, np.array(queries, np.uint32))
    rows = search(state, sketches, criterion)
    return rows.ordinals[np.isin(rows.ordinals, members)]


def _unite(groups: list[set[int]], waiting: list[list[int]], at: int) -> None:
    """Merge the group at `at`, which has grown, with all groups that it now overlaps."""
    for other in reversed(range(len(groups))):
        if other != at and not groups[other].isdisjoint(groups[at]):
            met, queue = groups.pop(other), waiting.pop(other)
            at -= other < at
            groups[at] |= met
            waiting[at] += queue


FIND_EQUAL = {
    FINGERPRINTS: _equal_fingerprints, HASHES: _equal_fingerprints, SIGNATURES: _equal_bands
}  # fmt: skip
