"""Problem: the planner's input, which is a criterion and a population, and the interface of a way.

A way is a module of this folder with `METHODS` and the functions of `Way`.  `planner.py` lists the
ways of each kind of database; `database/search/methods/` carries out their plans.

If the data file is larger than memory, all stored data compete for memory.  A query then finds a
share of its pages there: the memory divided by the size of the file.  Directories, keys and vectors
are read at random, page by page; a search that compares all documents reads sequentially.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from simdb.core import bits
from simdb.core.errors import OptionError
from simdb.core.reports import Plan
from simdb.core.values import dataclass, replace
from simdb.plan.calibration import USUAL_DELAYS, Calibration, Delays
from simdb.plan.chance import filter_distance
from simdb.plan.recall import FlipEvidence

# The shares of matches that a filter by distance can lose; it is used only for a recall below 1.
FILTER_LOSSES = (1e-3, 1e-2, 3e-2)
ORDINAL_BYTES = 4
TAG_BYTES = 2  # in a header table, whose keys are the fingerprints themselves
HEADER_BYTES = 4
ASKING_SECONDS = 0.4e-6  # making a query of a stored document: fetching it and its bits' levels
FINGERPRINT_BYTES = bits.FINGERPRINT_BITS // 8
PAGE_BYTES = 4096
KEY_BYTES = 8
PAGE_ENTRIES = PAGE_BYTES // KEY_BYTES
TABLE_PAGES = 2  # the pages of a header in the directory, and of its first key
CANDIDATE_PAGES = 2  # the pages of its ordinal in the table, and of its vector
PAGE_SECONDS = 100e-6  # one random read of a page from a solid-state disk
BYTE_SECONDS = 1e-9  # one byte of a sequential read
# Headers with one entry each that differ only in these last bits lie in the same pages.
PAGE_HEADER_BITS = PAGE_ENTRIES.bit_length() - 1

Searched = TypeVar("Searched")
Same = TypeVar("Same", bound="TablePopulation[Any]")


@dataclass(frozen=True, slots=True)
class Criterion:
    """A criterion: the definition of a match, and the recall and method of the search.

    A match has at most `distance` differing bits and at least `similarity`, if these are not None;
    at least one of them is given.  It must be found with probability `recall`, by `method`.

    * `is_weighted`: every query has weights.
    * `is_stored`: the queries are stored documents, whose weights are rounded.
    * `rotations`: for search="rotation"; None derives it from `recall`.
    * `asked`: the user's number for `similarity`, if the kernel compares with another one; see
      `simdb/core/vector_form.py`.
    * `floor`: the similarity from which candidates are kept for an exact decision, although tables
      are searched for `similarity`; None for `similarity`.
    * `attempts`: for a probing method, the number of headers in each table in addition to the
      query's, instead of `recall`; None derives it from `recall`.
    * `header_bits`: the largest number of header bits of such a method; None for any.
    * `decided`: the least similarity of a match that is decided exactly, as the sketch would
      estimate it; None for `similarity`.
    """

    similarity: float | None
    distance: int | None
    recall: float
    method: str
    is_weighted: bool = False
    is_stored: bool = False
    rotations: int | None = None
    asked: float | None = None
    floor: float | None = None
    attempts: int | None = None
    header_bits: int | None = None
    decided: float | None = None

    @property
    def matching(self) -> float | None:
        """The least similarity of a document that must be found."""
        return self.similarity if self.decided is None else self.decided

    @property
    def least(self) -> float | None:
        """The similarity from which a candidate is kept."""
        return self.similarity if self.floor is None else self.floor

    @property
    def asked_similarity(self) -> float | None:
        """The similarity as users see it."""
        return self.similarity if self.asked is None else self.asked


class Paging(NamedTuple):
    """The size of the data file, the memory that can hold its pages, and the number of runs.

    `runs`: the documents of all runs, relative to the largest run.  The pages of a small run are
    used often, so they stay in memory.
    """

    data_bytes: float = 0.0
    memory_bytes: float = math.inf
    runs: float = 1.0

    @property
    def missing(self) -> float:
        """The share of the pages that are not in memory; 0 if all data fit into it."""
        return max(1.0 - self.memory_bytes / self.data_bytes, 0.0) if self.data_bytes else 0.0

    def pages_of(self, headers: float, entries: float) -> float:
        """Return the number of pages of some headers of one table, with `entries` under each.

        In every run, a look-up reads the directory and the keys.
        """
        return headers * (TABLE_PAGES * self.runs + entries / PAGE_ENTRIES)

    def seconds(self, pages: float) -> float:
        """Return the seconds of random reads of the missing share of `pages`."""
        return self.missing * pages * PAGE_SECONDS

    def charged(
        self, plan: Plan, *, pages: float = 0.0, measured: float = 0.0, row_bytes: float = 0.0
    ) -> Plan:
        """Return a plan with the pages that a query reads, and the time that this adds.

        The query reads `pages` of tables and the vectors of `measured` candidates at random, and
        `row_bytes` sequentially.
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
    """Return whether one sequential read of all searched data is faster than the queries' pages.

    This is the batch mode of Sood & Loguinov 2011, section 5.  `searched_bytes`: of tables and
    vectors.  The vectors of candidates are read at random in any case.
    """
    saved = queries * (plan.page_reads - plan.vector_reads)
    return saved * PAGE_SECONDS > searched_bytes * BYTE_SECONDS


