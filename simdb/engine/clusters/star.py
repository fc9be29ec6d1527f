"""Stars: clusters in which every member matches the representative, so matches are not chained.

Documents are taken in order.  Each joins the earliest representative that matches it, or becomes a
representative itself.  A star lies within a connected component, and these are found faster, so the
members of each component are compared with the representatives in it, and not with each other.

In a large component they come in batches: the documents of a batch that have no representative yet
are compared with each other, and only the new representatives are compared with the documents that
are left, or looked up in the collection if these are many.
Representatives do not match each other, so few can be near one document however crowded its
neighbourhood is, and memory stays linear.
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from simdb.engine.search.couples import Couples, couples_of, matching
from simdb.engine.search.judge import Judge
from simdb.engine.search.lookup import search
from simdb.engine.search.methods.register import method_of
from simdb.engine.state.documents import stored_sketches
from simdb.engine.state.state import State
from simdb.plan.problem import Criterion
from simdb.results.plans import Plan

# The documents of a batch are compared with each other.  That pays if most of them represent
# themselves, so a batch has at most `GROWTH` documents for each representative of the batch before.
BATCH_FIRST = 1 << 6
BATCH_DOCUMENTS = 1 << 11
GROWTH = 8
# Components of at most this many documents are searched side by side.
COMPARED_MAX = 256
# So many pairs are compared at a time; more pairs of representatives and documents are looked up.
COMPARED_PAIRS = 1 << 20

I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]


def find_stars(
    state: State,
    criterion: Criterion,
    plan: Plan,
    offsets: I64,
    members: U32,
    judge: Judge | None = None,
) -> U32:
    """Return the representative of each ordinal, by default itself: uint32[next ordinal].

    Component i has members[offsets[i]:offsets[i + 1]], in their order.  `plan`: of single
    documents, for the large components.  `judge` decides which pairs match, if that is not the
    criterion alone.
    """
    owners = np.arange(state.next_ordinal, dtype=np.uint32)
    sizes = np.diff(offsets)
    for component in np.flatnonzero(sizes > COMPARED_MAX).tolist():
        ordered = members[offsets[component] : offsets[component + 1]]
        owners[ordered] = _stars_of(state, criterion, plan, ordered, judge)[ordered]
    small = np.flatnonzero(sizes <= COMPARED_MAX)
    portion = np.cumsum(sizes[small]) // COMPARED_PAIRS
    for chosen in np.split(small, np.flatnonzero(np.diff(portion)) + 1):
        components = [members[offsets[at] : offsets[at + 1]] for at in chosen]
        _claim_within(state, criterion, owners, components, judge)
    return owners


def _claim_within(
    state: State, criterion: Criterion, owners: U32, components: list[U32], judge: Judge | None
) -> None:
    """Let the documents of each component claim those after them that match, in their order.

    In each round the first document that is left in each component is compared with the others.
    """
    left = np.concatenate([np.empty(0, np.uint32), *components])
    of_each = np.repeat(np.arange(len(components)), [len(each) for each in components])
    while len(left):
        firsts = np.flatnonzero(np.diff(of_each, prepend=-1))
        is_member = np.ones(len(left), np.bool_)
        is_member[firsts] = False
        leaders = np.repeat(left[firsts], np.diff(firsts, append=len(left)))[is_member]
        left, of_each = left[is_member], of_each[is_member]
        found = _matching(state, criterion, leaders, left, judge)
        owners[found.right] = found.left
        is_left = owners[left] == left
        left, of_each = left[is_left], of_each[is_left]


def _matching(
    state: State, criterion: Criterion, left: U32, right: U32, judge: Judge | None
) -> Couples:
    """Return the given pairs that match."""
    found = matching(state, criterion, left, right)
    return found if judge is None else judge.kept(state, found)


def _stars_of(
    state: State, criterion: Criterion, plan: Plan, ordered: U32, judge: Judge | None
) -> U32:
    """Return the representatives of the documents `ordered`, in their order; see `find_stars`."""
    owners = np.arange(state.next_ordinal, dtype=np.uint32)
    is_left = np.zeros(state.next_ordinal, np.bool_)
    is_left[ordered] = True
    size = BATCH_FIRST
    for start in range(0, len(ordered), BATCH_DOCUMENTS):
        window = ordered[start : start + BATCH_DOCUMENTS]
        while len(batch := window[is_left[window]][:size]):
            owners[batch] = batch[_settle(state, criterion, plan, batch, judge)]
            is_left[batch] = False
            leaders = batch[owners[batch] == batch]
            size = max(BATCH_FIRST, GROWTH * len(leaders))
            found = _claimed(state, criterion, plan, leaders, ordered[start:], is_left, judge)
            # Pairs are in the order of their representatives: the first claim counts.
            joined, firsts = np.unique(found.right, return_index=True)
            owners[joined] = found.left[firsts]
            is_left[joined] = False
    return owners


def _claimed(
    state: State,
    criterion: Criterion,
    plan: Plan,
    leaders: U32,
    ordered: U32,
    is_left: npt.NDArray[np.bool_],
    judge: Judge | None,
) -> Couples:
    """Return the pairs of `leaders` and those of `ordered` that are left, leader by leader."""
    if len(leaders) * len(ordered) <= COMPARED_PAIRS:
        left = ordered[is_left[ordered]]
        members = np.tile(left, len(leaders))
        return _matching(state, criterion, np.repeat(leaders, len(left)), members, judge)
    rows = search(state, stored_sketches(state, leaders), criterion, plan=plan)
    found = couples_of(leaders, rows).chosen(is_left[rows.ordinals])
    return found if judge is None else judge.kept(state, found)


def _settle(
    state: State, criterion: Criterion, plan: Plan, batch: U32, judge: Judge | None
) -> npt.NDArray[np.int64]:
    """Return for each of `batch` the position in it of its representative within the batch."""
    owners = np.arange(len(batch))
    among = method_of(state, plan).links_among
    assert among is not None, "every method that finds matches compares a few documents"
    for couples in among(state, criterion, plan, batch):
        matches = couples if judge is None else _judged(state, couples, batch, judge)
        _claim(owners, matches.left, matches.right)
    return owners


def _judged(state: State, couples: Couples, batch: U32, judge: Judge) -> Couples:
    """Return the pairs of positions in `batch` that match."""
    stored = replace(couples, left=batch[couples.left], right=batch[couples.right])
    known = judge.measured(state, stored)
    return couples.chosen(known.similarities >= np.float32(judge.least))


def _claim(owners: npt.NDArray[np.int64], left: U32, right: U32) -> None:
    """Make each of `left` that represents itself the representative of its matches.

    The matches are on the `right`; those with a representative keep it.  Pairs are in the order of
    `left`, so the representative of a document is final before its own pairs begin.
    """
    bounds = [*np.flatnonzero(np.diff(left, prepend=-1)), len(left)]
    for start, stop in pairwise(bounds):
        leader = left[start]
        if owners[leader] == leader:
            claimed = right[start:stop]
            owners[claimed[owners[claimed] == claimed]] = leader
