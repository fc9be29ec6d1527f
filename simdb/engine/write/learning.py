"""Learning: what it costs to find the matches of a new run in its cross-polytope tables.

When a run is written, some of its documents are looked up in it with a universal threshold that
finds nearly all matches at the default similarity.  What each match costs is the sample of the run
(`plan/polytope_reach.py`); it is stored with the run.
"""

import math

import numpy as np
import numpy.typing as npt

from simdb import kernel
from simdb.engine.write.writer import Writer
from simdb.options import Options
from simdb.plan.polytope_reach import SAMPLING_RECALL, PolytopeRun, thresholds
from simdb.plan.polytopes import delta_limit, shares
from simdb.storage import layout
from simdb.storage.records.manifest import RunInfo
from simdb.storage.records.tombstones import Bitmap, is_deleted
from simdb.storage.runs.run import Run, Source
from simdb.storage.runs.samples import SAMPLED_PAIRS_MAX, put_sample
from simdb.values import WEIGHTED

# One document in so many is looked up, but not fewer and not more than these.
SAMPLED_SHARE = 64
SAMPLED_LEAST = 256
SAMPLED_MOST = 16384
# Documents that are looked up at a time, and the matches after which no more are.
BATCH = 64
MATCHES_MOST = 1 << 20
# Of the matches of one document so many are kept, spread over all of its similarities.
MATCHES_KEPT = 16

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
F32 = npt.NDArray[np.float32]


def learn(writer: Writer, info: RunInfo, dead: Bitmap | None, options: Options) -> None:
    """Store the sample of a run that the transaction has written with these options."""
    if info.polytope_count:
        source = writer.store.source(inside=writer.transaction)
        sample = sample_of(Run(info), source, options, dead)
        if len(sample):
            put_sample(info.number, sample, writer.put)


def sample_of(run: Run, source: Source, options: Options, dead: Bitmap | None) -> F32:
    """Return the sample of a run: float32[k, 4], see `polytope_reach.Sample`.

    `source` sees the run.  k is 0 if the run has no cross-polytope tables.
    """
    nothing = np.empty((0, 4), np.float32)
    count = run.info.polytope_count
    if not count or not options.polytopes:
        return nothing
    tables = [run.polytope_table(table, source) for table in range(options.polytopes)]
    width = len(tables[0].directory).bit_length() - 1
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
    polytopes = kernel.Polytopes(
        source.width, segments, [[(each.keys, each.ordinals, each.directory) for each in tables]],
        (np.empty(0, np.uint64), np.empty(0, np.uint32)), dead,
    )  # fmt: skip
    vectors = kernel.Vectors(source.width, segments)
    found, total = [nothing], 0
    asked = _asked(run, source, dead)
    for start in range(0, len(asked), BATCH):
        queries = asked[start : start + BATCH]
        offsets, ordinals, _, similarities = polytopes.search(
            vectors.gather(queries),
            thresholds=np.array(threshold, np.float32),
            similarity=similarity,
            distance=limit,
            delta_distance=delta_limit(similarity, SAMPLING_RECALL),
            first=False,
            after=None,
        )
        total += len(ordinals)
        asking = np.repeat(np.arange(len(queries)), np.diff(offsets))
        kept = _kept(offsets, ordinals != queries[asking])
        left = vectors.gather(queries[asking[kept]])
        right = vectors.gather(ordinals[kept])
        columns = [
            (queries[asking[kept]] - np.uint32(run.info.start)).astype(np.float32),
            similarities[kept],
            kernel.polytope_costs(left, right, width, options.polytopes),
            kernel.polytope_costs(right, left, width, options.polytopes),
        ]
        rows = np.stack(columns, axis=1).astype(np.float32)
        found.append(rows[np.isfinite(rows).all(axis=1)])
        if total > MATCHES_MOST:
            break
    return np.concatenate(found)[:SAMPLED_PAIRS_MAX]


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
    found = [np.empty(0, np.int64)]
    for start, stop in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        others = np.flatnonzero(is_other[start:stop]) + start
        if len(others) > MATCHES_KEPT:
            others = others[np.linspace(0, len(others) - 1, MATCHES_KEPT).astype(np.int64)]
        found.append(others)
    return np.concatenate(found)
