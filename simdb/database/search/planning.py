"""Planning for people: which plan a query would have and why, also without a database.

The planner's own estimates can be compared with the paper's cost model for the same number of
documents (`plan/cost.py`).
"""

import math
from dataclasses import replace
from typing import Any, NamedTuple

from simdb.core.arrays import ORDINALS_MAX
from simdb.core.bits import ALL_BITS, FINGERPRINT_BITS
from simdb.core.checks import shown
from simdb.core.errors import OptionError
from simdb.core.memory import memory_bytes
from simdb.core.options import TABLES_MAX, Options
from simdb.core.previews import size
from simdb.core.reports import ModelCost, Plan
from simdb.database.search.question import Question
from simdb.database.state.kinds import kind_of
from simdb.database.state.opening import settled
from simdb.plan import (
    BandedPopulation,
    Calibration,
    Criterion,
    Population,
    Problem,
    choose,
    considered,
    cost,
    delays_of,
    edits,
    explained,
    reach,
    supposed,
)
from simdb.storage import header_bits, polytope_header_bits

# More documents than exist, and few enough for floating-point arithmetic.
DOCUMENTS_MAX = 1e15
# The largest batch of the paper's experiments, and how fast one disk is read.
BATCH_DOCUMENTS = 1e7
BYTES_PER_SECOND = 1e9
LEAST_SECONDS = 1e-12  # of a plan that costs nothing, beside which another is measured


class Scale(NamedTuple):
    """How much is planned for: documents in each of several databases, and the memory of all."""

    in_each: int
    databases: int
    memory_bytes: float

    def grown(
        self, population: Population | BandedPopulation, criterion: Criterion, options: Options
    ) -> Population | BandedPopulation:
        """Return a population with so many documents in one run, and the memory for them.

        What cannot answer such a criterion is taken not to compete for the memory.
        """
        width = header_bits(self.in_each, options.header_offset)
        grown = population.grown(self.in_each, width, polytope_header_bits(self.in_each))
        if grown.is_swept:
            return grown
        return replace(grown, paging=cost.Paging(self.size_of(grown, criterion), self.memory_bytes))

    def size_of(self, population: Population | BandedPopulation, criterion: Criterion) -> float:
        """Return the bytes of all databases that can answer a criterion."""
        return self.databases * self.in_each * population.bytes_read(criterion)


