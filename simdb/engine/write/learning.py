"""Learning: what it costs to find the matches of a new run in its cross-polytope tables.

When a run is written, some of its documents are looked up in it with a universal threshold that
finds nearly all matches at the default similarity.  What each match costs is the sample of the run
(`plan/polytope_reach.py`); it is stored with the run.

A commit must not take long, so it looks up few documents of a large run.  A run that is merged from
others also takes over their samples, if its headers are as wide as theirs: the matches in it cost
the same as before.
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from simdb import kernel
from simdb.engine.write.writer import Writer
from simdb.options import Options
from simdb.plan.polytope_reach import SAMPLING_RECALL, PolytopeRun, probe_count, thresholds
from simdb.plan.polytopes import shares
from simdb.storage import layout
from simdb.storage.records.delta import NO_DOCUMENTS
from simdb.storage.records.manifest import RunInfo
from simdb.storage.records.tombstones import Bitmap, is_deleted
from simdb.storage.runs.run import Run
from simdb.storage.runs.samples import SAMPLED_PAIRS_MAX, put_sample
from simdb.storage.runs.source import Source
from simdb.threads import mapped
from simdb.values import WEIGHTED

# One document in so many is looked up, but not fewer and not more than these.
SAMPLED_SHARE = 64
SAMPLED_LEAST = 256
SAMPLED_MOST = 16384
# A commit looks up so many headers for a sample, which takes some 60 milliseconds.
PROBES_MOST = 2_000_000
# Documents that are looked up at a time, and the matches after which no more are.
BATCH = 64
# The matches of so many documents tell how many are looked up at a time.
TRIED = 4
MATCHES_MOST = 1 << 20
# Of the matches of one document so many are kept, spread over all of its similarities.
MATCHES_KEPT = 16

U32 = npt.NDArray[np.uint32]
F32 = npt.NDArray[np.float32]


def learn(
    writer: Writer,
    info: RunInfo,
    dead: Bitmap | None,
    options: Options,
    *,
    merged: Sequence[Run] | None = None,
    before: Source | None = None,
    threads: int = 1,
) -> None:
    """Store the sample of a run that the transaction has written with these options.

    `merged`: the runs that it was merged from by a commit, which must be short, and `before`: a
    source that sees them; None if it takes as long as it needs.
    """
    if not info.polytope_count:
        return
    source = writer.store.source(inside=writer.transaction)
    run = Run(info)
    most = math.inf if merged is None else PROBES_MOST
    found = [sample_of(run, source, options, dead, probes_most=most, threads=threads)]
    if merged is not None and before is not None:
        width = run.polytope_table(0, source).width
        for each in merged:
            rows = each.sample(before)
            if rows is None or each.polytope_table(0, before).width != width:
                continue
            if dead is not None:
                ordinals = rows[:, 0].astype(np.uint32) + np.uint32(each.info.start)
                rows = rows[~is_deleted(dead, ordinals)]
            shift = np.array([each.info.start - info.start, 0, 0, 0], np.float32)
            found.append(rows + shift)
    sample = np.concatenate(found)
    if len(sample) > SAMPLED_PAIRS_MAX:
        chosen = np.random.default_rng(len(sample)).permutation(len(sample))
        sample = sample[np.sort(chosen[:SAMPLED_PAIRS_MAX])]
    if len(sample):
        put_sample(info.number, sample, writer.put)


def sample_of(
    run: Run,
    source: Source,
    options: Options,
    dead: Bitmap | None,
    *,
    probes_most: float = math.inf,
    threads: int = 1,
) -> F32:
    """Return the sample of a run: float32[k, 4], see `polytope_reach.Sample`.

    `source` sees the run.  k is 0 if the run has no cross-polytope tables.  `probes_most`: about so
    many headers are looked up at most.
    """
    nothing = np.empty((0, 4), np.float32)
    count = run.info.polytope_count
    if not count or not options.polytopes:
        return nothing
    tables = [run.polytope_table(table, source) for table in range(options.polytopes)]
    width = run.polytope_table(0, source).width
    similarity = options.compared(options.similarity)
    share, limit = shares(similarity, SAMPLING_RECALL)
    threshold = thresholds(
        [PolytopeRun(count, width)], similarity, share,
        tables=options.polytopes, either=False,
    )  # fmt: skip
    if math.inf in threshold:
        return nothing
    segments = [
        (run.segment_range(number)[0], run.column(layout.VECTOR, number, source))
        for number in range(run.segment_count)
    ]
    columns = [[(each.keys, each.ordinals, each.directory) for each in tables]]
    lookup = _Lookup(
        kernel.Polytopes(source.width, segments, columns, NO_DOCUMENTS, dead),
        kernel.Vectors(source.width, segments),
        width, options.polytopes, run.info.start, similarity, threshold[0], limit,
    )  # fmt: skip
    asked = _asked(run, source, dead)
    if probes_most < math.inf:
        probes = options.polytopes * probe_count(threshold[0], width)
        asked = asked[: max(int(probes_most / probes), BATCH)]
    first, total = _rows(lookup, asked[:TRIED])
    found = [nothing, first]
    if total > MATCHES_MOST:
        return first
    # Documents that match a flood are looked up one at a time: they soon have enough matches.
    size = min(BATCH, max(MATCHES_MOST * TRIED // BATCH // max(total, 1), 1))
    batches = (asked[start : start + size] for start in range(TRIED, len(asked), size))
    for rows, count in mapped(partial(_rows, lookup), batches, threads):
        found.append(rows)
        total += count
        if total > MATCHES_MOST:
            break
    return np.concatenate(found)


class _Lookup(NamedTuple):
    """How the documents of a run are looked up in it."""

    polytopes: Any
    vectors: Any
    width: int  # bits of a header
    tables: int
    start: int  # the first ordinal of the run
    similarity: float
    threshold: float
    limit: int  # differing sign bits of a candidate


def _rows(lookup: _Lookup, queries: U32) -> tuple[F32, int]:
    """Return the rows of a sample for some documents, and the number of their matches."""
    offsets, ordinals, _, similarities = lookup.polytopes.search(
        lookup.vectors.gather(queries),
        thresholds=np.array([lookup.threshold], np.float32),
        similarity=lookup.similarity,
        distance=lookup.limit,
        delta_distance=0,
        first=False,
        after=None,
    )
    asking = np.repeat(np.arange(len(queries)), np.diff(offsets))
    kept = _kept(offsets, ordinals != queries[asking])
    left = lookup.vectors.gather(queries[asking[kept]])
    right = lookup.vectors.gather(ordinals[kept])
    columns = [
        (queries[asking[kept]] - np.uint32(lookup.start)).astype(np.float32),
        similarities[kept],
        kernel.polytope_costs(left, right, lookup.width, lookup.tables),
        kernel.polytope_costs(right, left, lookup.width, lookup.tables),
    ]
    rows = np.stack(columns, axis=1).astype(np.float32)
    return rows[np.isfinite(rows).all(axis=1)], len(ordinals)


def _asked(run: Run, source: Source, dead: Bitmap | None) -> U32:
    """Return the ordinals of some live documents with weights, from the whole run, in any order."""
    generator = np.random.default_rng(len(run.info))
    count = min(max(len(run.info) // SAMPLED_SHARE, SAMPLED_LEAST), SAMPLED_MOST)
    tried = np.unique(generator.integers(run.info.start, run.info.stop, 2 * count))
    chosen = [tried[:0]]
    for number in range(run.segment_count):
        start, stop = run.segment_range(number)
        inside = tried[(tried >= start) & (tried < stop)]
        states = run.column(layout.STATE, number, source)
        chosen.append(inside[states[inside - start] == WEIGHTED])
    ordinals = np.concatenate(chosen).astype(np.uint32)
    if dead is not None:
        ordinals = ordinals[~is_deleted(dead, ordinals)]
    return generator.permutation(ordinals)[:count]


def _kept(offsets: npt.NDArray[np.int64], is_other: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Return the positions of at most `MATCHES_KEPT` matches of each query, evenly spread."""
    others = np.flatnonzero(is_other)
    starts = np.searchsorted(others, offsets)
    counts = np.diff(starts)
    if not len(others) or int(counts.max()) <= MATCHES_KEPT:
        return others
    found = []
    for start, count in zip(starts[:-1].tolist(), counts.tolist(), strict=True):
        some = others[start : start + count]
        if count > MATCHES_KEPT:
            some = some[np.linspace(0, count - 1, MATCHES_KEPT).astype(np.int64)]
        found.append(some)
    return np.concatenate(found)