def distinct_bits(header_bits: int, entries: float) -> int:
    """Return the number of leading header bits that decide the pages of their `entries`."""
    shared = PAGE_HEADER_BITS - math.ceil(math.log2(max(entries, 1.0)))
    return max(header_bits - max(shared, 0), 0)


@dataclass(frozen=True, slots=True, eq=False)
class PolytopeRun:
    """The cross-polytope tables of a run: `count` entries in each, and headers of `width` bits."""

    count: int
    width: int


@dataclass(frozen=True, slots=True)
class Population:
    """A population of fingerprints to search: `count`, in `blocks` choose `leading` tables."""

    count: int
    blocks: int
    leading: int
    directory_bits: int  # width of the widest directory
    has_vectors: bool
    is_swept: bool = False  # the search is for all pairs, each found from one of its documents
    vector_bytes: int = 0  # of one volatility vector
    crowding: float = 1.0  # other entries under the header of a document, over the mean of headers
    unseen: int = 0  # documents that the calibration does not cover
    crowds: tuple[float, ...] = ()  # the crowding of each table; () for `crowding` in all
    polytope_tables: int = 0
    gathered_tables: tuple[int, ...] = ()  # possible numbers of tables made for many look-ups
    polytope_runs: tuple[PolytopeRun, ...] = ()
    delta_count: int = 0  # documents in no run, which are compared one by one
    paging: Paging = ALL_IN_MEMORY
    glimpse: FlipEvidence | None = None  # a sample of this collection, if there is no better one
    gathered_share: float = 1.0  # documents put into tables that are made, over those looked up
    is_cut: bool = False  # the default tables are in memory, in addition to the one stored table

    def grown(self, count: int, directory_bits: int, polytope_bits: int) -> "Population":
        """Return the same tables with `count` documents in one run, all in memory.

        `directory_bits`, `polytope_bits`: the width of the directories of the two kinds of tables.
        """
        return replace(
            self, count=count, directory_bits=directory_bits, unseen=0, delta_count=0,
            polytope_runs=(PolytopeRun(count, polytope_bits),), paging=ALL_IN_MEMORY, is_cut=False,
        )  # fmt: skip

    def check(self, criterion: Criterion) -> None:
        """Raise OptionError if no plan can answer the criterion."""
        if criterion.similarity is not None and not self.has_vectors:
            raise OptionError(
                "similarity= needs stored volatility, and this database has none; create it with"
                " Simhash(store_volatility=True), or use distance="
            )

    @property
    def tables(self) -> int:
        """Number of tables."""
        return math.comb(self.blocks, self.leading)

    @property
    def widths(self) -> tuple[int, ...]:
        """The number of header bits that the directory of each table has."""
        return header_widths(self.blocks, self.leading, max(self.directory_bits, 1))

    def entries_of(self, header_bits: int, table: int | None = None) -> float:
        """Return the mean number of entries that a probe compares, in one table or in any."""
        crowding = self.crowding if table is None or not self.crowds else self.crowds[table]
        return 1 + crowding * self.count / (1 << header_bits)

    @property
    def asking_seconds(self) -> float:
        """The seconds to make a query of a stored document; 0 if queries are given."""
        return ASKING_SECONDS if self.is_swept else 0.0

    def bytes_read(self, criterion: Criterion) -> float:
        """Return the bytes per document of all data that plans for a criterion can read."""
        tables = self.bytes_of(self.tables, criterion)
        if criterion.similarity is None:
            return tables
        return tables - self.vector_bytes + self.bytes_of_polytopes(self.polytope_tables)

    def bytes_of_polytopes(self, tables: int) -> float:
        """Return the bytes per document of `tables` cross-polytope tables and the vectors."""
        entry = KEY_BYTES + ORDINAL_BYTES
        headers = sum(HEADER_BYTES << run.width for run in self.polytope_runs)
        return tables * (entry + headers / max(self.count, 1)) + self.vector_bytes

    def bytes_of(self, tables: int, criterion: Criterion, *, has_headers: bool = True) -> float:
        """Return the bytes per document of the data that a search in `tables` tables reads."""
        tag = TAG_BYTES if self.blocks == self.leading == 1 else 0
        entry = FINGERPRINT_BYTES + ORDINAL_BYTES + has_headers * tag
        headers = HEADER_BYTES * (1 << self.directory_bits) / max(self.count, 1)
        vectors = 0 if criterion.similarity is None else self.vector_bytes
        return tables * (entry + has_headers * headers) + vectors


