"""Search: looks up, probes and scans fingerprints in numpy, as `simdb_ext._search` does in C.

`simdb_ext/_search.pyi` has the contract of every name.  A list of probes becomes ranges of
positions, the ranges are measured in slices of bounded size, and the entries within the distance
are filtered and sorted at the end.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from copy import copy

import numpy as np
import numpy.typing as npt

from reference_kernel.band_lookup import lookup_bands
from reference_kernel.columns import (
    Column,
    Window,
    checked_column,
    checked_windows,
    header_width,
    is_inside,
)
from reference_kernel.flips import Flips, flips_of, levels, levels_of_vectors
from reference_kernel.keys import (
    is_first,
    key_ranges,
    leading_bits,
    permute,
    permuted_one,
    weight_order,
)
from reference_kernel.polytope import (
    polytope_costs,
    polytope_headers,
    polytope_keys,
    polytope_probe,
    polytope_reaches,
)
from reference_kernel.polytopes import Polytopes
from reference_kernel.reach import TableFlips, flips_of_tables, is_reached
from reference_kernel.sweep import sweep
from reference_kernel.vectors import SLICE, Vectors, array, best_of_each, marked
from simdb.bits import ALL_BITS, FINGERPRINT_BITS, bit_counts, flip_sets

__all__ = [
    "Polytopes", "Tables", "Vectors", "levels", "levels_of_vectors", "lookup_bands",
    "polytope_costs", "polytope_headers", "polytope_keys", "polytope_probe",
    "polytope_reaches", "select", "sweep", "variants",
]  # fmt: skip

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

# Offsets of each query, ordinals, distances.
Found = tuple[I64, U32, U8]
# The same before sorting: number of the query, ordinal, distance; one entry per match.
Matches = tuple[I64, U32, U8]


def variants() -> list[str]:
    """Return the names of all variants: numpy is the only one."""
    return ["numpy"]


def select(variant: str) -> str:
    """Use `variant` from now on; return the name of the variant used before."""
    if variant not in variants():
        raise ValueError(f"no variant {variant!r}; there are {variants()}")
    return "numpy"


class Tables:
    """A collection's runs of all block permutations, prepared for look-ups."""

    def __init__(
        self,
        masks: Sequence[int],
        runs: Sequence[Sequence[Column]],
        delta: tuple[U64, U32],
        dead: U8 | None,
        windows: Sequence[tuple[int, int]] | None = None,
    ) -> None:
        """Take the arrays, and find the order of the bits in each table."""
        if not masks or not all(0 < mask <= ALL_BITS for mask in masks):
            raise ValueError("every table needs a mask of 1 to 64 bits")
        self._masks = list(masks)
        self._orders = [weight_order(mask) for mask in masks]
        # The masks of the tables before each one, in the bit order of its own keys.
        self._earlier = [[permuted_one(m, mask) for m in masks[:t]] for t, mask in enumerate(masks)]
        self._runs = [[checked_column(column) for column in run] for run in runs]
        if any(len(run) != len(masks) for run in self._runs):
            raise ValueError(f"every run needs {len(masks)} tables")
        self._windows = checked_windows(self._runs, windows)
        self._take(delta, dead)

    def over(self, delta: tuple[U64, U32], dead: U8 | None) -> "Tables":
        """Return the same runs with another delta and other tombstones."""
        other = copy(self)
        other._take(delta, dead)
        return other

    def lookup(
        self, queries: U64, *, distance: int, flips: TableFlips, first: bool, after: U32 | None
    ) -> Found:
        """Find stored fingerprints within `distance` that some table reaches with its flips."""
        _check_query(queries, distance, after)
        limits = flips_of_tables(flips, len(self._masks))
        found = list(self._scan_delta(queries, distance))
        for table, mask in enumerate(self._masks):
            if limits[table] < 0:
                continue
            permuted = permute(queries, mask)
            for run, window in zip(self._runs, self._windows, strict=True):
                found += self._probe(run[table], window, permuted, table, distance, limits)
        return self._collected(found, len(queries), first, after)

    def lookup_one(
        self, query: int, distance: int, flips: TableFlips, first: bool, most: int = sys.maxsize
    ) -> list[tuple[int, int]] | None:
        """Do `lookup` for one query; return (ordinal, distance) of each match in the same order."""
        queries = np.array([query], np.uint64)
        found = self.lookup(queries, distance=distance, flips=flips, first=first, after=None)
        return _as_list(found, most)

    def probe(
        self,
        queries: U64,
        levels: U8,
        *,
        costs: U8,
        theta: int,
        cap: int,
        distance: int,
        first: bool,
        after: U32 | None,
        tables: int | None,
        header_bits: int | None = None,
    ) -> Found:
        """Find stored fingerprints within `distance` whose header is a likely one for the query."""
        _check_query(queries, distance, after)
        flips = flips_of(levels, costs, theta, cap, len(queries))
        found = list(self._scan_delta(queries, distance))
        # The theta of every query, by table and header width.
        limits: dict[tuple[int, int], I64] = {}
        for table in range(self._table_count(tables)):
            permuted = permute(queries, self._masks[table])
            for width in sorted({_header_bits(run[table], header_bits) for run in self._runs}):
                sets = [flips.sets(n, self._orders[table][:width]) for n in range(len(queries))]
                limits[table, width] = np.array([limit for _, limit in sets], np.int64)
                chosen = [words for words, _ in sets]
                for run, window in zip(self._runs, self._windows, strict=True):
                    if _header_bits(run[table], header_bits) == width:
                        matches = _probe_sets(run[table], window, permuted, chosen, distance, width)
                        found += self._first_reached(
                            matches, run, table, flips, limits, header_bits
                        )
        return self._collected(found, len(queries), first, after)

    def probe_one(
        self,
        query: int,
        levels: U8 | bytes,
        costs: U8 | bytes,
        theta: int,
        cap: int,
        distance: int,
        first: bool,
        tables: int | None = None,
        header_bits: int | None = None,
        most: int = sys.maxsize,
    ) -> list[tuple[int, int]] | None:
        """Do `probe` for one query; return (ordinal, distance) of each match in the same order."""
        found = self.probe(
            np.array([query], np.uint64),
            np.frombuffer(levels, np.uint8)[None, :],
            costs=np.frombuffer(costs, np.uint8),
            theta=theta,
            cap=cap,
            distance=distance,
            first=first,
            after=None,
            tables=tables,
            header_bits=header_bits,
        )
        return _as_list(found, most)

    def count_probes(
        self,
        levels: U8,
        *,
        costs: U8,
        theta: int,
        cap: int,
        tables: int | None,
        header_bits: int | None = None,
    ) -> I64:
        """Return how many headers of the largest run `probe` would look up for each query."""
        flips = flips_of(levels, costs, theta, cap, len(levels))
        counts = np.zeros(len(levels), np.int64)
        largest = max(self._runs, key=lambda run: len(run[0][0]), default=[])
        for column, order in zip(largest[: self._table_count(tables)], self._orders, strict=False):
            order = order[: _header_bits(column, header_bits)]
            counts += [len(flips.sets(number, order)[0]) for number in range(len(levels))]
        return counts

    def scan(self, queries: U64, *, distance: int, first: bool, after: U32 | None) -> Found:
        """Find all stored fingerprints within `distance`, by comparing with every one."""
        _check_query(queries, distance, after)
        found = list(self._scan_delta(queries, distance))
        permuted = permute(queries, self._masks[0])
        for run, window in zip(self._runs, self._windows, strict=True):
            keys, ordinals, directory = run[0]
            inside = slice(None)
            if window != (0, len(directory) - 1):
                inside = slice(int(directory[window[0]]), int(directory[window[1]]))
            found += _scan_all(keys[inside], ordinals[inside], permuted, distance)
        return self._collected(found, len(queries), first, after)

    def nearest(self, queries: U64, k: int) -> Found:
        """Find the `k` nearest stored fingerprints of each query, by comparing with every one."""
        each = [
            self.scan(query, distance=64, first=False, after=None) for query in queries[:, None]
        ]
        return best_of_each(each, k, np.uint8)

    def _take(self, delta: tuple[U64, U32], dead: U8 | None) -> None:
        if len(delta[0]) != len(delta[1]):
            raise ValueError("delta fingerprints and ordinals differ in number")
        self._delta = (array(delta[0], np.uint64), array(delta[1], np.uint32))
        self._dead = None if dead is None else array(dead, np.uint8)

    def _scan_delta(self, queries: U64, distance: int) -> Iterator[Matches]:
        """Yield matches among the fingerprints of the delta."""
        return _scan_all(self._delta[0], self._delta[1], queries, distance)

    def _probe(
        self,
        column: Column,
        window: Window,
        queries: U64,
        table: int,
        distance: int,
        flips: list[int],
    ) -> Iterator[Matches]:
        """Yield matches in one table of one run that no earlier table reaches."""
        keys, ordinals, directory = column
        leading = leading_bits(self._masks[table].bit_count())
        width = min(header_width(column), leading.bit_count())
        for flipped in flip_sets(leading_bits(width), flips[table]):
            starts, stops = _buckets(directory, window, len(keys), queries, flipped, width)
            for numbers, positions in key_ranges(starts, stops):
                difference: U64 = keys[positions] ^ queries[numbers]
                distances = bit_counts(difference)
                reached = (distances <= distance) & is_reached(difference, leading, flips[table])
                for earlier, most in zip(self._earlier[table], flips, strict=False):
                    reached &= ~is_reached(difference, earlier, most)
                yield numbers[reached], ordinals[positions[reached]], distances[reached]

    def _first_reached(
        self,
        found: Iterable[tuple[I64, U32, U64]],
        run: list[Column],
        table: int,
        flips: Flips,
        limits: dict[tuple[int, int], I64],
        header_bits: int | None,
    ) -> Iterator[Matches]:
        """Yield the matches, given as queries, ordinals and key differences, new to this table."""
        for numbers, ordinals, differences in found:
            bits = np.zeros((len(numbers), FINGERPRINT_BITS), np.bool_)
            content = differences.astype(">u8").view(np.uint8).reshape(-1, 8)
            bits[:, self._orders[table]] = np.unpackbits(content, axis=1)
            is_new = np.ones(len(numbers), np.bool_)
            for earlier in range(table):
                width = _header_bits(run[earlier], header_bits)
                header = np.zeros(FINGERPRINT_BITS, np.bool_)
                header[self._orders[earlier][:width]] = True
                is_new &= ~flips.reached(numbers, bits & header, limits[earlier, width])
            yield numbers[is_new], ordinals[is_new], bit_counts(differences[is_new])

    def _table_count(self, tables: int | None) -> int:
        """Return how many tables to search; all if `tables` is None."""
        if tables is None:
            return len(self._masks)
        if not 1 <= tables <= len(self._masks):
            raise ValueError(f"{tables} tables of {len(self._masks)}")
        return tables

    def _collected(self, found: list[Matches], count: int, first: bool, after: U32 | None) -> Found:
        """Return the living matches after `after`, sorted by query, distance and ordinal."""
        numbers = np.concatenate([np.empty(0, np.int64), *(part[0] for part in found)])
        ordinals = np.concatenate([np.empty(0, np.uint32), *(part[1] for part in found)])
        distances = np.concatenate([np.empty(0, np.uint8), *(part[2] for part in found)])
        is_found = ~marked(self._dead, ordinals)
        if after is not None:
            is_found &= ordinals > after[numbers]
        numbers, ordinals, distances = numbers[is_found], ordinals[is_found], distances[is_found]
        order = np.lexsort((ordinals, distances, numbers))
        if first:
            order = order[is_first(numbers[order])]
        return _offsets(numbers[order], count), ordinals[order], distances[order]


