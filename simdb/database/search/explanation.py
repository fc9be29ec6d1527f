"""Explanations: why two documents match or do not, down to bits, bands and features.

Each document is stored or given.  One of them is the query: its criterion defines a match, and its
plan says whether a query finds the other.
"""

import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from simdb.core.arrays import EMPTY, Id, sorted_unique
from simdb.core.bits import FINGERPRINT_BITS, leading_masks, set_bits
from simdb.core.decoding import as_text
from simdb.core.documents import COUNTED_MAX, NamedFeatures, estimates
from simdb.core.dtypes import F32, F64, I64, U8
from simdb.core.errors import InputError
from simdb.core.options import EXHAUSTIVE
from simdb.core.reports import DifferingBit, Explanation, FeatureDifference, Plan, Probe
from simdb.core.values import dataclass
from simdb.database.search.couples import judged_by
from simdb.database.search.lookup import method_of
from simdb.database.search.method import PairMember, levels_of
from simdb.database.search.question import Question
from simdb.database.search.searcher import Searcher
from simdb.database.state.documents import known_ordinals, stored_sketches
from simdb.database.state.state import State
from simdb.database.state.view import SIGNATURES
from simdb.plan import Criterion, bands_of

# The number of features listed with each differing bit; the explanation has them all.
BIT_FEATURES = 5


