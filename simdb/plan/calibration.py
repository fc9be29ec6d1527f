"""A calibration: what the similar documents of a collection have shown.

It holds a sample of pairs as the search meets them, one side asking and the other stored, and the
volatility model learnt from it.  A stored document that asks has rounded weights, which tell less
about the order of its bits than those of a document at hand, so the two have pairs of their own.
The planner reads off the sample how far to go for a recall; for a criterion that too few of the
pairs satisfy, and where nothing was calibrated, it makes pairs of its own, as
`recall.synthetic_pairs` has them.

It speaks for the documents that were stored when it was made, those with ordinals below
`covered`.  Of documents inserted since nobody knows how they differ, so a search that goes by the
calibration compares them one by one.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.bits import FINGERPRINT_BITS
from simdb.decoding import a_map, a_number, a_whole, expecting
from simdb.errors import CorruptError
from simdb.plan import recall, volatility
from simdb.plan.cost import USUAL_DELAYS, Delays
from simdb.plan.recall import SampledPairs
from simdb.plan.volatility import VolatilityModel

# Pairs of fewer queries than this say too little: a recall of .95 needs 59 to be sure of it.
QUERIES_LEAST = 100
# Where they are fewer, less similar pairs are taken too, which are harder to reach: so much less
# similar, and so many bits further apart, in so many steps.
WIDER_SIMILARITY = 0.02
WIDER_STEPS = 4
SYNTHETIC_PAIRS = 4000
# Without data nobody knows how much similar documents differ.  Pairs within a distance are taken
# from documents whose fingerprints are so many bits further apart in the mean, for which their
# order tells less.
DISTANCE_CAUTION = 4
# Ordinals are uint32.
ORDINAL_COUNT_MAX = 1 << 32
# Some documents are near by accident, and their bits differ in no order: one pair in so many.
ACCIDENTS = 20


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """A sample of similar pairs of a collection and what was learnt from it.

    `similarities` float32[n] of the pairs and whether the side that asks was a stored document,
    `are_stored` bool[n]; `document_count`: how large the collection was; `query_count`: how many
    documents were asked for theirs; `covered`: documents with ordinals below this were stored
    when it was made; `delays` of the machine that was calibrated on.
    """

    model: VolatilityModel
    pairs: SampledPairs
    similarities: npt.NDArray[np.float32]
    are_stored: npt.NDArray[np.bool_]
    document_count: int
    query_count: int
    covered: int
    delays: Delays = USUAL_DELAYS

    def matching(self, similarity: float | None, distance: int | None) -> npt.NDArray[np.bool_]:
        """Whether each pair satisfies a criterion: bool[n]."""
        found = np.ones(len(self.pairs), np.bool_)
        if similarity is not None:
            found &= self.similarities >= np.float32(similarity)
        if distance is not None:
            found &= recall.distances(self.pairs) <= distance
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What the planner goes by for one criterion: pairs that satisfy it, and costs of flips."""

    pairs: SampledPairs
    distances: npt.NDArray[np.int64]
    costs: npt.NDArray[np.uint8]
    is_measured: bool


@lru_cache(64)
def evidence(
    calibration: Calibration | None,
    similarity: float | None,
    distance: int | None,
    *,
    is_stored: bool,
) -> Evidence:
    """The pairs of the calibration that match, if they are enough; otherwise synthetic ones.

    `is_stored`: for queries that are stored documents.  For others pairs of stored ones serve, too,
    if there are no better: what reaches a pair by rounded weights reaches it by exact ones.
    """
    for step in range(WIDER_STEPS) if calibration is not None else ():
        assert calibration is not None
        found = _measured(calibration, similarity, distance, is_stored, step)
        if found is not None:
            return found
    return _synthetic(similarity, distance, is_stored)


def _measured(
    calibration: Calibration,
    similarity: float | None,
    distance: int | None,
    is_stored: bool,
    step: int,
) -> Evidence | None:
    """The pairs of the calibration that match when it is taken `step` steps wider; None if few."""
    matching = calibration.matching(
        None if similarity is None else similarity - step * WIDER_SIMILARITY,
        None if distance is None else distance + step,
    )
    for chosen in (
        matching & (calibration.are_stored == is_stored),
        matching & calibration.are_stored,
    ):
        pairs = calibration.pairs.taken(chosen)
        if pairs.query_count >= QUERIES_LEAST:
            distances = recall.distances(pairs)
            if distance is not None:
                # The limit is that of the criterion, not of the pairs that stand in for others.
                distances = np.minimum(distances, distance)
            return Evidence(pairs, distances, volatility.costs(calibration.model), True)
    return None


