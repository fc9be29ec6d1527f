"""Calibration: a sample of the similar pairs of a collection, and the model learnt from it.

A pair has a query side and a stored side, as in a search.  The volatility model is learnt from the
pairs.  If the query is a stored document, its weights are rounded, and tell less about the order of
its bits than exact weights.  So both kinds of queries have their own pairs.  The planner reads from
the sample how far a search must go for a recall.  If too few pairs satisfy a criterion, or there is
no calibration, it uses changed copies of stored or random documents (`copied`).

A calibration covers the documents that were stored when it was made, with ordinals below `covered`.
Later documents may differ.  Once they are many, a search also finds the documents that it would
find without the calibration.
"""

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from simdb.core.arrays import random_numbers
from simdb.core.bits import FINGERPRINT_BITS
from simdb.core.checks import a_map, a_number, a_whole, expecting
from simdb.core.dtypes import F32, F64, Bools
from simdb.core.errors import CorruptError
from simdb.core.values import asdict, dataclass, fields, replace
from simdb.plan import recall, volatility
from simdb.plan.recall import FlipEvidence, SampledPairs
from simdb.plan.volatility import VolatilityModel

QUERIES_LEAST = 100  # queries of a sample; certainty of a recall of .95 needs 59
# With too few queries, less similar pairs are used, too, which are harder to reach.  Each step
# lowers the similarity by this, and adds 1 bit of distance.
WIDER_SIMILARITY = 0.02
WIDER_STEPS = 4
SUPPOSED, DIMENSIONS = 1536, 64  # random documents in place of stored ones, and their weights
# A sample has all pairs within SAMPLED_DISTANCE.  With weights, it also has nearly all pairs within
# WEIGHED_DISTANCE, and nearly all of SAMPLED_SIMILARITY, which is shown as .8.  It has only the
# easiest of all pairs that are further apart or less similar.
SAMPLED_DISTANCE, WEIGHED_DISTANCE, SAMPLED_SIMILARITY = 6, 12, 0.79
# Pairs of the prior are exactly at the similarity asked for, unlike measured pairs.
PRIOR_CAUTION = 3
# Any number of copies can be made, so the expected share is demanded, without a margin.
EVEN = 0.5
NEARBY = 2  # up to this distance, differing bits tell little about the change of a document
NOISE_LEAST, NOISE_MOST = 0.05, 0.3  # that a caller can give
ORDINAL_COUNT_MAX = 1 << 32  # ordinals are uint32


@dataclass(frozen=True, slots=True)
class Delays:
    """The seconds that each step of a search takes on one core.

    The defaults are from one fast machine; `Database.calibrate` measures the machine that it runs
    on.  The first five are delta_R, delta_L, delta_P, delta_V and delta_S of Sood & Loguinov 2011,
    equations (8) to (26).  The rest are for steps that the paper does not count.
    """

    memory: float = 30e-9  # one random access to main memory, prefetched
    compare: float = 0.12e-9  # the Hamming distance of one fingerprint in a linear scan
    permute: float = 0.6e-9  # bringing the bits of one fingerprint into the order of a table
    flip: float = 2.3e-9  # finding one flip set, times log2 of the number of sets
    sort: float = 0.85e-9  # sorting one fingerprint, times log2 of the number of fingerprints
    measure: float = 4.5e-9  # the similarity of one stored volatility vector, in stored order
    candidate: float = 120e-9  # collecting and measuring one candidate within the distance
    visit: float = 1e-9  # the distance of one fingerprint under a header, from main memory
    prepare: float = 60e-9  # preparing the search for the likely headers of one table


USUAL_DELAYS = Delays()


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """A sample of similar pairs of a collection and the model learnt from it.

    `Database.calibrate` makes and stores it.

    Attributes
    ----------
    model : VolatilityModel
        How much the weights of similar documents differ.
    pairs : SampledPairs
        The pairs.
    similarities : ndarray
        The similarity of each pair, as the kernel measures it: float32[n].
    are_stored : ndarray
        Whether the query side of each pair is a stored document: bool[n].
    document_count : int
        Number of documents in the collection.
    query_count : int
        Number of documents whose similar documents were searched for.
    covered : int
        The calibration covers documents with ordinals below this.
    delays : Delays
        The speed of the machine that made it.
    noise : float or None
        The noise of changes that a caller gave instead of a sample.  It holds for documents
        inserted at any time.
    """

    model: VolatilityModel
    pairs: SampledPairs
    similarities: F32
    are_stored: Bools
    document_count: int
    query_count: int
    covered: int
    delays: Delays = USUAL_DELAYS
    noise: float | None = None

    def matching(self, similarity: float | None, distance: int | None) -> Bools:
        """Return whether each pair satisfies a criterion.

        Parameters
        ----------
        similarity : float or None
            The least similarity, as the kernel measures it.
        distance : int or None
            The largest number of differing bits.  Pairs at distance 0 are excluded: any search
            finds them, so they tell nothing about other pairs.

        Returns
        -------
        ndarray of bool, shape (n,)
            Whether each pair does.
        """
        found = np.ones(len(self.pairs), np.bool_)
        if similarity is not None:
            found &= self.similarities >= np.float32(similarity)
        if distance is not None:
            distances = recall.distances(self.pairs)
            found &= (distances > 0) & (distances <= distance)
        return found


@lru_cache(64)
def evidence(
    calibration: Calibration | None,
    similarity: float | None,
    distance: int | None,
    *,
    is_stored: bool,
) -> FlipEvidence:
    """Return the matching pairs of the calibration if there are enough, or pairs of the prior.

    `is_stored`: whether the queries are stored documents.  For a similarity, pairs of stored
    documents also serve other queries if there are no better pairs.  A search that reaches a pair
    by rounded weights reaches it by exact weights, too.
    """
    if calibration is not None and calibration.noise is None:
        for step in range(WIDER_STEPS):
            found = _measured(calibration, similarity, distance, is_stored, step)
            if found is not None:
                return found
    noise = None if calibration is None else calibration.noise
    return _supposed(similarity, distance, is_stored, noise)


