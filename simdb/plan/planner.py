"""Planner: the choice of the cheapest plan that satisfies a criterion, and its explanation.

Each module in `WAYS` makes the plans of one way to search; the planner chooses among them.  A new
way is entered in `WAYS`.  Costs are seconds of one core, by default of a machine with AVX-512
(`calibration.Delays`); only their ratios matter for the choice.
"""

from dataclasses import replace
from typing import Any, TypeAlias

from simdb.core.options import AUTO, BPHS, EXHAUSTIVE
from simdb.core.reports import Plan
from simdb.plan import bands, parts, polytopes, probing, rotation, tables
from simdb.plan.bands import BandedPopulation
from simdb.plan.parts import HashPopulation
from simdb.plan.problem import FILTER_LOSSES, Criterion, Population, Problem, Way

AnyPopulation: TypeAlias = Population | BandedPopulation | HashPopulation
WAYS: dict[type[AnyPopulation], tuple[Way[Any], ...]] = {
    Population: (tables, polytopes, probing, rotation),
    BandedPopulation: (bands,),
    HashPopulation: (parts,),
}
# A plan that finds a hundredth more may cost up to RECALL_WORTH times the cheapest plan.
RECALL_WORTH, HUNDREDTHS = 1.5, 2
# Block tables with less recall at the threshold are not chosen.  They find far more of the more
# similar documents, so a plan for a greater recall could find less in total.  Look-ups with this
# recall find nearly all documents that are clearly more similar than asked.
LOOKED_UP_LEAST = 0.95
# Lower recalls at which comparing all can be cheaper, since its filter may lose more.
LOWER = (LOOKED_UP_LEAST, *(1.0 - loss - 1e-6 for loss in sorted(FILTER_LOSSES, reverse=True)))
# Higher similarities at which comparing all can be cheaper.
HIGHER = tuple(percent / 100 for percent in range(98, 50, -4))


def choose(problem: Problem[Any]) -> Plan:
    """Return the cheapest plan that satisfies the criterion; raise OptionError if there is none."""
    criterion = problem.criterion
    problem.population.check(criterion)
    if criterion.method == AUTO:
        return _never_less(problem, preferred(criterion, _candidates(problem)))
    (way,) = (way for way in _ways(problem) if criterion.method in way.METHODS)
    unknown = replace(problem, calibration=None)
    return way.named(problem, lambda changed: choose(replace(unknown, criterion=changed)))


def _never_less(problem: Problem[Any], plan: Plan) -> Plan:
    """Return a plan that finds no less than the plan for a lower recall or a higher similarity.

    If all documents are compared for a lower recall, they are for a greater one, too.  If they are
    compared for a higher similarity, nearly all documents of that similarity must be found here,
    too.  Ways of probing find different shares of documents more similar than asked, so probing
    takes a recall of at least `LOOKED_UP_LEAST`.
    """
    criterion = problem.criterion
    if plan.method == EXHAUSTIVE or criterion.similarity is None:
        return plan

    def choice(**changes: Any) -> Plan:
        changed = replace(criterion, **changes)
        return preferred(changed, _candidates(replace(problem, criterion=changed)))

    lower = [choice(recall=each) for each in LOWER if each < criterion.recall]
    every = _candidates(problem)
    if any(each.method == EXHAUSTIVE for each in lower):
        return preferred(criterion, [each for each in every if each.method == EXHAUSTIVE])
    least = max((each.recall for each in lower), default=0.0)
    if least > plan.recall:
        return preferred(replace(criterion, recall=least), every)
    higher = [each for each in HIGHER if each > criterion.similarity]
    if criterion.recall < LOOKED_UP_LEAST and (
        plan.method in probing.METHODS
        or any(choice(similarity=each).method == EXHAUSTIVE for each in higher)
    ):
        return choice(recall=LOOKED_UP_LEAST)
    return plan


def considered(problem: Problem[Any]) -> list[Plan]:
    """Return plans of every method for the criterion, best first.

    Plans that reach the recall are sorted by cost; all other plans follow, sorted by recall.  Of
    plans that differ only in the distance of their candidates, only the best is returned.
    """

    def rank(plan: Plan) -> tuple[bool, float, float]:
        is_able = plan.recall >= problem.criterion.recall
        return (not is_able, plan.cost_seconds if is_able else -plan.recall, plan.cost_seconds)

    best: dict[tuple[str, int, int], Plan] = {}
    free = replace(problem, criterion=replace(problem.criterion, method=AUTO))
    every = [plan for way in _ways(problem) for plan in way.plans(free)]
    for plan in sorted(every, key=rank):
        best.setdefault((plan.method, plan.tables, plan.flips), plan)
    return list(best.values())


def explained(plan: Plan, problem: Problem[Any]) -> Plan:
    """Return the plan with all considered plans, and the reason for the choice in words."""
    criterion, plans = problem.criterion, considered(problem)
    remarks = (way.remark(criterion, plans) for way in _ways(problem))
    choice = _choice(plan, criterion, plans) + "".join(remarks)
    return replace(plan, choice=choice, considered=tuple(plans))


def _ways(problem: Problem[Any]) -> tuple[Way[Any], ...]:
    return WAYS[type(problem.population)]


def _choice(plan: Plan, criterion: Criterion, plans: list[Plan]) -> str:
    """Return in words why a plan was chosen from all `plans`, which are sorted best first."""
    able = [each for each in plans if each.recall >= criterion.recall]
    words = f"{len(able)} of {len(plans)} ways reach recall {criterion.recall:g}"
    times = plan.cost_seconds / able[0].cost_seconds if able[0].cost_seconds else 1.0
    cost = f"{times:.3g} times the cost of the cheapest, {able[0].method}"
    if plan.recall < criterion.recall:
        words += f", but search={criterion.method!r} reaches only {plan.recall:.3g}"
    elif criterion.method == plan.method:
        words += f"; this is the plan of search={plan.method!r}, at {cost}"
    elif criterion.method != AUTO:
        words += f", but none with search={criterion.method!r}"
    elif able[0].method in probing.METHODS and plan.method not in probing.METHODS:
        words += f"; this one does not depend on a sample of pairs, at {cost}"
    elif times > 1.0:
        words += f"; this one finds more, at {cost}"
    else:
        words += ", and this is the cheapest of them"
    return words


def _candidates(problem: Problem[Any]) -> list[Plan]:
    """Return the plans to choose from, including plans that miss the recall.

    If cross-polytope tables reach the recall, for any documents, plans by probing are not made,
    which saves time.
    """
    found: list[Plan] = []
    least = 0.0 if problem.criterion.similarity is None else LOOKED_UP_LEAST
    for way in _ways(problem):
        if way is probing and any(plan.method in polytopes.METHODS for plan in found):
            continue
        found += [
            each for each in way.plans(problem) if each.method != BPHS or each.recall >= least
        ]
    return found


def preferred(criterion: Criterion, plans: list[Plan]) -> Plan:
    """Return the cheapest plan that reaches the recall, or a better one at a similar cost."""
    able = [plan for plan in plans if plan.recall >= criterion.recall]
    dearest = RECALL_WORTH * min(plan.cost_seconds for plan in able)
    worthy = [plan for plan in able if plan.cost_seconds <= dearest]
    return max(worthy, key=lambda plan: (round(plan.recall, HUNDREDTHS), -plan.cost_seconds))
