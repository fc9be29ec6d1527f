"""The cost model of Sood & Loguinov 2011: BPHS and PSM by their equations (8) to (26).

For n = 2^d fingerprints of b = 64 bits, one or more, it gives the cost of a query in two modes.
Online, all fingerprints are in memory.  In batches, they are read from disk, in chunks of a batch's
size.  It models the paper's BPHS, which finds a header by binary search; the tables of simdb have
directories, so its planner estimates its own methods in another way.  PSM-A, which finds all
matches, and PSM-F, which finds the first one, have the same equations.  They differ in k, the
number of flip sets that a query tries, which depends on the collection.

    python tools/figures/cost_model.py 8e9 --distance 3

prints the costs of a query, and of one document of a batch with fingerprints on disk: by BPHS with
the given blocks, by the fastest BPHS and by PSM.

    python tools/figures/cost_model.py 8e9 --measured build/bench/large.json

prints the costs of simdb itself, extrapolated from measurements at smaller sizes.  The formula that
is fitted for each table is

    PSM: a + k (b + c log2 n)      exact search: a + b log2 n + c n

with k, the look-ups of a query, as a power of log2 n.  A database holds up to 2^32 documents, so
more documents are in several databases, which are all queried.
"""

import argparse
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simdb.core.bits import ALL_BITS, FINGERPRINT_BITS
from simdb.core.options import TABLES_MAX, Options
from simdb.plan.calibration import USUAL_DELAYS, Delays, evidence
from simdb.plan.problem import FINGERPRINT_BYTES
from simdb.plan.recall import reach

# The largest batch of the paper's experiments, and how fast one disk is read.
BATCH_DOCUMENTS = 1e7
BYTES_PER_SECOND = 1e9
DATABASE_DOCUMENTS = 2**32  # at most in one database
F64 = npt.NDArray[np.float64]


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
    depth = math.log2(count)
    tables = math.comb(blocks, leading)
    header_bits = min(leading * FINGERPRINT_BITS / blocks, depth)
    scanned = 2.0 ** (depth - header_bits)
    seconds = tables * (delays.permute + header_bits * delays.memory + scanned * delays.compare)
    return Cost(tables, header_bits, seconds, tables * count * FINGERPRINT_BYTES)


def best_bphs(count: float, *, distance: int, delays: Delays, tables_max: int) -> tuple[int, Cost]:
    """Return the leading blocks and the cost of the fastest BPHS that finds all within `distance`.

    Its number of blocks is `distance` more than that of leading blocks, because more blocks would
    be slower and larger: (11) to (14).  `tables_max` is above `distance`.
    """
    most = max(1, math.floor(leading_max(count, distance)))
    able = (
        (leading, bphs(count, blocks=leading + distance, leading=leading, delays=delays))
        for leading in range(1, most + 1)
        if math.comb(leading + distance, leading) <= tables_max
    )
    return min(able, key=lambda each: each[1].seconds)


def leading_max(count: float, distance: int) -> float:
    """Return the largest useful number of leading blocks: d h / (b - d), (15).

    With more, headers would have more bits than the depth of the table.
    """
    depth = math.log2(count)
    room = FINGERPRINT_BITS - distance - 1.0  # every block has one bit or more
    return min(room, depth * distance / max(FINGERPRINT_BITS - depth, 1e-9))


def psm(count: float, *, header_bits: float, attempts: float, delays: Delays) -> Cost:
    """Return the cost of PSM with one table and a directory of 2^`header_bits` entries: (19), (22).

    `attempts`: k, the flip sets that a query tries.  The number of tables is T' = 1 + 2^(t - d),
    (26).
    """
    depth = math.log2(count)
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
    building = single.tables * batch * (delays.permute + delays.sort * math.log2(batch))
    computing = building + count * single.seconds
    seconds = max(_reading(count, bytes_per_second), computing) / batch
    return single._replace(seconds=seconds)


def psm_batch(
    count: float, *, attempts: float, batch: float, bytes_per_second: float, delays: Delays
) -> Cost:
    """Return the cost of one document of a batch of m = `batch` by PSM: (16), (18), (23).

    PSM reads the `count` stored fingerprints from disk in chunks of m.  It makes a table of each
    chunk with headers of log2 m bits and looks the batch up in it.  At the end it sorts the batch.
    """
    single = psm(batch, header_bits=math.log2(batch), attempts=attempts, delays=delays)
    finding = batch * delays.flip * math.log2(attempts)
    sorting = batch * delays.sort * math.log2(batch)
    computing = finding + count * single.seconds + sorting
    seconds = max(_reading(count, bytes_per_second), computing) / batch
    return single._replace(seconds=seconds)


def _reading(count: float, bytes_per_second: float) -> float:
    """Return the seconds to read all fingerprints from disk: (16)."""
    return count * FINGERPRINT_BYTES / bytes_per_second


class Row(NamedTuple):
    """The cost of one way to search, with its name and its parameters in words."""

    name: str
    setting: str
    cost: Cost


