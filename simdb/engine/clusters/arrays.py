"""Array search: all pairs and clusters of an array of fingerprints, without a database.

One table is sorted and swept at a time, in the same arrays, so the search needs the memory of one
table.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.engine.clusters.labels import grouped
from simdb.engine.search.couples import Searched, sweep_tables
from simdb.ground.bits import ALL_BITS
from simdb.ground.errors import InputError
from simdb.plan.arrangement import check_arrangement, choose_tables
from simdb.results.clusters import ArrayClusters, PairPositions
from simdb.running import kernel
from simdb.storage.runs.table import Table
from simdb.values.arrays import Fingerprint, Fingerprints, aligned, check_bits, check_many, describe

U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]

COUNT_MAX = 2**32 - 1  # positions are uint32 in the tables


def stream_pairs(
    fingerprints: Any, *, blocks: int, distance: int, threads: int
) -> Iterator[PairPositions]:
    """Yield every pair within `distance` once, in chunks; arguments are checked at the call."""
    check_arrangement(blocks, distance)
    every = read_fingerprints(fingerprints)
    # The caller's own array may change before the pairs are read, so it is copied.
    return _stream(Searched(every.fingerprints.copy(), every.ordinals), blocks, distance, threads)


def find_clusters(fingerprints: Any, *, blocks: int, distance: int, threads: int) -> ArrayClusters:
    """Return every set of two or more fingerprints that pairs within `distance` connect."""
    check_arrangement(blocks, distance)
    every = read_fingerprints(fingerprints)
    count = int(every.ordinals[-1]) + 1 if len(every.ordinals) else 0
    forest = kernel.Forest(count)
    firsts = _link_equal(every, forest)
    masks, flips = choose_tables(firsts.fingerprints, blocks=blocks, distance=distance)
    tables = sorted_tables(firsts, masks)
    for couples in sweep_tables(tables, masks, distance, flips, threads=threads):
        forest.join(couples.left, couples.right)
    offsets, members = grouped(forest.labels())
    return ArrayClusters(offsets, members.astype(np.int64))


def read_fingerprints(fingerprints: Any) -> Searched:
    """Return fingerprints with features and their positions; InputError for an invalid array."""
    bits = as_bits(fingerprints)
    if len(bits) > COUNT_MAX:
        raise InputError(
            f"there must be at most {COUNT_MAX} fingerprints, got {len(bits)}; search in parts"
        )
    positions = np.arange(len(bits), dtype=np.uint32)
    if isinstance(fingerprints, Fingerprints) and fingerprints.weights is not None:
        has_features = fingerprints.weights.any(axis=1)
        return Searched(bits[has_features], positions[has_features])
    return Searched(bits, positions)


def as_bits(fingerprints: Any) -> U64:
    """Return `fingerprints` as uint64[n]: from an integer array, `Fingerprints`, or many ints."""
    if isinstance(fingerprints, Fingerprints):
        return fingerprints.bits
    if isinstance(fingerprints, np.ndarray):
        return _checked_array(fingerprints)
    check_many(fingerprints, "fingerprints")
    return np.array([_one(each, at) for at, each in enumerate(fingerprints)], np.uint64)


def distinct(bits: U64) -> U64:
    """Return each value once, ascending."""
    keys = bits.copy()
    kernel.sort(keys, np.empty(len(keys), np.uint32))
    is_last: npt.NDArray[np.bool_] = np.append(keys[:-1] != keys[1:], True)[: len(keys)]
    return np.asarray(keys[is_last], np.uint64)


def _checked_array(array: npt.NDArray[Any]) -> U64:
    if array.ndim != 1 or (array.dtype.kind not in "iu" and len(array)):
        raise InputError(
            f"fingerprints must be a uint64 array of one dimension, got {describe(array)}"
        )
    if array.dtype.kind == "i" and (negative := np.flatnonzero(array < 0)).size:
        at = int(negative[0])
        raise InputError(
            f"fingerprint {at} must not be negative, got {array[at]}; if the bits are stored as"
            " signed numbers, pass array.view(numpy.uint64)"
        )
    return aligned(array, np.uint64)


def _one(value: Any, position: int) -> int:
    if isinstance(value, Fingerprint):
        return value.bits
    bits = int(value) if isinstance(value, np.integer) else value
    try:
        check_bits(bits)
    except InputError as error:
        raise InputError(f"fingerprint {position}: {error}") from error
    return int(bits)


def _stream(every: Searched, blocks: int, distance: int, threads: int) -> Iterator[PairPositions]:
    masks, flips = choose_tables(every.fingerprints, blocks=blocks, distance=distance)
    tables = sorted_tables(every, masks)
    for couples in sweep_tables(tables, masks, distance, flips, threads=threads):
        left, right = couples.left.astype(np.int64), couples.right.astype(np.int64)
        yield PairPositions(left, right, couples.distances)


def sorted_tables(every: Searched, masks: list[int]) -> Callable[[int], Table]:
    """Return a function that makes the table of a given number, over the table made before."""
    keys, ordinals = np.empty_like(every.fingerprints), np.empty_like(every.ordinals)

    def table(number: int) -> Table:
        kernel.permute(every.fingerprints, masks[number], keys)
        np.copyto(ordinals, every.ordinals)
        if masks[number]:
            kernel.sort(keys, ordinals)
        return Table(keys, ordinals, np.empty(0, np.uint32))

    return table


def _link_equal(every: Searched, forest: kernel.Forest) -> Searched:
    """Join equal fingerprints; returns the first fingerprint of each value, ordered by value."""
    table = sorted_tables(every, [ALL_BITS])(0)
    same = table.keys[1:] == table.keys[:-1]
    forest.join(table.ordinals[:-1][same], table.ordinals[1:][same])
    is_first = np.append(True, ~same)[: len(table.keys)]
    return Searched(table.keys[is_first], table.ordinals[is_first])
