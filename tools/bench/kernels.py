"""How fast is each operation of the kernel alone, in each variant of this processor?

Stores nothing: each task is one call on arrays in memory.  The difference from the other benchmarks
is what the database around the kernel costs.
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
from texts import pieces

QUERIES = 100_000
SCANNED = 32_768  # fingerprints that fit into the second-level cache
SCAN_QUERIES = 2_000
WIDTH = 64  # bytes of a volatility vector
COUPLES = 1_000_000
TEXT_MEGABYTES = 10.0

Task = tuple[float, str, Callable[[], object]]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("-n", type=number, nargs="+", default=[1_000_000], help="entries")
    parser.add_argument("--variants", nargs="+", choices=kernel.variants())
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    for count in arguments.n:
        tasks = table_tasks(count, arguments.seed) | vector_tasks(count, arguments.seed)
        tasks |= arranging_tasks(count, arguments.seed)
        run(record, arguments.variants, arguments.repeats, tasks, short(count))
    run(record, arguments.variants, arguments.repeats, text_tasks(), "text")
    record.finish()


def run(
    record: Record, variants: list[str] | None, repeats: int, tasks: dict[str, Task], label: str
) -> None:
    """Run every task in every variant."""
    for variant in variants or kernel.variants()[-1:]:
        kernel.select(variant)
        timings = in_turns({name: task for name, (_, _, task) in tasks.items()}, repeats)
        for name, timing in timings.items():
            size, unit, _ = tasks[name]
            record.add_rate(f"{label}: {name}, {variant}", size, unit, timing)
    kernel.select(kernel.variants()[-1])


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
        tasks[f"lookup, {name}, batch"] = (QUERIES / 1e6, "M/s", partial(ask, queries))
        tasks[f"lookup, {name}, 1,000 at a time"] = (
            QUERIES / 1e6,
            "M/s",
            partial(in_parts, ask, queries, 1000),
        )
        tasks[f"lookup_one, {name}"] = (
            len(asked) / 1e6,
            "M/s",
            partial(one_by_one, tables.lookup_one, asked),
        )
        if blocks == 4:
            keys, ordinals, _ = runs[0][0]
            tasks["sweep, 4 tables, first"] = (
                count * count / 2**17 / 1e9,
                "G pairs/s",
                partial(sweep, keys, ordinals, masks),
            )
    small = kernel.Tables([2**64 - 1], [], (stored[:SCANNED], numbers(min(SCANNED, count))), None)
    scan = partial(small.scan, distance=DISTANCE, first=False, after=None)
    compared = min(SCANNED, count) * SCAN_QUERIES / 1e9
    tasks["scan in cache"] = (compared, "G/s", partial(scan, queries[:SCAN_QUERIES]))
    return tasks


def vector_tasks(count: int, seed: int) -> dict[str, Task]:
    """Make the tasks that measure similarities of packed volatility vectors."""
    random = np.random.default_rng([seed, 2])
    packed = random.integers(0, 256, (min(count, 1_000_000), WIDTH), np.uint8)
    vectors = kernel.Vectors(WIDTH, [(0, packed)])
    near = np.sort(random.integers(0, min(len(packed), 4096), (2, COUPLES), np.uint32))
    far = random.integers(0, len(packed), (2, COUPLES), np.uint32)
    queries = packed[:8].copy()
    scan = partial(vectors.scan, queries, similarity=0.88, skip=None, after=None)
    return {
        "similarity between, in cache": (COUPLES / 1e6, "M/s", partial(vectors.between, *near)),
        "similarity between, random": (COUPLES / 1e6, "M/s", partial(vectors.between, *far)),
        "similarity scan of 8 queries": (len(packed) * len(queries) / 1e6, "M/s", scan),
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
    directory = np.empty((1 << header_bits(count, -1)) + 1, np.uint32)
    table = sorted_table(keys, 0xFFFF << 48)
    size = count / 1e6
    return {
        "permute": (size, "M/s", partial(kernel.permute, keys, 0xFFFF << 16, merged[0])),
        "sort": (size, "M/s", lambda: kernel.sort(keys.copy(), numbers(count))),
        "merge": (size, "M/s", partial(kernel.merge, *left[:2], *right[:2], *merged)),
        "directory": (
            size,
            "M/s",
            partial(kernel.directory, table[0], header_bits(count, -1), directory),
        ),
        "encode_ids": (len(names) / 1e6, "M/s", partial(kernel.encode_ids, names)),
        "decode_ids": (len(names) / 1e6, "M/s", partial(kernel.decode_ids, offsets, content)),
    }


def text_tasks() -> dict[str, Task]:
    """Make the tasks that turn text into weights and weights into fingerprints."""
    texts = pieces(TEXT_MEGABYTES)
    size = sum(len(text.encode()) for text in texts) / 1e6
    settings = {"lowercase": True, "seed": 0, "replace": False, "start": 0}
    tasks: dict[str, Task] = {}
    for unit, shingle in (("words", 1), ("words", 3), ("characters", 5)):
        task = partial(kernel.project_texts, texts, unit=unit, shingle=shingle, **settings)
        tasks[f"project_texts, {unit}, shingles of {shingle}"] = (size, "MB/s", task)
    weights, _ = kernel.project_texts(texts, unit="words", shingle=3, **settings)
    tasks["quantise"] = (len(weights) / 1e6, "M/s", partial(kernel.quantise, weights))
    return tasks


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