@lru_cache(64)
def _synthetic(similarity: float | None, distance: int | None, is_stored: bool) -> Evidence:
    cautious = similarity
    if similarity is None and distance is not None:
        further = min(FINGERPRINT_BITS, distance + DISTANCE_CAUTION)
        cautious = volatility.prior_similarity(None, further)
    model = volatility.prior(similarity=cautious)
    pairs = recall.synthetic_pairs(
        SYNTHETIC_PAIRS, seed=1, similarity=cautious, distance=distance, is_stored=is_stored
    )
    if distance is not None:
        generator = np.random.default_rng(2)
        generator.permuted(pairs.levels[::ACCIDENTS], axis=1, out=pairs.levels[::ACCIDENTS])
    return Evidence(pairs, recall.distances(pairs), volatility.costs(model), False)


def delays_of(calibration: Calibration | None) -> Delays:
    """Those of the calibration, or the usual ones where there is none."""
    return USUAL_DELAYS if calibration is None else calibration.delays


def encode_calibration(calibration: Calibration) -> dict[str, Any]:
    """The calibration in plain types, to be stored."""
    return {
        "model": volatility.encode(calibration.model),
        "queries": calibration.pairs.queries.astype("<u8").tobytes(),
        "levels": calibration.pairs.levels.tobytes(),
        "stored": calibration.pairs.stored.astype("<u8").tobytes(),
        "similarities": calibration.similarities.astype("<f4").tobytes(),
        "are_stored": calibration.are_stored.tobytes(),
        "document_count": calibration.document_count,
        "query_count": calibration.query_count,
        "covered": calibration.covered,
        "delays": asdict(calibration.delays),
    }


def decode_calibration(stored: Mapping[str, Any], *, is_unmoved: bool = False) -> Calibration:
    """What `encode_calibration` wrote; CorruptError for arrays that do not fit together.

    `is_unmoved`: see `covered_by`.
    """
    with expecting("the stored calibration"):
        return _decoded(a_map(stored), is_unmoved)


def covered_by(stored: Mapping[str, Any], *, is_unmoved: bool) -> int:
    """The ordinal below which a stored calibration knows all documents.

    Older versions did not store it.  Where the database `is_unmoved`, never having deleted or
    renumbered a document, it is the number of documents at that time; otherwise it is not known,
    and 0 is returned.
    """
    with expecting("the stored calibration"):
        if "covered" in stored:
            return a_whole(stored["covered"], ORDINAL_COUNT_MAX + 1)
        return a_whole(stored["document_count"], ORDINAL_COUNT_MAX) if is_unmoved else 0


def _decoded(stored: Mapping[str, Any], is_unmoved: bool) -> Calibration:
    queries = np.frombuffer(stored["queries"], "<u8").astype(np.uint64)
    others = np.frombuffer(stored["stored"], "<u8").astype(np.uint64)
    levels = np.frombuffer(stored["levels"], np.uint8)
    similarities = np.frombuffer(stored["similarities"], "<f4").astype(np.float32)
    are_stored = np.frombuffer(stored["are_stored"], np.uint8) != 0
    count = len(queries)
    if (
        not len(others) == len(similarities) == len(are_stored) == count
        or len(levels) != FINGERPRINT_BITS * count
    ):
        raise CorruptError("the stored calibration has columns of unequal lengths")
    pairs = SampledPairs(queries, levels.reshape(count, FINGERPRINT_BITS), others)
    return Calibration(
        volatility.decode(stored["model"]),
        pairs,
        similarities,
        are_stored,
        a_whole(stored["document_count"], ORDINAL_COUNT_MAX),
        a_whole(stored["query_count"], ORDINAL_COUNT_MAX),
        covered_by(stored, is_unmoved=is_unmoved),
        _decode_delays(a_map(stored.get("delays", {}))),
    )


def _decode_delays(stored: Mapping[str, Any]) -> Delays:
    """The delays; the usual ones where an older version measured none, or not all of them."""
    known = {each.name for each in fields(Delays)}
    return replace(USUAL_DELAYS, **{name: _delay(stored[name]) for name in known & set(stored)})


def _delay(stored: Any) -> float:
    """The seconds that something takes, some at least."""
    seconds = a_number(stored)
    if seconds <= 0:
        raise ValueError(f"nothing takes {seconds} seconds")
    return seconds
