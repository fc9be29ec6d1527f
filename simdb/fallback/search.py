"""Lookups, scans, sweeps and similarities in numpy: what `simdb_ext._search` does in C.

The contract of every name is written in `simdb_ext/_search.pyi`.  A probe list becomes ranges of
positions, the ranges are measured in slices of bounded size, and what lies within the distance
is filtered and sorted at the end.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from simdb.bits import ALL_BITS, FINGERPRINT_BITS
from simdb.fallback.vectors import SLICE, Vectors, array, marked

__all__ = ["Tables", "Vectors", "select", "sweep", "variants"]

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

Found = tuple[I64, U32, U8]
# The same before it is sorted: number of the query, ordinal, distance; one entry per match.
Matches = tuple[I64, U32, U8]

HEADER_BITS_MAX = 32
ONES = np.array([bin(number).count("1") for number in range(1 << 16)], np.uint8)


def variants() -> list[str]:
    """The one variant there is."""
    return ["numpy"]


def select(variant: str) -> str:
    """Check the name; there is nothing to choose from."""
    if variant not in variants():
        raise ValueError(f"no variant {variant!r}; there are {variants()}")
    return "numpy"


class Tables:
    """The runs of all block permutations of one collection, prepared for lookup."""

    def __init__(
        self,
        masks: Sequence[int],
        runs: Sequence[Sequence[tuple[U64, U32, U32]]],
        loose: tuple[U64, U32],
        dead: U8 | None,
    ) -> None:
        """Keep the arrays and work out how the bits of each table are ordered."""
        if not masks or not all(0 < mask <= ALL_BITS for mask in masks):
            raise ValueError("every table needs a mask of 1 to 64 bits")
        self._masks = list(masks)
        # The masks of the tables before each one, in the bit order of its own keys.
        self._earlier = [[_permuted(m, mask) for m in masks[:t]] for t, mask in enumerate(masks)]
        self._runs = [[_column(column) for column in run] for run in runs]
        if any(len(run) != len(masks) for run in self._runs):
            raise ValueError(f"every run needs {len(masks)} tables")
        if len(loose[0]) != len(loose[1]):
            raise ValueError("loose fingerprints and ordinals differ in number")
        self._loose = (array(loose[0], np.uint64), array(loose[1], np.uint32))
        self._dead = None if dead is None else array(dead, np.uint8)

    def lookup(
        self, queries: U64, *, distance: int, flips: int, first: bool, after: U32 | None
    ) -> Found:
        """Stored fingerprints within `distance` whose header is reached in some table."""
        _check_query(queries, distance, flips, after)
        found = list(self._scan_loose(queries, distance))
        for table, mask in enumerate(self._masks):
            permuted = _permute(queries, mask)
            for run in self._runs:
                found += self._probe(run[table], permuted, table, distance, flips)
        return self._collected(found, len(queries), first, after)

    def lookup_one(
        self, query: int, distance: int, flips: int, first: bool
    ) -> list[tuple[int, int]]:
        """(ordinal, distance) of the matches of one query, in the same order."""
        queries = np.array([query], np.uint64)
        found = self.lookup(queries, distance=distance, flips=flips, first=first, after=None)
        return list(zip(found[1].tolist(), found[2].tolist(), strict=True))

    def scan(self, queries: U64, *, distance: int, first: bool, after: U32 | None) -> Found:
        """Every stored fingerprint within `distance`, by comparing with all of them."""
        _check_query(queries, distance, 0, after)
        found = list(self._scan_loose(queries, distance))
        permuted = _permute(queries, self._masks[0])
        for run in self._runs:
            found += _scan_all(run[0][0], run[0][1], permuted, distance)
        return self._collected(found, len(queries), first, after)

    def _scan_loose(self, queries: U64, distance: int) -> Iterator[Matches]:
        """Matches among the loose fingerprints."""
        return _scan_all(self._loose[0], self._loose[1], queries, distance)

    def _probe(
        self,
        column: tuple[U64, U32, U32],
        queries: U64,
        table: int,
        distance: int,
        flips: int,
    ) -> Iterator[Matches]:
        """Matches in one table of one run that no earlier table reaches."""
        keys, ordinals, directory = column
        mask = self._masks[table]
        header_bits = (len(directory) - 1).bit_length() - 1
        width = min(header_bits, mask.bit_count())
        leading = np.uint64(_leading(mask.bit_count()))
        for flipped in _flip_sets(width, flips):
            starts, stops = _buckets(directory, len(keys), queries, flipped, width)
            for numbers, positions in _ranges(starts, stops):
                difference: U64 = keys[positions] ^ queries[numbers]
                distances = _popcount(difference)
                reached = (distances <= distance) & (_popcount(difference & leading) <= flips)
                for earlier in self._earlier[table]:
                    reached &= _popcount(difference & np.uint64(earlier)) > flips
                yield numbers[reached], ordinals[positions[reached]], distances[reached]

    def _collected(self, found: list[Matches], count: int, first: bool, after: U32 | None) -> Found:
        """The matches that may be returned, sorted by query, distance and ordinal."""
        numbers = np.concatenate([np.empty(0, np.int64), *(part[0] for part in found)])
        ordinals = np.concatenate([np.empty(0, np.uint32), *(part[1] for part in found)])
        distances = np.concatenate([np.empty(0, np.uint8), *(part[2] for part in found)])
        kept = ~marked(self._dead, ordinals)
        if after is not None:
            kept &= ordinals > after[numbers]
        numbers, ordinals, distances = numbers[kept], ordinals[kept], distances[kept]
        order = np.lexsort((ordinals, distances, numbers))
        if first:
            order = order[_is_first(numbers[order])]
        return _offsets(numbers[order], count), ordinals[order], distances[order]


def sweep(
    keys: U64,
    ordinals: U32,
    masks: Sequence[int],
    table: int,
    distance: int,
    cursor: tuple[int, int],
    left: U32,
    right: U32,
    distances: U8,
) -> tuple[int, int, int]:
    """Pairs within `distance` whose bits masks[table] are equal, among one sorted table."""
    _check_sweep(keys, ordinals, masks, table, distance, cursor)
    capacity = len(array(left, np.uint32))
    lengths = {capacity, len(array(right, np.uint32)), len(array(distances, np.uint8))}
    if capacity == 0 or len(lengths) > 1:
        raise ValueError("the three outputs need one length, at least 1")
    earlier = [_permuted(mask, masks[table]) for mask in masks[:table]]
    first, start = cursor
    groups = keys & _leading(masks[table].bit_count())
    written = 0
    while first < len(keys):
        block = np.arange(first, min(first + 4096, len(keys)))
        starts = block + 1
        starts[0] = start
        stops = np.searchsorted(groups, groups[block], side="right")
        for numbers, positions in _ranges(starts, np.maximum(stops, starts)):
            difference = keys[positions] ^ keys[block[numbers]]
            measured = _popcount(difference)
            kept = measured <= distance
            for mask in earlier:
                kept &= (difference & mask) != 0
            one, other = block[numbers[kept]], positions[kept]
            fits = min(len(one), capacity - written)
            window = slice(written, written + fits)
            left[window] = np.minimum(ordinals[one], ordinals[other])[:fits]
            right[window] = np.maximum(ordinals[one], ordinals[other])[:fits]
            distances[window] = measured[kept][:fits]
            written += fits
            if fits < len(one):
                return written, int(one[fits]), int(other[fits])
        first = int(block[-1]) + 1
        start = first + 1
    return written, len(keys), len(keys) + 1


def _ranges(starts: I64, stops: I64) -> Iterator[tuple[I64, I64]]:
    """Range numbers and positions of all that the ranges hold, some ranges at a time."""
    ends = np.cumsum(stops - starts)
    done = 0
    while done < len(starts):
        before = ends[done - 1] if done else 0
        upto = max(done + 1, int(np.searchsorted(ends, before + SLICE, side="right")))
        lengths = (stops - starts)[done:upto]
        numbers = np.repeat(np.arange(done, upto), lengths)
        shifts = starts[done:upto] - (ends[done:upto] - lengths - before)
        yield numbers, np.repeat(shifts, lengths) + np.arange(lengths.sum())
        done = upto


def _buckets(directory: U32, count: int, queries: U64, flipped: int, width: int) -> tuple[I64, I64]:
    """Positions that hold the leading `width` bits of each query, those of `flipped` flipped."""
    span = (len(directory) - 1) >> width
    prefixes = ((queries ^ np.uint64(flipped)) >> (FINGERPRINT_BITS - width)).astype(np.int64)
    starts = np.minimum(directory[prefixes * span].astype(np.int64), count)
    stops = np.minimum(directory[(prefixes + 1) * span].astype(np.int64), count)
    return starts, np.maximum(starts, stops)


def _flip_sets(width: int, flips: int) -> Iterator[int]:
    """Every set of at most `flips` of the top `width` bits, the smaller sets first."""
    bits = [1 << (FINGERPRINT_BITS - 1 - position) for position in range(width)]
    for size in range(min(flips, width) + 1):
        yield from (sum(chosen) for chosen in combinations(bits, size))


def _scan_all(keys: U64, ordinals: U32, queries: U64, distance: int) -> Iterator[Matches]:
    """Matches of every query among all keys."""
    step = max(1, SLICE // max(1, len(keys)))
    for start in range(0, len(queries), step):
        distances = _popcount(queries[start : start + step, None] ^ keys)
        numbers, positions = np.nonzero(distances <= distance)
        yield numbers + start, ordinals[positions], distances[numbers, positions]


def _popcount(words: U64) -> U8:
    """The number of bits that are set in each word."""
    quarters = ONES[np.ascontiguousarray(words)[..., None].view(np.uint16)]
    counts: U8 = quarters.sum(axis=-1, dtype=np.uint8)
    return counts


def _leading(width: int) -> int:
    """The top `width` bits of a word."""
    return ALL_BITS ^ (ALL_BITS >> width)


def _permute(fingerprints: U64, mask: int) -> U64:
    """Keys of a table: the bits in `mask` moved to the front, each group in its old order."""
    keys = np.zeros_like(fingerprints)
    for shift, width in _stretches(mask):
        stretch = (fingerprints >> np.uint64(shift)) & np.uint64((1 << width) - 1)
        keys = (keys << np.uint64(width)) | stretch
    return keys


def _permuted(fingerprint: int, mask: int) -> int:
    """One key."""
    return int(_permute(np.array([fingerprint], np.uint64), mask)[0])


def _stretches(mask: int) -> list[tuple[int, int]]:
    """Position and width of neighbouring bits that stay together, in the order of a key."""
    result: list[tuple[int, int]] = []
    for part in (mask, mask ^ ALL_BITS):
        while part:
            stop = part.bit_length()
            start = (part ^ ((1 << stop) - 1)).bit_length()
            result.append((start, stop - start))
            part &= (1 << start) - 1
    return result


def _offsets(numbers: I64, count: int) -> I64:
    """Where the matches of each query begin, given the sorted query numbers of all."""
    return np.searchsorted(numbers, np.arange(count + 1)).astype(np.int64)


def _is_first(numbers: I64) -> Flags:
    """Whether each number differs from the one before it."""
    return np.concatenate([np.ones(len(numbers[:1]), np.bool_), numbers[1:] != numbers[:-1]])


def _column(column: tuple[U64, U32, U32]) -> tuple[U64, U32, U32]:
    """The three arrays of one run in one table, if they can be right."""
    keys, ordinals, directory = column
    array(keys, np.uint64)
    array(ordinals, np.uint32)
    array(directory, np.uint32)
    if len(keys) != len(ordinals):
        raise ValueError(f"{len(keys)} keys but {len(ordinals)} ordinals")
    count = len(directory) - 1
    if count < 1 or count & (count - 1) or count > 1 << HEADER_BITS_MAX:
        raise ValueError(f"a directory of {count + 1} entries; wanted a power of two and one")
    return column


def _check_query(queries: U64, distance: int, flips: int, after: U32 | None) -> None:
    """Refuse what cannot be asked."""
    array(queries, np.uint64)
    if not 0 <= distance <= FINGERPRINT_BITS or not 0 <= flips <= FINGERPRINT_BITS:
        raise ValueError(f"distance {distance} or flips {flips} is not 0 to 64")
    if after is not None and len(array(after, np.uint32)) != len(queries):
        raise ValueError("after needs one ordinal for each query")


def _check_sweep(
    keys: U64,
    ordinals: U32,
    masks: Sequence[int],
    table: int,
    distance: int,
    place: tuple[int, int],
) -> None:
    """Refuse what cannot be swept."""
    if len(array(keys, np.uint64)) != len(array(ordinals, np.uint32)):
        raise ValueError(f"{len(keys)} keys but {len(ordinals)} ordinals")
    if not all(0 <= mask <= ALL_BITS for mask in masks) or not 0 <= table < len(masks):
        raise ValueError(f"no table {table}, or a mask of more than 64 bits")
    if not 0 <= distance <= FINGERPRINT_BITS:
        raise ValueError(f"distance {distance} is not 0 to 64")
    if not 0 <= place[0] < place[1]:
        raise ValueError(f"no cursor {place}: wanted (i, j), 0 <= i < j")
