"""Gathering: collects the facts about a database, within limits.

The matches of documents drawn at random show how similar pairs are.  Every pair has the same
chance to be found from one of its ends, so the pairs found are a sample of all pairs.  Pairs
somewhat below the threshold are searched for, too: they show what another threshold would change.
"""

import math
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any

import numpy as np

from simdb.core.arrays import Id, sums_of
from simdb.core.clusters import Clusters
from simdb.core.dtypes import F32, F64, I64, U8
from simdb.core.matches import PairArrays
from simdb.core.options import BY_DISTANCE
from simdb.core.reports import Statistics
from simdb.database import Database, Question, Snapshot
from simdb.jobs.report.excerpts import beginning, compared
from simdb.jobs.report.facts import (
    Bin,
    Drawn,
    Facts,
    Group,
    Groups,
    Limits,
    Member,
    SizeBin,
    Threshold,
    file_times,
    options_in_words,
    sections_in_words,
)

# The least sizes of groups that are counted together.
SIZE_STEPS = (2, 3, 4, 6, 11, 21, 51, 101, 1001, 10_001)
# Of a larger group, so many documents are compared with the first one.
COMPARED_MEMBERS = 1000
SHOWN_MEMBERS = 3
# So many candidates for the largest groups are looked at for each that is shown.
CANDIDATES = 5

# How far below the threshold pairs are shown, and the width of a bin of similarities.
BELOW = 0.1
BIN_WIDTH = 0.01
# About so many pairs are in memory at a time, or those of one document if it has more.
PAIRS_AT_ONCE = 1 << 20
SLICE_MOST, SLICE_SECONDS = 4096, 2.0
SIMILARITY, DISTANCE = "similarity", "distance"

Texts = Callable[[Collection[Id]], Mapping[Id, str]]
Show = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Matched:
    """The drawn documents that were searched for, and how many documents match each."""

    ids: list[Id]
    counts: I64


def gather(
    database: Database,
    question: Question,
    *,
    limits: Limits | None = None,
    texts: Texts | None = None,
    show: Show = lambda state: None,
) -> Facts:
    """Collect what a page says; `question`: when documents match, and how they are searched for.

    `texts` gives the texts of some ids, as far as they are known.  `show` is called with what is
    being done.  Raises OptionError for an impossible threshold.
    """
    limits = limits or Limits()
    show("reading sizes")
    statistics = database.stats()
    with database.read() as snapshot:
        threshold = _threshold(database, snapshot, question)
        drawn, groups = _searched(snapshot, statistics, threshold, limits, show)
    wanted = shown_ids(groups)
    missing = 0
    if texts is not None:
        known = texts(wanted)
        missing = len(wanted - known.keys())
        groups = with_texts(groups, known)
    show("reading headers")
    created, written = file_times(statistics.path)
    return Facts(
        statistics=statistics,
        created=created,
        written=written,
        sketch=options_in_words(database.options),
        sections=sections_in_words(
            statistics.section_bytes, is_minhash=database.options.is_minhash
        ),
        threshold=threshold,
        drawn=drawn,
        groups=groups,
        headers=database.header_fill(),
        advice=tuple(database.advice()),
        made=datetime.now(timezone.utc),
        has_texts=texts is not None,
        missing_texts=missing,
    )


def _threshold(database: Database, snapshot: Snapshot, question: Question) -> Threshold:
    """Return when documents match: as asked for, or by the defaults of the database."""
    options = database.options
    similarity, distance, recall = question.similarity, question.distance, question.recall
    plan = snapshot.plan(
        similarity=similarity, distance=distance, recall=recall, search=question.search, pairs=True
    )
    if not question.has_bound:
        if plan.similarity is None or options.keep_clusters == BY_DISTANCE:
            distance = options.distance
        else:
            similarity = options.similarity
    recall = options.recall if recall is None else recall
    return Threshold(similarity, distance, recall, question.search)


def _searched(
    snapshot: Snapshot,
    statistics: Statistics,
    threshold: Threshold,
    limits: Limits,
    show: Callable[[str], None],
) -> tuple[Drawn, Groups]:
    population = statistics.document_count - statistics.empty_count
    if threshold.similarity is not None:
        population -= statistics.bare_count
    drawn, matched = draw_pairs(snapshot, threshold, limits, population=population, show=show)
    show("finding groups")
    if population <= limits.grouped_documents:
        return drawn, all_groups(snapshot, threshold, limits)
    return drawn, drawn_groups(snapshot, threshold, limits, matched, population)


def all_groups(snapshot: Snapshot, threshold: Threshold, limits: Limits) -> Groups:
    """Return the groups of all documents: connected by chains of matches."""
    clusters = snapshot.find_clusters(**threshold.asked)
    sizes = clusters.sizes
    ones = np.ones(len(sizes))
    return Groups(
        is_complete=True,
        group_count=len(clusters),
        grouped_count=int(sizes.sum()),
        sizes=_size_bins(sizes, ones, sizes.astype(np.float64)),
        largest=_largest_clusters(snapshot, clusters, limits.groups),
    )


