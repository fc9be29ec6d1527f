"""Clusters: connected components of the matching pairs, or stars around representatives.

Equal documents are linked to each other first, and one of them takes part in the search, so a
thousand copies make a thousand links and not half a million pairs.  Where connected components are
wanted, documents that are connected already are not compared.
"""

from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from simdb.engine.clusters.equal import first_equal_rows
from simdb.engine.clusters.labels import grouped
from simdb.engine.clusters.star import find_stars
from simdb.engine.search.couples import table_of_equals
from simdb.engine.search.judge import Judge
from simdb.engine.search.sweep import join_links
from simdb.engine.state.state import State
from simdb.ground.checks import one_of
from simdb.plan.problem import Criterion
from simdb.results.clusters import Clusters
from simdb.running import kernel
from simdb.storage.records.tombstones import Bitmap, with_deleted
from simdb.values.arrays import object_array

CONNECTED: Final = "connected"
STAR: Final = "star"
POLICIES = (CONNECTED, STAR)

U32 = npt.NDArray[np.uint32]


def check_policy(policy: object) -> None:
    """Raise OptionError for an unknown policy."""
    one_of("policy", policy, POLICIES)


def find_clusters(
    state: State,
    criterion: Criterion,
    *,
    policy: str = CONNECTED,
    places: U32 | None = None,
    judge: Judge | None = None,
) -> Clusters:
    """Return the groups of two or more live documents by `policy`, one of `POLICIES`.

    `places`: the place of each ordinal in the order of representatives; None orders by ordinal.
    `judge` decides which pairs match, if that is not the criterion alone.  Documents with equal
    sketches match without it.
    """
    if policy == STAR:
        labels = _star_labels(state, criterion, places, judge)
    else:
        labels = connected_labels(state, criterion, judge)
    counts = None if judge is None else judge.counts
    return replace(as_clusters(state, labels, places), verification=counts)


def as_clusters(state: State, labels: U32, places: U32 | None) -> Clusters:
    """Return clusters of the users' ids; `labels`: one member of the cluster of each ordinal."""
    offsets, members = grouped(labels, places)
    return Clusters(offsets, object_array(state.identifiers(members).decode(members)))


def connected_labels(state: State, criterion: Criterion, judge: Judge | None = None) -> U32:
    """Return the least member of the component of each ordinal: uint32[next ordinal]."""
    forest, copies, left_out = _linked_copies(state, criterion)
    if len(copies):
        left_out = with_deleted(left_out, copies, state.next_ordinal)
    for _ in join_links(state.without(left_out), criterion, forest, judge):
        pass
    labels: U32 = forest.labels()
    return labels


def _linked_copies(state: State, criterion: Criterion) -> tuple[Any, U32, Bitmap | None]:
    """Join equal documents; returns the forest, the copies and the documents left out.

    The copies are all but one document of each group of equal documents.
    """
    is_measured = criterion.similarity is not None
    left_out = state.unweighted() if is_measured else state.dead
    forest = kernel.Forest(state.next_ordinal)
    copies = _link_equal(state.without(left_out), forest, is_measured=is_measured)
    return forest, copies, left_out


def _link_equal(state: State, forest: kernel.Forest, *, is_measured: bool) -> U32:
    """Join equal documents; returns all but one document of each group of equal documents.

    Equal means equal fingerprints and, if `is_measured`, equal volatility vectors.  (Equal vectors
    have equal fingerprints, as their signs are the bits.)
    """
    table = table_of_equals(state)
    same = table.keys[1:] == table.keys[:-1]
    left, right = table.ordinals[:-1][same], table.ordinals[1:][same]
    if is_measured and len(left):
        sharing = np.union1d(left, right)
        vectors = state.vectors(sharing).gather(sharing)
        first = sharing[first_equal_rows(vectors)]
        is_copy = first != sharing
        left, right = first[is_copy], sharing[is_copy]
    forest.join(left, right)
    copies: U32 = right
    return copies


def _star_labels(
    state: State,
    criterion: Criterion,
    places: U32 | None,
    judge: Judge | None,
) -> U32:
    """Return the representative of each ordinal.

    The first of equal documents in the order represents all: copies match what it matches.
    """
    forest, _, left_out = _linked_copies(state, criterion)
    equal = forest.labels()
    every = np.arange(state.next_ordinal, dtype=np.uint32)
    first_equal = equal if places is None else _first_of_each(equal, places)
    left_out = with_deleted(left_out, every[first_equal != every], state.next_ordinal)
    distinct = state.without(left_out)
    # Made first, so that a method that finds no single document's matches is refused at once.
    plan = distinct.plan(criterion)
    components = kernel.Forest(state.next_ordinal)
    for _ in join_links(distinct, criterion, components, judge):
        pass
    owners = find_stars(distinct, criterion, plan, *grouped(components.labels(), places), judge)
    labels: U32 = owners[first_equal]
    return labels


def _first_of_each(labels: U32, places: U32) -> U32:
    """Return for each ordinal the first in the order with the same label: uint32[n]."""
    firsts = np.full(len(labels), len(labels), np.uint32)
    np.minimum.at(firsts, labels, places)
    ordinals = np.empty(len(places), np.uint32)
    ordinals[places] = np.arange(len(places), dtype=np.uint32)
    found: U32 = ordinals[firsts[labels]]
    return found
