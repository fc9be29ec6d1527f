"""Reports: what a database says about itself: statistics, findings of a check, explanations."""

from dataclasses import dataclass
from typing import Any

from simdb.plans import Plan, Probe
from simdb.values import Id


@dataclass(frozen=True, slots=True)
class RunStatistics:
    """One sealed run: its number, documents it covers (live or not) and bytes of its columns."""

    run: int
    document_count: int
    entry_count: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class ReaderStatistics:
    """One reader slot in use: process, thread and how many transactions it lags behind."""

    process: int
    thread: int
    transaction: int
    lag: int


@dataclass(frozen=True, slots=True)
class Statistics:
    """A database in numbers.

    `document_count` live documents, of which `empty_count` have no features and `bare_count` no
    weights; `deleted_count` tombstones not compacted away; `delta_count` documents not sealed in
    a run.  Sizes in bytes: `file_bytes` on disk, `live_bytes` of pages in use, `map_bytes` the
    file may grow to.  `section_bytes`: bytes of stored values by sub-database.  `largest_group`:
    most documents that share one fingerprint.  `calibrated_count`: documents that the calibration
    covers, the others are compared one by one; None without any.  `cluster_count`: kept clusters,
    of two documents and more; None where none are kept.
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


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong with a stored database: where, what, and what to do about it."""

    place: str
    message: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Advice:
    """What would do a database good: about what, what is so, why it matters, and what to do."""

    topic: str
    message: str
    reason: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Compaction:
    """What `compact` did: bytes of the file before and after, and why it did not shrink, if so."""

    before_bytes: int
    after_bytes: int
    note: str


@dataclass(frozen=True, slots=True)
class Rebuild:
    """What `rebuild` did.

    `document_count` documents are there now.  `losses`: what could not be read, in words;
    `dropped`: ids of the documents that went with it, and `unknown_count`: how many more, whose ids
    were lost, too.  `notes`: what was damaged and no document depended on.  `before_bytes` and
    `after_bytes` of the file, and why it did not shrink (`note`), if so.
    """

    document_count: int
    dropped: tuple[Id, ...]
    unknown_count: int
    losses: tuple[str, ...]
    notes: tuple[str, ...]
    before_bytes: int
    after_bytes: int
    note: str


@dataclass(frozen=True, slots=True)
class FeatureDifference:
    """A feature that two documents weigh differently.

    `shingle`: its text; `left`, `right`: what it weighs in each, None where that document's text
    is not known.
    """

    shingle: str
    hash: int
    left: float | None
    right: float | None

    @property
    def change(self) -> float:
        """How much more it weighs on the right."""
        return (self.right or 0.0) - (self.left or 0.0)

    def moves(self, position: int) -> float:
        """What it adds to the weight of bit `position`, 0 to 63, from left to right."""
        return self.change if self.hash >> position & 1 else -self.change


@dataclass(frozen=True, slots=True)
class DifferingBit:
    """A bit in which two fingerprints differ, and why it may.

    `position`: 0 is the least significant.  Of either side, None where weights are not known: the
    weight, as in `Fingerprint.weights`; its rank among the 64, 1 being nearest to zero; and the
    volatility, the probability that the bit is another in a document of the similarity asked for:
    Phi(-s z / sqrt(1 - s**2)), with s that similarity, z the weight's magnitude over the root
    mean square of all of them, and Phi the normal distribution (weights of two documents of cosine
    s are taken as jointly normal).  `features`: those that moved the weight most, first.
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
    """Why two documents match, or do not.

    `left`, `right`: their ids, None for one that is not stored.  `distance` (Hamming) and estimated
    `similarity`, None without weights.  `bits` that differ, the most volatile of the left first.
    `probability`: p(u, S) of Sood & Loguinov 2011, eq. 6: that a document of the similarity asked
    for differs from the left one in these bits and no others; None without weights.

    `tables` whose leading bits agree, so that one look-up in any of them finds the pair, of
    `table_count`; `flips`: how many leading bits differ in the nearest table.  `is_match`: whether
    the pair satisfies the criterion; `is_found`: whether a query by the one that is not
    stored, else by the left one, is then sure to find it by `plan` (None without a database), and
    `probe` with which look-up (None for none).  `reason` says all of that in words.

    `features` that the documents weigh differently, the greatest change first; of a pair of which
    one text is known, all of its features; None where no text is.  For every bit their `moves` add
    up to the difference of the weights.  `shared_count`: features that weigh the same.

    Of MinHash signatures `agreeing` of `permutations` minima are the same (None of fingerprints),
    `distance` is the number of others, at most 255, `tables` are the bands that agree, and there
    are no `bits`.
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
