"""What the database says about itself: statistics, findings of a check, plans."""

from dataclasses import dataclass
from typing import Any


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
    most documents that share one fingerprint.
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
    transaction: int
    largest_group: int
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
class Compaction:
    """What `compact` did: bytes of the file before and after, and why it did not shrink, if so."""

    before_bytes: int
    after_bytes: int
    note: str


@dataclass(frozen=True, slots=True)
class Plan:
    """How a question will be answered.

    `method` "exhaustive" or "bphs"; `tables` asked, each with up to `flips` flipped header bits,
    `probes` look-ups in all; candidates are those within `distance` (Hamming), measured by stored
    volatility where `similarity` is not None.  `recall`: predicted share of the matches that are
    found, 1.0 where certain.  `cost_seconds`: estimate for one query.  `reason` in words.
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
