"""Check of clusters: whether the maintained clusters agree with the documents.

By distance, and by similarity with recall 1, they are compared with clusters found again.  With a
lower recall the insertions may have missed matches, so only the links inside each cluster are
measured again: its members must still be connected.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from simdb.engine.clusters.find import connected_labels
from simdb.engine.clusters.labels import labels_of
from simdb.engine.clusters.links import EXACT_MAX, parts_of
from simdb.engine.state.state import State
from simdb.plan.problem import Criterion
from simdb.results.reports import Finding
from simdb.running import kernel
from simdb.storage.check import REBUILD
from simdb.storage.membership import Membership
from simdb.storage.records.manifest import Manifest
from simdb.storage.records.tombstones import is_deleted

PLACE = "clusters"

U32 = npt.NDArray[np.uint32]


def check_clusters(
    state: State, manifest: Manifest, criterion: Criterion, *, deep: bool
) -> Iterator[Finding]:
    """Yield findings if maintained clusters are damaged or, `deep`, disagree with the documents."""
    numbers, following = Membership(state.source).whole(state.next_ordinal)
    problems = list(_problems(state, numbers, following, manifest))
    if deep and not problems:
        problems = list(_differences(state, numbers, criterion))
    for problem in problems:
        yield Finding(PLACE, problem, REBUILD)


def _problems(state: State, numbers: U32, following: U32, manifest: Manifest) -> Iterator[str]:
    """Yield the contradictions of the cluster numbers and rings among themselves."""
    members = np.flatnonzero(numbers).astype(np.uint32)
    count = len(np.unique(numbers)) - int(len(members) < len(numbers))
    if count != manifest.cluster_count:
        yield f"cluster_count is {manifest.cluster_count}, counted {count}"
    if len(members) and numbers.max() > manifest.last_cluster:
        yield f"cluster number {numbers.max()} is beyond the last number {manifest.last_cluster}"
    if is_deleted(state.dead, members).any():
        yield "deleted documents are members of clusters"
    after = following[members]
    inside = bool((after < len(numbers)).all())
    if not inside or (numbers[after] != numbers[members]).any() or (after == members).any():
        yield "a member is not followed by another member of its cluster"
        return
    forest = kernel.Forest(len(numbers))
    forest.join(members, after)
    rings = len(np.unique(forest.labels()[members]))
    if rings != count or len(np.unique(after)) != len(after):
        yield f"the members of {count} clusters form {rings} rings, or rings that do not close"


def _differences(state: State, numbers: U32, criterion: Criterion) -> Iterator[str]:
    """Yield where the stored clusters disagree with the matches of the documents."""
    stored = labels_of(numbers)
    if criterion.similarity is None or criterion.recall == 1.0:
        wanted = connected_labels(state, criterion)
        different = int(np.count_nonzero(stored != wanted))
        if different:
            yield f"{different} documents are not in the clusters of their matches"
        return
    members = np.flatnonzero(numbers).astype(np.uint32)
    sizes = np.bincount(stored)[stored[members]]
    members = members[sizes <= EXACT_MAX]
    if len(members):
        parts = parts_of(state, criterion, members, numbers[members])
        apart = int(np.count_nonzero(members[parts] != stored[members]))
        if apart:
            yield f"{apart} documents are not connected with the first document of their cluster"
