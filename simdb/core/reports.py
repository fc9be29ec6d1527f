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
    """The rule by which a query chooses the headers that it looks up.

    Attributes
    ----------
    tables : int
        Number of tables.
    header_bits : int
        Bits of a header; a run whose directory has fewer bits uses only those.
    theta : int or None
        A header is looked up if its flipped bits cost at most `theta` together.  With None, the
        first `cap` headers in the order of VOSH (`simdb.vosh`) are looked up; none has more flipped
        bits than the plan's distance.
    cap : int
        Largest number of headers that are looked up in one table.
    costs : ndarray
        The cost of flipping a bit, by its level: uint8[256].
    """

    tables: int
    header_bits: int
    theta: int | None
    cap: int
    costs: npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan by which a database answers a query or a search for pairs.

    Attributes
    ----------
    method : str
        The method:

        * "exhaustive" compares every document.
        * "bphs" looks up `tables` tables, with up to `flips` flipped header bits.  By the general
          pigeonhole principle, some tables need fewer flips or no look-up.
        * "polytope" looks up `tables` cross-polytope tables: all headers that cost little by the
          weights of the query; see docs/ALGORITHMS.md.
        * "psm" looks up one table, and "multiprobe" several.  They look up each header whose
          flipped bits cost at most `theta` together.  With a fixed number of attempts, they look up
          that number of headers, in the order of `simdb.vosh`.
        * "rotation" finds pairs by sorting in `tables` orders.
        * "banding" looks up the `tables` bands of MinHash signatures.
    tables : int
        Number of tables, orders or bands.
    flips : int
        Largest number of header bits that are flipped.
    probes : int
        Mean number of look-ups for one query.
    distance : int
        Largest Hamming distance of a candidate.
    similarity : float or None
        Least similarity of a match, measured with the stored vectors.  None if none are used.
    recall : float
        Predicted share of the matches that are found; 1.0 means all of them for certain.
    cost_seconds : float
        Estimated time of one query.
    reason : str
        The plan in words.
    sketching : str
        The part of the program that makes a fingerprint of a text, in words.
    theta : float or None
        Largest sum of the costs of flipped bits, for "psm" and "multiprobe".  A cost is a natural
        logarithm that depends on the volatility of the bit.  None with a fixed number of attempts.
    probing : Probing or None
        The rule that the kernel follows for "psm" and "multiprobe".
    header_bits : int
        Bits of a header in the directories of the largest run; the fewest of any table.
    bytes_per_document : float
        Bytes of the tables and directories that the search reads from, and of the volatility
        vectors if they measure the candidates.
    page_reads : float
        Estimated number of pages that a query reads from disk; 0 if the database fits into memory.
    vector_reads : float
        The part of `page_reads` for measuring candidates.
    firm_distance : int or None
        If not None, the distance for queries with many weights near zero, whose bits do not count.
    table_flips : tuple of int
        Largest number of flipped bits for each table of the database; -1 for a table not read.
    part_limits : tuple of int
        For hashes: the largest number of differing bits of each part of a candidate; -1 for a part
        whose tables are not read.
    choice : str
        The reason why this plan is better than the others, in words.
    considered : tuple of Plan
        All plans that were considered, best first.
    smallest : Plan or None
        For a number of documents and a distance: the PSM plan for a database of one table without
        weights.  Its `choice` says when to use it and how much memory it saves.  None if PSM does
        not apply, or if the tables by distance are no larger, as by default.
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
        """Return the method, the criterion, the recall, the cost, and the plan in words."""
        asked = previews.criterion(self.similarity, self.distance)
        return (
            f"<simdb.Plan: method {self.method!r}, {asked}, recall {self.recall:.3g},"
            f" {self.cost_seconds:.2g} s a query: {previews.shortened(self.reason)}>"
        )

    def _repr_html_(self) -> str:
        """Return a table of all plans that were considered, best first, for notebooks."""
        every = self.considered or (self,)
        rows = (
            (each.method, each.tables, each.flips, each.probes, each.recall, each.cost_seconds)
            for each in every
        )
        columns = ("method", "tables", "flips", "probes", "recall", "seconds")
        return previews.table(self.reason, columns, rows, len(every), most=len(every))

    @property
    def queries_per_second(self) -> float:
        """The estimated number of queries a second on one core; infinite if they cost nothing."""
        return 1.0 / self.cost_seconds if self.cost_seconds > 0 else math.inf


