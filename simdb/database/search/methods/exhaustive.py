"""Exhaustive search: compares every stored fingerprint or measures every volatility vector."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import Sketches
from simdb.core.bits import FINGERPRINT_BITS
from simdb.core.dtypes import F32, I64, U32
from simdb.core.matches import Match
from simdb.core.reports import Plan
from simdb.core.threads import in_rounds
from simdb.database.search.buckets import Crowds
from simdb.database.search.couples import (
    Couples,
    Judging,
    Searched,
    judged_by,
    measured,
    searched,
    sweep_table,
)
from simdb.database.search.method import (
    SURE_SHARE,
    After,
    Candidates,
    Limit,
    Method,
    by_candidates,
    estimates,
    matches_of_one,
    measured_rows,
)
from simdb.database.search.rows import MANY, Rows
from simdb.database.state.state import State
from simdb.plan import Criterion
from simdb.storage import Table, layout

# Number of documents that are first compared with all others to find crowds, and its limit, beyond
# which all are compared.
PIVOTS, PIVOTS_MOST = 4, 32


def scans_vectors(plan: Plan) -> bool:
    """Return whether a plan measures every stored vector and reads no table."""
    return plan.distance == FINGERPRINT_BITS and plan.similarity is not None


def search(
    state: State, sketches: Sketches, criterion: Criterion, plan: Plan, first: int, after: After
) -> Rows:
    """Return the matches of every sketch; see `Method`."""
    if not scans_vectors(plan):
        return _compare(state, sketches, criterion, plan, first, after)
    found = state.vectors().scan(
        sketches.vectors, similarity=criterion.least, skip=state.unmeasured(), after=after
    )
    return with_distances(state, sketches, *found)


def nearest(state: State, sketches: Sketches, k: int, by_similarity: bool) -> Rows:
    """Return the best `k` documents of every sketch; see `Method`."""
    if by_similarity:
        found = state.vectors().nearest(sketches.vectors, k, state.unmeasured())
        return with_distances(state, sketches, *found)
    offsets, ordinals, distances = state.scanned().nearest(sketches.bits, k)
    return Rows(offsets, ordinals, distances, estimates(state, sketches, offsets, ordinals))


def search_one(
    state: State, sketches: Sketches, criterion: Criterion, plan: Plan, first: int, limit: Limit
) -> list[Match] | Rows | None:
    """Return the matches of one document with weights, best first; None if vectors are scanned.

    Returns `Rows` if there are many candidates.
    """
    if scans_vectors(plan):
        return None  # a scan takes so long that the fast form saves nothing
    is_measured, most = criterion.similarity is not None, 1 if first == 1 else limit
    judging = judged_by(sketches.vectors, plan.distance, plan.firm_distance)
    # The first candidate may not match, but one of several in a crowd usually does.
    enough = SURE_SHARE if is_measured and first == 1 else first
    found = search_bits(state, int(sketches.bits[0]), plan, enough, judging)
    if is_measured and isinstance(found, list) and 0 < enough <= len(found):
        if matches := matches_of_one(state, sketches, criterion, found, most, enough):
            return matches
        found = search_bits(state, int(sketches.bits[0]), plan, 0, judging)
    if not isinstance(found, Rows):
        return matches_of_one(state, sketches, criterion, found, most)
    if is_measured:
        found = measured_rows(state, sketches, criterion, found)
        return found if most is None else found.limited(most)
    found = found if most is None else found.limited(most)
    found.similarities = estimates(state, sketches, found.offsets, found.ordinals)
    return found


def search_bits(
    state: State, bits: int, plan: Plan, first: int, judging: Judging | None = None
) -> list[tuple[int, int]] | Rows:
    """Return ordinals and distances of the matches of one fingerprint, as `Rows` if there are many.

    `judging`: see `judged_by`.
    """
    if not state.runs:
        # A look-up compares the whole delta.
        found: list[tuple[int, int]] | None = state.tables().lookup_one(
            bits, plan.distance, 0, first, MANY, judging
        )
        if found is not None:
            return found
    offsets, ordinals, distances = state.scanned().scan(
        np.array([bits], np.uint64),
        distance=plan.distance,
        first=first,
        after=None,
        judging=judging,
    )
    if len(ordinals) > MANY:
        return Rows(offsets, ordinals, distances, np.full(len(ordinals), np.nan, np.float32))
    return list(zip(ordinals.tolist(), distances.tolist(), strict=True))


def links(state: State, criterion: Criterion, plan: Plan) -> Iterator[Couples] | None:
    """Return all matching pairs by comparing fingerprints; None if vectors must be measured."""
    return None if plan.distance == FINGERPRINT_BITS else compared(state, criterion, plan)


def compared(state: State, criterion: Criterion, plan: Plan) -> Iterator[Couples]:
    """Return all matching pairs by comparing fingerprints."""
    return _swept(state, criterion, plan, _searched(state, criterion, plan))


def joining(
    state: State, criterion: Criterion, plan: Plan, forest: kernel.Forest
) -> Iterator[Couples] | None:
    """Return matching pairs that connect all documents that `links` would connect; see `Method`."""
    if plan.distance == FINGERPRINT_BITS or len(forest.parents) < Crowds(forest).least:
        return None
    return _without_crowds(state, criterion, plan, forest)


def links_among(state: State, criterion: Criterion, plan: Plan, ordinals: U32) -> Iterator[Couples]:
    """Yield the matching pairs among some documents, by position: every two are compared.

    Similarities are measured if the criterion has one.
    """
    bits = state.column(layout.FINGERPRINT, ordinals)
    table = Table(bits, np.arange(len(ordinals), dtype=np.uint32))
    judging = _judged_among(state, ordinals, plan)
    for couples in sweep_table(table, [0], plan.distance, judging=judging):
        if criterion.similarity is None:
            yield couples
            continue
        left, right = ordinals[couples.left], ordinals[couples.right]
        similarities = state.vectors(ordinals).between(left, right)
        known = replace(couples, similarities=similarities)
        yield known.taken(similarities >= np.float32(criterion.least))


def scanned(state: State, plan: Plan) -> int | None:
    """Return the column that a plan reads as a whole; None for a table with whole keys."""
    if scans_vectors(plan):
        return layout.VECTOR
    return layout.FINGERPRINT if state.keying.has_header_table else None


def _without_crowds(
    state: State, criterion: Criterion, plan: Plan, forest: kernel.Forest
) -> Iterator[Couples]:
    """Yield matching pairs; members of a crowd are compared only with documents outside it.

    A sample of the documents is compared with all others.  The next sample has twice the size and
    is drawn from the documents that are in no crowd, until none is left.  If no crowd is found
    soon, all documents are compared in their order.
    """
    left, count = _searched(state, criterion, plan), PIVOTS
    while True:
        crowds = Crowds(forest)
        is_outside = np.isin(left.ordinals, crowds.put_off(left.ordinals), assume_unique=True)
        outside = np.flatnonzero(is_outside)
        if not len(outside):
            break
        if len(outside) == len(left.ordinals) and count > PIVOTS_MOST:
            yield from compared(state, criterion, plan)
            return
        is_left = np.ones(len(left.ordinals), np.bool_)
        is_left[outside[:: max(1, len(outside) // count)]] = False
        # The chosen documents precede the rest, since each is compared with all documents after it.
        ordered = left.chosen(np.argsort(is_left, kind="stable"))
        yield from _swept(state, criterion, plan, ordered, len(is_left) - int(is_left.sum()))
        left, count = left.chosen(is_left), 2 * count
    groups = [np.searchsorted(left.ordinals, members) for members, _ in crowds.groups()]
    for one, other in combinations(groups, 2):
        start, size = 0, 1
        while start < len(one):
            labels = forest.labels()
            if labels[left.ordinals[one[0]]] == labels[left.ordinals[other[0]]]:
                break
            some = one[start : start + size]
            both = left.chosen(np.concatenate([some, other]))
            yield from _swept(state, criterion, plan, both, len(some))
            start, size = start + size, 2 * size


def _swept(
    state: State, criterion: Criterion, plan: Plan, ordered: Searched, rows: int | None = None
) -> Iterator[Couples]:
    """Return the matching pairs; `rows`: only pairs with one of the first `rows` documents."""
    table = Table(ordered.fingerprints, ordered.ordinals)
    swept = sweep_table(
        table, [0], plan.distance, threads=state.threads, rows=rows, judging=ordered.judging
    )
    return in_rounds(partial(measured, state, criterion), swept, state.threads)


def with_distances(
    state: State, sketches: Sketches, offsets: I64, ordinals: U32, similarities: F32
) -> Rows:
    """Return the rows of measured documents, with their distances."""
    bits = np.repeat(sketches.bits, np.diff(offsets))
    differing = bits ^ state.column(layout.FINGERPRINT, ordinals)
    return Rows(offsets, ordinals, np.bitwise_count(differing), similarities)


def _candidates(
    state: State, sketches: Sketches, plan: Plan, first: int, after: After
) -> Candidates:
    found: Candidates = state.scanned().scan(
        sketches.bits, distance=plan.distance, first=first, after=after,
        judging=judged_by(sketches.vectors, plan.distance, plan.firm_distance),
    )  # fmt: skip
    return found


def _judged_among(state: State, ordinals: U32, plan: Plan) -> Judging | None:
    """Return the bits by which stored documents judge others; see `judged_by`."""
    if plan.firm_distance is None:
        return None
    vectors = state.vectors(ordinals).gather(ordinals)
    return judged_by(vectors, plan.distance, plan.firm_distance)


def _searched(state: State, criterion: Criterion, plan: Plan) -> Searched:
    """Return the documents to compare with each other."""
    every = searched(state, is_measured=criterion.similarity is not None)
    return every._replace(judging=_judged_among(state, every.ordinals, plan))


_compare = by_candidates(_candidates)

METHOD: Method = Method(
    search=search,
    search_one=search_one,
    search_bits=search_bits,
    links=links,
    joining=joining,
    links_among=links_among,
    nearest=nearest,
    scanned=scanned,
    compares=lambda state, plan, ordinal: True,
)
