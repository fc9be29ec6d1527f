"""Planning: the plan that a query would have and its reasons, also without a database."""

from dataclasses import replace
from typing import Any, NamedTuple

from simdb.core.arrays import ORDINALS_MAX
from simdb.core.checks import shown
from simdb.core.errors import OptionError
from simdb.core.memory import memory_bytes
from simdb.core.options import PSM, Options
from simdb.core.previews import size
from simdb.core.reports import Plan
from simdb.database.search.question import Question, of_any, of_pairs
from simdb.database.search.searcher import Searcher
from simdb.database.state.kinds import kind_of
from simdb.database.state.state import State
from simdb.database.state.store import settled
from simdb.plan import (
    AnyPopulation,
    Criterion,
    Paging,
    Problem,
    choose,
    delays_of,
    explained,
    preferred,
)
from simdb.storage import header_bits, polytope_header_bits

# More documents than exist, and few enough for floating-point arithmetic.
DOCUMENTS_MAX = 1e15
STEPS_IN_WORDS = {
    "markup": "HTML to text",
    "normalisation": "normalisation of texts that are not ASCII",
    "tokeniser": "a tokeniser of your own",
    "stemming": "stems, once for each distinct word",
    "hash": "a hash function of your own",
}
LEAST_SECONDS = 1e-12  # assumed for a plan that costs nothing, to compare another with it


class Scale(NamedTuple):
    """The size planned for: documents in each of several databases, and the memory of all."""

    in_each: int
    databases: int
    memory_bytes: float

    def grown(
        self, population: AnyPopulation, criterion: Criterion, options: Options
    ) -> AnyPopulation:
        """Return a population grown to `in_each` documents in one run, with the memory for them.

        Tables and columns that cannot answer the criterion are assumed not to compete for memory.
        """
        width = header_bits(self.in_each, options.header_offset)
        grown = population.grown(self.in_each, width, polytope_header_bits(self.in_each))
        if grown.is_swept:
            return grown
        return replace(grown, paging=Paging(self.size_of(grown, criterion), self.memory_bytes))

    def size_of(self, population: AnyPopulation, criterion: Criterion) -> float:
        """Return the bytes that a criterion can read in all databases."""
        return self.databases * self.in_each * population.bytes_read(criterion)


