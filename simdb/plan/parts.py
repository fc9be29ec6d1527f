"""Tables of parts: the keys of hashes of 32 to 512 bits, and plans that look them up.

The bits of a hash are dealt to blocks, and some blocks together are a part: a word of 64 bits or
fewer.  Each block has a table.  Its keys are the words of its part with the block in front, as in
block-permuted Hamming search (`tables.py`).

Let each table flip up to r bits of its block.  If the sum of r + 1 over all tables exceeds
`distance`, some table has at most r differing bits, however the differing bits are spread (Qin et
al. 2018).  The part of such a table then differs in fewer bits than the sum of r + 1 over the
tables of that part.  So a key is a candidate only if its word is that near, and few candidates need
a comparison of whole hashes.

For a recall below 1, fewer headers are looked up.  Counting the ways to choose `distance` differing
bits gives the share of such matches that is still found.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from simdb.core import bits, kernel
from simdb.core.dtypes import F64, U8, U16, U64
from simdb.core.errors import OptionError
from simdb.core.options import BPHS, EXHAUSTIVE, Bits, Options
from simdb.core.previews import counted
from simdb.core.reports import Plan
from simdb.core.values import dataclass
from simdb.plan import pigeonhole
from simdb.plan.bands import SCANNED_BYTE_SECONDS
from simdb.plan.pigeonhole import Flips
from simdb.plan.polytopes import Polytopes
from simdb.plan.problem import Criterion, Problem, TablePopulation
from simdb.plan.tables import SORTED_SECONDS, SWEPT_SECONDS

METHODS = (EXHAUSTIVE, BPHS)
# If the recall allows losses: the limit of differing bits of one part of a candidate, in standard
# deviations above the mean.
FAR_DEVIATIONS = 3.0
CANDIDATE_SECONDS = 5e-9  # comparing one of many candidates as a whole
SWEPT_BYTE_SECONDS = 0.015e-9  # comparing one byte of a hash with the bytes of many queries


def fitted_order(hashes: U8, widths: Sequence[int]) -> tuple[int, ...]:
    """Return an order of bits that gives all blocks similar entropy; see `Bits.order`.

    `hashes`: a sample, uint8[n, bits / 8].  `widths`: the bits of each block.  The bits are dealt
    in turn, by descending entropy.  In each turn, a bit goes to the block with whose bits it is
    least correlated.
    """
    every = np.unpackbits(hashes, axis=1).astype(np.float32)
    means = every.sum(axis=0) / max(len(hashes), 1)
    spreads = np.sqrt(np.maximum(means * (1 - means), 1e-9))
    related = ((every - means) / spreads).T @ ((every - means) / spreads) / max(len(hashes), 1)
    np.fill_diagonal(related, 0.0)
    shared = np.zeros((len(widths), len(means)), np.float32)

    def add(block: int, bit: int) -> None:
        shared[block] += related[bit] ** 2

    ranked = np.argsort(-spreads, kind="stable").tolist()
    return tuple(_dealt(ranked, widths, lambda block, bit: float(shared[block, bit]), add))


def _dealt(
    ranked: Sequence[int],
    widths: Sequence[int],
    cost: Callable[[int, int], float] = lambda block, bit: block,
    add: Callable[[int, int], None] = lambda block, bit: None,
) -> list[int]:
    """Return bits by block; each bit goes to the block with the fewest bits, then least `cost`."""
    chosen: list[list[int]] = [[] for _ in widths]
    for bit in ranked:
        able = [at for at, own in enumerate(chosen) if len(own) < widths[at]]
        block = min(able, key=lambda at: (len(chosen[at]), cost(at, bit)))
        chosen[block].append(bit)
        add(block, bit)
    return [bit for own in chosen for bit in own]


class HashParts:
    """The tables of a database of hashes: one for each block, keyed by the words of its part."""

    def __init__(self, options: Options) -> None:
        """Cut the hashes of `options` into parts and blocks of about equal length."""
        assert isinstance(options.sketch, Bits)
        count = options.sketch.bits
        self.bits = count
        self.polytopes = Polytopes(0)
        self.has_header_table = False
        self.sizes = _shares(count, -(-count // bits.FINGERPRINT_BITS))
        self.masks: list[int] = []  # of each table: the bits of its block in the word of its part
        self.part_of: list[int] = []
        self._tables: list[slice] = []
        for part, own in enumerate(_shares(options.blocks, len(self.sizes))):
            end = bits.FINGERPRINT_BITS
            for width in _shares(self.sizes[part], own):
                self.masks.append((1 << end) - (1 << (end - width)))
                self.part_of.append(part)
                end -= width
            self._tables.append(slice(len(self.masks) - own, len(self.masks)))
        order = options.sketch.order or _dealt(range(count), self.widths)
        self._order: U16 = np.array(order, np.uint16)

    @property
    def table_count(self) -> int:
        """Number of tables."""
        return len(self.masks)

    @property
    def widths(self) -> tuple[int, ...]:
        """Number of bits in the block of each table."""
        return tuple(mask.bit_count() for mask in self.masks)

    def words(self, hashes: U8) -> U64:
        """Return the parts of hashes uint8[n, bits / 8]: uint64[parts, n]."""
        return kernel.deal(hashes, self._order, self.sizes)

    def searchable(self, fingerprints: U64, vectors: U8) -> U64:
        """Return the parts of some documents: uint64[n, parts]."""
        return np.ascontiguousarray(self.words(vectors).T)

    def write_keys(self, searchable: U64, keys: U64, table: int) -> None:
        """Write the keys of one table into `keys`."""
        words = np.ascontiguousarray(searchable[:, self.part_of[table]])
        kernel.permute(words, self.masks[table], keys)

    def bits_of(self, part: int, mask: int) -> tuple[int, ...]:
        """Return the bits of a hash that `mask` selects in the word of a part; 0 is the lowest."""
        start, top = sum(self.sizes[:part]) + bits.FINGERPRINT_BITS - 1, self.bits - 1
        return tuple(sorted(top - int(self._order[start - bit]) for bit in bits.set_bits(mask)))

    @property
    def leading(self) -> list[int]:
        """The mask of the bits of a hash that lead in each table."""
        pairs = zip(self.part_of, self.masks, strict=True)
        return [sum(1 << bit for bit in self.bits_of(*each)) for each in pairs]

    def tables_of(self, part: int) -> slice:
        """Return the tables of a part, as a slice of all tables."""
        return self._tables[part]

    def limits(self, flips: Flips, distance: int) -> list[int]:
        """Return the largest distance of each part of a candidate; -1 for a part not read."""
        least = [sum(flips[own]) + own.stop - own.start - 1 for own in self._tables]
        if sum(flips) + len(flips) > distance:
            return [min(own, size) for own, size in zip(least, self.sizes, strict=True)]
        means = [distance * size / self.bits for size in self.sizes]
        far = [int(mean + FAR_DEVIATIONS * mean**0.5) for mean in means]
        return [
            -1 if own < 0 else min(max(own, most), size)
            for own, most, size in zip(least, far, self.sizes, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class HashPopulation(TablePopulation[HashParts]):
    """A population of hashes to search, with a table for each block."""

    crowds: tuple[float, ...] = ()  # see `Population.crowds`
    near: tuple[float, ...] = ()  # the share of the entries under a header that are candidates

    @property
    def widths(self) -> tuple[int, ...]:
        """The number of header bits that the directory of each table has."""
        most = max(self.directory_bits, 1)
        return tuple(min(width, most) for width in self.keying.widths)

    @property
    def entries(self) -> tuple[float, ...]:
        """The mean number of entries under a header, for each table."""
        crowds = self.crowds or (1.0,) * self.keying.table_count
        pairs = zip(crowds, self.widths, strict=True)
        return tuple(1 + crowd * self.count / (1 << width) for crowd, width in pairs)


def plans(problem: Problem[HashPopulation]) -> list[Plan]:
    """Return the plan that compares all hashes and, if possible, the plan that looks up headers."""
    return [*comparing(problem), *looking_up(problem)]


def named(problem: Problem[HashPopulation], best: Callable[[Criterion], Plan]) -> Plan:
    """Return the plan of the method that the criterion names.

    Raises OptionError if there is none.
    """
    if problem.criterion.method == EXHAUSTIVE:
        return comparing(problem)[0]
    found = looking_up(problem)
    if not found:
        population = problem.population
        raise OptionError(
            f"distance={problem.criterion.distance} is more than {population.keying.table_count}"
            f" tables serve with up to {pigeonhole.FLIPS_MAX} flipped bits in each; use"
            " search='auto' or 'exhaustive'"
        )
    return found[0]


def remark(criterion: Criterion, plans: Sequence[Plan]) -> str:
    """Return "", since the plans themselves say what the tables find."""
    return ""


def comparing(problem: Problem[HashPopulation]) -> list[Plan]:
    """Return the plan that compares every hash."""
    criterion, population = problem.criterion, problem.population
    count = -(-population.count // 2) if population.is_swept else population.count
    assert criterion.distance is not None
    seconds = SWEPT_BYTE_SECONDS if population.is_swept else SCANNED_BYTE_SECONDS
    plan = Plan(
        EXHAUSTIVE, 0, 0, 0, criterion.distance, None, 1.0,
        count * population.vector_bytes * seconds,
        f"each of {population.count} documents is compared",
        bytes_per_document=population.bytes_of(0),
    )  # fmt: skip
    return [population.paging.charged(plan, row_bytes=count * population.vector_bytes)]


def looking_up(problem: Problem[HashPopulation]) -> list[Plan]:
    """Return the cheapest plan by tables that reaches the recall, if enough flips exist."""
    distance, recall = problem.criterion.distance, problem.criterion.recall
    assert distance is not None
    every = _flips(problem, distance)
    if every is None:
        return []

    def reached(served: int) -> float:
        """Return the share of matches that the flips for the smaller distance `served` find."""
        return 1.0 - missed(problem.population.keying, _flips(problem, served) or every, distance)

    served = bisect_left(range(distance), recall, key=reached) if recall < 1.0 else distance
    if served == distance:
        return [_plan(problem, every, 1.0)]
    return [_plan(problem, _flips(problem, served) or every, reached(served))]


def _plan(problem: Problem[HashPopulation], flips: Flips, recall: float) -> Plan:
    population, distance = problem.population, problem.criterion.distance
    assert distance is not None
    widths, entries = population.widths, population.entries
    read = [table for table, each in enumerate(flips) if each != pigeonhole.NOT_READ]
    headers = {table: bits.flip_count(widths[table], flips[table]) for table in read}
    probes = sum(headers.values())
    seconds = pages = 0.0
    for table in read:
        cost, own = _probe_cost(problem, table), headers[table]
        seconds += own * cost + SORTED_SECONDS * population.is_swept
        pages += population.paging.pages_of(own, entries[table])
    finds = "find" if len(read) != 1 else "finds"
    why = f"{counted(len(read), 'table')} {finds}"
    why += " all" if recall == 1.0 else f" {recall:.4f} of those in exactly {distance} bits,"
    why += f" within distance {distance}, with up to {max(flips)} flipped header bits in each"
    plan = Plan(
        BPHS, len(read), max(flips), probes, distance, None, recall, seconds, why,
        header_bits=min((widths[table] for table in read), default=0),
        bytes_per_document=population.bytes_of(len(read)),
        table_flips=flips, part_limits=tuple(population.keying.limits(flips, distance)),
    )  # fmt: skip
    return population.paging.charged(plan, pages=pages, measured=1.0)


def _probe_cost(problem: Problem[HashPopulation], table: int) -> float:
    """Return the seconds of looking up one header of a table."""
    population, delays = problem.population, problem.delays
    entries = population.entries[table]
    compared = entries * population.near[table] * CANDIDATE_SECONDS if population.near else 0.0
    if population.is_swept:
        return (pigeonhole.VISITED_SECONDS + entries * SWEPT_SECONDS + compared) / 2
    return delays.memory + entries * delays.visit + compared


def _flips(problem: Problem[HashPopulation], served: int) -> Flips | None:
    """Return the cheapest flips that find all matches within `served`; None if none do."""
    population = problem.population
    costs = [_probe_cost(problem, table) for table in range(population.keying.table_count)]
    return pigeonhole.cheapest_flips(
        population.keying.table_count, 1, served,
        widths=population.widths, probe_costs=costs,
        table_cost=SORTED_SECONDS if population.is_swept else 0.0,
    )  # fmt: skip


def missed(keying: HashParts, flips: Flips, distance: int) -> float:
    """Return the share of all choices of `distance` differing bits that no table reaches."""
    total: F64 = np.ones(1)
    limits = keying.limits(flips, distance)
    for part, (size, limit) in enumerate(zip(keying.sizes, limits, strict=True)):
        own: F64 = np.ones(1)
        tables = keying.tables_of(part)
        for width, most in zip(keying.widths[tables], flips[tables], strict=True):
            ways = _choices(width).copy()
            ways[: most + 1] = 0.0
            own = np.convolve(own, ways)
        # No table reaches a word that differs in more bits than the limit.
        own = np.where(np.arange(size + 1) <= limit, own, _choices(size))
        total = np.convolve(total, own)[: distance + 1]
    return float(total[distance] / _choices(keying.bits)[distance])


@lru_cache(128)
def _choices(count: int) -> F64:
    """Return the binomial coefficients C(count, k): float64[count + 1]."""
    found = np.ones(count + 1)
    for at in range(count):
        found[at + 1] = found[at] * (count - at) / (at + 1)
    return found


def _shares(count: int, parts: int) -> list[int]:
    """Cut a number into parts that differ by 1 at most, larger parts first."""
    return [count // parts + (part < count % parts) for part in range(parts)]
