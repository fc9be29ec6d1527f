"""Way: the interface of a way to search, which every module that makes plans has.

A way is a module of this folder with `METHODS` and the functions of `Way`.  `planner.py` lists the
ways of each kind of database; `engine/search/methods/` carries out their plans.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from simdb.ground import bits
from simdb.plan.calibration import Calibration
from simdb.plan.chance import filter_distance
from simdb.plan.cost import Delays
from simdb.plan.problem import Criterion
from simdb.results.plans import Plan

# The shares of matches that a filter by distance can lose; it is used only for a recall below 1.
FILTER_LOSSES = (1e-3, 1e-2, 3e-2)

Searched = TypeVar("Searched")


@dataclass(frozen=True, slots=True)
class Problem(Generic[Searched]):
    """A planning problem: the criterion, the population to search, its calibration and delays."""

    criterion: Criterion
    population: Searched
    calibration: Calibration | None
    delays: Delays


class Way(Protocol[Searched]):
    """A way to search."""

    @property
    def METHODS(self) -> tuple[str, ...]:  # noqa: N802 - a constant of the module
        """The values of search= that choose this way."""

    def plans(self, problem: Problem[Searched]) -> list[Plan]:
        """Return the plans that search="auto" can choose from, also plans that miss the recall."""

    def named(self, problem: Problem[Searched], best: Callable[[Criterion], Plan]) -> Plan:
        """Return the plan for one of `METHODS` by name; OptionError if there is none.

        `best(criterion)` returns the plan that the planner chooses for a criterion.
        """

    def remark(self, criterion: Criterion, plans: Sequence[Plan]) -> str:
        """Return in words why this way has none of the `plans`; "" if that needs no words."""


def candidate_distances(criterion: Criterion) -> list[int]:
    """Return the distance limits that plans can set for candidates, the safest first."""
    if criterion.distance is not None:
        return [criterion.distance]
    if criterion.recall >= 1.0 or criterion.similarity is None:
        return [bits.FINGERPRINT_BITS]
    losses = [loss for loss in FILTER_LOSSES if loss < 1.0 - criterion.recall]
    found = [filter_distance(criterion.similarity, loss) for loss in losses]
    return found or [bits.FINGERPRINT_BITS]
