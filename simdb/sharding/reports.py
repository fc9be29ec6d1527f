"""Reports: a sharded database in numbers."""

from dataclasses import dataclass
from typing import Any

from simdb.results.reports import Statistics


@dataclass(frozen=True, slots=True)
class ShardedStatistics:
    """A sharded database in numbers, and each of its shards.

    `shard_count`: all shards; `skipped` has the reason for each shard that is left out, by name,
    and the other fields do not count it.  `document_count` to `live_bytes`: the sums of the numbers
    of the shards, see `Statistics`.  `smallest_count`, `largest_count`: the documents in the
    smallest and in the largest shard.
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
