"""Search by rotation: the predicted share of pairs that rotations miss, and their cost.

A rotation finds a pair if fewer than `WINDOW` other fingerprints are sorted between the two.  If
`count` fingerprints are spread evenly, the number between two keys is a Poisson variable.  Its mean
is `count` times the gap between the keys, which is small if the leading bits agree.  Each rotation
has different fingerprints in the gap, so the chances of a miss are multiplied over all rotations.
The product is averaged over a sample: pairs from the calibration, or pairs that differ in
`distance` random bits.  If the calibration does not cover all documents, pairs of the prior are a
second sample, and the worse prediction counts.
"""

from collections.abc import Callable, Sequence

import numpy as np

from simdb.core.arrays import random_numbers
from simdb.core.bits import FINGERPRINT_BITS, rotated, rotation_amounts
from simdb.core.checks import is_one_of, is_whole, shown
from simdb.core.dtypes import F64, U64
from simdb.core.errors import OptionError
from simdb.core.options import ROTATION
from simdb.core.reports import Plan
from simdb.plan.calibration import Calibration, evidence
from simdb.plan.problem import Criterion, Population, Problem, candidate_distances

METHODS = (ROTATION,)
WINDOW = 16  # neighbours compared with each fingerprint, at about the cost of sorting
ROTATIONS_MAX = FINGERPRINT_BITS
SAMPLED = 8192  # pairs in a sample, for a standard error of the mean of about 0.005
SORTED_SECONDS = 25e-9  # rotating and sorting one fingerprint
COMPARED_SECONDS = 2e-9  # comparing one fingerprint with one neighbour


def check_rotations(method: object, rotations: object) -> None:
    """Raise OptionError unless `rotations` is None, or 1 to 64 for search="rotation"."""
    if rotations is None:
        return
    if not is_whole(rotations, 1, ROTATIONS_MAX):
        raise OptionError(
            f"rotations must be a whole number from 1 to {ROTATIONS_MAX}, or None,"
            f" got {shown(rotations)}"
        )
    if not is_one_of(method, METHODS):
        raise OptionError(
            f"rotations= works only with search='rotation', got search={shown(method)}"
        )


def plans(problem: Problem[Population]) -> list[Plan]:
    """Return no plan: rotation is used only if the caller names it."""
    return []


def named(problem: Problem[Population], best: Callable[[Criterion], Plan]) -> Plan:
    """Return the plan with the given number of rotations, or the fewest that reach the recall.

    Raises OptionError if no number is given and even `ROTATIONS_MAX` rotations miss the recall.
    """
    criterion, population = problem.criterion, problem.population
    if not population.is_swept:
        raise OptionError(
            "search='rotation' finds all pairs: give it to find_all, to find_clusters with"
            " policy='connected', or to plan with pairs=True"
        )
    limit = candidate_distances(criterion)[0]
    recalls, kind = _recalls(problem, limit)
    able = (count for count, recall in recalls.items() if recall >= criterion.recall)
    rotations = criterion.rotations or next(able, None)
    if rotations is None:
        raise OptionError(
            f"search='rotation' cannot reach recall={criterion.recall:g}: even"
            f" {ROTATIONS_MAX} rotations are predicted to miss"
            f" {1.0 - recalls[ROTATIONS_MAX]:.2g} of the pairs, or more of many equal ones",
            python="use search='auto', a lower recall=, or"
            " simdb.Search(method='rotation', rotations=64)",
            command="use --search auto, a lower --recall, or --search rotation,rotations=64",
        )
    recall = recalls[rotations]
    reason = (
        f"sorts in {rotations} rotation(s) and compares each document with {WINDOW} neighbours:"
        f" misses {1.0 - recall:.2g} of {kind}, if their bits are spread as evenly as their"
        f" headers; among more than {WINDOW} with equal bits it misses further pairs"
    )
    if recall < criterion.recall:
        reason += f"; this misses the recall {criterion.recall:g} that was asked for"
    cost = rotations * (SORTED_SECONDS + WINDOW * COMPARED_SECONDS)
    return Plan(
        ROTATION, rotations, 0, rotations, limit, criterion.asked_similarity, recall, cost, reason,
        bytes_per_document=population.bytes_of(1, criterion, has_headers=False),
    )  # fmt: skip


def remark(criterion: Criterion, plans: Sequence[Plan]) -> str:
    """Return "", since this way is used only if the caller names it."""
    return ""


def _recalls(problem: Problem[Population], limit: int) -> tuple[dict[int, float], str]:
    """Return the share of pairs that each number of rotations finds, and the sample in words.

    With more than `WINDOW` other fingerprints it is below 1, since equal ones can separate a pair.
    """
    population, calibration = problem.population, problem.calibration
    others = population.crowding * max(population.count - 2, 0)
    known = [calibration, None] if calibration and population.unseen else [calibration]
    samples = [_sample(problem.criterion, each, limit) for each in known]
    chances = [missed(left, right, others) for left, right, _ in samples]
    recalls, most = {}, np.nextafter(1.0, 0.0) if population.count > WINDOW else 1.0
    for count in range(1, ROTATIONS_MAX + 1):
        amounts = rotation_amounts(count)
        lost = max(float(each[amounts].prod(axis=0).mean()) for each in chances)
        recalls[count] = min(1.0 - lost, most)
    return recalls, " or ".join(dict.fromkeys(kind for _, _, kind in samples))


def missed(left: U64, right: U64, others: float) -> F64:
    """Return the chance that each rotation misses each pair: float64[64, n].

    Row r is for a rotation by `r` bits.  `others`: the number of other fingerprints.
    """
    rows = [
        _not_near(rotated(left, amount), rotated(right, amount), others)
        for amount in range(FINGERPRINT_BITS)
    ]
    return np.stack(rows)


def differing_pairs(count: int, distance: int, *, seed: int) -> tuple[U64, U64]:
    """Return pairs of fingerprints that differ in `distance` random bits: two uint64[count]."""
    generator = random_numbers(seed)
    left = generator.integers(0, 2**64, count, np.uint64)
    order = np.argsort(generator.random((count, FINGERPRINT_BITS)), axis=1)[:, :distance]
    flipped = np.uint64(1) << order.astype(np.uint64)
    return left, left ^ np.bitwise_or.reduce(flipped, axis=1)


def _not_near(left: U64, right: U64, others: float) -> F64:
    """Return P(X >= `WINDOW`), where X is the number of other keys between left[i] and right[i]."""
    gap = (np.maximum(left, right) - np.minimum(left, right)).astype(np.float64)
    mean = others * gap / 2.0**FINGERPRINT_BITS
    term = np.exp(-mean)
    near = np.zeros_like(mean)
    for between in range(WINDOW):
        near += term
        term = term * mean / (between + 1)
    return np.clip(1.0 - near, 0.0, 1.0)


def _sample(
    criterion: Criterion, calibration: Calibration | None, limit: int
) -> tuple[U64, U64, str]:
    """Return a sample of pairs that must be found, and its description in words."""
    if criterion.similarity is None:
        left, right = differing_pairs(SAMPLED, limit, seed=0)
        return left, right, f"the pairs that differ in {limit} bits"
    known = evidence(calibration, criterion.similarity, criterion.distance, is_stored=True)
    far = known.distances > limit
    left, right = known.pairs.queries[:SAMPLED], known.pairs.stored[:SAMPLED].copy()
    # All bits are flipped in pairs beyond the distance, since they are never measured or found.
    right[far[:SAMPLED]] = ~left[far[:SAMPLED]]
    return left, right, known.origin