def _as_list(found: Found, most: int) -> list[tuple[int, int]] | None:
    """Return (ordinal, distance) of each match of one query; None for more than `most`."""
    _, ordinals, distances = found
    if len(ordinals) > most:
        return None
    return list(zip(ordinals.tolist(), distances.tolist(), strict=True))


def _buckets(
    directory: U32, window: Window, count: int, queries: U64, flipped: int, width: int
) -> tuple[I64, I64]:
    """Return the ranges of keys that begin with `width` bits of each query, `flipped` inverted."""
    span = (len(directory) - 1) >> width
    prefixes = ((queries ^ np.uint64(flipped)) >> (FINGERPRINT_BITS - width)).astype(np.int64)
    starts = np.minimum(directory[prefixes * span].astype(np.int64), count)
    stops = np.minimum(directory[(prefixes + 1) * span].astype(np.int64), count)
    return starts, np.where(is_inside(window, prefixes * span), np.maximum(starts, stops), starts)


def _probe_sets(
    column: Column,
    window: Window,
    queries: U64,
    sets: list[U64],
    distance: int,
    width: int,
) -> Iterator[tuple[I64, U32, U64]]:
    """Yield query number, ordinal and key difference of near entries with one of the headers."""
    keys, ordinals, directory = column
    if len(queries) == 0:
        return
    owners = np.repeat(np.arange(len(queries)), [len(words) for words in sets])
    headers = np.concatenate(sets)
    if width:
        headers ^= queries[owners] >> np.uint64(FINGERPRINT_BITS - width)
    span = np.uint64((len(directory) - 1) >> width)
    inside = is_inside(window, (headers * span).astype(np.int64))
    owners, headers = owners[inside], headers[inside]
    starts = np.minimum(directory[headers * span].astype(np.int64), len(keys))
    stops = np.minimum(directory[(headers + np.uint64(1)) * span].astype(np.int64), len(keys))
    for probes, positions in key_ranges(starts, np.maximum(starts, stops)):
        numbers = owners[probes]
        differences: U64 = keys[positions] ^ queries[numbers]
        near = bit_counts(differences) <= distance
        yield numbers[near], ordinals[positions[near]], differences[near]


