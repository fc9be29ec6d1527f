"""Maintained clusters: their changes by insertions and deletions, computed before a commit.

A new document joins the clusters of all its matches, and these clusters become one under the number
of the largest.  When a cluster loses members, its largest remaining part keeps the number.  The
work depends on the size of the changes.  A merge writes only the smaller cluster again.  A loss
compares only the remaining members of the cluster, or only the former neighbours of the lost
members if that suffices in a large cluster.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import ORDINALS_MAX, flags_at
from simdb.core.dtypes import I64, U32
from simdb.core.errors import CorruptError, FullError
from simdb.database.clusters.find import connected_labels
from simdb.database.clusters.links import labels_after, links_of, parts_of
from simdb.database.search.buckets import grouped
from simdb.database.state.state import State
from simdb.plan import Criterion
from simdb.storage import Manifest, Membership, groups_of, is_deleted, rings

# With this number of new documents, and more new than old ones, all clusters are found again.
SWEPT_LEAST = 4096
# If a cluster up to this size loses members, all its remaining members are compared.
WHOLE_MAX = 128


class Maintainer:
    """The maintained clusters in a write transaction."""

    def __init__(self, membership: Membership, criterion: Criterion, manifest: Manifest) -> None:
        """Begin with the clusters of `manifest`; `criterion` says which documents match."""
        self.membership = membership
        self._criterion = criterion
        self._settled_stop = manifest.next_ordinal
        self._settled_deletions = 0
        self._cluster_count = manifest.cluster_count
        self._last_cluster = manifest.last_cluster

    def settle(self, state: State, deleted: Sequence[U32]) -> None:
        """Update the clusters to match `state`; `deleted`: all deletions so far, in order."""
        start, stop = self._settled_stop, state.next_ordinal
        removed = np.concatenate([np.empty(0, np.uint32), *deleted[self._settled_deletions :]])
        fresh = np.arange(start, stop, dtype=np.uint32)
        fresh = fresh[~is_deleted(state.dead, fresh)]
        if len(fresh) >= SWEPT_LEAST and 2 * len(fresh) > stop:
            self._sweep(state)
        else:
            self._remove(state, removed[removed < start])
            self._add(state, fresh)
        self._settled_stop, self._settled_deletions = stop, len(deleted)

    def is_past(self, next_ordinal: int, deletion_count: int) -> bool:
        """Return whether the clusters include later documents or more deletions than given."""
        return self._settled_stop > next_ordinal or self._settled_deletions > deletion_count

    def counted(self, manifest: Manifest) -> Manifest:
        """Return the manifest with the present cluster counts."""
        return replace(manifest, cluster_count=self._cluster_count, last_cluster=self._last_cluster)

    def _sweep(self, state: State) -> None:
        """Find all clusters again."""
        offsets, members = grouped(connected_labels(state, self._criterion))
        numbers = np.zeros(state.next_ordinal, np.uint32)
        following = np.zeros(state.next_ordinal, np.uint32)
        count = len(offsets) - 1
        numbers[members] = np.repeat(np.arange(1, count + 1, dtype=np.uint32), np.diff(offsets))
        following[members] = rings(members, offsets)
        self.membership.replace(numbers, following)
        self._cluster_count = self._last_cluster = count

    def _remove(self, state: State, removed: U32) -> None:
        """Remove documents from their clusters, which may fall apart."""
        removed = removed[self.membership.numbers(removed) > 0]
        if not len(removed):
            return
        touched, first = np.unique(self.membership.numbers(removed), return_index=True)
        small: list[int] = []
        large = []
        for number, at in zip(touched, removed[first].tolist(), strict=True):
            ring = self.membership.ring(at, most=WHOLE_MAX)
            if ring is None:
                large.append(number)
            else:
                small += ring
        for number in large:
            self._shrink(state, number, removed[self.membership.numbers(removed) == number])
        members = np.array(small, np.uint32)
        members = members[~is_deleted(state.dead, members)]
        nothing = np.zeros(len(removed), np.uint32)
        before = self.membership.numbers(members)
        self.membership.write(removed, numbers=nothing, following=nothing)
        self._cluster_count -= len(touched) - len(large)
        if len(members):
            parts = parts_of(state, self._criterion, members, before)
            self._write_parts(members, before, parts)

    def _shrink(self, state: State, number: np.uint32, removed: U32) -> None:
        """Remove documents from one large cluster, and write only the changes."""
        numbers, following = self.membership.whole(state.next_ordinal)
        members = np.flatnonzero(numbers == number).astype(np.uint32)
        members = members[~is_deleted(state.dead, members)]
        if len(members) + len(removed) <= WHOLE_MAX:
            raise CorruptError(
                f"cluster {number} is not a ring: it does not come back to {removed[0]}"
            )
        parts = labels_after(state, self._criterion, members, removed)
        if parts is None:
            alike = np.ones(len(members), np.uint32)
            parts = parts_of(state, self._criterion, members, alike)
        order, offsets = groups_of(parts)
        largest = int(np.argmax(np.diff(offsets))) if len(members) else 0
        stays = order[offsets[largest] : offsets[largest + 1]] if len(members) else order
        is_moved = np.ones(len(members), np.bool_)
        is_moved[stays if len(stays) > 1 else []] = False
        staying, moved = members[~is_moved], members[is_moved]
        self._unlink(following, staying, np.concatenate([removed, moved]))
        self._cluster_count -= not len(staying)
        self._write_apart(moved, parts[is_moved])

    def _unlink(self, following: U32, staying: U32, leaving: U32) -> None:
        """Remove `leaving` from the ring of `staying`, and close the ring."""
        is_leaving = flags_at(leaving, len(following))
        ends = staying[is_leaving[following[staying]]]
        beyond = dict(zip(leaving.tolist(), following[leaving].tolist(), strict=True))
        nearest = []
        for follower in following[ends].tolist():
            while follower in beyond:
                follower = beyond.pop(follower)
            nearest.append(follower)
        self.membership.write(ends, following=np.array(nearest, np.uint32))
        nothing = np.zeros(len(leaving), np.uint32)
        self.membership.write(leaving, numbers=nothing, following=nothing)

    def _write_apart(self, members: U32, parts: I64) -> None:
        """Write `parts` as new clusters; a document alone in its part is in no cluster."""
        order, offsets = groups_of(parts)
        if not len(order):
            return
        members, sizes = members[order], np.diff(offsets)
        numbers = np.zeros(len(sizes), np.uint32)
        numbers[sizes > 1] = self._new_numbers(int(np.count_nonzero(sizes > 1)))
        following = rings(members, offsets)
        following[np.repeat(sizes == 1, sizes)] = 0
        self.membership.write(members, numbers=np.repeat(numbers, sizes), following=following)

    def _write_parts(self, members: U32, before: U32, parts: I64) -> None:
        """Write `parts` as clusters; the largest part of each old cluster keeps its number.

        `before`: the number of the old cluster of each member.
        """
        order, offsets = groups_of(parts)
        members, sizes = members[order], np.diff(offsets)
        previous = before[order[offsets[:-1]]]
        by_size = np.lexsort((-sizes, previous))
        is_largest = flags_at(by_size[np.diff(previous[by_size], prepend=0) != 0], len(sizes))
        numbers = np.where(is_largest, previous, np.uint32(0)).astype(np.uint32)
        is_cluster = sizes > 1
        is_new = is_cluster & ~is_largest
        numbers[is_new] = self._new_numbers(int(np.count_nonzero(is_new)))
        numbers[~is_cluster] = 0
        self._cluster_count += int(np.count_nonzero(is_cluster & is_largest))
        following = rings(members, offsets)
        following[np.repeat(~is_cluster, sizes)] = 0
        self.membership.write(members, numbers=np.repeat(numbers, sizes), following=following)

    def _add(self, state: State, fresh: U32) -> None:
        """Put new documents into the clusters of their matches."""
        if not len(fresh):
            return
        found = links_of(state, self._criterion, fresh)
        links = [self._thinned(left, right) for left, right in found]
        left = np.concatenate([link[0] for link in links])
        right = np.concatenate([link[1] for link in links])
        nodes, places = np.unique(np.concatenate([left, right]), return_inverse=True)
        forest = kernel.Forest(len(nodes))
        ends = np.asarray(places, np.uint32)
        forest.join(ends[: len(left)], ends[len(left) :])
        # One member represents each cluster, and its other members are joined with it.
        numbers = self.membership.numbers(nodes)
        clustered = np.flatnonzero(numbers).astype(np.uint32)
        _, heads, group = np.unique(numbers[clustered], return_index=True, return_inverse=True)
        forest.join(clustered[heads][group], clustered)
        components = forest.labels()
        anchors = self._merge_all(nodes, clustered[heads], components)
        self._add_single(nodes, np.flatnonzero(numbers == 0), components, anchors)

    def _thinned(self, left: U32, right: U32) -> tuple[U32, U32]:
        """Keep at most one link from each document to each cluster, and all links to no cluster."""
        numbers = self.membership.numbers(right)
        single = np.flatnonzero(numbers == 0)
        ends = left.astype(np.uint64) << np.uint64(32) | numbers
        _, first = np.unique(ends, return_index=True)
        chosen = np.concatenate([single, first[numbers[first] > 0]])
        return left[chosen], right[chosen]

    def _merge_all(self, nodes: U32, heads: U32, components: U32) -> I64:
        """Merge the clusters of each component; return a member of each, -1 without a cluster.

        `heads`: positions in `nodes` of one member of each cluster.
        """
        anchors = np.full(len(nodes), -1, np.int64)
        for head in heads:
            component = components[head]
            if anchors[component] < 0:
                anchors[component] = nodes[head]
            else:
                self._merge(int(anchors[component]), int(nodes[head]))
        return anchors

    def _merge(self, left: int, right: int) -> None:
        """Merge two clusters under the number of the larger."""
        smaller, other = self._smaller(left, right)
        number = self.membership.numbers(np.array([other], np.uint32))
        followers = np.array(
            [self.membership.follower(right), self.membership.follower(left)], np.uint32
        )
        self.membership.write(smaller, numbers=np.repeat(number, len(smaller)))
        self.membership.write(np.array([left, right], np.uint32), following=followers)
        self._cluster_count -= 1

    def _smaller(self, left: int, right: int) -> tuple[U32, int]:
        """Return the members of the smaller of two clusters, and one member of the larger.

        Both rings are walked in step, so the time depends only on the smaller one.
        """
        ours, theirs = [left], [right]
        while True:
            following = self.membership.follower(ours[-1])
            if following == left:
                return np.array(ours, np.uint32), right
            ours.append(following)
            following = self.membership.follower(theirs[-1])
            if following == right:
                return np.array(theirs, np.uint32), left
            theirs.append(following)

    def _add_single(self, nodes: U32, single: I64, components: U32, anchors: I64) -> None:
        """Put documents without a cluster into the cluster of their component, or into a new one.

        `single`: their positions in `nodes`.  They follow the anchor of the component in its ring.
        """
        order, offsets = groups_of(components[single])
        if not len(order):
            return
        members, sizes = nodes[single[order]], np.diff(offsets)
        nearest = anchors[components[single[order[offsets[:-1]]]]]
        has_anchor = nearest >= 0
        anchor: U32 = nearest[has_anchor].astype(np.uint32)
        numbers = np.empty(len(sizes), np.uint32)
        numbers[has_anchor] = self.membership.numbers(anchor)
        numbers[~has_anchor] = self._new_numbers(int(np.count_nonzero(~has_anchor)))
        following = rings(members, offsets)
        following[offsets[1:][has_anchor] - 1] = self.membership.following(anchor)
        self.membership.write(members, numbers=np.repeat(numbers, sizes), following=following)
        self.membership.write(anchor, following=members[offsets[:-1][has_anchor]])

    def _new_numbers(self, count: int) -> U32:
        """Return numbers for new clusters, unused since the last compaction."""
        first = self._last_cluster + 1
        if first + count > ORDINALS_MAX:
            raise FullError(
                f"the database has used {self._last_cluster} numbers for clusters; compact() frees"
                " the numbers of clusters that no longer exist"
            )
        self._last_cluster += count
        self._cluster_count += count
        return np.arange(first, first + count, dtype=np.uint32)
