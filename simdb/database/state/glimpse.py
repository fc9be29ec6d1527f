"""Glimpse: a sample of pairs within a distance, drawn from a collection when a plan needs it.

How many headers a search must look up for a recall depends on the collection: where most matches
are edits of one another, the most volatile bits differ; where many documents are near by accident,
any bits do.  So stored documents are changed as edits might change them (`recall.perturbed`) and
compared with all fingerprints, and so are some stored documents as they are.  A plan must reach its
recall in each of the two groups, so that it holds for edited queries and for new documents of the
same kind.

A calibration does more: it takes documents like the queries, and more of them.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np

from simdb.core.arrays import WEIGHTED
from simdb.core.bits import FINGERPRINT_BITS
from simdb.core.dtypes import F64, I64, U8, U32, Array
from simdb.core.vector_form import fingerprints_of, unpack
from simdb.plan import (
    QUERIES_LEAST,
    STORED_STEP,
    FlipEvidence,
    SampledPairs,
    distances,
    joined,
    perturbed,
    volatility,
)
from simdb.storage import layout

# Stored documents of the sample; the comparisons of fingerprints that it may take, in each group.
SAMPLE = 512
COMPARISONS = 1 << 29
# Changed documents of each, since few of them differ in just so many bits.
COPIES = 4
# Changed documents are so many bits further apart on average than a match may be.
FURTHER = 2
# A document with many matches says little more than one with few.
MATCHES_MOST = 8
PART = 64


class Collection(Protocol):
    """The stored documents, as a state gives them."""

    def live(self) -> U32:
        """Return the ordinals of all documents."""

    def column(self, column: int, ordinals: U32) -> Array:
        """Return the values of a column."""

    def vectors(self, ordinals: U32 | None = None) -> Any:
        """Return the volatility vectors."""

    def scanned(self) -> Any:
        """Return tables whose fingerprints can all be compared with each query."""


class ComparedSketches(NamedTuple):
    """Documents that are compared with all; `own`: the ordinals that do not count, each its own."""

    weights: F64
    own: U32 | None


def glimpse(collection: Collection, distance: int, *, is_stored: bool) -> FlipEvidence | None:
    """Return pairs within `distance`, at least 1; None if too few documents have weights.

    `is_stored`: the queries will be stored documents, whose weights are rounded.
    """
    generator = np.random.default_rng(0)
    live = collection.live()
    count = min(SAMPLE, max(COMPARISONS // max(len(live), 1), QUERIES_LEAST), len(live))
    chosen = np.sort(generator.choice(live, count, replace=False)).astype(np.uint32)
    chosen = chosen[collection.column(layout.STATE, chosen) == WEIGHTED]
    if len(chosen) < 2:
        return None
    weights = _weights(collection, chosen)
    changed = _changed(weights, distance, count, generator, is_stored)
    every = [ComparedSketches(changed, None), ComparedSketches(weights, chosen)]
    found = [_pairs(collection, asked, distance, generator) for asked in every]
    kept = [pairs for pairs in found if pairs[0].query_count >= QUERIES_LEAST]
    if found[0][0].query_count < QUERIES_LEAST:
        return None
    return _evidence(kept, len(live), distance, generator)


def _changed(
    weights: F64, distance: int, count: int, generator: np.random.Generator, is_stored: bool
) -> F64:
    """Return at most `count` changed documents within `distance` of the stored ones."""
    originals = np.tile(weights, (COPIES, 1))
    further = min(distance + FURTHER, FINGERPRINT_BITS)
    changed = perturbed(originals, distance=further, generator=generator, is_rounded=is_stored)
    differing: U8 = np.bitwise_count(fingerprints_of(originals) ^ fingerprints_of(changed))
    return changed[(differing > 0) & (differing <= distance)][:count]


def _pairs(
    collection: Collection, asked: ComparedSketches, distance: int, generator: np.random.Generator
) -> tuple[SampledPairs, F64, F64]:
    """Return the pairs of some documents with all that match, and the weights of both sides."""
    bits = fingerprints_of(asked.weights)
    places, ordinals = [np.empty(0, np.int64)], [np.empty(0, np.uint32)]
    for start in range(0, len(bits), PART):
        offsets, found, distances = collection.scanned().scan(
            bits[start : start + PART], distance=distance, first=False, after=None
        )
        at = start + np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        kept = (distances > 0) & (collection.column(layout.STATE, found) == WEIGHTED)
        if asked.own is not None:
            kept &= found != asked.own[at]
        chosen = _a_few(at[kept], generator)
        places.append(at[kept][chosen])
        ordinals.append(found[kept][chosen])
    at, found = np.concatenate(places), np.concatenate(ordinals)
    left, right = asked.weights[at], _weights(collection, found)
    pairs = SampledPairs(bits[at], volatility.levels(left), fingerprints_of(right))
    return pairs, left, right


def _a_few(places: I64, generator: np.random.Generator) -> I64:
    """Return at most `MATCHES_MOST` positions of each of some ascending places, at random."""
    order = np.lexsort((generator.random(len(places)), places))
    first = np.searchsorted(places, places)
    found: I64 = order[np.arange(len(places)) - first < MATCHES_MOST]
    return found


def _evidence(
    found: list[tuple[SampledPairs, F64, F64]],
    documents: int,
    distance: int,
    generator: np.random.Generator,
) -> FlipEvidence:
    """Return the pairs of all groups, in random order, and the model learnt from them."""
    left, right = (np.concatenate([each[side] for each in found]) for side in (1, 2))
    model = volatility.fit(left, right, documents=documents, distance=distance, step=STORED_STEP)
    pairs = joined([each[0] for each in found])
    kind = np.repeat(np.arange(len(found)), [len(each[0]) for each in found])
    order = generator.permutation(len(pairs))
    pairs, kind = pairs.taken(order), kind[order]
    groups = tuple(np.flatnonzero(kind == number) for number in range(len(found)))
    costs = volatility.costs(model)
    return FlipEvidence(pairs, distances(pairs), costs, is_measured=True, groups=groups)


def _weights(collection: Collection, ordinals: U32) -> F64:
    """Return the weights of stored documents, as they are rounded."""
    vectors = collection.vectors(ordinals).gather(ordinals)
    return unpack(vectors).astype(np.float64)