def _measured(
    calibration: Calibration,
    similarity: float | None,
    distance: int | None,
    is_stored: bool,
    step: int,
) -> FlipEvidence | None:
    """Return the matching pairs for a criterion widened by `step` steps; None if too few.

    Also returns None if the sample lacks some pairs that satisfy the criterion.
    """
    most = SAMPLED_DISTANCE if np.isnan(calibration.similarities).any() else WEIGHED_DISTANCE
    limit = FINGERPRINT_BITS if distance is None else distance
    if limit > most and (similarity is None or similarity < SAMPLED_SIMILARITY):
        return None
    matching = calibration.matching(
        None if similarity is None else similarity - step * WIDER_SIMILARITY,
        None if distance is None else distance + step,
    )
    every = [calibration.are_stored == is_stored]
    if similarity is not None:
        every.append(calibration.are_stored)
    for chosen in every:
        pairs = calibration.pairs.taken(matching & chosen)
        count = pairs.query_count
        if count >= QUERIES_LEAST:
            # A pair of the wider criterion counts as if it were at the limit of the real one.
            distances = np.minimum(recall.distances(pairs), limit)
            costs = volatility.costs(calibration.model)
            return FlipEvidence(pairs, distances, costs, f"{len(pairs):,} sampled pairs", True)
    return None


@lru_cache(64)
def _supposed(
    similarity: float | None, distance: int | None, is_stored: bool, noise: float | None
) -> FlipEvidence:
    """Return pairs of random documents with normal weights, at the cosines of the prior."""
    generator = random_numbers(1)
    weights = generator.standard_normal((SUPPOSED, DIMENSIONS))
    return copied(
        weights, similarity, distance,
        is_stored=is_stored, noise=noise, origin="the prior alone", generator=generator,
    )  # fmt: skip


def copied(
    weights: F64,
    similarity: float | None,
    distance: int | None,
    *,
    is_stored: bool,
    noise: float | None,
    origin: str,
    generator: "np.random.Generator",
) -> FlipEvidence:
    """Return pairs of documents and changed copies, from weights float64[n, d], as sample matches.

    For a similarity, the copies are at this cosine, the least that matches.  `noise`: see
    `volatility.prior`.
    """
    limit = FINGERPRINT_BITS if distance is None else distance
    cosines, caution = volatility.cosines_within(limit), 1 if limit > NEARBY else 2
    if similarity is not None:
        cosines, caution, noise = np.full_like(cosines, similarity), PRIOR_CAUTION, None
    elif noise is not None:
        cosines, caution = np.full_like(cosines, 1.0 / math.hypot(1.0, noise)), 1
        origin = f"noise {noise:g} as given"
    pairs = recall.changed_copies(
        weights, cosines, least=int(similarity is None), distance=limit,
        generator=generator, is_stored=is_stored,
    )  # fmt: skip
    costs = volatility.costs(volatility.prior(noise))
    return FlipEvidence(
        pairs, recall.distances(pairs), costs, origin, confidence=EVEN, caution=caution
    )


def delays_of(calibration: Calibration | None) -> Delays:
    """Return the delays of the calibration, or the defaults without a calibration."""
    return USUAL_DELAYS if calibration is None else calibration.delays


def encode_calibration(calibration: Calibration) -> dict[str, Any]:
    """Return the calibration in plain types, for storing."""
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
        **({} if calibration.noise is None else {"noise": calibration.noise}),
    }


@expecting("the stored calibration")
def covered_by(stored: Mapping[str, Any]) -> int:
    """Return the ordinal below which a stored calibration covers all documents.

    If none is stored, it is 0: the calibration then covers no document.
    """
    return a_whole(stored.get("covered", 0), ORDINAL_COUNT_MAX + 1)


@expecting("the stored calibration")
def decode_calibration(stored: Mapping[str, Any]) -> Calibration:
    """Decode the map of `encode_calibration`.

    Raises CorruptError if its arrays do not fit together.
    """
    stored = a_map(stored)
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
    noise = stored.get("noise")
    if noise is not None and not is_noise(noise):
        raise CorruptError(f"the stored calibration has the noise {noise!r}")
    pairs = SampledPairs(queries, levels.reshape(count, FINGERPRINT_BITS), others)
    return Calibration(
        volatility.decode(stored["model"]),
        pairs,
        similarities,
        are_stored,
        a_whole(stored["document_count"], ORDINAL_COUNT_MAX),
        a_whole(stored["query_count"], ORDINAL_COUNT_MAX),
        covered_by(stored),
        _decode_delays(a_map(stored.get("delays", {}))),
        noise,
    )


def is_noise(value: object) -> bool:
    """Return whether a value is a possible noise: a number from `NOISE_LEAST` to `NOISE_MOST`."""
    is_number = isinstance(value, int | float | np.floating) and not isinstance(value, bool)
    return is_number and NOISE_LEAST <= value <= NOISE_MOST  # type: ignore[operator]


def _decode_delays(stored: Mapping[str, Any]) -> Delays:
    """Decode the delays, with defaults for delays that an older version did not measure.

    Raises ValueError unless they are above 0.
    """
    known = {each.name for each in fields(Delays)}
    seconds = {name: a_number(stored[name]) for name in known & set(stored)}
    if any(each <= 0 for each in seconds.values()):
        raise ValueError(f"delays must be above 0 seconds, not {seconds}")
    return replace(USUAL_DELAYS, **seconds)
