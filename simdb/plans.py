"""Plans: how a database will answer a question, and which look-up of it finds a match."""

import math
from dataclasses import dataclass, field

from simdb.values import Probing


@dataclass(frozen=True, slots=True)
class Plan:
    """How a question will be answered.

    `method` "exhaustive"; "bphs", which asks `tables` tables, each with up to `flips` flipped
    header bits; "psm" or "multiprobe", which asks one table, or several, for the headers whose
    flipped bits are so volatile that their costs sum to `theta` or less (natural logarithms);
    "rotation", all pairs by sorting in `tables` orders.
    `probes`: look-ups in all, in the mean.  Candidates are those within `distance` (Hamming),
    measured by stored volatility where `similarity` is not None.  `recall`: predicted share of the
    matches that are found, 1.0 where certain.  `cost_seconds`: estimate for one query.  `reason`
    in words.  `sketching`: where a text becomes a fingerprint, in words.  `probing`: what the
    kernel is told of "psm" and "multiprobe".  `compared`: how many documents these two compare one
    by one besides, since the calibration does not cover them.  `header_bits`: bits by which a
    look-up finds its place in the largest run, the fewest of any table.  `bytes_per_document`: what
    the search reads from: its tables, their headers, and the volatility vectors where it measures
    by them.  `choice`: why this and no other, in words, of those `considered`, the best first.
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
    compared: int = 0
    choice: str = ""
    considered: tuple["Plan", ...] = field(default=(), repr=False, compare=False)

    @property
    def queries_per_second(self) -> float:
        """How many queries one core answers, as estimated; infinite where they cost nothing."""
        return 1.0 / self.cost_seconds if self.cost_seconds > 0 else math.inf


@dataclass(frozen=True, slots=True)
class Probe:
    """The look-up that finds a match.

    `table`, from 0, is asked for the query's header with the `flipped` bits, positions of the
    fingerprint, least first.  `rank`: the place of that header, from 1, in the order in which PSM
    and multi-probe ask the table, headers of equal cost sharing the first; None where all headers
    with so few flips are asked for.
    """

    table: int
    flipped: tuple[int, ...]
    rank: int | None