def _header_bits(column: Column, most: int | None) -> int:
    """Return how many bits a header has: those of the directory, but at most `most`."""
    if most is not None and not 0 <= most <= FINGERPRINT_BITS:
        raise ValueError(f"header_bits is {most}, not 0 to {FINGERPRINT_BITS}")
    return header_width(column) if most is None else min(header_width(column), most)


def _scan_all(keys: U64, ordinals: U32, queries: U64, distance: int) -> Iterator[Matches]:
    """Yield matches of every query among all keys."""
    step = max(1, SLICE // max(1, len(keys)))
    for start in range(0, len(queries), step):
        distances = bit_counts(queries[start : start + step, None] ^ keys)
        numbers, positions = np.nonzero(distances <= distance)
        yield numbers + start, ordinals[positions], distances[numbers, positions]


def _offsets(numbers: I64, count: int) -> I64:
    """Return where the matches of each query begin, from the sorted query numbers of all."""
    return np.searchsorted(numbers, np.arange(count + 1)).astype(np.int64)


def _check_query(queries: U64, distance: int, after: U32 | None) -> None:
    """Raise ValueError for arguments of a search that are out of range."""
    array(queries, np.uint64)
    if not 0 <= distance <= FINGERPRINT_BITS:
        raise ValueError(f"distance {distance} is not 0 to 64")
    if after is not None and len(array(after, np.uint32)) != len(queries):
        raise ValueError("after needs one ordinal for each query")