def drawn_groups(
    snapshot: Snapshot, threshold: Threshold, limits: Limits, matched: Matched, population: int
) -> Groups:
    """Return an estimate by drawn documents, out of a `population` of documents."""
    has_match = matched.counts > 0
    sizes = matched.counts[has_match] + 1
    each = population / len(matched.ids) if matched.ids else 0.0
    in_groups, in_documents = each / sizes, np.full(len(sizes), each)
    return Groups(
        is_complete=False,
        group_count=round(float(in_groups.sum())),
        grouped_count=round(float(in_documents.sum())),
        sizes=_size_bins(sizes, in_groups, in_documents),
        largest=_largest_drawn(snapshot, threshold, limits, matched),
    )


def shown_ids(groups: Groups) -> set[Id]:
    """Return the ids of all documents that are shown."""
    return {member.id for group in groups.largest for member in group.members}


def with_texts(groups: Groups, texts: Mapping[Id, str]) -> Groups:
    """Return the groups with the texts of their documents, compared with that of the first."""
    return replace(groups, largest=tuple(_group_with_texts(each, texts) for each in groups.largest))


def _size_bins(sizes: I64, in_groups: F64, in_documents: F64) -> tuple[SizeBin, ...]:
    """Return how many groups, and documents in them, there are by size, up to the largest."""
    if not len(sizes):
        return ()
    places = np.searchsorted(SIZE_STEPS, sizes, side="right") - 1
    bins = []
    for at in range(int(places.max()) + 1):
        inside = places == at
        is_last = at + 1 == len(SIZE_STEPS)
        bins.append(
            SizeBin(
                least=SIZE_STEPS[at],
                most=None if is_last else SIZE_STEPS[at + 1] - 1,
                groups=round(float(in_groups[inside].sum())),
                documents=round(float(in_documents[inside].sum())),
            )
        )
    return tuple(bins)


def _largest_clusters(snapshot: Snapshot, clusters: Clusters, count: int) -> tuple[Group, ...]:
    order = np.argsort(-clusters.sizes, kind="stable")[:count]
    found = []
    for at in order.tolist():
        start = int(clusters.offsets[at])
        stop = min(int(clusters.offsets[at + 1]), start + 1 + COMPARED_MEMBERS)
        ids = clusters.ids[start:stop].tolist()
        found.append(_group(snapshot, int(clusters.sizes[at]), ids[0], ids[1:]))
    return tuple(found)


def _largest_drawn(
    snapshot: Snapshot, threshold: Threshold, limits: Limits, matched: Matched
) -> tuple[Group, ...]:
    """Return the drawn documents with the most matches, without two of one group."""
    order = np.argsort(-matched.counts, kind="stable")[: CANDIDATES * limits.groups]
    found: list[Group] = []
    passed: set[Id] = set()
    for at in order.tolist():
        id, count = matched.ids[at], int(matched.counts[at])
        if count == 0 or len(found) == limits.groups:
            break
        if id in passed or _matches_one(snapshot, threshold, id, found):
            continue
        matches = snapshot.query(id=id, limit=COMPARED_MEMBERS, **threshold.asked)
        others = [match.id for match in matches]
        passed.update(others)
        if others:
            found.append(_group(snapshot, count + 1, id, others))
    return tuple(found)


def _matches_one(snapshot: Snapshot, threshold: Threshold, id: Id, found: list[Group]) -> bool:
    """Return whether a document matches the first document of a group."""
    pairs = snapshot.compare([each.members[0].id for each in found], [id] * len(found))
    is_match = np.ones(len(found), np.bool_)
    if threshold.similarity is not None:
        is_match &= pairs.similarity >= np.float32(threshold.similarity)
    if threshold.distance is not None:
        is_match &= pairs.distance <= threshold.distance
    return bool(is_match.any())


def _group(snapshot: Snapshot, size: int, first: Id, others: list[Any]) -> Group:
    """Return a group with the documents that are least similar to the first one."""
    pairs = snapshot.compare([first] * len(others), others)
    members = sorted(map(_member, range(len(others)), [pairs] * len(others)), key=_by_similarity)
    return Group(size, (Member(first, None, None, (), ""), *members[:SHOWN_MEMBERS]))


def _member(at: int, pairs: PairArrays) -> Member:
    similarity = float(pairs.similarity[at])
    known = None if np.isnan(similarity) else min(similarity, 1.0)
    return Member(pairs.right[at], known, int(pairs.distance[at]), (), "")


def _by_similarity(member: Member) -> tuple[float, int]:
    """Return what puts the least similar document first."""
    similarity = 1.0 if member.similarity is None else member.similarity
    return similarity, -(member.distance or 0)


def _group_with_texts(group: Group, texts: Mapping[Id, str]) -> Group:
    first = texts.get(group.members[0].id)
    return replace(group, members=tuple(_with_text(each, first, texts) for each in group.members))


def _with_text(member: Member, first: str | None, texts: Mapping[Id, str]) -> Member:
    text = texts.get(member.id)
    if text is None:
        return replace(member, note="the sources do not have its text")
    if member.distance is None or first is None:
        return replace(member, pieces=beginning(text))
    pieces, note = compared(first, text)
    return replace(member, pieces=pieces, note=note)


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
    tally.matches.append(sums_of(is_match, offsets))
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
