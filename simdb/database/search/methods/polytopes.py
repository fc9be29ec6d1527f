"""Search by cross-polytope tables: looks up the headers that similar documents are likely to have.

Candidates are measured by their stored vectors in the same call of the kernel.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from math import isqrt
from typing import NamedTuple

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import Sketches
from simdb.core.bits import FINGERPRINT_BITS
from simdb.core.dtypes import U8, U32, Bools
from simdb.core.matches import Match
from simdb.core.options import AUTO, EXHAUSTIVE
from simdb.core.reports import Plan, Probe
from simdb.core.threads import mapped, parts_of
from simdb.database.search.buckets import Crowds
from simdb.database.search.couples import LOOKUP_QUERIES, Batches, Couples, couples_of, searched
from simdb.database.search.method import After, Limit, Method, PairMember, shown_matches
from simdb.database.search.methods import exhaustive
from simdb.database.search.rows import MANY, Rows
from simdb.database.state import kinds
from simdb.database.state.state import State
from simdb.plan import Criterion, Problem, explained
from simdb.storage import Delta, Run, Table, with_deleted

# Documents count as near each other if they are at most this much less similar than candidates.
NEARLY = 0.05
# With at most this number of documents outside a bunch, all documents are compared.
BESIDE_BUNCH = 1 << 14
VERTEX_BITS = (7, 6, 5, 4)  # bits of each vertex number in a header, in order

Chosen = Callable[[Couples], Couples]


def search(
    state: State, sketches: Sketches, criterion: Criterion, plan: Plan, first: int, after: After
) -> Rows:
    """Return the matches of every sketch; see `Method`."""
    return _search(state, sketches.vectors, _How(criterion), first=first, after=after)


def search_one(
    state: State, sketches: Sketches, criterion: Criterion, plan: Plan, first: int, limit: Limit
) -> list[Match] | None:
    """Return the matches of one document with weights, best first; None if there are many."""
    limits = kinds.limits_of(state, criterion, either=False)
    most = 1 if first == 1 else limit
    enough, best = (first, most or 0) if criterion.distance is None else (0, 0)
    found = kinds.polytopes_of(state).search_one(
        sketches.vectors, limits.thresholds, limits.least, limits.signs, enough, MANY, best
    )
    if found is None:
        return None
    if criterion.distance is not None:
        found = [match for match in found if match[1] <= criterion.distance]
    return shown_matches(state, found[:most])


def links(state: State, criterion: Criterion, plan: Plan) -> Iterator[Couples]:
    """Yield every matching pair once: each document of a run is looked up in all runs.

    One of two documents must find the other, so the thresholds are lower than for a query.  If both
    find each other, the pair that the later document finds is dropped.  Documents of the delta are
    looked up in the runs, and compared with each other.
    """
    rest = state.over(state.view.only([], state.delta))
    recent = searched(rest, is_measured=True).ordinals
    for runs, stored in _runs_of(state, plan):
        for ordinals, either in ((stored, True), (recent, False)):
            how = _How(criterion, either)
            first_found = partial(_first_found, state, runs, how)
            yield from _looked_up(state, runs, ordinals, how, first_found)
    yield from exhaustive.compared(rest, criterion, plan)


def joining(
    state: State, criterion: Criterion, plan: Plan, forest: kernel.Forest
) -> Iterator[Couples]:
    """Yield matching pairs that connect all documents that `links` would connect; see `Method`.

    Documents in the component of the query are not measured, and the members of a crowd are looked
    up in tables without the crowd.
    """
    comparing, bunches = _bunches(state, criterion, plan)
    is_bunched, sealed = np.zeros(state.next_ordinal, np.bool_), []
    for members, is_member in bunches:
        if len(state.live()) - len(members) <= BESIDE_BUNCH:
            yield from exhaustive.joining(state, criterion, comparing, forest) or ()
            return
        is_bunched |= is_member
        sealed.append((members[members < state.delta.start], is_member))
        others = np.flatnonzero(~is_member).astype(np.uint32)
        within = state.without(with_deleted(state.dead, others, state.next_ordinal))
        yield from exhaustive.joining(within, criterion, comparing, forest) or ()
    rest = state.over(state.view.only([], state.delta))
    recent = searched(rest, is_measured=True).ordinals
    # Yield pairs among recent documents first.  These are then joined, so if they also match a
    # crowd, the pairs of one recent document connect all of them.
    yield from _looked_up(state, rest, recent, _How(criterion, False, forest))
    for runs, stored in _runs_of(state, plan):
        alone = stored[~is_bunched[stored]]
        for ordinals, either, known in ((alone, True, sealed), (recent, False, [])):
            crowds, how = Crowds(forest), _How(criterion, either, forest)
            yield from _looked_up(state, runs, ordinals, how, crowds=crowds)
            for members, is_member in chain(known, crowds.groups()):
                # No variable holds these tables, so they are freed before the next ones are made.
                yield from _looked_up(state, _without(runs, is_member, len(members)), members, how)


def tables(state: State, plan: Plan, run: Run) -> Iterator[Table]:
    """Yield the cross-polytope tables of a run."""
    return (run.polytope_table(at, state.source) for at in range(plan.tables))


def compares(state: State, plan: Plan, ordinal: int) -> bool:
    """Return whether a document is compared because it is in no run yet."""
    return ordinal >= state.delta.start


def find_probe(
    state: State, criterion: Criterion, plan: Plan, query: PairMember, stored: PairMember
) -> Probe | None:
    """Return the first probe that reaches a document in a run."""
    number = bisect_right([run.info.start for run in state.runs], stored.ordinal or 0) - 1
    if query.vector is None or stored.vector is None or compares(state, plan, stored.ordinal or 0):
        return None
    limits = kinds.limits_of(state, criterion, either=False).thresholds
    width = kinds.polytope_runs(state.view, state.source)[number].width
    found = kernel.polytope_probe(
        query.vector, stored.vector, width, plan.tables, float(limits[number])
    )
    if found is None:
        return None
    table, _, own, probed = found
    count, left = 0, width
    for bits in VERTEX_BITS:
        left -= bits
        if left < 0:
            break
        count += (own ^ probed) >> left & ((1 << bits) - 1) != 0
    return Probe(table, (), None, vertices=count)


class _How(NamedTuple):
    """The settings of a look-up.

    `either`: use the lower thresholds that suffice if either of two documents finds the other.
    `forest`: omit matches in the component of the query.
    """

    criterion: Criterion
    either: bool = False
    forest: kernel.Forest | None = None


def _search(
    state: State, vectors: U8, how: _How, *, first: int = 0, after: U32 | None = None,
    members: U32 | None = None,
) -> Rows:  # fmt: skip
    criterion, either, forest = how
    limits = kinds.limits_of(state, criterion, either=either)
    found = kinds.polytopes_of(state).search(
        vectors,
        thresholds=limits.thresholds,
        similarity=limits.least,
        limits=limits.signs,
        first=first if criterion.distance is None else 0,
        after=after,
        members=members,
        parents=None if forest is None else forest.parents,
    )
    rows = Rows(*found)
    if criterion.distance is None:
        return rows
    return rows.chosen(np.flatnonzero(rows.distances <= criterion.distance))


def _looked_up(
    state: State,
    among: State,
    ordinals: U32,
    how: _How,
    choose: Chosen | None = None,
    *,
    crowds: Crowds | None = None,
) -> Iterator[Couples]:
    """Yield documents with their matches in `among`, except themselves, batch by batch.

    `ordinals`: documents of `state`.  `crowds`: postpones documents that are in crowds.  `choose`:
    selects the pairs to yield; None for all.
    """
    batches = Batches(ordinals, state.threads, None if crowds is None else 1)
    for batch in batches:
        queries = batch if crowds is None else crowds.put_off(batch)

        def look_up(part: slice, queries: U32 = queries) -> tuple[int, Couples]:
            asking = queries[part]
            vectors = state.vectors(asking).gather(asking)
            rows = _search(among, vectors, how, members=asking)
            state.check_known(rows.ordinals)
            couples = couples_of(asking, rows)
            return len(couples), couples if choose is None else choose(couples)

        parts = parts_of(len(queries), state.threads, most=LOOKUP_QUERIES)
        found = list(mapped(look_up, parts, state.threads))
        count = sum(each for each, _ in found)
        batches.found(count)
        if crowds is not None:
            crowds.found(count)
        if count:
            yield Couples.joined([couples for _, couples in found])


def _bunches(
    state: State, criterion: Criterion, plan: Plan
) -> tuple[Plan, list[tuple[U32, Bools]]]:
    """Return groups of documents that are near each other, and the plan that compares them.

    Members of a group meet in every table, whether they match or not, so comparing all of them
    takes less time.  Returns for each large group its members, and a mask of its ordinals.  A
    sample of the documents is looked up to find the groups.
    """
    near = kernel.Forest(state.next_ordinal)
    every = searched(state, is_measured=True).ordinals
    if criterion.method != AUTO or len(every) < Crowds(near).least:
        return plan, []
    assert criterion.least is not None
    how = _How(replace(criterion, floor=criterion.least - NEARLY), True, near)
    some = every[:: isqrt(len(every))]
    for couples in _looked_up(state, state, some, how, crowds=Crowds(near)):
        near.join(couples.left, couples.right)
    crowds = Crowds(near)
    crowds.put_off(every)
    bunches = list(crowds.groups())
    if bunches:
        problem = Problem(criterion, state.population(criterion, is_swept=True))
        plans = explained(plan, problem).considered
        comparing = (each for each in plans if each.method == EXHAUSTIVE)
        plan = min([plan, *comparing], key=lambda each: each.distance)
    return plan, bunches if plan.distance < FINGERPRINT_BITS else []


def _runs_of(state: State, plan: Plan) -> Iterator[tuple[State, U32]]:
    """Yield states with only the runs and some of the tables, and the documents of the runs.

    A match in any of these states counts.
    """
    nothing = Delta(state.delta.stop, state.width, state.keying).view()
    runs = state.over(state.view.only(state.runs, nothing))
    stored = searched(runs, is_measured=True).ordinals
    for view in kinds.gathered(runs.view, runs.source, plan.tables, stored, state.threads):
        yield runs.over(view), stored


def _without(state: State, is_left_out: Bools, query_count: int) -> State:
    """Return a state for `query_count` searches without the documents of `is_left_out`.

    If passing over these documents costs less than copying the tables, `state` itself is returned.
    """
    if query_count * int(np.count_nonzero(is_left_out)) < len(is_left_out):
        return state
    view = state.view.without(state.dead)
    view.polytopes = kinds.polytopes_without(view, state.source, is_left_out)
    return state.over(view)


def _first_found(state: State, runs: State, how: _How, found: Couples) -> Couples:
    """Return the pairs that were not found before, with the earlier document on the left.

    `found`: queries of `state` with their matches in `runs`.
    """
    limits = kinds.limits_of(runs, how.criterion, either=how.either).thresholds
    widths = np.array([run.width for run in kinds.polytope_runs(runs.view, runs.source)], np.uint8)
    earlier, later = np.minimum(found.left, found.right), np.maximum(found.left, found.right)
    is_new = np.ones(len(found), np.bool_)

    def leave_out(which: Bools, left: U32, right: U32, tables: int) -> None:
        """Drop the pairs in `which` whose left document finds the right one in `tables` tables."""
        some = np.flatnonzero(which & is_new) if tables else ()
        if not len(some):
            return
        asking, asked = left[some], right[some]
        numbers = kinds.run_of(runs.view, asked)
        is_new[some] = ~kernel.polytope_reaches(
            state.vectors(asking).gather(asking),
            state.vectors(asked).gather(asked),
            limits[numbers],
            widths[numbers],
            tables,
        )

    tables = kinds.searched_tables(runs.view)
    leave_out(is_new, later, earlier, tables.start)
    if how.either:
        # Earlier tables report a pair if either document finds the other there.  In the tables of
        # this state, the earlier document reports a pair if it finds the later one.
        is_first = found.left == earlier
        leave_out(is_first, earlier, later, tables.start)
        leave_out(~is_first, earlier, later, tables.stop)
    return Couples(earlier, later, found.distances, found.similarities).taken(is_new)


METHOD: Method = Method(
    search=search,
    search_one=search_one,
    links=links,
    joining=joining,
    links_among=exhaustive.links_among,
    tables=tables,
    compares=compares,
    find_probe=find_probe,
)