@dataclass(frozen=True, slots=True)
class Probe:
    """The look-up that finds a match.

    Attributes
    ----------
    table : int
        Number of the table, from 0, where the flipped header of the query is looked up.
    flipped : tuple of int
        The flipped bits, as positions in the fingerprint, lowest first.
    rank : int or None
        Rank of that header, from 1, in the order of VOSH, which PSM and multi-probe follow.
        Without a fixed number of attempts, headers of equal cost share the best rank.  None if the
        method looks up every header with that number of flips.
    vertices : int
        In a cross-polytope table, the number of vertices of that header that differ from the
        query's own.
    """

    table: int
    flipped: tuple[int, ...]
    rank: int | None
    vertices: int = 0


# The values of each field, with the number of documents that have each value.
FieldCounts: TypeAlias = dict[str, list[tuple[Any, int]]]


@dataclass(frozen=True, slots=True)
class RunStatistics:
    """The numbers of one sealed run.

    Attributes
    ----------
    run : int
        Number of the run.
    document_count : int
        Documents of the run, live or deleted.
    entry_count : int
        Entries of the run in each table.
    size_bytes : int
        Bytes of its columns.
    """

    run: int
    document_count: int
    entry_count: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class ReaderStatistics:
    """The numbers of one reader.

    Attributes
    ----------
    process, thread : int
        Process and thread of the reader.
    transaction : int
        Transaction that it reads.
    lag : int
        Number of commits since that transaction.
    """

    process: int
    thread: int
    transaction: int
    lag: int


