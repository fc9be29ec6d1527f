"""Explanations by fingerprints: why two documents match or not, down to bits and features."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from simdb.core.arrays import Id, sorted_unique
from simdb.core.bits import FINGERPRINT_BITS, leading_masks, set_bits
from simdb.core.documents import NamedFeatures
from simdb.core.dtypes import F32, F64, I64, U8
from simdb.core.options import EXHAUSTIVE
from simdb.core.reports import DifferingBit, Explanation, FeatureDifference, Plan, Probe
from simdb.core.vector_form import corrected
from simdb.database.search.couples import judged_by
from simdb.database.search.lookup import method_of
from simdb.database.search.method import PairMember, levels_of
from simdb.database.state.documents import known_ordinals, stored_sketches
from simdb.database.state.kinds import fingerprint_of
from simdb.database.state.state import State
from simdb.plan import Criterion
from simdb.sketch import Sketcher

# The number of features listed with each differing bit; the explanation has them all.
BIT_FEATURES = 5


@dataclass(frozen=True, slots=True)
class FingerprintSide:
    """One of the two documents.

    `weights`: as exact as they are known; `measured`: the weights that similarity is estimated
    from, and `vector` the same packed; `levels` uint8[64]: how far each bit is from flipping; each
    None without weights.
    `features`: None without a text.  `ordinal`: None if the document is not stored.
    """

    id: Id | None
    bits: int
    is_empty: bool
    weights: F32 | None
    measured: F32 | None
    features: NamedFeatures | None
    levels: U8 | None = None
    vector: U8 | None = None
    ordinal: int | None = None

    @property
    def has_weights(self) -> bool:
        """Whether a similarity can be measured, or the document matches nothing anyway."""
        return self.is_empty or self.measured is not None


def explain(
    left: FingerprintSide,
    right: FingerprintSide,
    *,
    state: State,
    criterion: Criterion,
    plan: Plan | None,
) -> Explanation:
    """Return why the two documents match by `criterion`, or do not.

    `plan`: how a query is answered; None if both documents are given.  Their weights are not
    rounded then; others are, and their similarity is corrected for that.
    """
    probe, is_reached = None, True
    if plan is not None:
        asking, stored = (right, left) if right.ordinal is None else (left, right)
        probe, is_reached = _reached(state, criterion, plan, asking, stored)
    differing = left.bits ^ right.bits
    similarity = _similarity(left.measured, right.measured)
    if similarity is not None and plan is not None:
        similarity = float(corrected(np.array([similarity], np.float32))[0])
    options = state.store.options
    masks = leading_masks(options.blocks, options.leading)
    flips = [(differing & mask).bit_count() for mask in masks]
    distance = differing.bit_count()
    faults = _faults(left, right, criterion, distance, similarity)
    features, shared_count = differences(left.features, right.features)
    assumed = criterion.asked_similarity or options.similarity
    bits, probability = _differing_bits(left, right, assumed, features)
    return Explanation(
        left=left.id,
        right=right.id,
        distance=distance,
        similarity=similarity,
        bits=bits,
        probability=probability,
        tables=tuple(at for at, count in enumerate(flips) if not count),
        table_count=len(masks),
        flips=min(flips),
        is_match=not faults,
        is_found=not faults and is_reached,
        plan=plan,
        probe=probe if is_reached else None,
        reason=_reason(faults, criterion, distance, similarity, flips, plan, is_reached, probe),
        features=features,
        shared_count=shared_count,
    )


def stored_side(state: State, id: Id) -> FingerprintSide:
    """Return a stored document; NotFoundError if the id is unknown."""
    ordinals = known_ordinals(state, [id])
    sketches = stored_sketches(state, ordinals)
    stored = state.kind.fingerprint_of(sketches, 0)
    weights = stored.weights
    levels = None if weights is None else levels_of(sketches)[0]
    vector = None if weights is None else sketches.vectors[0]
    return FingerprintSide(
        id, stored.bits, stored.is_empty, weights, weights, None, levels, vector, int(ordinals[0])
    )


def given_side(
    sketcher: Sketcher, document: Any, errors: str, *, is_rounded: bool
) -> FingerprintSide:
    """Return a given document; `is_rounded`: it is measured as it would be stored."""
    sketches = sketcher.sketch([document], errors=errors, is_query=True)
    sketched = fingerprint_of(sketches, 0)
    features = sketcher.features(document, errors=errors)
    weights = sketched.weights
    if features is not None:
        weights = sketcher.weights([document], errors=errors)[0]
    levels = None if weights is None or sketches.levels is None else sketches.levels[0]
    vector = None if sketched.weights is None else sketches.vectors[0]
    measured = sketched.weights if is_rounded else weights
    return FingerprintSide(
        None, sketched.bits, sketched.is_empty, weights, measured, features, levels, vector
    )


def differences(
    left: NamedFeatures | None, right: NamedFeatures | None
) -> tuple[tuple[FeatureDifference, ...] | None, int]:
    """Return the features with different weights, the greatest change first, and how many agree."""
    known = [side for side in (left, right) if side is not None]
    if not known:
        return None, 0
    hashes = sorted_unique(np.concatenate([side.hashes for side in known]))
    names = np.empty(len(hashes), object)
    weights: list[F64 | None] = []
    for side in (right, left):  # if both have a name for a feature, that of the left stays
        if side is None:
            weights.insert(0, None)
            continue
        at = np.searchsorted(hashes, side.hashes)
        own = np.zeros(len(hashes))
        own[at] = side.weights
        names[at] = side.shingles
        weights.insert(0, own)
    changes = _or_zeros(weights[1], hashes) - _or_zeros(weights[0], hashes)
    chosen = np.flatnonzero(changes)
    order = sorted(chosen.tolist(), key=lambda at: (-abs(changes[at]), names[at]))
    differences = tuple(
        FeatureDifference(
            names[at],
            int(hashes[at]),
            *(None if each is None else float(each[at]) for each in weights),
        )
        for at in order
    )
    return differences, len(hashes) - len(chosen)


def _reached(
    state: State, criterion: Criterion, plan: Plan, asking: FingerprintSide, stored: FingerprintSide
) -> tuple[Probe | None, bool]:
    """Return the probe of the plan that finds the stored document, and whether it is found."""
    method = method_of(state, plan)
    assert stored.ordinal is not None
    query, other = (
        PairMember(side.bits, side.levels, side.vector, side.ordinal) for side in (asking, stored)
    )
    probe = None
    if method.find_probe is not None:
        probe = method.find_probe(state, criterion, plan, query, other)
    differing, most = asking.bits ^ stored.bits, plan.distance
    if asking.vector is not None:
        vectors = asking.vector.reshape(1, -1)
        judging = judged_by(vectors, plan.distance, plan.firm_distance)
        if judging is not None:
            differing, most = differing & int(judging[0][0]), int(judging[1][0])
    is_near = differing.bit_count() <= most
    is_compared = method.compares(state, plan, stored.ordinal)
    return probe, is_near and (is_compared or probe is not None)


def _similarity(left: F32 | None, right: F32 | None) -> float | None:
    """Return the cosine of two vectors, over the dimensions that both have."""
    if left is None or right is None:
        return None
    shared = min(len(left), len(right))
    first, second = left[:shared].astype(np.float64), right[:shared].astype(np.float64)
    norms = float(np.sqrt(first @ first) * np.sqrt(second @ second))
    return float(first @ second) / norms if norms else 0.0


def _faults(
    left: FingerprintSide,
    right: FingerprintSide,
    criterion: Criterion,
    distance: int,
    similarity: float | None,
) -> list[str]:
    """Return why the two documents do not match, in words; nothing if they match."""
    faults = [
        f"the {name} document has no features, so it matches nothing"
        for name, side in (("left", left), ("right", right))
        if side.is_empty
    ]
    if faults:
        return faults
    if criterion.distance is not None and distance > criterion.distance:
        faults.append(f"distance {distance} is more than {criterion.distance}")
    wanted = criterion.asked_similarity
    if wanted is not None and similarity is None:
        bare = "left" if left.measured is None else "right"
        faults.append(f"the {bare} document has no weights, so its similarity is not known")
    elif wanted is not None and similarity is not None and similarity < np.float32(wanted):
        faults.append(f"similarity {similarity:.3f} is less than {wanted:g}")
    return faults


def _reason(
    faults: list[str],
    criterion: Criterion,
    distance: int,
    similarity: float | None,
    flips: list[int],
    plan: Plan | None,
    reached: bool,
    probe: Probe | None,
) -> str:
    if faults:
        return f"no match: {'; '.join(faults)}"
    holds = []
    wanted = criterion.asked_similarity
    if wanted is not None and similarity is not None:
        holds.append(f"similarity {similarity:.3f} is at least {wanted:g}")
    if criterion.distance is not None:
        holds.append(f"distance {distance} is at most {criterion.distance}")
    agreeing = flips.count(0)
    where = (
        f"the leading bits of {agreeing} of {len(flips)} tables agree"
        if agreeing
        else f"at least {min(flips)} leading bits differ in each of {len(flips)} tables"
    )
    reason = f"a match: {' and '.join(holds)}; {where}"
    if plan is None:
        return reason
    way = plan.method if not plan.flips else f"{plan.method} with up to {plan.flips} flips"
    if reached:
        return f"{reason}; a query ({way}) finds it{_probe_in_words(plan, probe)}"
    if distance > plan.distance and plan.firm_distance is None:
        return f"{reason}; a query ({way}) searches up to distance {plan.distance} only"
    return f"{reason}; a query ({way}) may miss it"


def _probe_in_words(plan: Plan | None, probe: Probe | None) -> str:
    if probe is None:
        if plan is None or plan.method == EXHAUSTIVE:
            return ""
        if plan.compared:
            return ", comparing the documents that the calibration does not cover"
        return ", comparing the documents that are not in a run yet"
    if probe.vertices:
        return f" in table {probe.table} with {probe.vertices} other vertices"
    if not probe.flipped:
        return f" in table {probe.table} by its own header"
    flipped = "bit " + " and ".join(map(str, probe.flipped))
    rank = "" if probe.rank is None else f", probe {probe.rank} of the query"
    return f" in table {probe.table} with {flipped} flipped{rank}"


def _or_zeros(weights: F64 | None, hashes: Any) -> F64:
    return np.zeros(len(hashes)) if weights is None else weights


def _differing_bits(
    left: FingerprintSide,
    right: FingerprintSide,
    similarity: float,
    features: tuple[FeatureDifference, ...] | None,
) -> tuple[tuple[DifferingBit, ...], float | None]:
    """Return the bits that differ, and p(u, S) of their set."""
    positions = list(set_bits(left.bits ^ right.bits))
    volatilities = [_volatilities(side.weights, similarity) for side in (left, right)]
    ranks = [_ranks(side.weights) for side in (left, right)]
    bits = [
        DifferingBit(
            position,
            _at(left.weights, position),
            _at(right.weights, position),
            None if ranks[0] is None else int(ranks[0][position]),
            None if ranks[1] is None else int(ranks[1][position]),
            _at(volatilities[0], position),
            _at(volatilities[1], position),
            _moving(features or (), position, is_set=bool(right.bits >> position & 1)),
        )
        for position in positions
    ]
    bits.sort(key=lambda bit: (bit.left_rank or bit.right_rank or 0, bit.position))
    if volatilities[0] is None:
        return tuple(bits), None
    chances = 1.0 - volatilities[0]
    chances[positions] = volatilities[0][positions]
    return tuple(bits), float(np.prod(chances))


def _moving(
    features: tuple[FeatureDifference, ...], position: int, *, is_set: bool
) -> tuple[FeatureDifference, ...]:
    """Return the features that moved a bit most towards its value on the right."""
    sign = 1.0 if is_set else -1.0
    moved = [each for each in features if sign * each.moves(position) > 0]
    # The features are ordered, the greatest change first.
    return tuple(moved[:BIT_FEATURES])


def _volatilities(weights: F32 | None, similarity: float) -> F64 | None:
    """Return the probability of each of 64 bits to differ in a document of that `similarity`."""
    if weights is None:
        return None
    values = weights.astype(np.float64)
    spread = math.sqrt(float(values @ values) / len(values))
    if not spread or similarity >= 1.0:
        return np.where(values[:FINGERPRINT_BITS] == 0, 0.5, 0.0)
    scale = similarity / math.sqrt(2 * (1 - similarity**2)) / spread
    return np.array([math.erfc(scale * abs(w)) / 2 for w in values[:FINGERPRINT_BITS].tolist()])


def _ranks(weights: F32 | None) -> I64 | None:
    """Return the place of each bit, from 1, in the order of volatility."""
    if weights is None:
        return None
    order = np.argsort(np.abs(weights[:FINGERPRINT_BITS]), kind="stable")
    ranks = np.empty(FINGERPRINT_BITS, np.int64)
    ranks[order] = np.arange(1, FINGERPRINT_BITS + 1)
    return ranks


def _at(values: Any, position: int) -> float | None:
    return None if values is None else float(values[position])
