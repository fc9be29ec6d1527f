"""Cost model: seconds and bytes of BPHS and PSM by Sood & Loguinov 2011, equations (8) to (26).

For n = 2^d fingerprints of b = 64 bits, the model gives the cost of a query in two modes.  Online,
all fingerprints are in memory.  In batches, they are read from disk, in chunks of a batch's size.
It models the paper's BPHS, which finds a header by binary search; the tables of this program have
directories, so the planner estimates its own methods in another way (`planner`).

PSM-A, which finds all matches, and PSM-F, which finds the first one, have the same equations.  They
differ in k, the number of flip sets that a query tries, which depends on the collection (`recall`).
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

from simdb.ground.bits import FINGERPRINT_BITS
from simdb.ground.errors import OptionError

FINGERPRINT_BYTES = FINGERPRINT_BITS // 8


@dataclass(frozen=True, slots=True)
class Delays:
    """The seconds that each step of a search takes on one core.

    The defaults are from one fast machine; `Database.calibrate` measures the machine that it runs
    on.  The first five are delta_R, delta_L, delta_P, delta_V and delta_S of the paper.  The
    planner needs the other three for steps that the paper does not count.
    """

    memory: float = 20e-9  # one random access to main memory, prefetched
    compare: float = 0.12e-9  # the Hamming distance of one fingerprint in a linear scan
    permute: float = 0.6e-9  # bringing the bits of one fingerprint into the order of a table
    flip: float = 2.3e-9  # finding one flip set, times log2 of the number of sets
    sort: float = 0.85e-9  # sorting one fingerprint, times log2 of the number of fingerprints
    measure: float = 4.5e-9  # the similarity of one stored volatility vector, in stored order
    candidate: float = 120e-9  # collecting and measuring one candidate within the distance
    prepare: float = 60e-9  # preparing the search for the likely headers of one table


USUAL_DELAYS = Delays()


class Cost(NamedTuple):
    """The cost of one way to search: `seconds` a query and `size_bytes` of memory.

    `tables`: the memory as a multiple of the bare fingerprints.  `header_bits`: the bits with which
    a look-up finds the start of its scan; in the model this need not be a whole number.
    """

    tables: float
    header_bits: float
    seconds: float
    size_bytes: float


def bphs(count: float, *, blocks: int, leading: int, delays: Delays) -> Cost:
    """Return the cost of BPHS with C(`blocks`, `leading`) tables: (8), (9), (10)."""
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
    """Return the leading blocks and the cost of the fastest BPHS that finds all within `distance`.

    Its number of blocks is `distance` more than that of leading blocks, because more blocks would
    be slower and larger: (11) to (14).  OptionError if `tables_max` tables cannot serve the
    distance.
    """
    most = max(1, math.floor(leading_max(count, distance)))
    able = [
        (leading, bphs(count, blocks=leading + distance, leading=leading, delays=delays))
        for leading in range(1, most + 1)
        if tables_max is None or math.comb(leading + distance, leading) <= tables_max
    ]
    if not able:
        raise OptionError(
            f"distance {distance} needs {distance + 1} tables or more, but {tables_max} is the most"
        )
    return min(able, key=lambda each: each[1].seconds)


def leading_max(count: float, distance: int) -> float:
    """Return the largest useful number of leading blocks: d h / (b - d), (15).

    With more, headers would have more bits than the depth of the table.
    """
    depth = _depth(count)
    room = FINGERPRINT_BITS - distance - 1.0  # every block has one bit or more
    return min(room, depth * distance / max(FINGERPRINT_BITS - depth, 1e-9))


def psm(count: float, *, header_bits: float, attempts: float, delays: Delays) -> Cost:
    """Return the cost of PSM with one table and a directory of 2^`header_bits` entries: (19), (22).

    `attempts`: k, the flip sets that a query tries.  The number of tables is T' = 1 + 2^(t - d),
    (26).
    """
    if attempts < 1:
        raise OptionError(f"a query must try one flip set or more, not {attempts:g}")
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
    return single._replace(seconds=seconds)


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
    return single._replace(seconds=seconds)


def _depth(count: float) -> float:
    """Return d = log2 n."""
    if not count >= 1:
        raise OptionError(f"the model needs one document or more, not {count:g}")
    return math.log2(count)


def _reading(count: float, bytes_per_second: float) -> float:
    """Return the seconds to read all fingerprints from disk: (16)."""
    return count * FINGERPRINT_BYTES / bytes_per_second


def _check_blocks(blocks: int, leading: int) -> None:
    """Raise OptionError unless 1 <= `leading` <= `blocks` <= 64."""
    if not 1 <= leading <= blocks <= FINGERPRINT_BITS:
        raise OptionError(
            f"{leading} of {blocks} blocks cannot lead; use 1 <= leading <= blocks <= 64"
        )
