"""Cost: the delays of a machine, the pages that a query reads, and the model of the paper.

If the data file is larger than the memory, all stored data compete for the memory, so the share of
the pages that a query finds there is the memory divided by the size of the file.  The directories
and keys of a table, and the vectors, are read here and there, a page at a time; a search that
compares all documents reads them in a row.

The model is that of BPHS and PSM by Sood & Loguinov 2011, equations (8) to (26).  For n = 2^d
fingerprints of b = 64 bits, one or more, it gives the cost of a query in two modes.  Online, all
fingerprints are in memory.  In batches, they are read from disk, in chunks of a batch's size.  It
models the paper's BPHS, which finds a header by binary search; the tables of this program have
directories, so the planner estimates its own methods in another way (`planner`).  PSM-A, which
finds all matches, and PSM-F, which finds the first one, have the same equations.  They differ in
k, the number of flip sets that a query tries, which depends on the collection (`recall`).
"""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

from simdb.core.bits import FINGERPRINT_BITS
from simdb.core.reports import Plan

FINGERPRINT_BYTES = FINGERPRINT_BITS // 8
PAGE_BYTES = 4096
KEY_BYTES = 8
PAGE_ENTRIES = PAGE_BYTES // KEY_BYTES
TABLE_PAGES = 2  # the page of a header in the directory, and that of its first key
CANDIDATE_PAGES = 2  # the page of its ordinal in the table, and that of its vector
PAGE_SECONDS = 100e-6  # reading one page here and there, from a solid-state disk
BYTE_SECONDS = 1e-9  # reading one byte of many in a row
# Headers that differ only in their last bits lie in the same pages, if each has one entry.
PAGE_HEADER_BITS = PAGE_ENTRIES.bit_length() - 1


@dataclass(frozen=True, slots=True)
class Delays:
    """The seconds that each step of a search takes on one core.

    The defaults are from one fast machine; `Database.calibrate` measures the machine that it runs
    on.  The first five are delta_R, delta_L, delta_P, delta_V and delta_S of the paper.  The
    planner needs the other three for steps that the paper does not count.
    """

    memory: float = 20e-9  # one random access to main memory, prefetched
    compare: float = 0.12e-9  # the Hamming distance of one fingerprint in a linear scan
    permute: float = 0.6e-9  # bringing the bits of one fingerprint into the order of a table
    flip: float = 2.3e-9  # finding one flip set, times log2 of the number of sets
    sort: float = 0.85e-9  # sorting one fingerprint, times log2 of the number of fingerprints
    measure: float = 4.5e-9  # the similarity of one stored volatility vector, in stored order
    candidate: float = 120e-9  # collecting and measuring one candidate within the distance
    prepare: float = 60e-9  # preparing the search for the likely headers of one table


USUAL_DELAYS = Delays()


class Paging(NamedTuple):
    """The size of the data file, the memory that can hold its pages, and the number of runs.

    `runs`: the documents of all runs, as a multiple of those of the largest; the pages of a small
    run are used so often that they stay in memory.
    """

    data_bytes: float = 0.0
    memory_bytes: float = math.inf
    runs: float = 1.0

    @property
    def missing(self) -> float:
        """The share of the pages that are not in memory; 0 if all data fit into it."""
        return max(1.0 - self.memory_bytes / self.data_bytes, 0.0) if self.data_bytes else 0.0

    def pages_of(self, headers: float, entries: float) -> float:
        """Return the pages of some headers of one table, with so many `entries` under each.

        In every run, a look-up reads the directory and the keys.
        """
        return headers * (TABLE_PAGES * self.runs + entries / PAGE_ENTRIES)

    def seconds(self, pages: float) -> float:
        """Return the seconds to read the missing ones of some pages, here and there."""
        return self.missing * pages * PAGE_SECONDS

    def charged(
        self, plan: Plan, *, pages: float = 0.0, measured: float = 0.0, row_bytes: float = 0.0
    ) -> Plan:
        """Return a plan with the pages that a query reads, and with the time that this takes.

        The query needs some `pages` of tables and the vectors of `measured` candidates, here and
        there, and `row_bytes` in a row.
        """
        if not self.missing:
            return plan
        vectors = measured * CANDIDATE_PAGES
        seconds = self.seconds(pages + vectors) + self.missing * row_bytes * BYTE_SECONDS
        return replace(
            plan,
            cost_seconds=plan.cost_seconds + seconds,
            page_reads=self.missing * (pages + vectors + row_bytes / PAGE_BYTES),
            vector_reads=self.missing * vectors,
        )


ALL_IN_MEMORY = Paging()


def pays_in_windows(plan: Plan, queries: int, searched_bytes: float) -> bool:
    """Return whether reading all that is searched takes less time than the pages of each query.

    This is the batch mode of Sood & Loguinov 2011, section 5; `searched_bytes`: of tables and
    vectors.  The vectors of candidates are read here and there anyway.
    """
    saved = queries * (plan.page_reads - plan.vector_reads)
    return saved * PAGE_SECONDS > searched_bytes * BYTE_SECONDS


