"""Reports: plans, statistics, findings, advice and explanations of a database about itself."""

import math
from datetime import datetime
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from simdb.core import previews
from simdb.core.arrays import Id
from simdb.core.choices import MeasureName
from simdb.core.values import dataclass, field, fields


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


@dataclass(frozen=True, slots=True)
class Plan:
    """The way in which a question will be answered.

    `method`:
    "exhaustive" compares every document.
    "bphs" looks up `tables` tables, with up to `flips` flipped header bits.  `table_flips` has the
    most flipped bits of each table of the database; -1: the table is not read.  By the general
    pigeonhole principle some tables need fewer flips than others, or none need be read.
    `part_limits`, of hashes: in how many bits each part of a candidate may differ, -1 for a part
    whose tables are not read.
    "polytope" looks up `tables` cross-polytope tables: all headers that cost little by the
    weights of the query; see docs/ALGORITHMS.md.
    "psm" looks up one table, "multiprobe" several tables: all headers whose flipped bits have costs
    (natural logarithms, by their volatility) that sum to `theta` or less; with a fixed number of
    attempts, so many headers in the order of `simdb.vosh`, and `theta` is None.
    "rotation" finds pairs by sorting in `tables` orders.
    "banding" looks up the `tables` bands of MinHash signatures.

    `probes`: the mean number of look-ups for one query.
    `distance`: candidates are within this Hamming distance.  If `similarity` is not None, stored
    vectors measure the candidates.  `firm_distance`: if it is not None, it takes the place of the
    distance for queries with many weights near zero, whose signs do not count.
    `recall`: the predicted share of the matches that are found; 1.0 means all of them for certain.
    `cost_seconds`: the estimated time of one query.
    `reason`: the plan in words.
    `sketching`: where a text becomes a fingerprint, in words.
    `probing`: the rule that the kernel follows for "psm" and "multiprobe".
    `header_bits`: the bits by which a look-up finds its place in the directory of the largest run;
    the fewest of any table.
    `page_reads`: the estimated number of pages that a query reads from disk; 0 if the database fits
    into memory.  `vector_reads` of them are for measuring candidates.
    `bytes_per_document`: the bytes that the search reads from: tables, their directories, and the
    volatility vectors if they measure the candidates.
    `choice`: why this plan is better than the others, in words; `considered` has all, best first.
    `smallest`: for a number of documents and a distance, the plan by PSM in a database of one table
    without weights; its `choice` says how much memory that saves, and when it is the right one.
    None if PSM cannot answer the question, or the tables by distance are no larger, as by default.
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
    firm_distance: int | None = None
    table_flips: tuple[int, ...] = ()
    part_limits: tuple[int, ...] = field(default=(), repr=False, compare=False)
    choice: str = ""
    considered: tuple["Plan", ...] = field(default=(), repr=False, compare=False)
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


# The values of each field, and how many documents have each of them.
FieldCounts: TypeAlias = dict[str, list[tuple[Any, int]]]


@dataclass(frozen=True, slots=True)
class RunStatistics:
    """One sealed run: its number, its documents (live or deleted), and the bytes of its columns."""

    run: int
    document_count: int
    entry_count: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class ReaderStatistics:
    """One reader: its process, thread and transaction; `lag` counts the commits since then."""

    process: int
    thread: int
    transaction: int
    lag: int


@dataclass(frozen=True, slots=True)
class Statistics:
    """A database in numbers.

    `document_count`: live documents; `empty_count` of them have no features, `bare_count` no
    weights.  `deleted_count`: deleted documents that are not compacted away.  `delta_count`:
    documents that are in no run yet.
    `file_bytes`: the file on disk.  `live_bytes`: its pages in use.  `map_bytes`: the size to which
    the file can grow before the map must grow.
    `section_bytes`: the bytes of stored values by sub-database.  "table/NN" has the keys (or
    tags), the ordinals and the directories of one table, and "polytope/NN" those of a
    cross-polytope table.
    The directory of a table says where the keys with each header begin; it is the header table that
    PSM looks up.
    `largest_group`: the most documents that share one fingerprint.
    `calibrated_count`: the documents that the calibration covers; the others are compared one by
    one.  None without a calibration.
    `cluster_count`: the kept clusters of two or more documents; None if none are kept.
    `oldest_time`, `newest_time`: the first and the last time of a document, in UTC; None if the
    database keeps no times (`Options.keep_times`), or no document has one.
    `fields`: for each field in `Options.fields` its values, None for no value, each with the number
    of its documents, the most frequent first.  Values of two types are two, such as 1 and True.
    """

    path: str
    format_version: int
    document_count: int
    empty_count: int
    bare_count: int
    deleted_count: int
    delta_count: int
    file_bytes: int
    live_bytes: int
    map_bytes: int
    calibrated_count: int | None
    transaction: int
    largest_group: int
    cluster_count: int | None
    section_bytes: dict[str, int]
    runs: tuple[RunStatistics, ...]
    readers: tuple[ReaderStatistics, ...]
    options: dict[str, Any]
    oldest_time: datetime | None = None
    newest_time: datetime | None = None
    fields: FieldCounts = field(default_factory=dict)

    def __repr__(self) -> str:
        """Return the path, and the most important numbers."""
        counts = (
            previews.counted(self.document_count, "document"),
            f"{self.deleted_count:,} deleted",
            f"{self.file_bytes:,} bytes on disk",
            previews.counted(len(self.runs), "run"),
            previews.counted(len(self.readers), "reader"),
        )
        return f"<simdb.Statistics of {self.path!r}: {', '.join(counts)}>"

    def _repr_html_(self) -> str:
        """Return the numbers as a table, for notebooks."""
        numbers = [(field.name, getattr(self, field.name)) for field in fields(self)]
        rows = [(name, f"{each:,}") for name, each in numbers if isinstance(each, int)]
        sizes = [(f"{name}, bytes", f"{each:,}") for name, each in self.section_bytes.items()]
        every = [*rows, ("runs", len(self.runs)), ("readers", len(self.readers)), *sizes]
        return previews.table(self.path, ("", ""), every, len(every), most=len(every))


@dataclass(frozen=True, slots=True)
class HeaderFill:
    """How the entries of one table spread over the headers of its directories, in all runs.

    `name`: the sub-database, such as "table/00".  `largest`: the most entries under one header.
    `counts`: counts[0] headers have no entry, and counts[i] have 2^(i - 1) to 2^i - 1 entries.
    Entries of deleted documents count until `compact`; recent documents, which are in no run, do
    not.
    """

    name: str
    header_count: int
    entry_count: int
    largest: int
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """Damage in a stored database: its place, what is wrong, and what to do."""

    place: str
    message: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Advice:
    """A way to improve a database: the topic, what is so, why it matters, and what to do."""

    topic: str
    message: str
    reason: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Compaction:
    """The result of `compact`: file bytes before and after; `note` if the file did not shrink."""

    before_bytes: int
    after_bytes: int
    note: str


@dataclass(frozen=True, slots=True)
class Rebuild:
    """The result of `rebuild`.

    `document_count`: the documents that are stored now.  `lost_count`: the documents that were
    lost.  `losses`: what could not be read, in words, after a sentence on lost documents if there
    are any.  `dropped`: the ids of lost documents.  `unknown_count`: the number of lost documents
    whose ids were lost, too.  `notes`: damage on which no document depended.
    `before_bytes`, `after_bytes`: the size of the file.  `note`: why the file did not shrink, if
    so.
    """

    document_count: int
    lost_count: int
    dropped: tuple[Id, ...]
    unknown_count: int
    losses: tuple[str, ...]
    notes: tuple[str, ...]
    before_bytes: int
    after_bytes: int
    note: str


@dataclass(frozen=True, slots=True)
class FeatureDifference:
    """A feature that has different weights in two documents.

    `shingle`: the text of the feature.  `left`, `right`: its weight in each document, None if the
    text of that document is not known.
    """

    shingle: str
    hash: int
    left: float | None
    right: float | None

    @property
    def change(self) -> float:
        """The weight on the right less the weight on the left."""
        return (self.right or 0.0) - (self.left or 0.0)

    def moves(self, position: int) -> float:
        """Compute what the change adds to the weight of bit `position`, 0 to 63."""
        return self.change if self.hash >> position & 1 else -self.change


@dataclass(frozen=True, slots=True)
class DifferingBit:
    """A bit in which two fingerprints differ, and how likely that was.

    `position`: the bit; 0 is the least significant.  For each side, or None if its weights are not
    known: `left_weight`, `right_weight`: the weight, as in `Fingerprint.weights`. `left_rank`,
    `right_rank`: the rank of the weight among the 64; 1 is nearest to zero. `left_volatility`,
    `right_volatility`: the probability that the bit differs in a document of similarity s, the
    threshold: Phi(-s z / sqrt(1 - s**2)).  z is the magnitude of the weight over the root mean
    square of all weights, Phi the normal distribution; the weights of two documents of cosine s are
    assumed to be jointly normal. `features`: the features that moved the weight, the largest move
    first.
    """

    position: int
    left_weight: float | None
    right_weight: float | None
    left_rank: int | None
    right_rank: int | None
    left_volatility: float | None
    right_volatility: float | None
    features: tuple[FeatureDifference, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why two documents match, or do not match.

    `left`, `right`: the ids of the documents, None for a document that is not stored.
    `distance`: the Hamming distance.  `similarity`: the estimate, None without weights; `measure`:
    what it is, "jaccard" or "cosine" (`Options.measure`), None of hashes.
    `bits`: the bits that differ, the most volatile bit of the left document first.
    `probability`: p(u, S) of Sood & Loguinov 2011, eq. 6: the probability that a document at the
    similarity threshold differs from the left document in these bits and no others; None without
    weights.

    `tables`: the tables, of `table_count`, in which the leading bits of both documents agree; one
    look-up in any of them finds the pair.  `flips`: the number of leading bits that differ in the
    nearest table.
    `is_match`: whether the pair satisfies the criterion.
    `is_found`: whether a query by `plan` is certain to find the pair.  The query is the document
    that is not stored, or else the left one.  Without a database, `plan` is None.
    `probe`: the look-up that finds the pair, or None.
    `reason`: all of that in words.

    `features`: the features that have different weights, the largest change first.  If only one
    text is known, all of its features; None if no text is known.  For every bit, their `moves` add
    up to the difference of the weights.  `shared_count`: the number of features with equal weights.

    For MinHash signatures, `agreeing` of `permutations` minima are equal, `distance` is the number
    of the other minima, at most 255, `tables` are the bands that agree, and `bits` is empty.  For
    fingerprints, `agreeing` and `permutations` are None.
    """

    left: Id | None
    right: Id | None
    distance: int
    similarity: float | None
    bits: tuple[DifferingBit, ...]
    probability: float | None
    tables: tuple[int, ...]
    table_count: int
    flips: int
    is_match: bool
    is_found: bool
    plan: Plan | None
    probe: Probe | None
    reason: str
    features: tuple[FeatureDifference, ...] | None
    shared_count: int
    agreeing: int | None = None
    permutations: int | None = None
    measure: MeasureName = "jaccard"

    def __repr__(self) -> str:
        """Return whether the documents match, how near they are, and the reason."""
        ids = " and ".join(
            "a document" if id is None else repr(id) for id in (self.left, self.right)
        )
        near = f"distance {self.distance}"
        if self.similarity is not None:
            near += f", similarity {previews.number(self.similarity)}"
        match = "match" if self.is_match else "no match"
        reason = previews.shortened(self.reason)
        return f"<simdb.Explanation of {ids}: {match}, {near}: {reason}>"

    def _repr_html_(self) -> str:
        """Return the reason, and a table of the features that differ, for notebooks."""
        text = repr(self)[1:-1]
        if not self.features:
            return previews.paragraph(text)
        rows = [(each.shingle, each.left, each.right) for each in self.features]
        return previews.table(text, ("feature", "left", "right"), rows, len(rows))


@dataclass(frozen=True, slots=True)
class ShardedStatistics:
    """A sharded database in numbers, and each of its shards.

    `shard_count`: all shards; `skipped` has the reason for each shard that is left out, by name,
    and the other fields do not count it.  `document_count` to `live_bytes`, and `fields`: the sums
    of the numbers of the shards, see `Statistics`.  `smallest_count`, `largest_count`: documents of
    the smallest and of the largest shard.
    """

    path: str
    shard_count: int
    document_count: int
    empty_count: int
    bare_count: int
    deleted_count: int
    file_bytes: int
    live_bytes: int
    smallest_count: int
    largest_count: int
    skipped: dict[str, str]
    options: dict[str, Any]
    shards: tuple[Statistics, ...]
    fields: FieldCounts = field(default_factory=dict)
