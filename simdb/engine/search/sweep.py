"""Sweep: finds all pairs of stored documents that match, in chunks of bounded size.

A method that can walk the tables does so.  Otherwise each document is looked up among the documents
after it; a plan that probes uses its stored weights.  For a similarity, pairs are candidates by
distance, which the stored volatility vectors then measure.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from simdb.engine.search.couples import CHUNK_PAIRS, Couples, estimated, searched
from simdb.engine.search.lookup import search
from simdb.engine.search.methods.register import method_of
from simdb.engine.search.rows import Rows
from simdb.engine.state.documents import stored_sketches
from simdb.engine.state.state import State
from simdb.plan.problem import Criterion
from simdb.plans import Plan

LOOKUP_QUERIES = 1 << 13
LOOKUP_QUERIES_FIRST = 1 << 6

U32 = npt.NDArray[np.uint32]


def find_couples(state: State, criterion: Criterion) -> Iterator[Couples]:
    """Yield every matching pair once, in chunks, with its similarity if both have weights."""
    for couples in find_links(state, criterion):
        is_measured = criterion.similarity is not None or not len(couples)
        yield couples if is_measured else estimated(state, couples)


def find_links(state: State, criterion: Criterion) -> Iterator[Couples]:
    """Return all matching pairs once, in chunks; similarities only if the criterion has one."""
    plan = state.plan(criterion, is_swept=True)
    walk = method_of(state, plan).links
    walked = None if walk is None else walk(state, criterion, plan)
    return _look_up_all(state, criterion, plan) if walked is None else walked


def _look_up_all(state: State, criterion: Criterion, plan: Plan) -> Iterator[Couples]:
    """Yield all pairs: each document is looked up among the documents with greater ordinals."""
    is_measured = criterion.similarity is not None
    ordinals = searched(state, is_measured=is_measured).ordinals
    return look_up(state, criterion, plan, ordinals, later_only=True)


def look_up(
    state: State, criterion: Criterion, plan: Plan, ordinals: U32, *, later_only: bool
) -> Iterator[Couples]:
    """Yield each document of `ordinals`, on the left, with every document that matches it.

    `later_only`: only with documents of greater ordinals; otherwise left can be above right.

    The number of pairs from a batch is not known before, so the size of each batch follows from the
    pairs of the batch before it, and at most doubles.  Each batch is drawn from the whole range of
    ordinals, so that a large group of similar neighbours is spread over many batches.
    """
    ordinals = _spread(ordinals)
    start, size = 0, LOOKUP_QUERIES_FIRST
    while start < len(ordinals):
        batch = ordinals[start : start + size]
        sketches = stored_sketches(state, batch)
        after = batch if later_only else None
        rows = search(state, sketches, criterion, after=after, plan=plan)
        if len(rows.ordinals):
            state.check_known(rows.ordinals)
            yield _from_rows(rows, batch)
        start += size
        suggested = CHUNK_PAIRS * len(batch) // max(len(rows.ordinals), 1)
        size = max(1, min(LOOKUP_QUERIES, 2 * size, suggested))


def _spread(ordinals: U32) -> U32:
    """Return all ordinals in an order in which any few in a row come from the whole range."""
    stride = -(-len(ordinals) // LOOKUP_QUERIES_FIRST)
    return np.concatenate([ordinals[:0], *(ordinals[at::stride] for at in range(stride))])


def _from_rows(rows: Rows, queries: U32) -> Couples:
    return Couples(queries[rows.queries], rows.ordinals, rows.distances, rows.similarities)
