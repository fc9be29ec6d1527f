"""Stars: clusters in which every member matches the representative, so that nothing is chained.

Documents are taken in order.  One that no earlier representative matches becomes one; any other
joins the earliest that does.  They come in batches: those of a batch that none has claimed yet are
compared with each other, and only the representatives among them are looked up in the collection.
Representatives do not match each other, so few can be near one document however crowded its
neighbourhood is, and memory stays linear.
"""

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from simdb.engine.search.lookup import search
from simdb.engine.search.methods.register import method_of
from simdb.engine.state.documents import stored_sketches
from simdb.engine.state.state import State
from simdb.plan.problem import Criterion
from simdb.plans import Plan

BATCH_DOCUMENTS = 1 << 11

U32 = npt.NDArray[np.uint32]


def find_stars(state: State, criterion: Criterion, ordered: U32) -> U32:
    """The representative of each ordinal, itself where it has no other: uint32[next ordinal].

    `ordered`: the documents of `state` that take part, in their order.
    """
    plan = state.plan(criterion)
    owners = np.arange(state.next_ordinal, dtype=np.uint32)
    is_settled = np.ones(state.next_ordinal, np.bool_)
    is_settled[ordered] = False
    for start in range(0, len(ordered), BATCH_DOCUMENTS):
        batch = ordered[start : start + BATCH_DOCUMENTS]
        batch = batch[~is_settled[batch]]
        owners[batch] = batch[_settle(state, criterion, plan, batch)]
        is_settled[batch] = True
        leaders = batch[owners[batch] == batch]
        sketches = stored_sketches(state, leaders)
        rows = search(state, sketches, criterion, plan=plan)
        chosen = np.flatnonzero(~is_settled[rows.ordinals])
        # Rows stand in the order of their representatives: the first claim counts.
        joined, firsts = np.unique(rows.ordinals[chosen], return_index=True)
        owners[joined] = leaders[rows.queries[chosen[firsts]]]
        is_settled[joined] = True
    return owners


def _settle(state: State, criterion: Criterion, plan: Plan, batch: U32) -> npt.NDArray[np.int64]:
    """For each of `batch` the position of its representative, if those of `batch` were all."""
    owners = np.arange(len(batch))
    among = method_of(state, plan).links_among
    assert among is not None, "every method that finds matches compares a few documents"
    for couples in among(state, criterion, plan, batch):
        _claim(owners, couples.left, couples.right)
    return owners


def _claim(owners: npt.NDArray[np.int64], left: U32, right: U32) -> None:
    """Let each of `left` that nobody owns own what it has on the `right`, if nobody else does.

    Pairs are in the order of the left, so whether one is owned is settled when its pairs begin.
    """
    bounds = [*np.flatnonzero(np.diff(left, prepend=-1)), len(left)]
    for start, stop in pairwise(bounds):
        leader = left[start]
        if owners[leader] == leader:
            claimed = right[start:stop]
            owners[claimed[owners[claimed] == claimed]] = leader
