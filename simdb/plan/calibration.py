"""A calibration: what the similar documents of a collection have shown.

It holds a sample of pairs as the search meets them, one side asking and the other stored, and the
volatility model learnt from it.  The planner reads off the sample how far to go for a recall; for
a criterion that too few of the pairs satisfy, and where nothing was calibrated, it makes pairs of
its own, as `recall.synthetic_pairs` has them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.bits import FINGERPRINT_BITS
from simdb.errors import CorruptError
from simdb.plan import recall, volatility
from simdb.plan.recall import SampledPairs
from simdb.plan.volatility import VolatilityModel

# Fewer pairs than this say too little: a recall of .95 needs 59 to be sure of it.
PAIRS_LEAST = 100
SYNTHETIC_PAIRS = 4000
# Without data nobody knows how much similar documents differ.  Pairs within a distance are taken
# from documents whose fingerprints are so many bits further apart in the mean, for which their
# order tells less.
DISTANCE_CAUTION = 2


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """A sample of similar pairs of a collection and what was learnt from it.

    `similarities` float32[n] of the pairs; `document_count`: how large the collection was;
    `query_count`: how many documents were asked for theirs.
    """

    model: VolatilityModel
    pairs: SampledPairs
    similarities: npt.NDArray[np.float32]
    document_count: int
    query_count: int


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What the planner goes by for one criterion: pairs that satisfy it, and costs of flips."""

    pairs: SampledPairs
    distances: npt.NDArray[np.int64]
    costs: npt.NDArray[np.uint8]
    is_measured: bool


def evidence(
    calibration: Calibration | None, similarity: float | None, distance: int | None
) -> Evidence:
    """The pairs of the calibration that match, if they are enough; otherwise synthetic ones."""
    if calibration is not None:
        distances = recall.distances(calibration.pairs)
        matching = np.ones(len(distances), np.bool_)
        if similarity is not None:
            matching &= calibration.similarities >= np.float32(similarity)
        if distance is not None:
            matching &= distances <= distance
        if matching.sum() >= PAIRS_LEAST:
            pairs = calibration.pairs.taken(matching)
            costs = volatility.costs(calibration.model)
            return Evidence(pairs, distances[matching], costs, True)
    return _synthetic(similarity, distance)


@lru_cache(64)
def _synthetic(similarity: float | None, distance: int | None) -> Evidence:
    cautious = similarity
    if similarity is None and distance is not None:
        further = min(FINGERPRINT_BITS, distance + DISTANCE_CAUTION)
        cautious = volatility.prior_similarity(None, further)
    model = volatility.prior(similarity=cautious)
    pairs = recall.synthetic_pairs(SYNTHETIC_PAIRS, seed=1, similarity=cautious, distance=distance)
    return Evidence(pairs, recall.distances(pairs), volatility.costs(model), False)


def encode_calibration(calibration: Calibration) -> dict[str, Any]:
    """The calibration in plain types, to be stored."""
    return {
        "model": volatility.encode(calibration.model),
        "queries": calibration.pairs.queries.astype("<u8").tobytes(),
        "levels": calibration.pairs.levels.tobytes(),
        "stored": calibration.pairs.stored.astype("<u8").tobytes(),
        "similarities": calibration.similarities.astype("<f4").tobytes(),
        "document_count": calibration.document_count,
        "query_count": calibration.query_count,
    }


def decode_calibration(stored: Mapping[str, Any]) -> Calibration:
    """What `encode_calibration` wrote; CorruptError for arrays that do not fit together."""
    queries = np.frombuffer(stored["queries"], "<u8").astype(np.uint64)
    others = np.frombuffer(stored["stored"], "<u8").astype(np.uint64)
    levels = np.frombuffer(stored["levels"], np.uint8)
    similarities = np.frombuffer(stored["similarities"], "<f4").astype(np.float32)
    count = len(queries)
    if not len(others) == len(similarities) == count or len(levels) != FINGERPRINT_BITS * count:
        raise CorruptError("the stored calibration has columns of unequal lengths")
    pairs = SampledPairs(queries, levels.reshape(count, FINGERPRINT_BITS), others)
    return Calibration(
        volatility.decode(stored["model"]), pairs, similarities, stored["document_count"],
        stored["query_count"],
    )  # fmt: skip
