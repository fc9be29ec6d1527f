"""Stars: clusters in which every member matches the representative, so that nothing is chained.

Documents are taken in order.  One that no earlier representative matches becomes one; any other
joins the earliest that does.  They come in batches: those of a batch that none has claimed yet are
compared with each other, and only the representatives among them are looked up in the collection.
Representatives do not match each other, so few can be near one document however crowded its
neighbourhood is, and memory stays linear.
"""

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from simdb import kernel
from simdb.bits import ALL_BITS
from simdb.engine.search.lookup import search
from simdb.engine.search.sweep import sweep_table
from simdb.engine.state.documents import stored_sketches
from simdb.engine.state.view import View
from simdb.index.bands import Bands
from simdb.plan.question import Criterion
from simdb.reports import Plan
from simdb.storage import layout
from simdb.storage.runs.run import Source, Table

BATCH_DOCUMENTS = 1 << 11

U32 = npt.NDArray[np.uint32]


def find_stars(view: View, source: Source, criterion: Criterion, ordered: U32) -> U32:
    """The representative of each ordinal, itself where it has no other: uint32[next ordinal].

    `ordered`: the documents of `view` that take part, in their order.
    """
    plan = view.plan(criterion, source)
    owners = np.arange(view.next_ordinal, dtype=np.uint32)
    is_settled = np.ones(view.next_ordinal, np.bool_)
    is_settled[ordered] = False
    for start in range(0, len(ordered), BATCH_DOCUMENTS):
        batch = ordered[start : start + BATCH_DOCUMENTS]
        batch = batch[~is_settled[batch]]
        owners[batch] = batch[_settle(view, source, criterion, plan, batch)]
        is_settled[batch] = True
        leaders = batch[owners[batch] == batch]
        sketches = stored_sketches(view, source, leaders)
        rows = search(view, source, sketches, criterion, plan=plan)
        chosen = np.flatnonzero(~is_settled[rows.ordinals])
        # Rows stand in the order of their representatives: the first claim counts.
        joined, firsts = np.unique(rows.ordinals[chosen], return_index=True)
        owners[joined] = leaders[rows.queries[chosen[firsts]]]
        is_settled[joined] = True
    return owners


def _settle(
    view: View, source: Source, criterion: Criterion, plan: Plan, batch: U32
) -> npt.NDArray[np.int64]:
    """For each of `batch` the position of its representative, if those of `batch` were all."""
    owners = np.arange(len(batch))
    if isinstance(view.keying, Bands) and plan.method == "banding":
        _claim(owners, *_similar(view, source, view.keying, criterion, batch))
        return owners
    bits = view.column(layout.FINGERPRINT, batch, source)
    table = Table(bits, np.arange(len(batch), dtype=np.uint32), np.empty(0, np.uint32))
    for couples in sweep_table(table, [0], plan.distance):
        left, right = couples.left, couples.right
        if criterion.similarity is not None:
            similarities = view.vectors(source, batch).between(batch[left], batch[right])
            similar = similarities >= np.float32(criterion.similarity)
            left, right = left[similar], right[similar]
        _claim(owners, left, right)
    return owners


def _similar(
    view: View, source: Source, bands: Bands, criterion: Criterion, batch: U32
) -> tuple[U32, U32]:
    """Positions of all pairs of a batch that agree in a band and match, by their left one."""
    vectors = view.vectors(source, batch).gather(batch)
    keys = bands.searchable(view.column(layout.FINGERPRINT, batch, source), vectors)
    found = [np.empty(0, np.uint64)]
    for band in range(bands.table_count):
        column, order = keys[:, band].copy(), np.arange(len(batch), dtype=np.uint32)
        kernel.sort(column, order)
        table = Table(column, order, np.empty(0, np.uint32))
        for couples in sweep_table(table, [ALL_BITS], 0):
            found.append(couples.left.astype(np.uint64) << np.uint64(32) | couples.right)
    every = np.unique(np.concatenate(found))
    left, right = (every >> np.uint64(32)).astype(np.uint32), every.astype(np.uint32)
    measured = view.vectors(source, batch).between(batch[left], batch[right])
    chosen = measured >= np.float32(criterion.similarity)
    return left[chosen], right[chosen]


def _claim(owners: npt.NDArray[np.int64], left: U32, right: U32) -> None:
    """Let each of `left` that nobody owns own what it has on the `right`, if nobody else does.

    Pairs are in the order of the left, so whether one is owned is settled when its pairs begin.
    """
    bounds = [*np.flatnonzero(np.diff(left, prepend=-1)), len(left)]
    for start, stop in pairwise(bounds):
        leader = left[start]
        if owners[leader] == leader:
            claimed = right[start:stop]
            owners[claimed[owners[claimed] == claimed]] = leader
