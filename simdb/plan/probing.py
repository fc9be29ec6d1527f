"""Search by probing: plans that look up the likely headers (PSM and volatility multi-probe).

PSM (Probabilistic Simhash Matching, Sood & Loguinov 2011, section 4) probes one table.  Volatility
multi-probe probes several tables in the same way, so that fewer flips are needed.  Both probe every
header whose flipped bits cost at most theta together.  Theta is the least value that reaches the
wanted share of a sample of matching pairs (`recall.theta_for`).

The sample of a calibration is valid for the documents that were stored when it was drawn.  If many
were inserted later, a plan must also reach the share on the pairs that it would use without the
sample.  For a distance, these pairs are the glimpse of its population: changed copies of stored
documents, and stored pairs.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache

from simdb.core import bits
from simdb.core.errors import OptionError
from simdb.core.options import AUTO, MULTIPROBE, PROBING_METHODS, PSM
from simdb.core.reports import Plan, Probing
from simdb.plan import recall
from simdb.plan.calibration import Calibration, evidence
from simdb.plan.chance import share_of_reached
from simdb.plan.problem import Criterion, Population, Problem, candidate_distances, distinct_bits
from simdb.plan.volatility import COST_UNIT

METHODS = PROBING_METHODS
ATTEMPTS_MAX = 65_535  # headers of one table that the kernel looks up, including the query's own
# Headers may have fewer bits than the directories; fewer flips then find longer buckets.
FEWER_BITS = 8
FEWER_STEP = 4
# A calibration alone is used if at most this part of the documents that a search may lose is newer.
UNSEEN_PART = 0.1


def plans(problem: Problem[Population]) -> list[Plan]:
    """Return plans with one or more tables that reach the recall.

    There are none for queries without weights or for recall 1.
    """
    criterion, population = problem.criterion, problem.population
    if criterion.recall >= 1.0 or not criterion.is_weighted or population.count == 0:
        return []
    limits, known = candidate_distances(criterion), _evidence(problem)
    return [plan for limit in limits for plan in _by_evidence(problem, limit, known)]


def named(problem: Problem[Population], best: Callable[[Criterion], Plan]) -> Plan:
    """Return the cheapest plan by "psm" or "multiprobe" that reaches the recall.

    If there is none, return an exact plan; its reason says why.
    """
    criterion = problem.criterion
    if not criterion.is_weighted:
        raise OptionError(
            f"search={criterion.method!r} needs queries with weights, and a ready fingerprint has"
            " none; give one with weights, or use search='bphs'"
        )
    if criterion.attempts is not None:
        return _fixed(problem, criterion.attempts)
    cheapest = min(plans(problem), key=lambda plan: plan.cost_seconds, default=None)
    if cheapest is not None:
        return cheapest
    exact = best(replace(criterion, method=AUTO, is_weighted=False))
    reason = f"{criterion.method} cannot reach recall {criterion.recall:g}, so: {exact.reason}"
    return replace(exact, reason=reason)


def wants_glimpse(problem: Problem[Population]) -> bool:
    """Return whether plans need a sample of the collection, since no calibration has a better one.

    Only a distance needs a sample; for a similarity, the least cosine is known.
    """
    criterion = problem.criterion
    able = criterion.method in (AUTO, *METHODS) and criterion.is_weighted and criterion.recall < 1.0
    if not able or criterion.similarity is not None or not criterion.distance:
        return False
    known = _calibrated(criterion, problem.calibration)
    return not _is_sure(known, criterion.recall) or _has_much_unseen(problem)


def remark(criterion: Criterion, plans: Sequence[Plan]) -> str:
    """Return in words why no plan probes; "" if one does."""
    if criterion.recall >= 1.0:
        return "; probing by volatility is never certain"
    if not criterion.is_weighted:
        return (
            "; without weights nothing can be probed by volatility (search='psm' plans with them)"
        )
    if not any(plan.method in METHODS for plan in plans):
        return "; probing by volatility does not reach it"
    return ""


def _evidence(problem: Problem[Population]) -> recall.FlipEvidence:
    """Return the pairs for planning: from a calibration, from a glimpse, or from the prior.

    A calibration says nothing about documents inserted since.  If they are many, the plan must also
    reach the share on pairs from another source.
    """
    criterion, glimpse = problem.criterion, problem.population.glimpse
    known = _calibrated(criterion, problem.calibration)
    if not known.is_measured:
        return glimpse or known
    other = glimpse or _calibrated(criterion, None)
    if criterion.similarity is None and not _is_sure(known, criterion.recall):
        return other
    return _both(known, other) if _has_much_unseen(problem) else known


@lru_cache(64)
def _both(known: recall.FlipEvidence, other: recall.FlipEvidence) -> recall.FlipEvidence:
    """Join the pairs of a sample with pairs that represent documents inserted since."""
    origin = f"{known.origin}, and for documents inserted since, {other.origin}"
    return recall.combined(known, other, origin)


def _has_much_unseen(problem: Problem[Population]) -> bool:
    lost = (1.0 - problem.criterion.recall) * problem.population.count
    return problem.population.unseen > UNSEEN_PART * lost


def _calibrated(criterion: Criterion, calibration: Calibration | None) -> recall.FlipEvidence:
    return evidence(
        calibration, criterion.similarity, criterion.distance, is_stored=criterion.is_stored
    )


@lru_cache(64)
def _is_sure(known: recall.FlipEvidence, share: float) -> bool:
    """Return whether a sample has enough queries to be sure of a share."""
    count = known.pairs.query_count
    return known.is_measured and share < 1.0 and recall.least_reached(share, count) <= count


def _by_evidence(
    problem: Problem[Population], limit: int, known: recall.FlipEvidence
) -> list[Plan]:
    """Return plans that reach the recall on a sample, for several numbers of tables."""
    criterion, population = problem.criterion, problem.population
    lost = (1.0 - criterion.recall) / known.caution
    masks = bits.leading_masks(population.blocks, population.leading)
    most = 1 if criterion.method == PSM else population.tables
    plans = []
    for tables in sorted({1, 2, most // 2, most} & set(range(1, most + 1))):
        cheapest = math.inf
        for width in _widths(problem):
            found = recall.reach(
                known, tuple(masks[:tables]), header_bits=width, limit=limit, wanted=1.0 - lost
            )
            if found is None:
                break
            plan = _probing_plan(problem, limit, found, known)
            if plan.cost_seconds > cheapest:
                break
            cheapest = plan.cost_seconds
            plans.append(plan)
    return plans


def _widths(problem: Problem[Population]) -> list[int]:
    """Return the numbers of header bits to consider, largest first; only the one given, if any.

    In a single table, fewer bits only join adjacent headers, which pays only if pages must be read.
    """
    population, wanted = problem.population, problem.criterion.header_bits
    most = population.directory_bits
    if wanted is not None:
        return [min(wanted, most)]
    if population.tables == 1 and not population.paging.missing:
        return [most]
    return [most - fewer for fewer in range(0, min(FEWER_BITS, most) + 1, FEWER_STEP)]


def _fixed(problem: Problem[Population], attempts: int) -> Plan:
    """Return the plan that looks up the query's header and `attempts` more headers in each table.

    Its recall is the share of the sample that these headers find.
    """
    criterion, population = problem.criterion, problem.population
    limit = max(candidate_distances(criterion))
    known = _evidence(problem)
    masks = bits.leading_masks(population.blocks, population.leading)
    masks = masks[: 1 if criterion.method == PSM else population.tables]
    width = _widths(problem)[0]
    share = recall.recall_of(known, tuple(masks), header_bits=width, limit=limit, attempts=attempts)
    most = min(attempts + 1, bits.flip_count(width, limit))
    probing = Probing(len(masks), width, None, attempts + 1, known.costs)
    found = recall.Reach(probing, float(most * len(masks)), share, 0.0)
    plan = _probing_plan(problem, limit, found, known)
    reason = (
        f"looking up the likeliest headers of {len(masks)} table(s), {most - 1} in addition to the"
        f" query's in each, as attempts= asks, finds {share:.3f} of the pairs: {known.origin}"
    )
    return replace(plan, reason=reason)


def _probing_plan(
    problem: Problem[Population], limit: int, found: recall.Reach, known: recall.FlipEvidence
) -> Plan:
    criterion, population, delays = problem.criterion, problem.population, problem.delays
    probing = found.probing
    entries = population.entries_of(probing.header_bits)
    scanned = found.probes * entries
    share = share_of_reached(probing.header_bits, 2, limit)
    cost = (
        population.asking_seconds
        + probing.tables * delays.prepare
        + found.probes * delays.memory
        + scanned * (delays.visit + share * delays.candidate)
    )
    sure = f"{found.recall_bound:.3f} or more of such pairs with 95 % confidence"
    if not known.is_measured:
        sure = "an estimate, since no sample of queries covers them"
    why = (
        f"probing the likely headers of {probing.tables} table(s), about {found.probes:.1f} for a"
        f" query, finds {found.recall:.3f} of the pairs: {known.origin}; {sure}"
    )
    plan = Plan(
        PSM if probing.tables == 1 else MULTIPROBE, probing.tables, 0, round(found.probes),
        limit, criterion.asked_similarity, found.recall, cost, why,
        theta=None if probing.theta is None else probing.theta / COST_UNIT,
        probing=probing, header_bits=probing.header_bits,
        bytes_per_document=population.bytes_of(probing.tables, criterion),
    )  # fmt: skip
    if not population.paging.missing:
        return plan
    leading = distinct_bits(probing.header_bits, entries)
    if probing.theta is None:
        headers = min(found.probes, float(probing.tables * 2**leading))
    else:
        masks = bits.leading_masks(population.blocks, population.leading)[: probing.tables]
        counts = recall.counts_of(known, tuple(masks), header_bits=leading, theta=probing.theta)
        headers = float(counts.mean())
    pages = population.paging.pages_of(headers, entries)
    measured = scanned * share if criterion.similarity is not None else 0.0
    return population.paging.charged(plan, pages=pages, measured=measured)
