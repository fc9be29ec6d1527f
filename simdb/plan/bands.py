"""Search of signatures: plans that look up bands, or compare every stored signature.

The probability that bands find a document depends only on its similarity, so the recall of a plan
is known before any document is stored.  It is the recall of documents exactly at the threshold, so
it holds even if all matches are there.  Costs are seconds of one core with AVX-512.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from simdb.core.bits import FINGERPRINT_BITS
from simdb.core.errors import OptionError
from simdb.core.options import BANDING, EXHAUSTIVE
from simdb.core.reports import Plan
from simdb.core.values import dataclass
from simdb.plan.problem import Criterion, Problem, TablePopulation

if TYPE_CHECKING:
    from simdb.plan.banding import Bands  # noqa: F401 - in a base class

METHODS = (BANDING, EXHAUSTIVE)
LOOKUP_SECONDS = 90e-9  # one band of one query
MEASURED_SECONDS = 150e-9  # fetching and comparing one candidate
SCANNED_BYTE_SECONDS = 0.05e-9  # comparing one byte of consecutive signatures
SORTED_SECONDS = 20e-9  # sorting one document into a table and finding its group of equal keys


@dataclass(frozen=True, slots=True)
class BandedPopulation(TablePopulation["Bands"]):
    """A population of signatures to search, with a table for each band."""


def plans(problem: Problem[BandedPopulation]) -> list[Plan]:
    """Return the plan by bands and the exhaustive plan."""
    return [*looking_up(problem), *comparing(problem)]


def named(problem: Problem[BandedPopulation], best: Callable[[Criterion], Plan]) -> Plan:
    """Return the plan of the method that the criterion names, even if it misses the recall."""
    criterion = problem.criterion
    if criterion.method == EXHAUSTIVE:
        return comparing(problem)[0]
    (plan,) = looking_up(problem)
    if criterion.recall >= 1.0 and plan.recall < 1.0:
        raise OptionError(
            f"search='banding' cannot promise to find every document at"
            f" similarity={criterion.similarity:g}; use search='exhaustive' or a recall below 1"
        )
    return plan


def remark(criterion: Criterion, plans: Sequence[Plan]) -> str:
    """Return in words why bands miss the recall; "" if they reach it."""
    banding = next(plan for plan in plans if plan.method == BANDING)
    if banding.recall >= criterion.recall or criterion.recall >= 1.0:
        return ""
    return (
        f"; the bands find {banding.recall:.3f} of documents just as similar as asked, because they"
        " were chosen for a higher similarity= or a lower recall= of the database"
    )


def looking_up(problem: Problem[BandedPopulation]) -> list[Plan]:
    """Return the plan by bands."""
    criterion, population = problem.criterion, problem.population
    curve, count = population.keying, population.count
    matching = criterion.matching
    assert matching is not None
    candidates = curve.candidates(count)
    cost = curve.table_count * LOOKUP_SECONDS + candidates * MEASURED_SECONDS
    if population.is_swept:
        cost = curve.table_count * SORTED_SECONDS + candidates / 2 * MEASURED_SECONDS
    recall = curve.reach(matching)
    plan = Plan(
        BANDING, curve.table_count, 0, curve.table_count, FINGERPRINT_BITS,
        criterion.similarity, recall, cost,
        f"{curve.table_count} bands of {curve.banding.rows} minima find {recall:.4f} of the"
        f" documents at similarity {matching:g}, more of more similar ones, and measure about"
        f" {candidates:.3g} of {count} documents in vain",
        header_bits=population.directory_bits,
        bytes_per_document=population.bytes_of(curve.table_count),
    )  # fmt: skip
    pages = population.paging.pages_of(curve.table_count, 1)
    return [population.paging.charged(plan, pages=pages, measured=candidates)]


def comparing(problem: Problem[BandedPopulation]) -> list[Plan]:
    """Return the plan that measures every signature."""
    criterion, population = problem.criterion, problem.population
    count = -(-population.count // 2) if population.is_swept else population.count
    cost = count * population.vector_bytes * SCANNED_BYTE_SECONDS
    plan = Plan(
        EXHAUSTIVE, 0, 0, 0, FINGERPRINT_BITS, criterion.similarity, 1.0, cost,
        f"every stored signature is measured ({population.count} documents)",
        bytes_per_document=population.bytes_of(0),
    )  # fmt: skip
    return [population.paging.charged(plan, row_bytes=count * population.vector_bytes)]
