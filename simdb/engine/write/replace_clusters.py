"""Replacement of all maintained clusters: by those of a dump, or by clusters found again."""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.engine.state.store import Store
from simdb.engine.write.writer import Writer, write_clusters
from simdb.storage.contents import read_manifest
from simdb.storage.environment.right import WriteRight
from simdb.storage.membership import Membership, groups_of, rings
from simdb.storage.runs.source import Source

U32 = npt.NDArray[np.uint32]


def put_clusters(store: Store, right: WriteRight, numbers: U32) -> None:
    """Commit these clusters; the caller has the write lock.  See `write_anew`."""
    store.with_room(lambda: _try_to_put(store, numbers), right)


def write_anew(writer: Writer, source: Source, numbers: U32) -> int:
    """Make these the clusters, numbered from 1, in a transaction; returns their number.

    `numbers`: the cluster of every ordinal, 0 for an ordinal in no cluster; uint32[n].
    """
    members = np.flatnonzero(numbers).astype(np.uint32)
    named, which = np.unique(numbers[members], return_inverse=True)
    order, offsets = groups_of(which)
    members = members[order]
    settled, following = np.zeros_like(numbers), np.zeros_like(numbers)
    settled[members] = which[order] + 1
    if len(members):
        following[members] = rings(members, offsets)
    membership = Membership(source)
    membership.replace(settled, following)
    write_clusters(writer, membership)
    return len(named)


def _try_to_put(store: Store, numbers: U32) -> None:
    store.membership = None
    with store.state() as state:
        source = state.source
        store.environment.write(lambda transaction: _put(store, transaction, source, numbers))


def _put(store: Store, transaction: Any, source: Source, numbers: U32) -> None:
    writer = Writer(store, transaction)
    count = write_anew(writer, source, numbers)
    manifest = read_manifest(store.environment, transaction)
    writer.put_manifest(replace(manifest, cluster_count=count, last_cluster=count))
