"""Stars: clusters in which every member matches the representative, so matches are not chained.

Documents are taken in order.  Each joins the earliest representative that matches it, or becomes a
representative itself.  A star lies within a connected component, and these are found faster, so the
members of each component are compared with each other.

In a large component they come in batches: the documents of a batch that have no representative yet
are compared with each other, and only the new representatives are looked up in the collection.
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
from simdb.plans import Plan

BATCH_DOCUMENTS = 1 << 11
# All members of a component of at most this many documents are compared with each other.
COMPARED_MAX = 256
# So many pairs are compared at a time.
COMPARED_PAIRS = 1 << 16

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
    portion = np.cumsum(sizes[small] * (sizes[small] - 1) // 2) // COMPARED_PAIRS
    for chosen in np.split(small, np.flatnonzero(np.diff(portion)) + 1):
        components = [members[offsets[at] : offsets[at + 1]] for at in chosen]
        _claim_within(state, criterion, owners, components, judge)
    return owners


def _claim_within(
    state: State, criterion: Criterion, owners: U32, components: list[U32], judge: Judge | None
) -> None:
    """Let the documents of each component claim those after them that match, in their order."""
    pairs = [np.triu_indices(len(component), 1) for component in components]
    if not pairs:
        return
    left = np.concatenate([each[at[0]] for each, at in zip(components, pairs, strict=True)])
    right = np.concatenate([each[at[1]] for each, at in zip(components, pairs, strict=True)])
    matches = matching(state, criterion, left, right)
    if judge is not None:
        matches = judge.kept(state, matches)
    for leader, member in zip(matches.left.tolist(), matches.right.tolist(), strict=True):
        if owners[leader] == leader and owners[member] == member:
            owners[member] = leader


def _stars_of(
    state: State, criterion: Criterion, plan: Plan, ordered: U32, judge: Judge | None
) -> U32:
    """Return the representatives of the documents `ordered`, in their order; see `find_stars`."""
    owners = np.arange(state.next_ordinal, dtype=np.uint32)
    is_settled = np.ones(state.next_ordinal, np.bool_)
    is_settled[ordered] = False
    for start in range(0, len(ordered), BATCH_DOCUMENTS):
        batch = ordered[start : start + BATCH_DOCUMENTS]
        batch = batch[~is_settled[batch]]
        owners[batch] = batch[_settle(state, criterion, plan, batch, judge)]
        is_settled[batch] = True
        leaders = batch[owners[batch] == batch]
        sketches = stored_sketches(state, leaders)
        rows = search(state, sketches, criterion, plan=plan)
        found = couples_of(leaders, rows).chosen(~is_settled[rows.ordinals])
        if judge is not None:
            found = judge.kept(state, found)
        # Pairs are in the order of their representatives: the first claim counts.
        joined, firsts = np.unique(found.right, return_index=True)
        owners[joined] = found.left[firsts]
        is_settled[joined] = True
    return owners


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
