"""Search of hashes: by tables of their parts, or by comparing every hash."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import Sketches
from simdb.core.dtypes import F32, I64, U32, Array, Bools
from simdb.core.matches import Match
from simdb.core.reports import Plan, Probe
from simdb.core.threads import mapped, parts_of
from simdb.database.search.couples import Couples, searched, sweep_table, whole_table
from simdb.database.search.method import After, Limit, Method, PairMember
from simdb.database.search.rows import MANY, Rows
from simdb.database.state.state import State
from simdb.plan import NOT_READ, Criterion, HashParts
from simdb.storage import LeftOut, Run, Table, layout

# Number of pairs that are compared in one step.
COMPARED_PAIRS = 1 << 16


def search(
    state: State, sketches: Sketches, criterion: Criterion, plan: Plan, first: int, after: After
) -> Rows:
    """Return the matches of every sketch; see `Method`."""
    found = state.tables().search(sketches.vectors, state.known_vectors, plan, after)
    return _rows(found, first)


def search_one(
    state: State, sketches: Sketches, criterion: Criterion, plan: Plan, first: int, limit: Limit
) -> list[Match] | None:
    """Return the matches of one hash, best first; None if there are many candidates."""
    ordinals = state.whole_tables().candidates_of(sketches.vectors, plan, MANY, state.left_out)
    if ordinals is None:
        return None
    if not len(ordinals):
        return []
    hashes = state.known_vectors(ordinals)
    whole = np.array([0, len(ordinals)], np.int64)
    distances = hashes.differing(sketches.vectors, whole, ordinals).tolist()
    near = sorted(
        (distance, ordinal)
        for distance, ordinal in zip(distances, ordinals.tolist(), strict=True)
        if distance <= plan.distance
    )
    return [
        Match(state.id_of(ordinal), distance, None, None)
        for distance, ordinal in near[: 1 if first == 1 else limit]
    ]


def links(state: State, criterion: Criterion, plan: Plan) -> Iterator[Couples]:
    """Yield the matching pairs, each from the first table that reaches it."""
    keying: HashParts = state.keying  # type: ignore[assignment]
    for number, flips in enumerate(plan.table_flips):
        if flips == NOT_READ:
            continue
        part = keying.part_of[number]
        own = keying.tables_of(part)
        swept = sweep_table(
            whole_table(state, number), keying.masks[own], plan.part_limits[part],
            number - own.start, plan.table_flips[own], threads=state.threads,
        )  # fmt: skip
        for couples in swept:
            found = _near(state, couples, plan.distance)
            yield found.taken(~_reached_before(state, found, plan, part))


def links_among(state: State, criterion: Criterion, plan: Plan, ordinals: U32) -> Iterator[Couples]:
    """Yield the matching pairs among some documents, by position: every two are compared."""
    hashes, count = state.vectors(ordinals).gather(ordinals), len(ordinals)
    vectors = kernel.Vectors(hashes.shape[1], [(0, hashes)])
    step = max(COMPARED_PAIRS // max(count, 1), 1)
    for start in range(0, count, step):
        own = np.arange(start, min(start + step, count), dtype=np.uint32)
        yield _with_later(vectors, own, plan.distance, None)


def tables(state: State, plan: Plan, run: Run) -> Iterator[Table]:
    """Yield the tables that a plan reads."""
    return (
        run.table(number, state.source)
        for number, flips in enumerate(plan.table_flips)
        if flips != NOT_READ
    )


def find_probe(
    state: State, criterion: Criterion, plan: Plan, query: PairMember, stored: PairMember
) -> Probe | None:
    """Return the first probe that reaches a stored hash."""
    if query.vector is None or stored.vector is None:
        return None
    keying: HashParts = state.keying  # type: ignore[assignment]
    words = keying.words(np.stack([query.vector, stored.vector]))
    for number, (mask, flips) in enumerate(zip(keying.masks, plan.table_flips, strict=True)):
        part = keying.part_of[number]
        differing = int(words[part, 0] ^ words[part, 1])
        if (
            differing.bit_count() <= plan.part_limits[part]
            and (differing & mask).bit_count() <= flips
        ):
            return Probe(number, keying.bits_of(part, differing & mask), None)
    return None


def compare_all(
    state: State, sketches: Sketches, criterion: Criterion, plan: Plan, first: int, after: After
) -> Rows:
    """Return the matches of each query by comparing every stored hash; see `Method`."""
    found = state.vectors().within(
        sketches.vectors, distance=plan.distance, skip=state.unmeasured(), after=after, first=first
    )
    return _rows(found, first)


def compare_all_links(state: State, criterion: Criterion, plan: Plan) -> Iterator[Couples]:
    """Yield all matching pairs by comparing each document with those after it."""
    every, vectors = searched(state, is_measured=False).ordinals, state.vectors()
    parts = (every[part] for part in parts_of(len(every), state.threads, most=256))
    compare = partial(_with_later, vectors, distance=plan.distance, skip=state.unmeasured())
    yield from mapped(compare, parts, state.threads)


def nearest(state: State, sketches: Sketches, k: int, by_similarity: bool) -> Rows:
    """Return the best `k` documents of every sketch; see `Method`."""
    return _rows(state.vectors().closest(sketches.vectors, k, state.unmeasured()))


def _with_later(vectors: Any, own: U32, distance: int, skip: LeftOut) -> Couples:
    """Return the pairs of each hash in `own` with hashes of greater ordinals, by left ordinal."""
    hashes = vectors.gather(own)
    offsets, right, distances = vectors.within(hashes, distance=distance, skip=skip, after=own)
    left = np.repeat(own, np.diff(offsets))
    return Couples(left, right, distances, _unknown(len(left)))


def _rows(found: tuple[I64, U32, Array], first: int = 0) -> Rows:
    """Return offsets, ordinals and distances as rows; if `first` is 1, one row for each query."""
    rows = Rows(*found, _unknown(len(found[1])))
    return rows.limited(1) if first == 1 else rows


def _unknown(count: int) -> F32:
    return np.full(count, np.nan, np.float32)


def _near(state: State, couples: Couples, distance: int) -> Couples:
    """Return the couples that differ in at most `distance` bits, with their distances."""
    state.check_known(couples.right)
    distances = state.vectors().differing_between(couples.left, couples.right)
    near = distances <= distance
    known = Couples(couples.left, couples.right, distances, couples.similarities)
    return known.taken(near)


def _reached_before(state: State, couples: Couples, plan: Plan, part: int) -> Bools:
    """Return whether a table of an earlier part reaches each couple: bool[n]."""
    keying: HashParts = state.keying  # type: ignore[assignment]
    is_before = np.zeros(len(couples), np.bool_)
    if part == 0 or not len(couples):
        return is_before
    vectors = state.vectors()
    words = keying.words(vectors.gather(couples.left)) ^ keying.words(vectors.gather(couples.right))
    for earlier in range(part):
        is_near = np.bitwise_count(words[earlier]) <= max(plan.part_limits[earlier], 0)
        own = keying.tables_of(earlier)
        for mask, flips in zip(keying.masks[own], plan.table_flips[own], strict=True):
            if flips != NOT_READ:
                differing = np.bitwise_count(words[earlier] & np.uint64(mask))
                is_before |= is_near & (differing <= flips)
    return is_before


PARTS_METHOD: Method = Method(
    search=search,
    search_one=search_one,
    links=links,
    links_among=links_among,
    tables=tables,
    find_probe=find_probe,
)
EXHAUSTIVE_METHOD: Method = Method(
    search=compare_all,
    links=compare_all_links,
    links_among=links_among,
    nearest=nearest,
    scanned=lambda state, plan: layout.VECTOR,
    compares=lambda state, plan, ordinal: True,
)
