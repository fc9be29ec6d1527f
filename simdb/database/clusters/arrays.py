"""Array search: all pairs and clusters of an array of fingerprints, without a database.

The tables are sorted and swept one at a time in the same arrays, so the search needs memory for
only one table.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.core import arrays, kernel
from simdb.core.bits import ALL_BITS, FINGERPRINT_BITS
from simdb.core.clusters import ArrayClusters, PairPositions
from simdb.core.dtypes import U32, U64
from simdb.core.errors import InputError
from simdb.core.options import USUAL_DISTANCE
from simdb.core.threads import mapped, parts_of, run_all
from simdb.database.search.buckets import grouped
from simdb.database.search.couples import Couples, Searched, sorted_tables, sweep_tables
from simdb.plan import check_arrangement, choose_tables

COUNT_MAX = 2**32 - 1  # positions are uint32 in the tables
# Entries that one thread copies or compares in one step.
MOVED_AT_ONCE = 1 << 18
OF_TEXTS = "; of texts give simdb.fingerprints(texts), or use simdb.deduplicate(texts).groups"
OF_HASHES = "; of hashes give their bits, as in simdb.find_all(hashes, bits=256)"


def stream_pairs(
    fingerprints: Any, blocks: int, distance: int | None, *, threads: int
) -> Iterator[PairPositions]:
    """Yield every pair within `distance` once, in chunks; arguments are checked at the call."""
    every, distance = _checked(fingerprints, blocks, distance)
    # The caller's own array may change before the pairs are read, so it is copied.
    copied = np.empty_like(every.fingerprints)

    def copy(part: slice) -> None:
        copied[part] = every.fingerprints[part]

    run_all(copy, _parts(len(copied), threads), threads)
    found = _couples(Searched(copied, every.ordinals), blocks, distance, threads)
    return map(_positions, found)


def find_clusters(
    fingerprints: Any, blocks: int, distance: int | None, *, threads: int
) -> ArrayClusters:
    """Return the sets of two or more fingerprints that pairs within `distance` connect."""
    every, distance = _checked(fingerprints, blocks, distance)
    labels = _labels(every, blocks, distance, threads)
    offsets, members = grouped(labels, threads=threads)
    return ArrayClusters(offsets, members.astype(np.int64))


def _checked(fingerprints: Any, blocks: int, distance: int | None) -> tuple[Searched, int]:
    """Return fingerprints with features and their positions, and the distance, 3 if not given.

    Raises OptionError for impossible blocks, and InputError for an invalid array.
    """
    distance = USUAL_DISTANCE if distance is None else distance
    check_arrangement(blocks, distance)
    bits = as_bits(fingerprints)
    if len(bits) > COUNT_MAX:
        raise InputError(
            f"there must be at most {COUNT_MAX} fingerprints, got {len(bits)}; search in parts"
        )
    positions = np.arange(len(bits), dtype=np.uint32)
    if isinstance(fingerprints, arrays.Fingerprints) and fingerprints.weights is not None:
        has_features = fingerprints.weights.any(axis=1)
        return Searched(bits[has_features], positions[has_features]), distance
    return Searched(bits, positions), distance


def as_bits(fingerprints: Any) -> U64:
    """Return an integer array, `Fingerprints` or an iterable of ints as uint64[n]."""
    if isinstance(fingerprints, arrays.Fingerprints):
        return _checked_array(fingerprints.bits)
    if isinstance(fingerprints, np.ndarray):
        return _checked_array(fingerprints)
    arrays.check_many(fingerprints, "fingerprints")
    return np.array([_one(each, at) for at, each in enumerate(fingerprints)], np.uint64)


def distinct(bits: U64) -> U64:
    """Return the distinct values, ascending."""
    keys = bits.copy()
    kernel.sort(keys)
    return np.asarray(keys[arrays.is_first(keys)], np.uint64)


def _checked_array(array: npt.NDArray[Any]) -> U64:
    if array.ndim != 1 or (array.dtype.kind not in "iu" and len(array)):
        raise InputError(
            "fingerprints must be a uint64 array of one dimension, got"
            f" {arrays.describe(array)}{OF_HASHES}"
        )
    if array.dtype.kind == "i" and (negative := np.flatnonzero(array < 0)).size:
        at = int(negative[0])
        raise InputError(
            f"fingerprint {at} must not be negative, got {array[at]}; if the bits are stored as"
            " signed numbers, pass array.view(numpy.uint64)"
        )
    return arrays.aligned(array, np.uint64)


def _one(value: Any, position: int) -> int:
    if isinstance(value, arrays.Fingerprint) and value.size == FINGERPRINT_BITS:
        return value.bits
    bits = int(value) if isinstance(value, np.integer) else value
    try:
        arrays.check_bits(bits)
    except InputError as error:
        more = OF_TEXTS if isinstance(value, str | bytes) else OF_HASHES
        raise InputError(f"fingerprint {position}: {error}{more}") from error
    return int(bits)


def _couples(every: Searched, blocks: int, distance: int, threads: int) -> Iterator[Couples]:
    """Yield the pairs from the fastest choice of tables, which are made one after another."""
    masks, flips = choose_tables(every.fingerprints, blocks=blocks, distance=distance)
    tables = sorted_tables(every, masks, threads)
    yield from sweep_tables(tables, masks, distance, flips, threads=threads)


def _positions(couples: Couples) -> PairPositions:
    left, right = couples.left.astype(np.int64), couples.right.astype(np.int64)
    return PairPositions(left, right, couples.distances)


def _labels(every: Searched, blocks: int, distance: int, threads: int) -> U32:
    """Return the lowest position that is connected to each: uint32[n]; no table is kept."""
    count = int(every.ordinals[-1]) + 1 if len(every.ordinals) else 0
    forest = kernel.Forest(count)
    firsts = _link_equal(every, forest, threads)
    for couples in _couples(firsts, blocks, distance, threads):
        forest.join(couples.left, couples.right)
    return forest.labels()


def _link_equal(every: Searched, forest: kernel.Forest, threads: int) -> Searched:
    """Join equal fingerprints; return the first entry of each value, ordered by value."""
    keys, ordinals, _ = sorted_tables(every, [ALL_BITS], threads)(0)
    parts = _parts(len(keys), threads)

    def repeats(part: slice) -> tuple[U32, U32]:
        """Return the entries before a repeat in the part, and the repeats themselves."""
        start = max(part.start - 1, 0)
        at = np.flatnonzero(~arrays.is_first(keys[start : part.stop])) + start
        return ordinals[at - 1], ordinals[at]

    is_repeat = np.zeros(forest.parents.shape, np.bool_)
    count = 0
    for before, after in mapped(repeats, parts, threads):
        forest.join(before, after)
        is_repeat[after] = True
        count += len(after)
    if not count:
        return Searched(keys, ordinals)
    left_out = np.packbits(is_repeat, bitorder="little")

    def keep(part: slice) -> slice:
        some = keys[part], ordinals[part]
        kept = kernel.keep(*some, left_out, *some)
        return slice(part.start, part.start + kept)

    stop = 0
    for kept in mapped(keep, parts, threads):
        start, stop = stop, stop + kept.stop - kept.start
        keys[start:stop], ordinals[start:stop] = keys[kept], ordinals[kept]
    return Searched(keys[:stop], ordinals[:stop])


def _parts(count: int, threads: int) -> list[slice]:
    return parts_of(count, threads, most=MOVED_AT_ONCE, least=MOVED_AT_ONCE)
