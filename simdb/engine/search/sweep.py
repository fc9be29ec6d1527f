"""Sweep: finds all pairs of stored documents that match, in chunks of bounded size.

A method that can walk the tables does so.  Otherwise each document is looked up among the documents
after it; a plan that probes uses its stored weights.  For a similarity, pairs are candidates by
distance, which the stored volatility vectors then measure.
"""

from collections.abc import Iterator

import numpy as np

from simdb.engine.search.buckets import roots_of
from simdb.engine.search.couples import Batches, Couples, couples_of, estimated, searched
from simdb.engine.search.judge import Judge
from simdb.engine.search.lookup import method_of, search
from simdb.engine.state.documents import stored_sketches
from simdb.engine.state.state import State
from simdb.ground.dtypes import U32
from simdb.plan.problem import Criterion
from simdb.results.reports import Plan
from simdb.running import kernel

# So many pairs are judged before the next ones are left out if they are connected by then: first
# few, because in a crowd these connect most of the others, and then twice as many each time.
JUDGED_PAIRS_FIRST = 1 << 11
JUDGED_PAIRS = 1 << 13


def find_couples(
    state: State, criterion: Criterion, judge: Judge | None = None
) -> Iterator[Couples]:
    """Yield every matching pair once, in chunks, with its similarity if both have weights.

    `judge` decides which pairs match, if that is not the criterion alone.
    """
    for couples in find_links(state, criterion):
        if judge is not None:
            yield judge.kept(state, couples)
            continue
        is_measured = criterion.similarity is not None or not len(couples)
        yield couples if is_measured else estimated(state, couples)


def find_links(state: State, criterion: Criterion) -> Iterator[Couples]:
    """Return all matching pairs once, in chunks; similarities only if the criterion has one."""
    plan = state.plan(criterion, is_swept=True)
    walk = method_of(state, plan).links
    walked = None if walk is None else walk(state, criterion, plan)
    return _look_up_all(state, criterion, plan) if walked is None else walked


def join_links(
    state: State, criterion: Criterion, forest: kernel.Forest, judge: Judge | None = None
) -> Iterator[tuple[U32, U32]]:
    """Join matching pairs in `forest`, and yield them, until all that match are connected.

    `forest` is over ordinals.  A method may leave out pairs that are connected already, so that a
    large group of similar documents costs its members and not its pairs.  `judge` decides which
    pairs match, if that is not the criterion alone; it is not asked about connected pairs.
    """
    plan = state.plan(criterion, is_swept=True)
    walk = method_of(state, plan).joining
    found = None if walk is None else walk(state, criterion, plan, forest)
    for candidates in find_links(state, criterion) if found is None else found:
        for couples in [candidates] if judge is None else _portions(candidates):
            if judge is not None:
                couples = judge.kept(state, _unconnected(couples, forest))
            forest.join(couples.left, couples.right)
            yield couples.left, couples.right


def _portions(couples: Couples) -> Iterator[Couples]:
    """Yield pairs in portions, the most similar first: these may connect what the others would."""
    order = np.argsort(-couples.similarities)
    start, size = 0, JUDGED_PAIRS_FIRST
    while start < len(couples):
        yield couples.chosen(order[start : start + size])
        start, size = start + size, min(2 * size, JUDGED_PAIRS)


def _unconnected(couples: Couples, forest: kernel.Forest) -> Couples:
    """Return the pairs of two components of a forest."""
    return couples.chosen(roots_of(forest, couples.left) != roots_of(forest, couples.right))


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
    """
    batches = Batches(ordinals, state.threads)
    for batch in batches:
        sketches = stored_sketches(state, batch)
        after = batch if later_only else None
        rows = search(state, sketches, criterion, after=after, plan=plan)
        batches.found(len(rows.ordinals))
        if len(rows.ordinals):
            state.check_known(rows.ordinals)
            yield couples_of(batch, rows)
