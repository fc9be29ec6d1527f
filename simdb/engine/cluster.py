"""Clusters: connected components of the matching pairs.

Equal documents are linked to each other once and only one of them takes further part, so that a
thousand copies make a thousand links and not half a million pairs.
"""

from functools import partial

import numpy as np
import numpy.typing as npt

from simdb import kernel
from simdb.bits import FINGERPRINT_BITS
from simdb.engine.components import grouped
from simdb.engine.lookup import search
from simdb.engine.stored import stored_sketches
from simdb.engine.sweep import (
    LOOKUP_QUERIES,
    Couples,
    Searched,
    searched,
    sweep_tables,
    whole_table,
)
from simdb.engine.view import View
from simdb.plan.question import Criterion
from simdb.reports import Plan
from simdb.storage.run import Source, Table
from simdb.storage.tombstones import Bitmap, is_deleted, with_deleted
from simdb.values import Clusters, object_array

U32 = npt.NDArray[np.uint32]


def find_clusters(view: View, source: Source, criterion: Criterion) -> Clusters:
    """Every connected set of two and more live documents."""
    is_measured = criterion.similarity is not None
    left_out = view.unweighted(source) if is_measured else view.dead
    forest = kernel.Forest(view.next_ordinal)
    copies = _link_equal(view, source, forest, left_out, is_measured=is_measured)
    if len(copies):
        left_out = with_deleted(left_out, copies, view.next_ordinal)
    plan = view.plan(criterion, source, is_swept=True)
    if plan.method == "bphs" and plan.flips == 0:
        tables = partial(whole_table, view, source, left_out)
        for couples in sweep_tables(tables, view.permutations.masks, plan.distance):
            _join(view, source, forest, couples, criterion)
    elif plan.flips == 0 and plan.distance < FINGERPRINT_BITS:
        every = _distinct(view, source, left_out)
        table = Table(every.fingerprints, every.ordinals, np.empty(0, np.uint32))
        for couples in sweep_tables(lambda _: table, [0], plan.distance):
            _join(view, source, forest, couples, criterion)
    else:
        distinct = _distinct(view, source, left_out)
        _join_by_lookup(view, source, forest, distinct.ordinals, criterion, plan)
    return _components(view, source, forest)


def _link_equal(
    view: View, source: Source, forest: kernel.Forest, left_out: Bitmap | None, *, is_measured: bool
) -> U32:
    """Join equal documents; returns all but one of each such group.

    Equal means equal fingerprints and, where similarities count, equal volatility vectors.  (Equal
    vectors have equal fingerprints: their signs are the bits.)
    """
    table = whole_table(view, source, left_out, 0)
    same = table.keys[1:] == table.keys[:-1]
    left, right = table.ordinals[:-1][same], table.ordinals[1:][same]
    if is_measured and len(left):
        sharing = np.union1d(left, right)
        vectors = view.vectors(source, sharing).gather(sharing)
        whole = vectors.view(np.dtype((np.void, vectors.shape[1]))).reshape(-1)
        _, order_in, group = np.unique(whole, return_index=True, return_inverse=True)
        first = sharing[order_in[group]]
        is_copy = first != sharing
        left, right = first[is_copy], sharing[is_copy]
    forest.join(left, right)
    copies: U32 = right
    return copies


def _distinct(view: View, source: Source, left_out: Bitmap | None) -> Searched:
    """The documents that are not left out."""
    every = searched(view, source, is_measured=False)
    kept = ~is_deleted(left_out, every.ordinals)
    return Searched(every.fingerprints[kept], every.ordinals[kept])


def _join(
    view: View, source: Source, forest: kernel.Forest, couples: Couples, criterion: Criterion
) -> None:
    """Join the couples that are as similar as asked."""
    left, right = couples.left, couples.right
    if criterion.similarity is not None:
        similar = view.vectors(source).between(left, right) >= np.float32(criterion.similarity)
        left, right = left[similar], right[similar]
    forest.join(left, right)


def _join_by_lookup(
    view: View,
    source: Source,
    forest: kernel.Forest,
    ordinals: U32,
    criterion: Criterion,
    plan: Plan,
) -> None:
    """Join what every document finds among those after it."""
    for start in range(0, len(ordinals), LOOKUP_QUERIES):
        asked = ordinals[start : start + LOOKUP_QUERIES]
        sketches = stored_sketches(view, source, asked)
        rows = search(view, source, sketches, criterion, after=asked, plan=plan)
        forest.join(asked[rows.queries], rows.ordinals)


def _components(view: View, source: Source, forest: kernel.Forest) -> Clusters:
    """The groups that were joined; the smallest ordinal of each labels it."""
    offsets, members = grouped(forest.labels())
    return Clusters(offsets, object_array(view.identifiers(source, members).decode(members)))
