"""The sweep: every pair of stored documents that match, in chunks of bounded size.

If the method of the plan can walk the tables, it does.  Otherwise each document is looked up among
those after it, by its stored weights where the plan probes.  Pairs for a similarity are candidates
by distance, measured by the stored volatility vectors.
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
    """Every matching pair once, in chunks, with its similarity where that can be told."""
    for couples in find_links(state, criterion):
        is_told = criterion.similarity is not None or not len(couples)
        yield couples if is_told else estimated(state, couples)


def find_links(state: State, criterion: Criterion) -> Iterator[Couples]:
    """Every matching pair once, in chunks; similarities only where the criterion asks for one."""
    plan = state.plan(criterion, is_swept=True)
    walk = method_of(state, plan).links
    walked = None if walk is None else walk(state, criterion, plan)
    return _look_up_all(state, criterion, plan) if walked is None else walked


def _look_up_all(state: State, criterion: Criterion, plan: Plan) -> Iterator[Couples]:
    """Pairs by looking up every document among those with greater ordinals."""
    is_measured = criterion.similarity is not None
    ordinals = searched(state, is_measured=is_measured).ordinals
    return look_up(state, criterion, plan, ordinals, later_only=True)


def look_up(
    state: State, criterion: Criterion, plan: Plan, ordinals: U32, *, later_only: bool
) -> Iterator[Couples]:
    """Each of `ordinals`, on the left, with the documents of the view that match it.

    `later_only`: with those of greater ordinals; otherwise left may be above right.

    Nobody knows how many a batch will find, so each is as large as the last one suggests, at most
    twice as large, and drawn from everywhere: a crowd of neighbours is spread over many.
    """
    ordinals = _spread(ordinals)
    start, size = 0, LOOKUP_QUERIES_FIRST
    while start < len(ordinals):
        asked = ordinals[start : start + size]
        sketches = stored_sketches(state, asked)
        after = asked if later_only else None
        rows = search(state, sketches, criterion, after=after, plan=plan)
        if len(rows.ordinals):
            state.check_known(rows.ordinals)
            yield _from_rows(rows, asked)
        start += size
        suggested = CHUNK_PAIRS * len(asked) // max(len(rows.ordinals), 1)
        size = max(1, min(LOOKUP_QUERIES, 2 * size, suggested))


def _spread(ordinals: U32) -> U32:
    """All of them in an order in which every few neighbours come from everywhere."""
    stride = -(-len(ordinals) // LOOKUP_QUERIES_FIRST)
    return np.concatenate([ordinals[:0], *(ordinals[at::stride] for at in range(stride))])


def _from_rows(rows: Rows, asked: U32) -> Couples:
    return Couples(asked[rows.queries], rows.ordinals, rows.distances, rows.similarities)
