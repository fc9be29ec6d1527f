"""Links: the matches that connect new documents with stored ones and with each other.

Maintained clusters are made of these links.  Equal documents are linked to the first of them, and
only this document is searched for.  A document that equals a stored document is linked to that
document only.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from simdb.engine.clusters.labels import first_equal
from simdb.engine.search.lookup import search
from simdb.engine.search.sweep import join_links, look_up
from simdb.engine.state.documents import stored_sketches
from simdb.engine.state.state import State
from simdb.engine.state.view import FINGERPRINTS, SIGNATURES, View
from simdb.ground.bits import bit_counts
from simdb.plan.problem import Criterion
from simdb.running import kernel
from simdb.settings.options import AUTO
from simdb.storage import layout
from simdb.storage.membership import groups_of
from simdb.storage.records.batch import StoredBatch
from simdb.storage.records.delta import Delta, delta_view
from simdb.storage.records.tombstones import with_deleted
from simdb.storage.runs.seal import seal
from simdb.values.arrays import EMPTY, WEIGHTED, Sketches

# Up to this number, documents are compared with each other; more get tables of their own.
COMPARED_MAX = 128
# Up to this size a cluster by similarity is split exactly; above, with the recall of the criterion.
EXACT_MAX = 4096
EQUAL = Criterion(None, 0, 1.0, AUTO, is_stored=True)

I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]
Links = tuple[U32, U32]


def links_of(state: State, criterion: Criterion, fresh: U32) -> Iterator[Links]:
    """Yield the links of the live documents `fresh` to stored documents and to each other."""
    is_measured = criterion.similarity is not None
    sketches = stored_sketches(state, fresh)
    searchable = np.flatnonzero(
        sketches.states == WEIGHTED if is_measured else sketches.states != EMPTY
    )
    fresh, sketches = fresh[searchable], sketches.taken(searchable)
    earlier = state.without(with_deleted(state.dead, fresh, state.next_ordinal))
    first = first_equal(sketches, is_measured=is_measured)
    distinct = first == np.arange(len(fresh))
    yield fresh[first[~distinct]], fresh[~distinct]
    fresh, sketches = fresh[distinct], sketches.taken(np.flatnonzero(distinct))
    for left, right in _links_among(state, criterion, sketches):
        yield fresh[left], fresh[right]
    equals = _stored_equals(earlier, sketches, is_measured=is_measured)
    has_equal = equals >= 0
    yield fresh[has_equal], equals[has_equal].astype(np.uint32)
    plan = earlier.plan(criterion)
    unmatched = fresh[~has_equal]
    for couples in look_up(earlier, criterion, plan, unmatched, later_only=False):
        yield couples.left, couples.right


def parts_of(state: State, criterion: Criterion, members: U32, numbers: U32) -> I64:
    """Return for each of `members` the position of the first member still connected with it.

    `numbers`: the cluster of each member.  Members of different clusters are not compared.
    """
    sketches = stored_sketches(state, members)
    first = first_equal(sketches, is_measured=criterion.similarity is not None)
    forest = kernel.Forest(len(members))
    every = np.arange(len(members))
    forest.join(first.astype(np.uint32), every.astype(np.uint32))
    distinct = np.flatnonzero(first == every)
    order, offsets = groups_of(numbers[distinct])
    distinct, sizes = distinct[order], np.diff(offsets)
    few = np.repeat(sizes <= COMPARED_MAX, sizes)
    left, right = _compared(state, criterion, members, numbers, distinct[few])
    forest.join(left.astype(np.uint32), right.astype(np.uint32))
    for group in np.flatnonzero(sizes > COMPARED_MAX):
        inside = distinct[offsets[group] : offsets[group + 1]]
        is_exact = criterion.similarity is None or len(inside) <= EXACT_MAX
        exact = replace(criterion, recall=1.0) if is_exact else criterion
        for starts, ends in _links_among(state, exact, sketches.taken(inside)):
            forest.join(inside[starts].astype(np.uint32), inside[ends].astype(np.uint32))
    return np.asarray(forest.labels(), np.int64)


def _compared(
    state: State, criterion: Criterion, members: U32, numbers: U32, chosen: I64
) -> tuple[I64, I64]:
    """Return positions of members that match: each of `chosen` is compared with its cluster.

    The members of a cluster are next to each other in `chosen`, so two members of the same cluster
    are less than its size apart.
    """
    bits = state.column(layout.FINGERPRINT, members)
    found: list[tuple[I64, I64]] = [(chosen[:0], chosen[:0])]
    group = numbers[chosen]
    for shift in range(1, len(chosen)):
        same = group[shift:] == group[:-shift]
        if not same.any():
            break
        left, right = chosen[:-shift][same], chosen[shift:][same]
        if criterion.distance is not None:
            close = bit_counts(bits[left] ^ bits[right]) <= criterion.distance
        if criterion.similarity is not None:
            one, other = members[left], members[right]
            similarities = state.vectors(members).between(one, other)
            close = similarities >= np.float32(criterion.similarity)
        found.append((left[close], right[close]))
    lefts, rights = zip(*found, strict=True)
    return np.concatenate(lefts), np.concatenate(rights)


def _links_among(state: State, criterion: Criterion, sketches: Sketches) -> Iterator[Links]:
    """Yield positions of sketches that match each other, enough to connect all that match."""
    count = len(sketches)
    if count < 2:
        return
    nothing = np.zeros(count + 1, np.int64)
    batch = StoredBatch(
        sketches.bits, sketches.states, sketches.vectors, np.zeros(count, np.uint64), nothing,
        np.empty(0, np.uint8),
    )  # fmt: skip
    delta = delta_view(0, batch, state.keying)
    runs = []
    if count > COMPARED_MAX:
        runs.append(seal(delta, state.keying, -1, state.source.header_offset))
        delta = Delta(count, state.width, state.keying).view()
    among = state.over(View(runs, delta, None, state.kind, None))
    yield from join_links(among, criterion, kernel.Forest(count))


def _stored_equals(state: State, sketches: Sketches, *, is_measured: bool) -> I64:
    """Return for each sketch the ordinal of a stored document equal to it, -1 if none is found.

    If `is_measured`, only one document with the same fingerprint, or with an equal band, is
    compared; the search for matches finds the rest.
    """
    equals = np.full(len(sketches), -1, np.int64)
    queries, found = FIND_EQUAL[state.kind.stores](state, sketches)
    if is_measured and len(found):
        vectors = state.vectors(found).gather(found)
        equal = (vectors == sketches.vectors[queries]).all(axis=1)
        queries, found = queries[equal], found[equal]
    equals[queries] = found
    return equals


def _equal_fingerprints(state: State, sketches: Sketches) -> tuple[I64, U32]:
    """Return queries and, for each, one document with the same fingerprint."""
    rows = search(state, sketches, EQUAL, first=True)
    return rows.queries, rows.ordinals


def _equal_bands(state: State, sketches: Sketches) -> tuple[I64, U32]:
    """Return queries and documents: for each query and band, one with the same band key."""
    found: tuple[I64, U32] = state.tables().any_of_each(sketches.vectors)
    return found


FIND_EQUAL = {FINGERPRINTS: _equal_fingerprints, SIGNATURES: _equal_bands}
