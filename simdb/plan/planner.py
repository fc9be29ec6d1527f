"""The planner: which way to search answers a criterion at the lowest cost, and why.

Each module of `WAYS` makes the plans of one way; the planner chooses among them.  A new way is
entered there.  Costs are seconds of one core, those of a machine with AVX-512 unless others were
measured (`cost.Delays`); for the choice only their ratios matter.
"""

from dataclasses import replace
from typing import Any

from simdb.options import AUTO
from simdb.plan import bands, exhaustive, probing, rotation, tables
from simdb.plan.calibration import Calibration
from simdb.plan.cost import USUAL_DELAYS, Delays
from simdb.plan.problem import BandedPopulation, Criterion, Population
from simdb.plan.way import Problem, Way
from simdb.plans import Plan
from simdb.text_sketch import TextSketch

# The ways to search fingerprints, and those to search signatures.
WAYS: dict[type[Population | BandedPopulation], tuple[Way[Any], ...]] = {
    Population: (exhaustive, tables, probing, rotation),
    BandedPopulation: (bands,),
}
# A plan with better recall is taken as long as it costs no more than so many times the cheapest.
RECALL_WORTH = 1.5

STEPS_IN_WORDS = {
    "markup": "HTML to text",
    "normalisation": "normalisation of texts that are not ASCII",
    "tokeniser": "a tokeniser of your own",
    "stemming": "stems, once for each distinct word",
}


def choose(
    criterion: Criterion,
    population: Population | BandedPopulation,
    calibration: Calibration | None = None,
    delays: Delays = USUAL_DELAYS,
) -> Plan:
    """Return the cheapest plan that satisfies `criterion`; OptionError when there is none."""
    population.check(criterion)
    problem = Problem(criterion, population, calibration, delays)
    if criterion.method == AUTO:
        return _cheapest(criterion, _plans(problem))
    (way,) = (way for way in WAYS[type(population)] if criterion.method in way.METHODS)
    return way.named(problem, lambda other: choose(other, population, None, delays))


def considered(
    criterion: Criterion,
    population: Population | BandedPopulation,
    calibration: Calibration | None = None,
    delays: Delays = USUAL_DELAYS,
) -> list[Plan]:
    """Return every way to answer `criterion`, whatever its method: the able ones first, by cost.

    After them come those that do not reach the recall, by recall.  Of ways that differ only in the
    distance of their candidates the best is taken.
    """

    def rank(plan: Plan) -> tuple[bool, float, float]:
        is_able = plan.recall >= criterion.recall
        return (not is_able, plan.cost_seconds if is_able else -plan.recall, plan.cost_seconds)

    best: dict[tuple[str, int, int], Plan] = {}
    problem = Problem(replace(criterion, method=AUTO), population, calibration, delays)
    for plan in sorted(_plans(problem), key=rank):
        best.setdefault((plan.method, plan.tables, plan.flips), plan)
    return list(best.values())


def explained(
    plan: Plan,
    criterion: Criterion,
    population: Population | BandedPopulation,
    ways: list[Plan],
    sketch: TextSketch,
) -> Plan:
    """Return the plan with the `ways` that were considered, and why it was chosen, in words.

    It also says where a text becomes a sketch.
    """
    steps = [STEPS_IN_WORDS[name] for name in sketch.python_steps]
    words = f"texts become {population.STORES} in the kernel"
    if steps:
        words += f", but slowly in Python: {', '.join(steps)}"
    remarks = (way.remark(criterion, ways) for way in WAYS[type(population)])
    choice = _choice(plan, criterion, ways) + "".join(remarks)
    return replace(plan, sketching=words, choice=choice, considered=tuple(ways))


def _choice(plan: Plan, criterion: Criterion, ways: list[Plan]) -> str:
    """Why the plan was taken, of all `ways`, the best of which is the first."""
    able = [way for way in ways if way.recall >= criterion.recall]
    words = f"{len(able)} of {len(ways)} ways reach recall {criterion.recall:g}"
    times = plan.cost_seconds / able[0].cost_seconds if able[0].cost_seconds else 1.0
    cost = f"{times:.3g} times the cost of the cheapest, {able[0].method}"
    if plan.recall < criterion.recall:
        words += f", but method={criterion.method!r} reaches only {plan.recall:.3g}"
    elif criterion.method == plan.method:
        words += f"; this is the one by method={plan.method!r}, at {cost}"
    elif criterion.method != AUTO:
        words += f", but none by method={criterion.method!r}"
    elif times > 1.0:
        words += f"; this one finds more, at {cost}"
    else:
        words += ", and this is the cheapest of them"
    return words


def _cheapest(criterion: Criterion, ways: list[Plan]) -> Plan:
    """Of the ways that reach the recall the cheapest, or one that finds more at little cost."""
    able = [plan for plan in ways if plan.recall >= criterion.recall]
    dearest = RECALL_WORTH * min(plan.cost_seconds for plan in able)
    worthy = [plan for plan in able if plan.cost_seconds <= dearest]
    return max(worthy, key=lambda plan: (plan.recall, -plan.cost_seconds))


def _plans(problem: Problem[Any]) -> list[Plan]:
    """Return the plans of all ways, whether they reach the recall or not."""
    return [plan for way in WAYS[type(problem.population)] for plan in way.plans(problem)]