class Both(NamedTuple):
    """The two documents of an explanation, each by its id or as given."""

    id: Any
    other_id: Any
    document: Any
    other_document: Any

    @property
    def stored(self) -> list[Any]:
        """The ids of stored documents."""
        return [each for each in (self.id, self.other_id) if each is not None]

    @property
    def given(self) -> list[Any]:
        """The documents that are given."""
        return [each for each in (self.document, self.other_document) if each is not None]


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two documents.

    `vector`: the packed weights or signature.  `features`: None without a text.  `ordinal`: None if
    the document is not stored.  Fingerprints have three more fields, None without weights.
    `weights`: as exact as known.  `measured`: the weights that similarity is estimated from.
    `levels` uint8[64]: how far each bit is from flipping.
    """

    id: Id | None
    is_empty: bool
    vector: U8 | None
    features: NamedFeatures | None = None
    bits: int = 0
    weights: F32 | None = None
    measured: F32 | None = None
    levels: U8 | None = None
    ordinal: int | None = None

    @property
    def has_weights(self) -> bool:
        """Whether a similarity can be measured, or the document matches nothing anyway."""
        return self.is_empty or self.measured is not None


def explained(searcher: Searcher, both: Both, question: Question, errors: str) -> Explanation:
    """Explain why two documents match or not, by the plan of the state with the last one."""
    numbers = searcher.numbers_of(both.stored).tolist() or searcher.numbers[:1]
    why = partial(_explained, both=both, question=question, errors=errors)
    if numbers[0] == numbers[-1]:
        return searcher.ask(numbers[0], why)
    return searcher.ask(numbers[0], lambda home: searcher.ask(numbers[-1], partial(why, home=home)))


def _explained(
    state: State, both: Both, question: Question, errors: str, *, home: State | None = None
) -> Explanation:
    """Explain why two documents match or not; raise InputError unless there are exactly two.

    `home`: the state of the first stored document, if it is in another database.
    """
    stored, given = both.stored, both.given
    if len(stored) + len(given) != 2:
        raise InputError(
            "explain needs two documents: id and other_id of stored documents, or id and document=,"
            " or document= and other_document="
        )
    is_stored, is_rounded = len(stored) == 2, bool(stored)
    side = partial(_given_side, state, errors=errors, is_rounded=is_rounded)
    left = _stored_side(home or state, stored[0]) if stored else side(given[0])
    right = _stored_side(state, stored[1]) if is_stored else side(given[-1])
    options = state.store.options
    if not stored or options.is_minhash:
        is_weighted = options.is_minhash or (left.has_weights and right.has_weights)
    else:  # the query is the right document, unless both are stored
        asking, has_vectors = (right, True) if given else (left, options.sketch.vector_bytes > 0)
        is_weighted = asking.has_weights and has_vectors
    criterion = question.criterion(
        options, is_weighted=is_weighted, is_stored=is_stored, content=state.counts.content
    )
    plan = state.plan(criterion) if stored else None
    explain = _by_signatures if state.kind.stores == SIGNATURES else _by_fingerprints
    return explain(state, (left, right), criterion, plan)


def _stored_side(state: State, id: Id) -> Side:
    """Return the side of a stored document; raise NotFoundError if the id is unknown."""
    ordinals = known_ordinals(state, [id])
    sketches = stored_sketches(state, ordinals)
    if state.kind.stores == SIGNATURES:
        return Side(id, bool(sketches.states[0] == EMPTY), sketches.vectors[0])
    stored = state.kind.fingerprint_of(sketches, 0)
    weights, ordinal = stored.weights, int(ordinals[0])
    if weights is None:
        hash = sketches.vectors[0] if state.store.options.is_wide else None
        return Side(id, stored.is_empty, hash, bits=stored.bits, ordinal=ordinal)
    levels = levels_of(sketches)[0]
    return Side(
        id, stored.is_empty, sketches.vectors[0], None, stored.bits, weights, weights, levels,
        ordinal,
    )  # fmt: skip


def _given_side(state: State, document: Any, *, errors: str, is_rounded: bool) -> Side:
    """Return the side of a given document; `is_rounded`: measure it as it would be stored."""
    sketcher: Any = state.store.sketcher
    options = state.store.options
    if not options.is_hashes:
        document = as_text(document, errors=errors)
    if state.kind.stores == SIGNATURES:
        sketches = sketcher.sketch([document], errors=errors)
        features = sketcher.features(document, errors=errors)
        return Side(None, bool(sketches.states[0] == EMPTY), sketches.vectors[0], features)
    sketches = sketcher.sketch([document], errors=errors, is_query=True)
    sketched = state.kind.fingerprint_of(sketches, 0)
    features = sketcher.features(document, errors=errors)
    weights = sketched.weights
    if features is not None:
        weights = sketcher.weights([document], errors=errors)[0]
    return Side(
        None, sketched.is_empty,
        sketches.vectors[0] if options.is_wide or sketched.weights is not None else None,
        features, sketched.bits, weights, sketched.weights if is_rounded else weights,
        None if weights is None or sketches.levels is None else sketches.levels[0],
    )  # fmt: skip


def _by_fingerprints(
    state: State, sides: tuple[Side, Side], criterion: Criterion, plan: Plan | None
) -> Explanation:
    """Explain by fingerprints why two documents match or not.

    `plan`: the plan of a query; None if both documents are given.  Only then are their weights not
    rounded; otherwise the similarity is corrected for the rounding.
    """
    left, right = sides
    probe, is_reached = None, True
    if plan is not None:
        asking, stored = (right, left) if right.ordinal is None else (left, right)
        probe, is_reached = _reached(state, criterion, plan, asking, stored)
    differing_bits = left.bits ^ right.bits
    distance = differing_bits.bit_count()
    similarity = _similarity(left.measured, right.measured)
    options, scale = state.store.options, state.scale
    shown = scale.from_cosine if plan is None else scale.shown_one
    similarity = None if similarity is None else shown(float(np.float32(similarity)))
    if options.is_wide:
        masks = state.keying.leading  # type: ignore[attr-defined]
    else:
        masks = leading_masks(options.blocks, options.leading)
    flips = [(differing_bits & mask).bit_count() for mask in masks]
    agreeing = flips.count(0)
    where = (
        f"the leading bits of {agreeing} of {len(flips)} tables agree"
        if agreeing
        else f"at least {min(flips)} leading bits differ in each of {len(flips)} tables"
    )
    faults, holds = _compared(sides, criterion, distance, similarity)
    found = ""
    if plan is not None:
        way = plan.method if not plan.flips else f"{plan.method} with up to {plan.flips} flips"
        found = f"; a query ({way}) may miss it"
        if is_reached:
            found = f"; a query ({way}) finds it{_probe_in_words(plan, probe)}"
        elif distance > plan.distance and plan.firm_distance is None:
            found = f"; a query ({way}) searches up to distance {plan.distance} only"
    features, shared_count = differences(left.features, right.features)
    assumed = criterion.asked_similarity or options.similarity_in(scale.measure)
    bits, probability = _differing_bits(left, right, scale.to_cosine(assumed), features)
    return Explanation(
        left=left.id, right=right.id, distance=distance, similarity=similarity, bits=bits,
        probability=probability, measure=scale.measure,
        tables=tuple(at for at, count in enumerate(flips) if not count),
        table_count=len(masks), flips=min(flips), is_match=not faults,
        is_found=not faults and is_reached, plan=plan, probe=probe if is_reached else None,
        reason=_in_words(faults, holds, where + found),
        features=features, shared_count=shared_count,
    )  # fmt: skip


def _by_signatures(
    state: State, sides: tuple[Side, Side], criterion: Criterion, plan: Plan | None
) -> Explanation:
    """Explain by signatures why two documents match or not."""
    left, right = sides
    bands = bands_of(state.store.options)
    sketch = bands.sketch
    vectors = [np.asarray(side.vector)[None] for side in sides]
    faults = _empty(sides)
    agreeing, tables = 0, tuple[int, ...]()
    if not faults:
        agreeing = int(bands.agreements(*map(bands.rows_of, vectors))[0])
        tables = tuple(np.flatnonzero(bands.agreeing(*vectors)[0]).tolist())
    similarity = np.float32(0) if faults else estimates([agreeing], sketch)[0]
    counts = f"{agreeing} of {sketch.permutations} minima agree, similarity {similarity:.3f}"
    shared = f"{len(tables)} of {bands.table_count} bands agree"
    if not faults and not similarity >= np.float32(criterion.similarity):
        faults = [f"{counts} is less than {criterion.similarity:g}", shared]
    is_reached = bool(tables) or plan is None or method_of(state, plan).compares(state, plan, 0)
    found = ""
    if plan is not None:
        missed = f"misses it, as {1 - plan.recall:.2g} of all matches"
        found = f"; a query ({plan.method}) {'finds it' if is_reached else missed}"
    features, shared_count = differences(left.features, right.features)
    return Explanation(
        left=left.id, right=right.id,
        distance=min(sketch.permutations - agreeing, COUNTED_MAX), similarity=float(similarity),
        bits=(), probability=None, tables=tables, table_count=bands.table_count, flips=0,
        is_match=not faults, is_found=not faults and is_reached, plan=plan, probe=None,
        reason=_in_words(
            faults, [f"{counts} is at least {criterion.similarity:g}"], shared + found
        ),
        features=features, shared_count=shared_count, agreeing=agreeing,
        permutations=sketch.permutations,
    )  # fmt: skip


def _in_words(faults: list[str], holds: list[str], where: str) -> str:
    """Return the reason for an answer, in words."""
    if faults:
        return f"no match: {'; '.join(faults)}"
    return f"a match: {' and '.join(holds)}; {where}"


def differences(
    left: NamedFeatures | None, right: NamedFeatures | None
) -> tuple[tuple[FeatureDifference, ...] | None, int]:
    """Return the features with different weights, largest change first, and how many agree."""
    sides = [side for side in (left, right) if side is not None]
    if not sides:
        return None, 0
    hashes = sorted_unique(np.concatenate([side.hashes for side in sides]))
    names = np.empty(len(hashes), object)
    weights = np.zeros((2, len(hashes)))
    for own, side in zip(weights[::-1], (right, left), strict=True):
        if side is not None:  # if both name a feature, the left name is kept
            at = np.searchsorted(hashes, side.hashes)
            own[at], names[at] = side.weights, side.shingles
    changes = weights[1] - weights[0]
    chosen = np.flatnonzero(changes)
    order = sorted(chosen.tolist(), key=lambda at: (-abs(changes[at]), names[at]))
    known = weights.T.astype(object)
    known[:, [left is None, right is None]] = None
    differences = tuple(FeatureDifference(names[at], int(hashes[at]), *known[at]) for at in order)
    return differences, len(hashes) - len(chosen)


def _reached(
    state: State, criterion: Criterion, plan: Plan, asking: Side, stored: Side
) -> tuple[Probe | None, bool]:
    """Return the probe that reaches the stored document, and whether the plan finds it."""
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


def _empty(sides: tuple[Side, Side]) -> list[str]:
    """Return in words which of the two documents have no features."""
    return [
        f"the {name} document has no features, so it matches nothing"
        for name, side in zip(("left", "right"), sides, strict=True)
        if side.is_empty
    ]


def _compared(
    sides: tuple[Side, Side], criterion: Criterion, distance: int, similarity: float | None
) -> tuple[list[str], list[str]]:
    """Return in words which conditions of the criterion two documents fail, and which they meet."""
    faults, holds = _empty(sides), list[str]()
    if faults:
        return faults, holds
    if criterion.distance is not None:
        is_near = distance <= criterion.distance
        holds.append(f"distance {distance} is at most {criterion.distance}")
        faults += [] if is_near else [f"distance {distance} is more than {criterion.distance}"]
    wanted = criterion.asked_similarity
    if wanted is not None and similarity is None:
        bare = "left" if sides[0].measured is None else "right"
        faults.append(f"the {bare} document has no weights, so its similarity is not known")
    elif wanted is not None and similarity is not None:
        holds.insert(0, f"similarity {similarity:.3f} is at least {wanted:g}")
        if similarity < np.float32(wanted):
            faults.append(f"similarity {similarity:.3f} is less than {wanted:g}")
    return faults, holds


def _probe_in_words(plan: Plan | None, probe: Probe | None) -> str:
    if probe is None:
        if plan is None or plan.method == EXHAUSTIVE:
            return ""
        return ", comparing the documents that are not in a run yet"
    if probe.vertices:
        return f" in table {probe.table} with {probe.vertices} other vertices"
    if not probe.flipped:
        return f" in table {probe.table} by its own header"
    flipped = "bit " + " and ".join(map(str, probe.flipped))
    rank = "" if probe.rank is None else f", probe {probe.rank} of the query"
    return f" in table {probe.table} with {flipped} flipped{rank}"


def _differing_bits(
    left: Side, right: Side, similarity: float, features: tuple[FeatureDifference, ...] | None
) -> tuple[tuple[DifferingBit, ...], float | None]:
    """Return the bits that differ, and the probability p(u, S) of their set."""
    positions = list(set_bits(left.bits ^ right.bits))
    volatilities = [_volatilities(side.weights, similarity) for side in (left, right)]
    ranks = [_ranks(side.weights) for side in (left, right)]
    known: list[Any] = [left.weights, right.weights, *ranks, *volatilities]

    def described(position: int) -> DifferingBit:
        values: list[Any] = [None if each is None else each[position].item() for each in known]
        is_set = bool(right.bits >> position & 1)
        values.append(_moving(features or (), position, is_set=is_set))
        return DifferingBit(position, *values)

    bits = list(map(described, positions))
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
    # The features are ordered, largest change first.
    return tuple(moved[:BIT_FEATURES])


def _volatilities(weights: F32 | None, similarity: float) -> F64 | None:
    """Return the probability that each of 64 bits differs in a document of that `similarity`."""
    if weights is None:
        return None
    values = weights.astype(np.float64)
    spread = math.sqrt(float(values @ values) / len(values))
    if not spread or similarity >= 1.0:
        return np.where(values[:FINGERPRINT_BITS] == 0, 0.5, 0.0)
    scale = similarity / math.sqrt(2 * (1 - similarity**2)) / spread
    return np.array([math.erfc(scale * abs(w)) / 2 for w in values[:FINGERPRINT_BITS].tolist()])


def _ranks(weights: F32 | None) -> I64 | None:
    """Rank the bits by volatility, starting at 1 for the weight nearest zero.

    Returns None without weights.
    """
    if weights is None:
        return None
    order = np.argsort(np.abs(weights[:FINGERPRINT_BITS]), kind="stable")
    ranks = np.empty(FINGERPRINT_BITS, np.int64)
    ranks[order] = np.arange(1, FINGERPRINT_BITS + 1)
    return ranks
