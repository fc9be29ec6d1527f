"""Search by permuted bits: block permutations (BPHS), and all pairs by rotation.

BPHS looks up the query's header, and flipped ones, in tables.  Each table has its own number of
header bits that may be flipped; some tables need not be read.

Rotation finds all pairs by sorting several times, with different bits in front.  Fingerprints that
differ only in low bits are neighbours when all are sorted.  After a rotation by some bits and
another sort, pairs that differ in other bits are neighbours (Biswas 2017, section 3.2).  Each
fingerprint is compared with the few that follow it.  A pair that is near in no rotation is missed;
`plan/rotation.py` predicts how many pairs are.  Each pair is returned once, by the first rotation
in which it is near.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import Sketches
from simdb.core.bits import rotated, rotation_amounts, set_bits
from simdb.core.dtypes import I64, U8, U32, U64
from simdb.core.matches import Match
from simdb.core.reports import Plan, Probe
from simdb.core.threads import in_rounds
from simdb.database.search.couples import (
    Couples,
    measured,
    searched,
    sorted_tables,
    sweep_tables,
    whole_table,
)
from simdb.database.search.method import (
    After,
    Candidates,
    Limit,
    Method,
    PairMember,
    by_candidates,
    matches_of_one,
)
from simdb.database.search.methods.exhaustive import links_among
from simdb.database.search.rows import MANY
from simdb.database.state.state import State
from simdb.plan import WINDOW, Criterion, swept_masks, tables_read
from simdb.storage import Run, Table

# Number of entries that, with the values computed from them, fit into the second-level cache.
PART_ENTRIES = 1 << 14


def search_one(
    state: State, sketches: Sketches, criterion: Criterion, plan: Plan, first: int, limit: Limit
) -> list[Match] | None:
    """Return the matches of one document with weights, best first; None if there are many."""
    is_measured = criterion.similarity is not None
    found = search_bits(state, int(sketches.bits[0]), plan, 0 if is_measured else first)
    return matches_of_one(state, sketches, criterion, found, 1 if first == 1 else limit)


def search_bits(state: State, bits: int, plan: Plan, first: int) -> list[tuple[int, int]] | None:
    """Return ordinals and distances of the matches of one fingerprint; None if there are many."""
    found: list[tuple[int, int]] | None = state.tables(plan.table_flips).lookup_one(
        bits, plan.distance, plan.table_flips, first, MANY
    )
    return found


def links(state: State, criterion: Criterion, plan: Plan) -> Iterator[Couples]:
    """Yield all matching pairs by walking each table that the plan reads."""
    masks = swept_masks(state.kind.masks)
    table: Callable[[int], Table] = partial(whole_table, state)
    if masks is not state.kind.masks:
        every = searched(state, is_measured=criterion.similarity is not None)
        table = sorted_tables(every, masks, state.threads)
    swept = sweep_tables(table, masks, plan.distance, plan.table_flips, threads=state.threads)
    measure = partial(measured, state, criterion)
    is_measured = criterion.similarity is not None
    yield from in_rounds(measure, swept, state.threads) if is_measured else swept


def rotation_links(state: State, criterion: Criterion, plan: Plan) -> Iterator[Couples]:
    """Yield the matching pairs that are neighbours in some rotation."""
    every = searched(state, is_measured=criterion.similarity is not None)
    for left, right, distances in find_neighbours(
        every.fingerprints, rotations=plan.tables, window=WINDOW, distance=plan.distance
    ):
        unknown = np.full(len(left), np.nan, np.float32)
        couples = Couples(every.ordinals[left], every.ordinals[right], distances, unknown)
        yield measured(state, criterion, couples)


def find_neighbours(
    fingerprints: U64, *, rotations: int, window: int, distance: int
) -> Iterator[tuple[U32, U32, U8]]:
    """Yield positions left < right and distances of the pairs within `distance`, in chunks.

    In at least one of `rotations` sorted orders, both documents of a pair are at most `window`
    places apart.
    """
    earlier: list[U32] = []
    for amount in rotation_amounts(rotations):
        keys = rotated(fingerprints, amount)
        positions = np.arange(len(keys), dtype=np.uint32)
        kernel.sort(keys, positions)
        for start in range(0, len(keys), PART_ENTRIES):
            upto = start + PART_ENTRIES
            for one, other, apart in _near(keys[start : upto + window], window, distance):
                inside = one < PART_ENTRIES
                left, right = positions[start + one[inside]], positions[start + other[inside]]
                is_new = np.ones(len(left), np.bool_)
                for ranks in earlier:
                    is_new &= np.abs(ranks[left].astype(np.int64) - ranks[right]) > window
                left, right = left[is_new], right[is_new]
                if len(left):
                    yield np.minimum(left, right), np.maximum(left, right), apart[inside][is_new]
        ranks = np.empty_like(positions)
        ranks[positions] = np.arange(len(positions), dtype=np.uint32)
        earlier.append(ranks)


def tables(state: State, plan: Plan, run: Run) -> Iterator[Table]:
    """Yield the tables that a plan reads; see `tables_read`."""
    if len(plan.table_flips) > len(state.kind.masks):  # flips of the usual cut
        return iter(state.kind.cut.of_run(run, state))
    read = tables_read(
        tuple(state.kind.masks), plan.table_flips, distance=plan.distance,
        directory_bits=run.table(0, state.source).width,
    )  # fmt: skip
    return (run.table(number, state.source) for number in read)


def find_probe(
    state: State, criterion: Criterion, plan: Plan, query: PairMember, stored: PairMember
) -> Probe | None:
    """Return the first probe that reaches a stored document."""
    is_cut = len(plan.table_flips) > len(state.kind.masks)
    masks = swept_masks(state.kind.masks) if is_cut else state.kind.masks
    return probe_of(plan, query.bits, stored.bits, masks)


def probe_of(plan: Plan, query: int, stored: int, masks: Sequence[int]) -> Probe | None:
    """Return the probe of the first table whose headers differ in no more bits than it flips.

    `masks`: the leading bits of each table.
    """
    for table, (mask, flips) in enumerate(zip(masks, plan.table_flips, strict=True)):
        flipped = (query ^ stored) & mask
        if flipped.bit_count() <= flips:
            return Probe(table, tuple(set_bits(flipped)), None)
    return None


def _candidates(
    state: State, sketches: Sketches, plan: Plan, first: int, after: After
) -> Candidates:
    found: Candidates = state.tables(plan.table_flips).lookup(
        sketches.bits, distance=plan.distance, flips=plan.table_flips, first=first, after=after
    )
    return found


def _near(keys: U64, window: int, distance: int) -> Iterator[tuple[I64, I64, U8]]:
    """Yield positions and distances of keys at most `window` places apart and within `distance`."""
    for apart in range(1, min(window, len(keys) - 1) + 1):
        differing = np.bitwise_count(keys[:-apart] ^ keys[apart:])
        found = np.flatnonzero(differing <= distance)
        yield found, found + apart, differing[found]


BPHS_METHOD: Method = Method(
    search=by_candidates(_candidates),
    search_one=search_one,
    search_bits=search_bits,
    links=links,
    links_among=links_among,
    tables=tables,
    find_probe=find_probe,
)
ROTATION_METHOD: Method = Method(links=rotation_links)
