"""Merging: the matches of several shards become those of one database, best first.

Equally good matches are in the order of the shards, and in a shard in the order of insertion.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simdb.results.matches import Match, Matches
from simdb.values.arrays import object_array, offsets_of

# A sharded database numbers a document by its shard and its ordinal in the shard.
ORDINAL_BITS = np.uint64(32)

I64 = npt.NDArray[np.int64]


class ShardMatches(NamedTuple):
    """The matches of some queries in one shard: its number, positions of queries, and matches."""

    shard: int
    queries: I64
    matches: Matches


def best_first(
    parts: Iterable[Sequence[Match]], *, by_similarity: bool, limit: int | None
) -> list[Match]:
    """Return the matches of one query in all shards, given in the order of the shards."""
    every = [match for part in parts for match in part]
    return sorted(every, key=_farness if by_similarity else _distance)[:limit]


def global_ordinals(shard: int, ordinals: npt.NDArray[np.integer]) -> npt.NDArray[np.uint64]:
    """Return the numbers in the whole sharded database of documents of one shard."""
    return (np.uint64(shard) << ORDINAL_BITS) + ordinals.astype(np.uint64)


def merged(
    count: int,
    parts: Sequence[ShardMatches],
    by_similarity: npt.NDArray[np.bool_],
    *,
    limit: int | None,
    left_out: npt.NDArray[np.uint64] | None = None,
) -> Matches:
    """Return the matches of `count` queries in all shards; `parts` are in the order of the shards.

    `by_similarity` bool[count]: whether similarity decides for each query, or distance.  `limit`:
    at most this many for each query.  `left_out`: for each query, the document that it is itself.
    """
    found = [part.matches for part in parts]
    none = Matches(np.zeros(1, np.int64), *_nothing(), list)
    queries = np.concatenate(
        [
            np.empty(0, np.int64),
            *(np.repeat(part.queries, np.diff(part.matches.offsets)) for part in parts),
        ]
    )
    ordinals = np.concatenate(
        [
            none.ordinals.astype(np.uint64),
            *(global_ordinals(part.shard, part.matches.ordinals) for part in parts),
        ]
    )
    distances = np.concatenate([none.distances, *(each.distances for each in found)])
    similarities = np.concatenate([none.similarities, *(each.similarities for each in found)])
    far = np.where(by_similarity[queries], -similarities, distances.astype(np.float32))
    # The sort is stable, so equally good matches stay in the order of shards and insertion.
    order = np.lexsort((far, queries))
    if left_out is not None:
        order = order[ordinals[order] != left_out[queries[order]]]
    if limit is not None:
        starts = offsets_of(np.bincount(queries[order], minlength=count))
        order = order[np.arange(len(order)) - starts[queries[order]] < limit]

    def resolve() -> list[object]:
        ids = np.concatenate([object_array([]), *(each.ids for each in found)])
        return list(ids[order])

    return Matches(
        offsets_of(np.bincount(queries[order], minlength=count)),
        ordinals[order],
        distances[order],
        similarities[order],
        resolve,  # type: ignore[arg-type]
    )


def joined(slices: Sequence[Matches]) -> Matches:
    """Return the matches of consecutive slices of queries as one object; there is at least one."""
    if len(slices) == 1:
        return slices[0]
    return Matches(
        offsets_of(np.concatenate([np.diff(each.offsets) for each in slices])),
        np.concatenate([each.ordinals.astype(np.uint64) for each in slices]),
        np.concatenate([each.distances for each in slices]),
        np.concatenate([each.similarities for each in slices]),
        lambda: list(np.concatenate([each.ids for each in slices])),
    )


def _nothing() -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint8], npt.NDArray[np.float32]]:
    return np.empty(0, np.uint32), np.empty(0, np.uint8), np.empty(0, np.float32)


def _farness(match: Match) -> float:
    return 0.0 if match.similarity is None else -match.similarity


def _distance(match: Match) -> float:
    return match.distance
