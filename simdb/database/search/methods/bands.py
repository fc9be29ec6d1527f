"""Search of signatures: by bands of MinHash minima (LSH), or by measuring every signature."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import Sketches, sorted_unique
from simdb.core.bits import ALL_BITS
from simdb.core.documents import COUNTED_MAX
from simdb.core.dtypes import U32
from simdb.core.matches import Match
from simdb.core.reports import Plan
from simdb.core.threads import mapped, parts_of, streamed
from simdb.database.search.buckets import COMPARED_PAIRS, Buckets, buckets_of, unconnected_pairs
from simdb.database.search.couples import Couples, measured, sweep_table, whole_table
from simdb.database.search.method import SURE_SHARE, After, Limit, Method
from simdb.database.search.methods.exhaustive import links_among as compare_all
from simdb.database.search.rows import MANY, Rows
from simdb.database.state.state import State
from simdb.plan import Criterion
from simdb.storage import layout, sorted_table


def search(
    state: State, sketches: Sketches, criterion: Criterion, plan: Plan, first: int, after: After
) -> Rows:
    """Return the matches that share a band with a query; see `Method`."""
    offsets, ordinals, similarities = state.tables().search(
        sketches.vectors,
        state.known_vectors,
        similarity=criterion.least,
        first=first,
        sure=max(first // SURE_SHARE, 1),
        after=after,
    )
    distances = state.vectors(ordinals).distances(similarities)
    return Rows(offsets, ordinals, distances, similarities)


def search_one(
    state: State, sketches: Sketches, criterion: Criterion, plan: Plan, first: int, limit: Limit
) -> list[Match] | None:
    """Return the matches of one signature, best first; None if there are many."""
    # A match has an entry in several bands.
    ordinals = state.whole_tables().candidates_of(sketches.vectors, 4 * MANY, state.left_out)
    if ordinals is None:
        return None
    if not len(ordinals):
        return []
    assert criterion.least is not None
    if ordinals[-1] >= state.next_ordinal:
        state.check_known(ordinals)
    found = state.vectors(ordinals).measure_one(sketches.vectors, ordinals, criterion.least)
    return [
        Match(state.id_of(ordinal), min(differing, COUNTED_MAX), similarity)
        for ordinal, differing, similarity in found[: 1 if first == 1 else limit]
    ]


def links(state: State, criterion: Criterion, plan: Plan) -> Iterator[Couples]:
    """Yield the matching pairs that share a band, each from the first band it shares."""
    bands = range(state.keying.table_count)
    walks = (partial(_links_of_band, state, criterion, band) for band in bands)
    return streamed(walks, state.threads)


def _links_of_band(state: State, criterion: Criterion, band: int) -> Iterator[Couples]:
    swept = sweep_table(whole_table(state, band), [ALL_BITS], 0)
    return (first_in_band(state, criterion, couples, band) for couples in swept)


def first_in_band(state: State, criterion: Criterion, couples: Couples, band: int) -> Couples:
    """Return the couples that match and whose first shared band is `band`."""
    found = measured(state, criterion, couples)
    shared = state.vectors().shared_bands(found.left, found.right)
    found = found.taken(shared[:, band] & ~shared[:, :band].any(axis=1))
    distances = state.vectors().distances(found.similarities)
    return Couples(found.left, found.right, distances, found.similarities)


def joining(
    state: State, criterion: Criterion, plan: Plan, forest: kernel.Forest
) -> Iterator[Couples]:
    """Yield matching pairs that connect all documents that `links` would connect; see `Method`.

    The buckets of each band are compared until all documents that match are connected.
    """

    def buckets(band: int) -> Buckets:
        return buckets_of(whole_table(state, band))

    bands = range(state.keying.table_count)
    for band, found in enumerate(mapped(buckets, bands, state.threads)):
        for left, right in unconnected_pairs(found, forest):
            yield _compared(state, criterion, band, left, right)


def _compared(state: State, criterion: Criterion, band: int, left: U32, right: U32) -> Couples:
    """Return the matching pairs of documents with one key of a band, if they share no earlier band.

    Pairs that share an earlier band were compared there.
    """

    def compare(part: slice) -> Couples:
        one, other = np.minimum(left[part], right[part]), np.maximum(left[part], right[part])
        unknown = np.zeros(len(one), np.uint8), np.full(len(one), np.nan, np.float32)
        couples = Couples(one, other, *unknown)
        # The first band has no earlier band to check.
        if band == 0:
            return measured(state, criterion, couples)
        return first_in_band(state, criterion, couples, band)

    parts = parts_of(len(left), state.threads, most=COMPARED_PAIRS)
    return Couples.joined(list(mapped(compare, parts, state.threads)))


def links_among(state: State, criterion: Criterion, plan: Plan, ordinals: U32) -> Iterator[Couples]:
    """Yield the matching pairs among some documents that share a band, by left position."""
    vectors = state.vectors(ordinals).gather(ordinals)
    keys = state.keying.searchable(state.column(layout.FINGERPRINT, ordinals), vectors)
    found = [np.empty(0, np.uint64)]
    for band in range(state.keying.table_count):
        table = sorted_table(keys[:, band].copy(), np.arange(len(ordinals), dtype=np.uint32))
        for couples in sweep_table(table, [ALL_BITS], 0):
            found.append(couples.left.astype(np.uint64) << np.uint64(32) | couples.right)
    every = sorted_unique(np.concatenate(found))
    left, right = (every >> np.uint64(32)).astype(np.uint32), every.astype(np.uint32)
    similarities = state.vectors(ordinals).between(ordinals[left], ordinals[right])
    distances = state.vectors(ordinals).distances(similarities)
    couples = Couples(left, right, distances, similarities)
    yield couples.taken(similarities >= np.float32(criterion.least))


def measure_all(
    state: State, sketches: Sketches, criterion: Criterion, plan: Plan, first: int, after: After
) -> Rows:
    """Return the matches of each query by measuring every stored signature; see `Method`."""
    vectors = state.vectors()
    offsets, ordinals, similarities = vectors.scan(
        sketches.vectors,
        similarity=criterion.least,
        skip=state.unmeasured(),
        after=after,
        first=first,
    )
    return Rows(offsets, ordinals, vectors.distances(similarities), similarities)


def nearest(state: State, sketches: Sketches, k: int, by_similarity: bool) -> Rows:
    """Return the best `k` documents of every sketch; see `Method`."""
    return Rows(*state.vectors().nearest(sketches.vectors, k, state.unmeasured()))


BANDING_METHOD: Method = Method(
    search=search, search_one=search_one, links=links, joining=joining, links_among=links_among
)
EXHAUSTIVE_METHOD: Method = Method(
    search=measure_all,
    links_among=compare_all,
    nearest=nearest,
    scanned=lambda state, plan: layout.VECTOR,
    compares=lambda state, plan, ordinal: True,
)
