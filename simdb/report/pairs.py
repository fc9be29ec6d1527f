"""Pairs: the matches of documents drawn at random, and how similar they are.

Every pair has the same chance to be found from one of its ends, so the pairs found are a sample of
all pairs.  Pairs somewhat below the threshold are searched for, too: they show what another
threshold would change.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simdb.engine.snapshot import Snapshot
from simdb.ground.dtypes import F32, F64, I64, U8
from simdb.report.facts import Bin, Drawn, Limits, Threshold
from simdb.values.arrays import Id

# How far below the threshold pairs are shown, and the width of a bin of similarities.
BELOW = 0.1
BIN_WIDTH = 0.01
# About so many pairs are in memory at a time, or those of one document if it has more.
PAIRS_AT_ONCE = 1 << 20
SLICE_MOST, SLICE_SECONDS = 4096, 2.0
SIMILARITY, DISTANCE = "similarity", "distance"

Show = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Matched:
    """The drawn documents that were searched for, and how many documents match each."""

    ids: list[Id]
    counts: I64


@dataclass(slots=True)
class _Tally:
    """What was found so far; `edges`: where the bins begin, and where the last of them ends."""

    edges: F64
    counts: I64
    matches: list[I64]
    pairs: int = 0


def draw_pairs(
    snapshot: Snapshot, threshold: Threshold, limits: Limits, *, population: int, show: Show
) -> tuple[Drawn, Matched]:
    """Look up the matches of documents drawn at random, out of a `population` of documents."""
    is_measured = threshold.similarity is not None
    # A way to search that was asked for, or a bound of both kinds, is taken as it is.
    is_floored = is_measured and threshold.distance is None and threshold.search is None
    floor = _floor(threshold.similarity or 0.0) if is_floored else threshold.similarity or 0.0
    ids = snapshot.draw_ids(limits.sample, seed=limits.seed, weighted=is_measured)
    edges = _edges(floor) if is_measured else np.arange((threshold.distance or 0) + 2, dtype=float)
    tally = _Tally(edges, np.zeros(len(edges) - 1, np.int64), [])
    begun = time.monotonic()
    done, size, reason = 0, 1, ""
    while done < len(ids) and not reason:
        some, slice_begun = ids[done : done + size], time.monotonic()
        found = snapshot.query_many(ids=some, **threshold.asked | {"similarity": floor or None})
        most = _count(tally, found.offsets, found.similarities, found.distances, threshold)
        done += len(some)
        show(f"{done:,} of {len(ids):,} drawn documents looked up")
        each = (time.monotonic() - slice_begun) / len(some)
        size = next_size(size, most, each)
        reason = "" if done == len(ids) else _stop(limits, tally.pairs, time.monotonic() - begun)
    counts = np.concatenate([np.zeros(0, np.int64), *tally.matches])
    if not reason and done < population:
        reason = "--sample sets how many are drawn"
    # Without a reason, all documents were searched for: every pair was found from both ends.
    shown = tally.counts if reason else (tally.counts + 1) // 2
    bins = zip(edges[:-1].tolist(), edges[1:].tolist(), shown.tolist(), strict=True)
    drawn = Drawn(
        documents=done,
        of_documents=population,
        seed=limits.seed,
        reason=reason,
        pair_count=int(counts.sum()),
        matching_count=int((counts > 0).sum()),
        measure=SIMILARITY if is_measured else DISTANCE,
        floor=floor,
        is_floored=is_floored,
        bins=tuple(Bin(least, most, count) for least, most, count in bins),
    )
    return drawn, Matched(ids[:done], counts)


def _count(
    tally: _Tally, offsets: I64, similarities: F32, distances: U8, threshold: Threshold
) -> int:
    """Count the matches of some documents; returns the most matches of one of them."""
    if threshold.similarity is None:
        values: F64 = distances.astype(np.float64)
        is_match = np.ones(len(values), np.bool_)
    else:
        # Clipped: the correction of an estimate can lead past 1.
        values = np.clip(np.round(similarities.astype(np.float64), 6), tally.edges[0], 1.0)
        is_match = similarities >= np.float32(threshold.similarity)
    tally.counts += np.histogram(values, tally.edges)[0]
    sums = np.concatenate([[0], np.cumsum(is_match)])
    tally.matches.append(np.asarray(sums[offsets[1:]] - sums[offsets[:-1]], np.int64))
    tally.pairs += len(values)
    return int(np.diff(offsets).max(initial=0))


def next_size(size: int, most: int, seconds: float) -> int:
    """Return how many documents to look up next.

    One of the last `size` documents had `most` matches, and each took so many `seconds`.
    """
    in_time = int(SLICE_SECONDS / max(seconds, 1e-9))
    return max(1, min(2 * size, SLICE_MOST, PAIRS_AT_ONCE // max(most, 1), in_time))


def _floor(similarity: float) -> float:
    """Return the similarity from which on pairs are searched for: a round number."""
    return max(math.floor((similarity - BELOW) / BIN_WIDTH + 1e-6) * BIN_WIDTH, BIN_WIDTH)


def _edges(floor: float) -> F64:
    """Return the edges of bins from `floor` to 1: round numbers, but the first."""
    first = math.floor(floor / BIN_WIDTH + 1e-6)
    edges = np.arange(first, round(1 / BIN_WIDTH) + 1) * BIN_WIDTH
    if len(edges) == 1:
        edges = np.array([1 - BIN_WIDTH, 1.0])
    edges[0], edges[-1] = min(floor, edges[1] - 1e-9), 1.0
    return np.round(edges, 9)


def _stop(limits: Limits, pairs: int, seconds: float) -> str:
    """Return why the search ends before all drawn documents were searched for, or an empty text."""
    if pairs >= limits.pairs:
        return f"the search ended after {limits.pairs:,} pairs"
    if seconds >= limits.seconds:
        return f"the search ended after {limits.seconds:g} seconds"
    return ""