def planned(
    options: Options,
    criterion: Criterion,
    population: Population | BandedPopulation,
    calibration: Calibration | None,
    count: float | None = None,
    *,
    databases: int = 1,
    memory: float | None = None,
) -> Plan:
    """Return the planner's choice with its reasons.

    `count`: plan as if this many documents were stored, all in one run; None for `population`.
    `databases`: so many share the documents, of which `population` has one, and all are searched;
    more of them if they cannot hold so many documents.  `memory`: with `count`, the bytes of memory
    that can hold tables and vectors; None for what this process may use.
    """
    scale = None
    if count is not None:
        count = _whole_count(count)
        databases = max(databases, -(-count // ORDINALS_MAX))
        memory = float(memory_bytes()) if memory is None else memory
        scale = Scale(-(-count // databases), databases, memory)
        population = scale.grown(population, criterion, options)
    delays = delays_of(calibration)
    plan = choose(criterion, population, calibration, delays)
    ways = considered(criterion, population, calibration, delays)
    plan = explained(plan, criterion, population, ways, options.sketch)
    if count is not None and scale is not None:
        models = tuple(_paper_costs(plan, options, count, criterion.recall))
        smallest = _smallest(plan, Problem(criterion, population, None, delays), options, scale)
        plan = replace(plan, model=models, smallest=smallest)
    return plan if databases == 1 else _of_several(plan, databases)


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
    return planned(options, criterion, population, None, documents, memory=memory)


def _smallest(plan: Plan, problem: Problem[Any], options: Options, scale: Scale) -> Plan | None:
    """Return the plan by PSM in one table without weights, and when it is better than `plan`."""
    if options.is_minhash:
        return None
    fingerprints: Any = options.sketch
    sketch = replace(fingerprints, store_volatility=False)
    small = Options(sketch=sketch, blocks=1, leading=1, header_offset=options.header_offset)
    criterion = problem.criterion
    empty = kind_of(settled(small)).empty_population(has_weights=False)
    population = scale.grown(empty, criterion, small)
    own, less = (scale.size_of(each, criterion) for each in (problem.population, population))
    found = supposed(replace(problem, population=population)) if less < own else None
    if found is None:
        return None
    times = found.cost_seconds / max(plan.cost_seconds, LEAST_SECONDS)
    large, little = size(own), size(less)
    if times < 1.0:
        when = (
            f"it answers {1 / times:.3g} times as fast, so it is the better choice if there is a"
            f" sample of queries and recall {criterion.recall:g} is enough"
        )
    else:
        when = (
            f"it takes {times:.3g} times as long, so it is the better choice where {little} fit"
            f" into memory and {large} do not"
        )
    choice = (
        f"it takes {little} where the tables of these options take {large}; beside {plan.method} in"
        f" these, {when}"
    )
    reason = (
        f"with blocks=1, leading=1 and store_volatility=False, looking up about {found.probes:,}"
        f" likely headers of one table finds {found.recall:.3f} of the matches, if the"
        " sample of a calibration shows that queries are edits of stored documents"
    )
    return replace(found, reason=reason, choice=choice)


def _paper_costs(plan: Plan, options: Options, documents: float, recall: float) -> list[ModelCost]:
    """Return the costs of BPHS and PSM by the paper's model, for the distance of a plan.

    They are BPHS with the tables of the options, if these serve the distance; the fastest BPHS
    with at most the tables of a database; PSM with as many flip sets as reach `recall`, without a
    calibration.
    """
    if documents < 1 or options.is_minhash:
        return []
    distance = plan.distance if plan.similarity is None else options.distance
    delays = cost.USUAL_DELAYS
    found = []
    if options.blocks - options.leading >= distance:
        own = cost.bphs(documents, blocks=options.blocks, leading=options.leading, delays=delays)
        found.append(
            _of_model("BPHS", _blocks_in_words(options.blocks, options.leading), own, documents)
        )
    if distance < min(FINGERPRINT_BITS, TABLES_MAX):
        leading, best = cost.best_bphs(
            documents, distance=distance, delays=delays, tables_max=TABLES_MAX
        )
        words = "the fastest: " + _blocks_in_words(leading + distance, leading)
        found.append(_of_model("BPHS", words, best, documents))
    bits = max(math.floor(math.log2(documents)) + options.header_offset, 0)
    attempts = _attempts(distance, recall, bits)
    model = cost.psm(documents, header_bits=bits, attempts=attempts, delays=delays)
    found.append(_of_model("PSM", f"t={bits}, k={attempts:.3g}", model, documents))
    return found + _batch_costs(options, documents, distance, recall)


def _batch_costs(
    options: Options, documents: float, distance: int, recall: float
) -> list[ModelCost]:
    """Return what the paper's model says of one document of a batch, by BPHS and by PSM."""
    batch = min(documents, BATCH_DOCUMENTS)
    blocks, leading, delays = options.blocks, options.leading, cost.USUAL_DELAYS
    found = []
    if blocks - leading >= distance:
        model = cost.bphs_batch(
            documents, blocks=blocks, leading=leading,
            batch=batch, bytes_per_second=BYTES_PER_SECOND, delays=delays,
        )  # fmt: skip
        words = f"{_blocks_in_words(blocks, leading)}, m={batch:.3g}"
        found.append(_of_model("BPHS in batches", words, model, documents))
    attempts = _attempts(distance, recall, math.floor(math.log2(batch)))
    model = cost.psm_batch(
        documents, attempts=attempts, batch=batch, bytes_per_second=BYTES_PER_SECOND, delays=delays
    )
    found.append(_of_model("PSM in batches", f"k={attempts:.3g}, m={batch:.3g}", model, documents))
    return found


def _of_model(name: str, setting: str, found: cost.Cost, documents: float) -> ModelCost:
    return ModelCost(
        name, setting, found.tables, found.header_bits, found.seconds, found.size_bytes / documents
    )


def _attempts(distance: int, recall: float, header_bits: int) -> float:
    """Return k: how many headers PSM asks for in the mean to reach `recall`, or all it can.

    The matches are taken to be edits of every strength; in the paper k is 6 to 23 for headers of 16
    to 26 bits (Figure 5(a)), and here 12 to 52.
    """
    most = float(cost.attempts_max(header_bits, distance))
    found = reach(
        edits(distance), (ALL_BITS,), header_bits=header_bits, limit=distance, wanted=recall
    )
    return max(most if found is None else min(found.probes, most), 1.0)


def _of_several(plan: Plan, databases: int) -> Plan:
    """Return the plan for several databases, of the plan for each of them."""
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
    """Return a number of documents, which can be a float such as 8e9, as an int."""
    is_number = isinstance(documents, int | float) and not isinstance(documents, bool)
    if not is_number or not 0 <= documents < DOCUMENTS_MAX:  # type: ignore[operator]
        raise OptionError(
            f"the number of documents must be from 0 to below {DOCUMENTS_MAX:g},"
            f" got {shown(documents)}"
        )
    return int(documents)  # type: ignore[call-overload, no-any-return]


def _blocks_in_words(blocks: int, leading: int) -> str:
    return f"blocks={blocks}, leading={leading}"
