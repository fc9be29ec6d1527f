"""The interface of a way to search: what the planner asks of each module that makes plans.

A way is a module of this folder that has `METHODS` and the functions of `Way`.  `planner.py` lists
the ways of each kind of database; `engine/search/methods/` carries their plans out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from simdb import bits
from simdb.plan.calibration import Calibration
from simdb.plan.chance import filter_distance
from simdb.plan.cost import Delays
from simdb.plan.problem import Criterion
from simdb.plans import Plan

# Shares of matches that the filter by distance may lose, where some loss is allowed at all.
FILTER_LOSSES = (1e-3, 1e-2, 3e-2)

Searched = TypeVar("Searched")


@dataclass(frozen=True, slots=True)
class Problem(Generic[Searched]):
    """What a plan is made for: a criterion, the population to search, and what is known of it."""

    criterion: Criterion
    population: Searched
    calibration: Calibration | None
    delays: Delays


class Way(Protocol[Searched]):
    """One way to search."""

    @property
    def METHODS(self) -> tuple[str, ...]:  # noqa: N802 - a constant of the module
        """The names by which a caller asks for this way."""

    def plans(self, problem: Problem[Searched]) -> list[Plan]:
        """Return the plans to choose from, whether they reach the recall or not."""

    def named(self, problem: Problem[Searched], best: Callable[[Criterion], Plan]) -> Plan:
        """Return the plan for a caller who names one of the methods; OptionError if there is none.

        `best(criterion)` gives the plan that the planner itself would take for a criterion.
        """

    def remark(self, criterion: Criterion, plans: Sequence[Plan]) -> str:
        """Return why none of `plans` is of this way; "" if that needs no words."""


def candidate_distances(criterion: Criterion) -> list[int]:
    """Return the distances beyond which candidates need not be measured, the safest first."""
    if criterion.distance is not None:
        return [criterion.distance]
    if criterion.recall >= 1.0 or criterion.similarity is None:
        return [bits.FINGERPRINT_BITS]
    losses = [loss for loss in FILTER_LOSSES if loss < 1.0 - criterion.recall]
    found = [filter_distance(criterion.similarity, loss) for loss in losses]
    return found or [bits.FINGERPRINT_BITS]
