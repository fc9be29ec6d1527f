"""Cost: the delays of a machine, and the pages that a query reads.

If the data file is larger than the memory, all stored data compete for the memory, so the share of
the pages that a query finds there is the memory divided by the size of the file.  The directories
and keys of a table, and the vectors, are read here and there, a page at a time; a search that
compares all documents reads them in a row.
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
    on.  The first five are delta_R, delta_L, delta_P, delta_V and delta_S of Sood & Loguinov 2011,
    equations (8) to (26).  The planner needs the other three for steps that they do not count.
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
