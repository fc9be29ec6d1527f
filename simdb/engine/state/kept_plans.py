"""Kept plans: the planner's choices for queries, kept while the documents stay almost the same.

A plan costs more than a query.  Its answer stays right when documents are inserted or deleted: a
plan that compares the documents beyond the calibration goes on to compare them all, and a plan for
a database without such documents is not used once there are some.  Only its speed depends on the
number of documents.  So a view takes over the plans of the view before it until that number has
grown by a tenth.
"""

from typing import Any, NamedTuple

from simdb.plan.calibration import Calibration
from simdb.plan.problem import Criterion
from simdb.results.plans import Plan

# A database of fewer documents than this is searched fast by any plan.
FEW = 256
# A program that asks with ever new arguments must not fill the memory.
PLANS_MAX = 256


class Extent(NamedTuple):
    """The numbers on which a plan depends.

    `entries` documents can be searched, at most `unseen` of them lie beyond the calibration, and
    the largest run has `largest` entries.
    """

    entries: int
    unseen: int
    largest: int


class KeptPlans:
    """The plans for one calibration and for about one number of documents."""

    def __init__(self, extent: Extent, calibration: Calibration | None) -> None:
        """Start without plans."""
        self._extent = extent
        self._calibration = calibration
        self.of_criteria: dict[Criterion, Plan] = {}
        self.prepared: dict[Any, Any] = {}  # for questions about one document, see `search/one.py`

    def keep(self, criterion: Criterion, plan: Plan) -> None:
        """Keep the plan for a criterion."""
        _make_room(self.of_criteria)
        self.of_criteria[criterion] = plan

    def prepare(self, key: Any, prepared: Any) -> None:
        """Keep what a question about one document needs, under the arguments of the query."""
        _make_room(self.prepared)
        self.prepared[key] = prepared

    def serve(self, extent: Extent, calibration: Calibration | None) -> bool:
        """Whether the plans can be used for that many documents and this calibration."""
        known = self._extent
        return (
            calibration is self._calibration
            # Directories are as wide as the plans expect.
            and known.largest.bit_length() == extent.largest.bit_length()
            and (known.unseen == 0) == (extent.unseen == 0)
            and _is_near(known.entries, extent.entries)
            and _is_near(known.unseen, extent.unseen)
        )


def _is_near(known: int, now: int) -> bool:
    return abs(now - known) <= known // 10 + FEW


def _make_room(plans: dict[Any, Any]) -> None:
    if len(plans) >= PLANS_MAX:
        plans.clear()
