"""How fast is each operation of the kernel alone, in each variant of this processor?

Stores nothing: each task is one call on arrays in memory.  The difference from the other benchmarks
is what the database around the kernel costs.  Texts become sketches in `sketching.py`, which has
`--all-variants`.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from documents import DISTANCE, Bits
from record import Record, in_turns, number, options, short
from simdb.ground.bits import leading_masks
from simdb.running import kernel
from simdb.storage.runs.table import header_bits

QUERIES = 100_000
SCANNED = 32_768  # fingerprints that fit into the second-level cache
SCAN_QUERIES = 2_000
WIDTH = 64  # bytes of a volatility vector
COUPLES = 1_000_000
WEIGHED = 10_000  # rows of weights

Task = tuple[float, Callable[[], object]]  # operations, and the work


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("-n", type=number, nargs="+", default=[1_000_000], help="entries")
    parser.add_argument("--variants", nargs="+", choices=kernel.variants())
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    for count in arguments.n:
        makers = table_tasks, vector_tasks, arranging_tasks
        tasks = {
            name: task for make in makers for name, task in make(count, arguments.seed).items()
        }
        for variant in arguments.variants or kernel.variants()[-1:]:
            kernel.select(variant)
            works = {name: work for name, (_, work) in tasks.items()}
            for name, timing in in_turns(works, arguments.repeats).items():
                what = f"{short(count)}: {name}, {variant}"
                record.add_rate(what, tasks[name][0] / 1e6, "M/s", timing)
    record.finish()


def table_tasks(count: int, seed: int) -> dict[str, Task]:
    """Make the tasks that look up, scan and sweep tables."""
    source = Bits(seed)
    stored, queries = source.stored(0, count), source.queries(QUERIES)
    tasks: dict[str, Task] = {}
    for blocks, leading in ((4, 1), (5, 2)):
        masks = leading_masks(blocks, leading)
        runs = [[sorted_table(stored, mask) for mask in masks]]
        nothing = (np.empty(0, np.uint64), np.empty(0, np.uint32))
        tables = kernel.Tables(masks, runs, nothing, None)
        asked = queries.tolist()[:10_000]
        ask = partial(tables.lookup, distance=DISTANCE, flips=0, first=False, after=None)
        name = f"{len(masks)} tables"
        tasks[f"lookup, {name}, batch"] = QUERIES, partial(ask, queries)
        tasks[f"lookup, {name}, 1,000 at a time"] = QUERIES, partial(in_parts, ask, queries, 1000)
        tasks[f"lookup_one, {name}"] = len(asked), partial(one_by_one, tables.lookup_one, asked)
        if blocks == 4:
            work = partial(sweep, *runs[0][0][:2], masks)
            tasks["sweep, 4 tables, first, pairs"] = count * count / 2**17, work
    small = kernel.Tables([2**64 - 1], [], (stored[:SCANNED], numbers(min(SCANNED, count))), None)
    scan = partial(small.scan, queries[:SCAN_QUERIES], distance=DISTANCE, first=False, after=None)
    return tasks | {"scan in cache": (min(SCANNED, count) * SCAN_QUERIES, scan)}


def vector_tasks(count: int, seed: int) -> dict[str, Task]:
    """Make the tasks that quantise weights, and measure similarities of packed vectors."""
    random = np.random.default_rng([seed, 2])
    packed = random.integers(0, 256, (min(count, 1_000_000), WIDTH), np.uint8)
    vectors = kernel.Vectors(WIDTH, [(0, packed)])
    near = np.sort(random.integers(0, min(len(packed), 4096), (2, COUPLES), np.uint32))
    far = random.integers(0, len(packed), (2, COUPLES), np.uint32)
    queries = packed[:8].copy()
    weights = random.standard_normal((WEIGHED, 2 * WIDTH), np.float32)
    scan = partial(vectors.scan, queries, similarity=0.88, skip=None, after=None)
    return {
        "quantise": (WEIGHED, partial(kernel.quantise, weights)),
        "similarity between, in cache": (COUPLES, partial(vectors.between, *near)),
        "similarity between, random": (COUPLES, partial(vectors.between, *far)),
        "similarity scan of 8 queries": (len(packed) * len(queries), scan),
    }


def arranging_tasks(count: int, seed: int) -> dict[str, Task]:
    """Make the tasks that permute, sort, merge and index fingerprints, and encode ids."""
    random = np.random.default_rng([seed, 3])
    keys = random.integers(0, 2**64, count, np.uint64)
    left = sorted_table(keys[: count // 2], 0xFFFF << 48)
    right = sorted_table(keys[count // 2 :], 0xFFFF << 48)
    merged = np.empty(count, np.uint64), np.empty(count, np.uint32)
    names = [f"document-{at:011d}" for at in range(min(count, 1_000_000))]
    offsets, content, _ = kernel.encode_ids(names)
    table, bits = sorted_table(keys, 0xFFFF << 48), header_bits(count, -1)
    directory = np.empty((1 << bits) + 1, np.uint32)
    return {
        "permute": (count, partial(kernel.permute, keys, 0xFFFF << 16, merged[0])),
        "sort": (count, lambda: kernel.sort(keys.copy(), numbers(count))),
        "merge": (count, partial(kernel.merge, *left[:2], *right[:2], *merged)),
        "directory": (count, partial(kernel.directory, table[0], bits, directory)),
        "encode_ids": (len(names), partial(kernel.encode_ids, names)),
        "decode_ids": (len(names), partial(kernel.decode_ids, offsets, content)),
    }


def sorted_table(fingerprints: Any, mask: int) -> tuple[Any, Any, Any]:
    """Make keys, ordinals and directory of one table."""
    keys = np.empty_like(fingerprints)
    ordinals = numbers(len(keys))
    kernel.permute(fingerprints, mask, keys)
    kernel.sort(keys, ordinals)
    bits = header_bits(len(keys), -1)
    directory = np.empty((1 << bits) + 1, np.uint32)
    kernel.directory(keys, bits, directory)
    return keys, ordinals, directory


def in_parts(ask: Callable[[Any], object], queries: Any, size: int) -> None:
    for start in range(0, len(queries), size):
        ask(queries[start : start + size])


def one_by_one(ask: Callable[..., object], queries: list[int]) -> None:
    for query in queries:
        ask(query, DISTANCE, 0, False)


def sweep(keys: Any, ordinals: Any, masks: list[int]) -> None:
    """Find all pairs of one table."""
    left, right = np.empty(1 << 16, np.uint32), np.empty(1 << 16, np.uint32)
    distances = np.empty(1 << 16, np.uint8)
    row, column = 0, 1
    while row < len(keys):
        _, row, column = kernel.sweep(
            keys, ordinals, masks, 0, DISTANCE, (row, column), left, right, distances
        )


def numbers(count: int) -> Any:
    return np.arange(count, dtype=np.uint32)


if __name__ == "__main__":
    main()