@dataclass(frozen=True, slots=True)
class Statistics:
    """The counts and sizes of a database.

    Attributes
    ----------
    path : str
        The directory.
    format_version : int
        Version of the stored form.
    document_count : int
        Live documents.
    empty_count : int
        Live documents without features.
    bare_count : int
        Live documents without weights.
    deleted_count : int
        Deleted documents that `compact` has not removed yet.
    delta_count : int
        Documents that are in no run yet.
    file_bytes : int
        Size of the file on disk.
    live_bytes : int
        Bytes of the pages in use.
    map_bytes : int
        Size of the memory map, to which the file can grow before the map must grow.
    calibrated_count : int or None
        Documents that the calibration covers; all other documents are compared one by one.  None
        without a calibration.
    transaction : int
        Number of the latest transaction.
    largest_group : int
        The most documents that share one fingerprint.
    cluster_count : int or None
        Kept clusters of two or more documents; None if none are kept.
    section_bytes : dict of str to int
        Bytes of the pages of each sub-database.  "table/NN" has the keys (or tags), ordinals and
        directories of one table; "polytope/NN" has the same for a cross-polytope table.  The
        directory says where the keys with each header begin; it is the header table of PSM.
    runs : tuple of RunStatistics
        The sealed runs: number, documents, entries and bytes of each.
    readers : tuple of ReaderStatistics
        The open readers: process, thread and transaction of each, and the commits since then.
    options : dict
        The options by name.
    oldest_time, newest_time : datetime or None
        First and last time of a document, in UTC.  None if the database keeps no times
        (`Options.keep_times`), or no document has one.
    fields : dict of str to list of (value, int)
        For each field in `Options.fields`, its values with their numbers of documents, the most
        frequent first.  None means no value.  Values of different types, such as 1 and True, are
        counted separately.
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
        """Return the path and the most important numbers."""
        counts = (
            previews.counted(self.document_count, "document"),
            f"{self.deleted_count:,} deleted",
            f"{self.file_bytes:,} bytes on disk",
            previews.counted(len(self.runs), "run"),
            previews.counted(len(self.readers), "reader"),
        )
        return f"<simdb.Statistics of {self.path!r}: {', '.join(counts)}>"

    def _repr_html_(self) -> str:
        """Return the numbers as a table, for notebooks; sizes have units, such as MB."""
        numbers = {field.name: getattr(self, field.name) for field in fields(self)}
        rows = {name: f"{each:,}" for name, each in numbers.items() if isinstance(each, int)}
        rows |= {name: previews.size(numbers[name]) for name in rows if name.endswith("_bytes")}
        rows["map_bytes"] += ", to which the file can grow"
        sizes = [(name, previews.size(each)) for name, each in self.section_bytes.items()]
        every = [*rows.items(), ("runs", len(self.runs)), ("readers", len(self.readers)), *sizes]
        return previews.table(self.path, ("", ""), every, len(every), most=len(every))


@dataclass(frozen=True, slots=True)
class HeaderFill:
    """The distribution of the entries of one table over its headers, in all runs.

    Entries of deleted documents count until `compact`.  Recent documents, which are not in a run
    yet, do not count.

    Attributes
    ----------
    name : str
        The sub-database, such as "table/00".
    header_count : int
        Number of headers.
    entry_count : int
        Number of entries.
    largest : int
        The most entries under one header.
    counts : tuple of int
        `counts[0]` headers have no entry, and `counts[i]` headers have 2^(i - 1) to 2^i - 1
        entries.
    """

    name: str
    header_count: int
    entry_count: int
    largest: int
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """The report of damage in a stored database.

    Attributes
    ----------
    place : str
        The damaged part of the database.
    message : str
        The damage, in words.
    remedy : str
        The way to repair it, in words.
    """

    place: str
    message: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Advice:
    """A way to improve a database.

    Attributes
    ----------
    topic : str
        The topic, such as "permissions".
    message : str
        The thing that was found.
    reason : str
        The reason why it matters.
    remedy : str
        The advice.
    """

    topic: str
    message: str
    reason: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Compaction:
    """The result of `compact`.

    Attributes
    ----------
    before_bytes, after_bytes : int
        Size of the file before and after.
    note : str
        The reason if the file did not shrink.
    """

    before_bytes: int
    after_bytes: int
    note: str


@dataclass(frozen=True, slots=True)
class Rebuild:
    """The result of `rebuild`.

    Attributes
    ----------
    document_count : int
        Documents that are stored now.
    lost_count : int
        Documents that were lost.
    dropped : tuple of ids
        Ids of lost documents.
    unknown_count : int
        Lost documents whose ids were lost as well.
    losses : tuple of str
        A sentence about lost documents, if there are any; then the values that could not be read.
    notes : tuple of str
        Damage on which no document depended.
    before_bytes, after_bytes : int
        Size of the file before and after.
    note : str
        The reason if the file did not shrink.
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

    Attributes
    ----------
    shingle : str
        Text of the feature.
    hash : int
        Hash of the feature.
    left, right : float or None
        Its weight in each document; None if the text of that document is not known.
    """

    shingle: str
    hash: int
    left: float | None
    right: float | None

    @property
    def change(self) -> float:
        """The right weight minus the left weight."""
        return (self.right or 0.0) - (self.left or 0.0)

    def moves(self, position: int) -> float:
        """Compute the contribution of the change to the weight of one bit.

        Parameters
        ----------
        position : int
            The bit, 0 to 63.

        Returns
        -------
        float
            `change` if the hash has this bit, or else its negative.
        """
        return self.change if self.hash >> position & 1 else -self.change


@dataclass(frozen=True, slots=True)
class DifferingBit:
    """A bit in which two fingerprints differ, and the probability of that.

    An attribute of one side is None if the weights of that side are not known.

    Attributes
    ----------
    position : int
        The bit; 0 is the least significant.
    left_weight, right_weight : float or None
        The weight, as in `Fingerprint.weights`.
    left_rank, right_rank : int or None
        Rank of the weight among the 64; 1 is nearest to zero.
    left_volatility, right_volatility : float or None
        Probability that the bit differs in a document at the similarity threshold; see Notes.
    features : tuple of FeatureDifference
        The features that moved the weight, the largest move first.

    Notes
    -----
    The volatility is Phi(-s z / sqrt(1 - s**2)).  Phi is the normal distribution, s the threshold,
    and z the magnitude of the weight over the root mean square of all weights.  The weights of two
    documents of cosine s are assumed to be jointly normal.
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
    """The reasons why two documents match, or do not match.

    Attributes
    ----------
    left, right : id or None
        Ids of the documents; None for a document that is not stored.
    distance : int
        Hamming distance.  For MinHash signatures, the number of minima that differ, at most 255.
    similarity : float or None
        Estimated similarity; None without weights.
    bits : tuple of DifferingBit
        The bits that differ, ordered by their volatility in the left document, most volatile first.
        Empty for MinHash signatures.
    probability : float or None
        Probability that a document at the threshold differs from the left one in exactly these
        bits; p(u, S) of Sood & Loguinov 2011, eq. 6.  None without weights.
    tables : tuple of int
        The tables in which the leading bits of both documents agree; one look-up in any of them
        finds the pair.  For MinHash signatures, the bands that agree.
    table_count : int
        Number of all tables or bands.
    flips : int
        Number of leading bits that differ in the nearest table.
    is_match : bool
        Whether the pair satisfies the criterion.
    is_found : bool
        Whether a query by `plan` is certain to find the pair.  The query is the document that is
        not stored, or the left one if both are stored.
    plan : Plan or None
        The plan of that query; None without a database.
    probe : Probe or None
        The look-up that finds the pair.
    reason : str
        The whole explanation in words.
    features : tuple of FeatureDifference or None
        The features that have different weights, the largest change first.  If only one text is
        known, all of its features; None if no text is known.  For every bit, the sum of their
        `moves` is the difference of the two weights.
    shared_count : int
        Number of features with equal weights.
    agreeing : int or None
        For MinHash signatures, the number of equal minima; None for fingerprints.
    permutations : int or None
        For MinHash signatures, the number of all minima; None for fingerprints.
    measure : {"jaccard", "cosine"} or None
        The measure of the similarity (`Options.measure`); None for hashes.
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
        """Return both ids, whether they match, distance and similarity, and the reason."""
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
        """Return the reason and a table of the features that differ, for notebooks."""
        text = repr(self)[1:-1]
        if not self.features:
            return previews.paragraph(text)
        rows = [(each.shingle, each.left, each.right) for each in self.features]
        return previews.table(text, ("feature", "left", "right"), rows, len(rows))


@dataclass(frozen=True, slots=True)
class ShardedStatistics:
    """The counts and sizes of a sharded database, and of each of its shards.

    A skipped shard counts only in `shard_count`.

    Attributes
    ----------
    path : str
        The directory.
    shard_count : int
        All shards, including skipped ones.
    document_count, empty_count, bare_count, deleted_count : int
        Sums of these numbers of the shards; see `Statistics`.
    file_bytes, live_bytes : int
        Sums of these numbers of the shards; see `Statistics`.
    smallest_count, largest_count : int
        Documents of the smallest and of the largest shard.
    skipped : dict of str to str
        For each skipped shard, its name and the reason.
    options : dict
        The options by name; see `Statistics`.
    shards : tuple of Statistics
        The numbers of each shard.
    fields : dict of str to list of (value, int)
        Sums of these numbers of the shards; see `Statistics`.
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
