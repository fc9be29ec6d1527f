"""Clusters: connected components of the matching pairs.

Equal documents are linked to the first of them and take no further part, so that a thousand
copies make a thousand links and not half a million pairs.
"""

import numpy as np
import numpy.typing as npt

from simdb import kernel
from simdb.engine.lookup import search
from simdb.engine.stored import stored_sketches
from simdb.engine.sweep import LOOKUP_QUERIES, Couples, Searched, searched, sweep_tables
from simdb.engine.view import View
from simdb.plan.planner import Criterion
from simdb.storage.run import Source, Table
from simdb.values import Clusters, object_array

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]


def find_clusters(view: View, source: Source, criterion: Criterion) -> Clusters:
    """Every connected set of two and more live documents."""
    is_measured = criterion.similarity is not None
    every = searched(view, source, is_measured=is_measured)
    if not len(every.ordinals):
        return Clusters(np.zeros(1, np.int64), object_array([]))
    forest = kernel.Forest(view.next_ordinal)
    vectors = _vectors(view, source, every) if is_measured else None
    distinct = _link_equal(forest, every, vectors)
    plan = view.plan(criterion, has_vectors=source.width > 0)
    if plan.flips == 0 and (plan.method == "bphs" or plan.distance < 64):
        masks = view.permutations.masks if plan.method == "bphs" else [0]
        for couples in sweep_tables(
            lambda number: _sorted_table(distinct, masks[number]), masks, plan.distance
        ):
            _join(view, source, forest, couples, criterion)
    else:
        _join_by_lookup(view, source, forest, distinct, criterion)
    return _components(view, source, forest, every.ordinals)


def _vectors(view: View, source: Source, every: Searched) -> U8:
    gathered: U8 = view.vectors(source).gather(every.ordinals)
    return gathered


def _link_equal(forest: kernel.Forest, every: Searched, vectors: U8 | None) -> Searched:
    """Join equal documents with the first of them; returns those first ones.

    Equal means equal fingerprints and, where similarities count, equal volatility vectors.
    """
    if vectors is not None:
        # Equal vectors have equal fingerprints: their signs are the bits.
        whole = vectors.view(np.dtype((np.void, vectors.shape[1]))).reshape(-1)
        _, order_in, group = np.unique(whole, return_index=True, return_inverse=True)
        first = order_in[group]
    else:
        order = np.argsort(every.fingerprints, kind="stable")
        sorted_bits = every.fingerprints[order]
        starts = np.flatnonzero(np.concatenate([[True], sorted_bits[1:] != sorted_bits[:-1]]))
        counts = np.diff(np.concatenate([starts, [len(order)]]))
        first = np.empty(len(order), np.int64)
        first[order] = np.repeat(order[starts], counts)
    is_first = first == np.arange(len(first))
    repeated = ~is_first
    forest.join(every.ordinals[first[repeated]], every.ordinals[repeated])
    return Searched(every.fingerprints[is_first], every.ordinals[is_first])


def _sorted_table(distinct: Searched, mask: int) -> Table:
    keys, ordinals = distinct.fingerprints, distinct.ordinals
    if mask:
        keys, ordinals = np.empty_like(keys), ordinals.copy()
        kernel.permute(distinct.fingerprints, mask, keys)
        kernel.sort(keys, ordinals)
    return Table(keys, ordinals, np.empty(0, np.uint32))


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
    view: View, source: Source, forest: kernel.Forest, distinct: Searched, criterion: Criterion
) -> None:
    """Join what every document finds among those after it."""
    for start in range(0, len(distinct.ordinals), LOOKUP_QUERIES):
        asked = distinct.ordinals[start : start + LOOKUP_QUERIES]
        sketches = stored_sketches(view, source, asked)
        rows = search(view, source, sketches, criterion, after=asked)
        forest.join(asked[rows.queries], rows.ordinals)


def _components(view: View, source: Source, forest: kernel.Forest, ordinals: U32) -> Clusters:
    labels = forest.labels()[ordinals]
    order = np.argsort(labels, kind="stable")
    grouped = labels[order]
    starts = np.flatnonzero(np.concatenate([[True], grouped[1:] != grouped[:-1]]))
    sizes = np.diff(np.concatenate([starts, [len(grouped)]]))
    is_cluster = sizes > 1
    members = ordinals[order][np.repeat(is_cluster, sizes)]
    offsets = np.concatenate([[0], np.cumsum(sizes[is_cluster])]).astype(np.int64)
    return Clusters(offsets, object_array(view.identifiers(source, members).decode(members)))
