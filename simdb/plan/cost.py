"""The cost model of Sood & Loguinov 2011: seconds and bytes of BPHS and PSM, equations (8) to (26).

For n = 2^d fingerprints of b = 64 bits it tells what a query costs online, where all of them are in
memory, and how many documents a second pass in batch, where they are read from disk in chunks of a
batch's size.  It is a model of what the paper describes: BPHS looks its header up by binary search,
while the tables here have directories, so the planner weighs its own methods by itself.

PSM-A, all matches, and PSM-F, the first, have the same equations; they differ in k, the number of
flip sets that a query tries, which comes from the collection (`recall`).
"""

import math
from dataclasses import dataclass, replace

from simdb.bits import FINGERPRINT_BITS
from simdb.errors import OptionError

FINGERPRINT_BYTES = FINGERPRINT_BITS // 8


@dataclass(frozen=True, slots=True)
class Delays:
    """Seconds of one core for each thing that searching is made of.

    The defaults are of one fast machine; `Database.calibrate` measures those of another.  The first
    five are delta_R, delta_L, delta_P, delta_V and delta_S of the paper; the planner needs the
    others for what the paper does not count.
    """

    memory: float = 20e-9  # one access at random to a place of the main memory, prefetched
    compare: float = 0.12e-9  # Hamming distance of one fingerprint of a linear scan
    permute: float = 0.6e-9  # bringing the bits of one fingerprint into the order of a table
    flip: float = 2.3e-9  # finding one flip set, times log2 of how many
    sort: float = 0.85e-9  # sorting one fingerprint, times log2 of how many
    measure: float = 4.5e-9  # similarity of one stored volatility vector, in their order
    candidate: float = 120e-9  # handing on what is within the distance, and measuring it
    prepare: float = 60e-9  # beginning to look for the likely headers of one table


USUAL_DELAYS = Delays()


@dataclass(frozen=True, slots=True)
class Cost:
    """What one way to search costs: `seconds` a query, `size_bytes` of memory.

    `tables`: the memory as a multiple of the bare fingerprints; `header_bits`: the bits that a
    look-up finds the start of its scan by, which need not be a whole number.
    """

    tables: float
    header_bits: float
    seconds: float
    size_bytes: float


def bphs(count: float, *, blocks: int, leading: int, delays: Delays) -> Cost:
    """BPHS with one table for each choice of `leading` of `blocks` blocks: (8), (9), (10)."""
    _check_blocks(blocks, leading)
    depth = _depth(count)
    tables = math.comb(blocks, leading)
    header_bits = min(leading * FINGERPRINT_BITS / blocks, depth)
    scanned = 2.0 ** (depth - header_bits)
    seconds = tables * (delays.permute + header_bits * delays.memory + scanned * delays.compare)
    return Cost(tables, header_bits, seconds, tables * count * FINGERPRINT_BYTES)


def best_bphs(
    count: float, *, distance: int, delays: Delays, tables_max: int | None = None
) -> tuple[int, Cost]:
    """How many blocks lead in the fastest BPHS that finds all within `distance`, and its cost.

    It has `distance` more blocks than lead, as fewer are faster and smaller: (11) to (14).
    OptionError where `tables_max` tables cannot serve the distance.
    """
    most = max(1, math.floor(leading_max(count, distance)))
    able = [
        (leading, bphs(count, blocks=leading + distance, leading=leading, delays=delays))
        for leading in range(1, most + 1)
        if tables_max is None or math.comb(leading + distance, leading) <= tables_max
    ]
    if not able:
        raise OptionError(
            f"distance {distance} needs {distance + 1} tables or more, not {tables_max}"
        )
    return min(able, key=lambda each: each[1].seconds)


def leading_max(count: float, distance: int) -> float:
    """Leading blocks beyond which headers exceed the depth of the table: d h / (b - d), (15)."""
    depth = _depth(count)
    room = FINGERPRINT_BITS - distance - 1.0  # at least one bit of each block is left over
    return min(room, depth * distance / max(FINGERPRINT_BITS - depth, 1e-9))


def psm(count: float, *, header_bits: float, attempts: float, delays: Delays) -> Cost:
    """PSM with one table and a directory of 2^`header_bits` entries, k = `attempts`: (19), (22).

    The number of tables is T' = 1 + 2^(t - d), (26).
    """
    if attempts < 1:
        raise OptionError(f"a query tries one flip set or more, not {attempts:g}")
    depth = _depth(count)
    scanned = 2.0 ** max(depth - header_bits, 0.0)
    seconds = attempts * (
        delays.flip * math.log2(attempts) + delays.memory + scanned * delays.compare
    )
    size = (2.0**header_bits + count) * FINGERPRINT_BYTES
    return Cost(1 + 2.0 ** (header_bits - depth), header_bits, seconds, size)


def attempts_max(header_bits: int, distance: int) -> int:
    """Return the largest k, (20): a header has no more flip sets of 1 to `distance` bits.

    A PSM that tries them all finds every document within `distance`.
    """
    return sum(math.comb(header_bits, flips) for flips in range(1, distance + 1))


def bphs_batch(
    count: float,
    *,
    blocks: int,
    leading: int,
    batch: float,
    bytes_per_second: float,
    delays: Delays,
) -> Cost:
    """Return the cost of one document of a batch of m = `batch` by BPHS: (16) to (18).

    BPHS makes tables of the batch, reads all `count` stored fingerprints from disk and looks each
    up in the tables.  Sorting costs delta_S log2 m an entry; (17) prints it without delta_S.
    """
    single = bphs(batch, blocks=blocks, leading=leading, delays=delays)
    building = single.tables * batch * (delays.permute + delays.sort * _depth(batch))
    computing = building + count * single.seconds
    seconds = max(_reading(count, bytes_per_second), computing) / batch
    return replace(single, seconds=seconds)


def psm_batch(
    count: float, *, attempts: float, batch: float, bytes_per_second: float, delays: Delays
) -> Cost:
    """Return the cost of one document of a batch of m = `batch` by PSM: (16), (18), (23).

    PSM reads the `count` stored fingerprints from disk in chunks of m, makes a table of each
    chunk with headers of log2 m bits, looks the batch up in it, and sorts the batch at the end.
    """
    single = psm(batch, header_bits=_depth(batch), attempts=attempts, delays=delays)
    finding = batch * delays.flip * math.log2(attempts)
    sorting = batch * delays.sort * _depth(batch)
    computing = finding + count * single.seconds + sorting
    seconds = max(_reading(count, bytes_per_second), computing) / batch
    return replace(single, seconds=seconds)


def _depth(count: float) -> float:
    """d = log2 n."""
    if not count >= 1:
        raise OptionError(f"costs are those of one document or more, not of {count:g}")
    return math.log2(count)


def _reading(count: float, bytes_per_second: float) -> float:
    """Seconds to read all fingerprints from disk: (16)."""
    return count * FINGERPRINT_BYTES / bytes_per_second


def _check_blocks(blocks: int, leading: int) -> None:
    if not 1 <= leading <= blocks <= FINGERPRINT_BITS:
        raise OptionError(f"{leading} of {blocks} blocks cannot lead 64 bits")