class InTables(Protocol):
    """The keys of documents in the tables of a database."""

    @property
    def table_count(self) -> int:
        """Number of tables."""


InTablesT = TypeVar("InTablesT", bound=InTables)


@dataclass(frozen=True, slots=True)
class TablePopulation(Generic[InTablesT]):
    """A population to search: `count` documents of `vector_bytes` each, in the tables of `keying`.

    All vectors can be measured, so any criterion can be answered.
    """

    count: int
    keying: InTablesT
    directory_bits: int  # width of the widest directory
    vector_bytes: int
    is_swept: bool = False  # the search is for all pairs, each found from one of its documents
    paging: Paging = ALL_IN_MEMORY

    def grown(self: Same, count: int, directory_bits: int, polytope_bits: int) -> Same:
        """Return the same tables with `count` documents in one run; see `Population.grown`."""
        return replace(self, count=count, directory_bits=directory_bits, paging=ALL_IN_MEMORY)

    def check(self, criterion: Criterion) -> None:
        """Accept every criterion."""

    def bytes_read(self, criterion: Criterion) -> float:
        """Return the bytes per document of all tables and vectors."""
        return self.bytes_of(self.keying.table_count)

    def bytes_of(self, tables: int) -> float:
        """Return the bytes per document of the data that a search in `tables` tables reads."""
        headers = HEADER_BYTES * (1 << self.directory_bits) / max(self.count, 1)
        return tables * (KEY_BYTES + ORDINAL_BYTES + headers) + self.vector_bytes


@lru_cache(64)
def header_widths(blocks: int, leading: int, most: int) -> tuple[int, ...]:
    """Return the number of leading bits of each table, at most `most`."""
    return tuple(min(mask.bit_count(), most) for mask in bits.leading_masks(blocks, leading))


@dataclass(frozen=True, slots=True)
class Problem(Generic[Searched]):
    """A planning problem: a criterion, the population to search, its calibration and delays."""

    criterion: Criterion
    population: Searched
    calibration: Calibration | None = None
    delays: Delays = USUAL_DELAYS


class Way(Protocol[Searched]):
    """A way to search."""

    @property
    def METHODS(self) -> tuple[str, ...]:  # noqa: N802 - a constant of the module
        """The values of search= that choose this way."""

    def plans(self, problem: Problem[Searched]) -> list[Plan]:
        """Return the plans for search="auto" to choose from; some may miss the recall."""

    def named(self, problem: Problem[Searched], best: Callable[[Criterion], Plan]) -> Plan:
        """Return the plan for one of `METHODS` by name; raise OptionError if there is none.

        `best(criterion)` returns the plan that the planner chooses for a criterion.
        """

    def remark(self, criterion: Criterion, plans: Sequence[Plan]) -> str:
        """Return in words why none of the `plans` is of this way; "" if that is plain."""


def candidate_distances(
    criterion: Criterion, limit: Callable[[float, float], int] = filter_distance
) -> list[int]:
    """Return the distance limits that plans can set for candidates, safest first.

    For a similarity they are `limit(similarity, loss)`, for each loss that the recall allows.
    """
    if criterion.distance is not None:
        return [criterion.distance]
    if criterion.recall >= 1.0 or criterion.similarity is None:
        return [bits.FINGERPRINT_BITS]
    losses = [loss for loss in FILTER_LOSSES if loss < 1.0 - criterion.recall]
    found = [limit(criterion.similarity, loss) for loss in losses]
    return found or [bits.FINGERPRINT_BITS]
