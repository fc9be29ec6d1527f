"""Glimpse: a sample of pairs within a distance, drawn from a collection when a plan needs it.

The number of headers to look up for a given recall depends on the collection.  To see where flips
fall, up to `CHANGED` stored documents are changed as edits might change them (`plan.copied`).
Where many documents are near each other by accident, any bit can flip.  So unchanged documents are
also looked up, by the cheapest exact plan and within a fixed budget of work.  A plan must reach its
recall in both groups, so it holds for edited queries and for new documents of the same kind.

If no weights are stored, the sample comes from the first batch of at least `QUERIES_LEAST` queries.
These have weights, and some of them are looked up exactly.  Without such a batch, stored documents
are looked up.  The probabilities of their flips are unknown, so all bits count as equally likely to
flip.  If there are such pairs, the search is nearly exact.

A calibration gives better evidence: it uses documents like the queries, and more of them.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from simdb import plan
from simdb.core.arrays import BARE, WEIGHTED, Sketches, random_numbers, sorted_unique
from simdb.core.bits import FINGERPRINT_BITS, is_set
from simdb.core.dtypes import F64, U8, U32, U64, Array
from simdb.core.options import AUTO, BPHS
from simdb.core.vector_form import fingerprints_of, unpack
from simdb.plan import volatility
from simdb.storage import layout

# Limits on the documents that are changed and that are looked up, and seconds of one core for the
# look-ups.
CHANGED, ASKED = 512, 4096
SECONDS = 0.02
# Least number of documents in stored pairs, and the confidence that their share must have.
PAIRED_LEAST, LIKELY = 10, 0.8
# If they are too few for this confidence, the allowed loss of matches is divided by this number.
CAUTION = 3
# If there are few stored pairs, pairs that are up to this number of bits further apart are added.
WIDER = 2
# Number of random stored pairs that is enough.
PAIRS = 4096
PART = 64


class Collection(Protocol):
    """The stored documents, as a state gives them."""

    @property
    def next_ordinal(self) -> int:
        """One more than the largest ordinal."""

    @property
    def dead(self) -> U8 | None:
        """The bitmap of deleted documents."""

    def column(self, column: int, ordinals: U32) -> Array:
        """Return the values of a column."""

    def vectors(self, ordinals: U32 | None = None) -> Any:
        """Return the volatility vectors."""

    def tables(self, flips: tuple[int, ...] = ()) -> Any:
        """Return the tables that a plan with these flips looks up."""

    def scanned(self) -> Any:
        """Return tables whose fingerprints can all be compared with each query."""


def glimpse(
    collection: Collection, problem: plan.Problem[plan.Population], queries: Sketches | None = None
) -> plan.FlipEvidence | None:
    """Return evidence from pairs within the distance of the criterion; None if there are too few.

    If no document has weights, only pairs of some `queries`, or stored pairs, say more than the
    prior.  A noise that was given to `calibrate` replaces stored pairs.
    """
    criterion, known = problem.criterion, problem.calibration
    assert criterion.distance is not None
    noise = None if known is None else known.noise
    generator = random_numbers(0)
    certain = replace(criterion, recall=1.0, method=AUTO, is_weighted=False)
    exact = plan.choose(plan.Problem(certain, problem.population))
    affordable = int(SECONDS / max(exact.cost_seconds, plan.USUAL_DELAYS.memory))
    asked = 0 if noise is not None else min(affordable, ASKED)
    chosen, is_bare = _drawn(collection, max(asked, CHANGED), generator)
    if len(chosen) < 2:
        return None
    weights = (_made_weights if is_bare else _weights)(collection, chosen)
    some = weights[generator.permutation(len(weights))[:CHANGED]]
    lost = generator.uniform(-1, 1, some.shape) * (0 if is_bare else plan.STORED_STEP / 2)
    found = plan.copied(
        some + lost, None, criterion.distance,
        is_stored=criterion.is_stored, noise=noise, generator=generator,
        origin="the prior" if is_bare
        else f"changed copies of {len(some):,} documents of this collection",
    )  # fmt: skip
    if found.pairs.query_count < plan.QUERIES_LEAST:
        return None
    flips = exact.table_flips if exact.method == BPHS else None
    pairs_of = partial(_pairs, collection, criterion, flips, generator)
    pairs, kind = None, "pairs of queries"
    if is_bare and queries is not None and len(queries) >= plan.QUERIES_LEAST:
        pairs = _pairs_of_queries(pairs_of, queries, asked, generator)
    lacks_weights = is_bare and pairs is None
    if pairs is None:
        some, levels = weights[:asked], volatility.levels(weights[:asked])
        pairs = pairs_of(fingerprints_of(some), levels, own=chosen[:asked])
        kind = "stored pairs" + " without weights" * is_bare
    if pairs.query_count < PAIRED_LEAST:
        return None if is_bare else found
    are_few = plan.least_reached(criterion.recall, pairs.query_count, LIKELY) > pairs.query_count
    # A pair from a wider criterion counts as if it were just within the real one.
    within = np.minimum(plan.distances(pairs), criterion.distance)
    stored = replace(found, pairs=pairs, distances=within)
    every = plan.combined(found, stored, f"{found.origin}, and {len(pairs):,} {kind}")
    caution = CAUTION if are_few else found.caution
    return replace(every, confidence=LIKELY, caution=caution, lacks_weights=lacks_weights)


def _drawn(
    collection: Collection, count: int, generator: "np.random.Generator"
) -> tuple[U32, bool]:
    """Return ordinals of about `count` random documents, and whether none has weights."""
    every = collection.next_ordinal
    if every <= count:
        chosen = generator.permutation(every)
    else:
        chosen = generator.permutation(sorted_unique(generator.integers(0, every, count)))
    ordinals = chosen.astype(np.uint32)
    if collection.dead is not None:
        ordinals = ordinals[~is_set(collection.dead, ordinals)]
    states = collection.column(layout.STATE, ordinals)
    is_bare = WEIGHTED not in states
    return ordinals[states == (BARE if is_bare else WEIGHTED)], is_bare


def _pairs_of_queries(
    pairs_of: Callable[[U64, U8], plan.SampledPairs],
    queries: Sketches,
    most: int,
    generator: "np.random.Generator",
) -> plan.SampledPairs | None:
    """Return the pairs of at most `most` queries with weights; None if too few have any."""
    if queries.levels is None:
        return None
    some = generator.permutation(np.flatnonzero(queries.states == WEIGHTED))[:most]
    pairs = pairs_of(queries.bits[some], queries.levels[some])
    return pairs if pairs.query_count >= PAIRED_LEAST else None


def _pairs(
    collection: Collection,
    criterion: plan.Criterion,
    flips: tuple[int, ...] | None,
    generator: "np.random.Generator",
    bits: U64,
    levels: U8,
    own: U32 | None = None,
) -> plan.SampledPairs:
    """Return pairs of some documents and any stored ones within the distance.

    `own`: the ordinals of the documents, if they are stored.  `flips`: the flips of each table;
    None compares the documents with all others.  Then, if there are too few pairs to be sure of the
    recall, pairs that are a little further apart are added.
    """
    assert criterion.distance is not None
    limit = min(criterion.distance + (WIDER if flips is None else 0), FINGERPRINT_BITS)
    tables = collection.scanned() if flips is None else collection.tables(flips)
    places, ordinals = [np.empty(0, np.int64)], [np.empty(0, np.uint32)]
    for start in range(0, len(bits), PART):
        part = bits[start : start + PART]
        if flips is None:
            asked = tables.scan(part, distance=limit, first=False, after=None)
        else:
            asked = tables.lookup(part, distance=limit, flips=flips, first=False, after=None)
        offsets, found, differing = asked
        at = start + np.repeat(np.arange(len(part)), np.diff(offsets))
        kept = differing > 0
        if own is not None:
            kept &= found != own[at]
        places.append(at[kept])
        ordinals.append(found[kept])
    at, found = np.concatenate(places), np.concatenate(ordinals)
    stored = np.asarray(collection.column(layout.FINGERPRINT, found), np.uint64)
    every = plan.SampledPairs(bits[at], levels[at], stored)
    near = every
    for further in range(limit - criterion.distance + 1):
        chosen = np.flatnonzero(plan.distances(every) <= criterion.distance + further)
        near = every.taken(generator.permutation(chosen)[:PAIRS])
        count = near.query_count
        if plan.least_reached(criterion.recall, count, LIKELY) <= count:
            break
    return near


def _weights(collection: Collection, ordinals: U32) -> F64:
    """Return the rounded weights of stored documents."""
    vectors = collection.vectors(ordinals).gather(ordinals)
    return unpack(vectors).astype(np.float64)


def _made_weights(collection: Collection, ordinals: U32) -> F64:
    """Return random normal weights with the signs of stored fingerprints."""
    bits = np.asarray(collection.column(layout.FINGERPRINT, ordinals), np.uint64)
    are_set = bits[:, None] >> np.arange(FINGERPRINT_BITS, dtype=np.uint64) & np.uint64(1)
    made = np.abs(random_numbers(0).standard_normal(are_set.shape))
    return np.where(are_set, made, -made)