def planned(
    options: Options,
    problem: Problem[Any],
    count: float | None = None,
    *,
    databases: int = 1,
    memory: float | None = None,
) -> Plan:
    """Return the planner's choice for a problem with its reasons.

    `count`: plan as if this many documents were stored, all in one run; None for the population of
    the problem.  `databases`: the number of databases that share the documents and are all
    searched, or more if these cannot hold `count` documents.  The population is that of one
    database.  `memory`: with `count`, the bytes of memory for tables and vectors; None for the
    memory of this process.
    """
    scale = None
    if count is not None:
        count = _whole_count(count)
        databases = max(databases, -(-count // ORDINALS_MAX))
        memory = float(memory_bytes()) if memory is None else memory
        scale = Scale(-(-count // databases), databases, memory)
        grown = scale.grown(problem.population, problem.criterion, options)
        problem = replace(problem, population=grown)
    plan = replace(explained(choose(problem), problem), sketching=_sketching(options))
    if scale is not None:
        plan = replace(plan, smallest=_smallest(plan, problem, options, scale))
    return plan if databases == 1 else _of_several(plan, databases)


def planned_for(
    searcher: Searcher, question: Question, count: float | None, *, is_swept: bool
) -> Plan:
    """Return the plan of a query, or for all pairs, with the costs of all shards together.

    With shards, it is the plan of the largest shard for a query, and of one database for all pairs.
    """
    each = dict(searcher.each(_counts))
    totals = _Counts(*map(sum, zip(*each.values(), strict=True)))
    totals = totals._replace(content=max(counts.content for counts in each.values()))
    largest = max(each, key=lambda number: each[number].document_count)
    databases, is_one = len(each), isinstance(searcher, State)
    if is_swept and not is_one and count is None:
        count = totals.document_count

    def plan(state: State) -> Plan:
        options = state.store.options
        criterion = (of_pairs if is_swept else of_any)(options, totals, question)
        population = state.population(criterion, is_swept=is_swept)
        # The database that finds the pairs of shards is new and has no calibration.
        known = state.calibration if is_one or not is_swept else None
        problem = Problem(criterion, population, known, delays_of(known))
        return planned(options, problem, count, databases=1 if is_swept else databases)

    return searcher.ask(largest, plan)


class _Counts(NamedTuple):
    """Numbers of documents: all, without features, without weights; `content`: see `Sketches`."""

    document_count: int
    empty_count: int
    bare_count: int
    content: int


def _counts(state: State) -> _Counts:
    found = state.counts
    return _Counts(found.document_count, found.empty_count, found.bare_count, found.content)


def plan_without_database(
    options: Options,
    documents: float,
    question: Question,
    *,
    has_weights: bool,
    memory: float | None = None,
) -> Plan:
    """Return the plan for a number of documents, without a calibration; `memory`: see `planned`."""
    criterion = question.criterion(options, is_weighted=has_weights)
    population = kind_of(settled(options)).empty_population(has_weights=has_weights)
    problem = Problem(criterion, population)
    return planned(options, problem, documents, memory=memory)


def _smallest(plan: Plan, problem: Problem[Any], options: Options, scale: Scale) -> Plan | None:
    """Return the plan by PSM in one table without weights, and when it is better than `plan`."""
    criterion = replace(problem.criterion, method=PSM)
    is_able = criterion.distance and criterion.similarity is None and criterion.recall < 1.0
    if options.is_minhash or not is_able or not criterion.is_weighted or not scale.in_each:
        return None
    fingerprints: Any = options.sketch
    sketch = replace(fingerprints, store_volatility=False)
    small = Options(sketch=sketch, blocks=1, leading=1, header_offset=options.header_offset)
    empty = kind_of(settled(small)).empty_population(has_weights=False)
    population = replace(scale.grown(empty, criterion, small), glimpse=problem.population.glimpse)
    own, less = (scale.size_of(each, criterion) for each in (problem.population, population))
    if less >= own:
        return None
    found = choose(replace(problem, criterion=criterion, population=population))
    if found.method != PSM:
        return None
    times = found.cost_seconds / max(plan.cost_seconds, LEAST_SECONDS)
    large, little = size(own), size(less)
    when = (
        f"takes {times:.3g} times as long" if times > 1.0 else f"is {1 / times:.3g} times as fast"
    )
    when += ", so it is the better choice"
    if preferred(criterion, [plan, found]) is plan:
        when += f" where {little} fit into memory and {large} do not"
    choice = (
        f"it takes {little} where the tables of these options take {large}; compared with"
        f" {plan.method} in these, it {when}"
    )
    reason = f"with blocks=1, leading=1 and store_volatility=False, {found.reason}"
    return replace(found, reason=reason, choice=choice)


def _sketching(options: Options) -> str:
    """Return in words whether the kernel or Python makes sketches of texts, if there are texts."""
    if options.is_hashes:
        return "documents are hashes already"
    words = f"texts become {kind_of(settled(options)).stores} in the kernel"
    steps = [STEPS_IN_WORDS[name] for name in options.sketch.python_steps]
    return f"{words}, but slowly in Python: {', '.join(steps)}" if steps else words


def _of_several(plan: Plan, databases: int) -> Plan:
    """Return the plan for several databases, made from the plan for one of them."""
    ways = tuple(_of_several(way, databases) for way in plan.considered)
    smallest = None if plan.smallest is None else _of_several(plan.smallest, databases)
    return replace(
        plan,
        probes=plan.probes * databases,
        cost_seconds=plan.cost_seconds * databases,
        reason=f"in each of {databases} databases: {plan.reason}",
        considered=ways,
        page_reads=plan.page_reads * databases,
        vector_reads=plan.vector_reads * databases,
        smallest=smallest,
    )


def _whole_count(documents: object) -> int:
    """Return a number of documents as an int; it can be a float such as 8e9."""
    is_number = isinstance(documents, int | float) and not isinstance(documents, bool)
    if not is_number or not 0 <= documents < DOCUMENTS_MAX:  # type: ignore[operator]
        raise OptionError(
            f"the number of documents must be from 0 to below {DOCUMENTS_MAX:g},"
            f" got {shown(documents)}"
        )
    return int(documents)  # type: ignore[call-overload, no-any-return]