def table(
    documents: float, *, blocks: int, leading: int, distance: int, recall: float, offset: int
) -> list[Row]:
    """Return the costs of BPHS and PSM, of a query and of one document of a batch.

    BPHS has the given blocks, if these serve the distance.  The fastest BPHS has at most the tables
    of a database.  PSM has enough flip sets for `recall`, and headers of log2 n + `offset` bits.
    """
    batch = min(documents, BATCH_DOCUMENTS)
    delays = USUAL_DELAYS
    serves = blocks - leading >= distance
    rows, batched = [], []
    if serves:
        own = bphs(documents, blocks=blocks, leading=leading, delays=delays)
        rows.append(Row("BPHS", f"blocks={blocks}, leading={leading}", own))
        model = bphs_batch(
            documents, blocks=blocks, leading=leading,
            batch=batch, bytes_per_second=BYTES_PER_SECOND, delays=delays,
        )  # fmt: skip
        words = f"blocks={blocks}, leading={leading}, m={batch:.3g}"
        batched.append(Row("BPHS in batches", words, model))
    if distance < min(FINGERPRINT_BITS, TABLES_MAX):
        best, model = best_bphs(documents, distance=distance, delays=delays, tables_max=TABLES_MAX)
        words = f"the fastest: blocks={best + distance}, leading={best}"
        rows.append(Row("BPHS", words, model))
    bits = max(math.floor(math.log2(documents)) + offset, 0)
    k = attempts(distance, recall, bits)
    model = psm(documents, header_bits=bits, attempts=k, delays=delays)
    rows.append(Row("PSM", f"t={bits}, k={k:.3g}", model))
    k = attempts(distance, recall, math.floor(math.log2(batch)))
    model = psm_batch(
        documents, attempts=k, batch=batch, bytes_per_second=BYTES_PER_SECOND, delays=delays
    )
    return [*rows, *batched, Row("PSM in batches", f"k={k:.3g}, m={batch:.3g}", model)]


def attempts(distance: int, recall: float, header_bits: int) -> float:
    """Return k, the mean number of headers that PSM looks up to reach `recall`, at most all.

    The prior describes the matches.  In the paper k is 6 to 23 for headers of 16 to 26 bits
    (Figure 5(a)), and here 7 to 32.
    """
    most = float(attempts_max(header_bits, distance))
    supposed = evidence(None, None, distance, is_stored=False)
    found = reach(supposed, (ALL_BITS,), header_bits=header_bits, limit=distance, wanted=recall)
    return max(most if found is None else min(found.probes, most), 1.0)


def extrapolated(documents: float, records: Sequence[Path]) -> Iterator[str]:
    """Yield the time of a query of simdb by table, noise and batch, from three sizes or more."""
    rows = [row for each in records for row in json.loads(each.read_text())["rows"]]
    found = [row for row in rows if row.get("way") == "all" and row["state"] == "compacted"]
    databases = math.ceil(documents / DATABASE_DOCUMENTS)
    for key in sorted({(row["table"], row["noise"], row["batch"]) for row in found}):
        own = [row for row in found if (row["table"], row["noise"], row["batch"]) == key]
        counts = [float(row["documents"]) for row in own]
        if len(set(counts)) < 3:
            continue
        costs = [row["figure"] for row in own]
        look_ups = [row["look_ups"] for row in own] if key[0].startswith("psm") else None
        each = predicted(documents / databases, counts, costs, look_ups)
        sizes = [row["figure"] for row in rows if row["table"] == key[0]
                 and row["state"] == "compacted" and row["unit"] == "bytes"]  # fmt: skip
        yield (
            f"{key[0]:8} noise {key[1]:<5g} batch {key[2]:<7,} {databases * each:12,.2f} us of"
            f" {databases} databases   {documents * min(sizes) / 1e9:8,.0f} GB   from"
            f" {min(counts):.3g} to {max(counts):.3g}"
        )


def predicted(
    count: float,
    counts: Sequence[float],
    costs: Sequence[float],
    look_ups: Sequence[float] | None = None,
) -> float:
    """Return the cost at `count`, by least squares of the relative errors at `counts`."""
    depths = np.log2([*counts, count])
    if look_ups is None:
        parts = np.stack([np.ones(len(depths)), depths, [*counts, count]], axis=1)
    else:
        power, factor = np.polyfit(np.log(depths[:-1]), np.log(look_ups), 1)
        tried = np.array([*look_ups, math.exp(factor) * depths[-1] ** power])
        parts = np.stack([np.ones(len(depths)), tried, tried * depths], axis=1)
    rows = parts[:-1] / np.asarray(costs)[:, None]
    return float(parts[-1] @ nonnegative(rows, np.ones(len(rows))))


def nonnegative(left: F64, right: F64) -> list[float]:
    """Return the least squares solution without negative numbers, by coordinate descent."""
    scale = np.maximum(np.linalg.norm(left, axis=0), 1e-300)
    scaled = left / scale
    found = np.zeros(left.shape[1])
    for _ in range(20_000):
        for column in range(len(found)):
            rest = right - scaled @ found + scaled[:, column] * found[column]
            found[column] = max(float(scaled[:, column] @ rest), 0.0)
    return [float(each) for each in found / scale]


def main() -> None:
    """Print the table for the arguments of the command line."""
    usual = Options()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("documents", type=float)
    parser.add_argument("--distance", type=int, default=usual.distance)
    parser.add_argument("--recall", type=float, default=usual.recall)
    parser.add_argument("--blocks", type=int, default=usual.blocks)
    parser.add_argument("--leading", type=int, default=usual.leading)
    parser.add_argument("--offset", type=int, default=usual.header_offset)
    parser.add_argument("--measured", type=Path, nargs="*", help="records of tools/bench/large.py")
    given = parser.parse_args()
    if given.measured:
        print("\n".join(extrapolated(given.documents, given.measured)))
        return
    del given.measured
    for name, setting, cost in table(**vars(given)):
        print(
            f"{name:16} {setting:36} tables {cost.tables:7.4g}   {cost.seconds * 1e6:12,.3f} us"
            f"   {cost.size_bytes / given.documents:8.2f} bytes a document"
        )


if __name__ == "__main__":
    main()