def distinct_bits(header_bits: int, entries: float) -> int:
    """Return how many leading bits of headers decide in which pages their `entries` entries lie."""
    shared = PAGE_HEADER_BITS - math.ceil(math.log2(max(entries, 1.0)))
    return max(header_bits - max(shared, 0), 0)


class Cost(NamedTuple):
    """The cost of one way to search: `seconds` a query and `size_bytes` of memory.

    `tables`: the memory as a multiple of the bare fingerprints.  `header_bits`: the bits with which
    a look-up finds the start of its scan; in the model this need not be a whole number.
    """

    tables: float
    header_bits: float
    seconds: float
    size_bytes: float


def bphs(count: float, *, blocks: int, leading: int, delays: Delays) -> Cost:
    """Return the cost of BPHS with C(`blocks`, `leading`) tables: (8), (9), (10)."""
    depth = math.log2(count)
    tables = math.comb(blocks, leading)
    header_bits = min(leading * FINGERPRINT_BITS / blocks, depth)
    scanned = 2.0 ** (depth - header_bits)
    seconds = tables * (delays.permute + header_bits * delays.memory + scanned * delays.compare)
    return Cost(tables, header_bits, seconds, tables * count * FINGERPRINT_BYTES)


def best_bphs(count: float, *, distance: int, delays: Delays, tables_max: int) -> tuple[int, Cost]:
    """Return the leading blocks and the cost of the fastest BPHS that finds all within `distance`.

    Its number of blocks is `distance` more than that of leading blocks, because more blocks would
    be slower and larger: (11) to (14).  `tables_max` is above `distance`.
    """
    most = max(1, math.floor(leading_max(count, distance)))
    able = (
        (leading, bphs(count, blocks=leading + distance, leading=leading, delays=delays))
        for leading in range(1, most + 1)
        if math.comb(leading + distance, leading) <= tables_max
    )
    return min(able, key=lambda each: each[1].seconds)


def leading_max(count: float, distance: int) -> float:
    """Return the largest useful number of leading blocks: d h / (b - d), (15).

    With more, headers would have more bits than the depth of the table.
    """
    depth = math.log2(count)
    room = FINGERPRINT_BITS - distance - 1.0  # every block has one bit or more
    return min(room, depth * distance / max(FINGERPRINT_BITS - depth, 1e-9))


def psm(count: float, *, header_bits: float, attempts: float, delays: Delays) -> Cost:
    """Return the cost of PSM with one table and a directory of 2^`header_bits` entries: (19), (22).

    `attempts`: k, the flip sets that a query tries.  The number of tables is T' = 1 + 2^(t - d),
    (26).
    """
    depth = math.log2(count)
    scanned = 2.0 ** max(depth - header_bits, 0.0)
    seconds = attempts * (
        delays.flip * math.log2(attempts) + delays.memory + scanned * delays.compare
    )
    size = (2.0**header_bits + count) * FINGERPRINT_BYTES
    return Cost(1 + 2.0 ** (header_bits - depth), header_bits, seconds, size)


def attempts_max(header_bits: int, distance: int) -> int:
    """Return the largest k, (20): a header has no more flip sets of 1 to `distance` bits.

    A PSM that tries them all finds every document within `distance`.
    """
    return sum(math.comb(header_bits, flips) for flips in range(1, distance + 1))


def bphs_batch(
    count: float,
    *,
    blocks: int,
    leading: int,
    batch: float,
    bytes_per_second: float,
    delays: Delays,
) -> Cost:
    """Return the cost of one document of a batch of m = `batch` by BPHS: (16) to (18).

    BPHS makes tables of the batch, reads all `count` stored fingerprints from disk and looks each
    up in the tables.  Sorting costs delta_S log2 m an entry; (17) prints it without delta_S.
    """
    single = bphs(batch, blocks=blocks, leading=leading, delays=delays)
    building = single.tables * batch * (delays.permute + delays.sort * math.log2(batch))
    computing = building + count * single.seconds
    seconds = max(_reading(count, bytes_per_second), computing) / batch
    return single._replace(seconds=seconds)


def psm_batch(
    count: float, *, attempts: float, batch: float, bytes_per_second: float, delays: Delays
) -> Cost:
    """Return the cost of one document of a batch of m = `batch` by PSM: (16), (18), (23).

    PSM reads the `count` stored fingerprints from disk in chunks of m, makes a table of each
    chunk with headers of log2 m bits, looks the batch up in it, and sorts the batch at the end.
    """
    single = psm(batch, header_bits=math.log2(batch), attempts=attempts, delays=delays)
    finding = batch * delays.flip * math.log2(attempts)
    sorting = batch * delays.sort * math.log2(batch)
    computing = finding + count * single.seconds + sorting
    seconds = max(_reading(count, bytes_per_second), computing) / batch
    return single._replace(seconds=seconds)


def _reading(count: float, bytes_per_second: float) -> float:
    """Return the seconds to read all fingerprints from disk: (16)."""
    return count * FINGERPRINT_BYTES / bytes_per_second
