"""Kept clusters put in the place of all there were: of a dump, or made anew from the documents."""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.engine.commit import Writer, write_clusters
from simdb.engine.store import Store
from simdb.storage.contents import read_manifest
from simdb.storage.environment import MapFull
from simdb.storage.membership import Membership, groups_of, rings

GROWTH_BYTES = 1 << 20

U32 = npt.NDArray[np.uint32]


def put_clusters(store: Store, numbers: U32) -> None:
    """Make these the clusters: a number for every ordinal, 0 for those in none; uint32[n]."""
    members = np.flatnonzero(numbers).astype(np.uint32)
    named, which = np.unique(numbers[members], return_inverse=True)
    order, offsets = groups_of(which)
    members = members[order]
    settled, following = np.zeros_like(numbers), np.zeros_like(numbers)
    settled[members] = which[order] + 1
    following[members] = rings(members, offsets) if len(members) else members
    store.begin_write()
    try:
        while not _try_to_put(store, settled, following, len(named)):
            store.forget_views()
            store.environment.grow(GROWTH_BYTES)
    finally:
        store.end_write()


def _try_to_put(store: Store, numbers: U32, following: U32, count: int) -> bool:
    """Whether it is done; False when the map has no room for it."""
    store.membership = None
    _, source = store.enter()
    try:
        membership = Membership(source)
        membership.replace(numbers, following)
        store.environment.write(lambda transaction: _put(store, transaction, membership, count))
    except MapFull:
        return False
    finally:
        source.end()
    return True


def _put(store: Store, transaction: Any, membership: Membership, count: int) -> None:
    writer = Writer(store, transaction)
    write_clusters(writer, membership)
    manifest = read_manifest(store.environment, transaction)
    writer.put_manifest(replace(manifest, cluster_count=count, last_cluster=count))
