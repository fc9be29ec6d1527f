"""Plans: how a database will answer a question, and which look-up of it finds a match."""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simdb.ground import previews


@dataclass(frozen=True, slots=True, eq=False)
class Probing:
    """The rule by which a query chooses the headers that it asks for, in `tables` tables.

    A header is asked for if its flipped bits cost at most `theta` together; `costs` uint8[256]
    gives the cost of a bit by its level.  At most `cap` headers of one table are asked for.  If
    `theta` is None, these are the first `cap` in the order of VOSH (`simdb.vosh`), with at most as
    many flipped bits as the plan's distance.  A header has `header_bits` bits, or fewer if the
    directory of a run tells apart fewer.
    """

    tables: int
    header_bits: int
    theta: int | None
    cap: int
    costs: npt.NDArray[np.uint8]


class ModelCost(NamedTuple):
    """What the cost model of Sood & Loguinov 2011 says of a query by one way to search, one core.

    `name`: "BPHS" or "PSM", also "in batches"; `setting`: its parameters in words.  `tables`: its
    memory as a multiple of the bare fingerprints.  `header_bits`: with which a look-up finds the
    start of its scan; not always a whole number.
    """

    name: str
    setting: str
    tables: float
    header_bits: float
    seconds: float
    bytes_per_document: float


@dataclass(frozen=True, slots=True)
class Plan:
    """The way in which a question will be answered.

    `method`:
    "exhaustive" compares every document.
    "bphs" looks up `tables` tables, with up to `flips` flipped header bits.  `table_flips` has the
    most flipped bits of each table of the database; -1: the table is not read.  By the general
    pigeonhole principle some tables need fewer flips than others, or none need be read.
    "polytope" looks up `tables` cross-polytope tables: all headers that cost little by the
    weights of the query; see docs/ALGORITHMS.md.
    "psm" looks up one table, "multiprobe" several tables: all headers whose flipped bits have costs
    (natural logarithms, by their volatility) that sum to `theta` or less; with a fixed number of
    attempts, so many headers in the order of `simdb.vosh`, and `theta` is None.
    "rotation" finds pairs by sorting in `tables` orders.
    "banding" looks up the `tables` bands of MinHash signatures.

    `probes`: the mean number of look-ups for one query.
    `distance`: candidates are within this Hamming distance.  If `similarity` is not None, stored
    vectors measure the candidates.
    `recall`: the predicted share of the matches that are found; 1.0 means all of them for certain.
    `cost_seconds`: the estimated time of one query.
    `reason`: the plan in words.
    `sketching`: where a text becomes a fingerprint, in words.
    `probing`: the rule that the kernel follows for "psm" and "multiprobe".
    `compared`: the number of documents that these two methods also compare one by one, because the
    calibration does not cover them.
    `header_bits`: the bits by which a look-up finds its place in the directory of the largest run;
    the fewest of any table.
    `page_reads`: the estimated number of pages that a query reads from disk; 0 if the database fits
    into memory.  `vector_reads` of them are for measuring candidates.
    `bytes_per_document`: the bytes that the search reads from: tables, their directories, and the
    volatility vectors if they measure the candidates.
    `choice`: why this plan is better than the others, in words; `considered` has all, best first.
    `smallest`: for a number of documents and a distance, the plan by PSM in a database of one table
    without weights, if `calibrate(sample=)` learns that queries are edits of stored documents; its
    `choice` says how much memory that saves, and when it is the right one.  None if PSM cannot
    answer the question, or the database is of that kind.
    `model`: for a number of documents, what the paper's cost model says of BPHS and PSM, single
    queries by its equations (8) to (14) and batches by (23) to (26); otherwise empty.
    """

    method: str
    tables: int
    flips: int
    probes: int
    distance: int
    similarity: float | None
    recall: float
    cost_seconds: float
    reason: str
    sketching: str = ""
    theta: float | None = None
    probing: Probing | None = field(default=None, repr=False, compare=False)
    header_bits: int = 0
    bytes_per_document: float = 0.0
    page_reads: float = 0.0
    vector_reads: float = 0.0
    compared: int = 0
    table_flips: tuple[int, ...] = ()
    choice: str = ""
    considered: tuple["Plan", ...] = field(default=(), repr=False, compare=False)
    model: tuple[ModelCost, ...] = field(default=(), repr=False, compare=False)
    smallest: "Plan | None" = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        """Return the method, what it finds and costs, and the plan in words."""
        asked = previews.criterion(self.similarity, self.distance)
        return (
            f"<simdb.Plan: method {self.method!r}, {asked}, recall {self.recall:.3g},"
            f" {self.cost_seconds:.2g} s a query: {previews.shortened(self.reason)}>"
        )

    def _repr_html_(self) -> str:
        """Return all plans that were considered as a table, the best first, for notebooks."""
        every = self.considered or (self,)
        rows = (
            (each.method, each.tables, each.flips, each.probes, each.recall, each.cost_seconds)
            for each in every
        )
        columns = ("method", "tables", "flips", "probes", "recall", "seconds")
        return previews.table(self.reason, columns, rows, len(every), most=len(every))

    @property
    def queries_per_second(self) -> float:
        """The estimated number of queries that one core answers; infinite if they cost nothing."""
        return 1.0 / self.cost_seconds if self.cost_seconds > 0 else math.inf


@dataclass(frozen=True, slots=True)
class Probe:
    """The look-up that finds a match.

    `table`: the number of the table, from 0, where the header of the query is looked up after some
    of its bits are flipped.  `flipped`: these bits, as positions in the fingerprint, lowest first.
    `rank`: the rank of that header, from 1 on, in the order of VOSH, which PSM and multi-probe
    follow; without a fixed number of attempts, headers of equal cost share the best rank.  None if
    the method looks up all headers with so few flips.
    `vertices`: in a cross-polytope table, how many vertices of that header are not the query's own.
    """

    table: int
    flipped: tuple[int, ...]
    rank: int | None
    vertices: int = 0
