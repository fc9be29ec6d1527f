"""Explaining: why two documents match, wherever they are, and how all shards answer a query."""

from dataclasses import astuple, dataclass
from functools import partial

from simdb.engine import explain
from simdb.engine.explain.stored import Both
from simdb.engine.search.planning import planned as planned_of
from simdb.engine.search.question import Question, of_any, of_pairs
from simdb.engine.state.state import State
from simdb.results.plans import Plan
from simdb.results.reports import Explanation
from simdb.sharding.inspection import OpenShard
from simdb.sharding.routing import shard_of
from simdb.sharding.shards import Shards


@dataclass(frozen=True, slots=True)
class _Counts:
    """Numbers of documents in all shards: of all, without features, without weights."""

    document_count: int
    empty_count: int
    bare_count: int


def explained(shards: Shards, both: Both, question: Question, errors: str) -> Explanation:
    """Return why two documents match or do not, by the plan of the shard that has the last one."""
    stored = [each for each in (both.id, both.other_id) if each is not None]
    if not stored:
        return _explain(both, question, errors, None, shards.sample)
    numbers = shard_of(stored, shards.count).tolist()
    first, last = numbers[0], numbers[-1]
    if first == last:
        return shards.ask(last, partial(_explain, both, question, errors, None))

    def across(shard: OpenShard) -> Explanation:
        with shard.store.state() as home:
            return shards.ask(last, partial(_explain, both, question, errors, home))

    return shards.ask(first, across)


def planned(shards: Shards, question: Question, count: float | None, *, pairs: bool) -> Plan:
    """Return the plan of the largest shard for a query, or of one database for all pairs."""
    each = dict(shards.each(_counts))
    totals = _Counts(*(sum(numbers) for numbers in zip(*map(astuple, each.values()), strict=True)))
    largest = max(each, key=lambda number: each[number].document_count)
    if pairs and count is None:
        count = totals.document_count
    return shards.ask(largest, partial(_plan, question, totals, count, shards.count, pairs))


def _explain(
    both: Both, question: Question, errors: str, home: State | None, shard: OpenShard
) -> Explanation:
    with shard.store.state() as state:
        return explain.stored.explain_both(shard.store, state, both, question, errors, home=home)


def _counts(shard: OpenShard) -> _Counts:
    with shard.store.state() as state:
        found = state.counts
        return _Counts(found.document_count, found.empty_count, found.bare_count)


def _plan(
    question: Question,
    totals: _Counts,
    count: float | None,
    databases: int,
    pairs: bool,
    shard: OpenShard,
) -> Plan:
    options = shard.store.options
    with shard.store.state() as state:
        if pairs:
            criterion = of_pairs(options, totals, question)
            population = state.population(criterion, is_swept=True)
            # The database that finds the pairs is new and has no calibration.
            return planned_of(options, criterion, population, None, count)
        criterion = of_any(options, totals, question)
        population = state.population(criterion)
        return planned_of(
            options, criterion, population, state.calibration, count, databases=databases
        )
