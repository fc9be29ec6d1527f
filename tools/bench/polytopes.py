"""How fast are cross-polytope tables, for each width of a header and number of documents?

Stores nothing: keys are made and searched in memory, through the kernel.  Every 50th vector is a
query and the others are stored.  The thresholds are learnt from the matches of the queries: they
reach the share `--recall` of them, so all widths answer equally well.  `--vectors` is a file of
numpy with packed volatility vectors, uint8[n, 64]; without it, normal vectors are drawn, every
tenth of them near the one before it, with a cosine of .88 to 1.
"""

import argparse
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from record import Record, Timing, in_turns, latencies, measure, number, options, short
from simdb.columns.vector_form import pack
from simdb.running import kernel

DIMENSIONS = 128
EACH = 50  # documents for one query
QUERIES = 20_000
CALLS = 5_000
DISTANCE, DELTA_DISTANCE = 11, 17  # of the 42 bits in a key, of the 64 of a fingerprint
GENEROUS = 1.0  # a threshold that reaches nearly all matches
LEARNT_MAX = 1_000_000  # documents among which the thresholds are learnt
ENTRIES_MAX = {7: 2**16, 13: 2**21, 18: 2**32, 22: 2**32}  # wider headers are better from here on
ENTRIES_MIN = {7: 0, 13: 0, 18: 0, 22: 2**18}
NOTHING = np.empty(0, np.uint64), np.empty(0, np.uint32)

Vectors = npt.NDArray[np.uint8]
Costs = dict[int, npt.NDArray[np.float32]]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("-n", type=number, nargs="+", default=[100_000, 1_000_000], help="vectors")
    parser.add_argument("--vectors", type=Path, help="packed volatility vectors")
    parser.add_argument("--tables", type=int, nargs="+", default=[4], help="tables to try")
    parser.add_argument("--widths", type=int, nargs="+", default=[7, 13, 18, 22])
    parser.add_argument("--recall", type=float, nargs="+", default=[0.95, 0.99])
    parser.add_argument("--similarity", type=float, default=0.88)
    parser.add_argument("--variants", nargs="+", choices=kernel.variants())
    arguments = parser.parse_args()
    arguments.variants = arguments.variants or kernel.variants()[-1:]
    record = Record(__doc__, arguments)
    whole = np.load(arguments.vectors) if arguments.vectors else drawn(arguments)
    for tables in arguments.tables:
        costs = learnt_costs(whole[:LEARNT_MAX], tables, arguments)
        for count in arguments.n:
            ask(record, whole[:count], tables, costs, arguments)
    record.finish()


def drawn(arguments: argparse.Namespace) -> Vectors:
    """Draw normal vectors, every tenth of them near the one before it."""
    random = np.random.default_rng(arguments.seed)
    vectors = np.empty((max(arguments.n), DIMENSIONS // 2), np.uint8)
    for start in range(0, len(vectors), 100_000):
        count = min(100_000, len(vectors) - start)
        weights = random.standard_normal((count, DIMENSIONS))
        cosine = random.uniform(0.88, 1, (len(weights[1::10]), 1))
        noise = np.sqrt(1 - cosine**2) * weights[1::10]
        weights[1::10] = cosine * weights[::10][: len(noise)] + noise
        halves = np.clip(np.floor(weights * 3 + 8), 0, 15)
        vectors[start : start + count] = pack((2 * halves - 15).astype(np.int8))
    return vectors


def divided(vectors: Vectors) -> tuple[Vectors, Vectors]:
    """Return the queries and what is stored."""
    is_asked = np.arange(len(vectors)) % EACH == 0
    return vectors[is_asked][:QUERIES].copy(), vectors[~is_asked]


def built(stored: Vectors, tables: int, width: int) -> Any:
    """Make the tables of one run."""
    columns = []
    for keys in kernel.polytope_keys(stored, tables):
        ordinals = np.arange(len(stored), dtype=np.uint32)
        kernel.sort(keys, ordinals)
        directory = np.empty((1 << width) + 1, np.uint32)
        kernel.directory(keys, width, directory)
        columns.append((keys, ordinals, directory))
    return kernel.Polytopes(stored.shape[1], [(0, stored)], [columns], NOTHING, None)


def learnt_costs(vectors: Vectors, tables: int, arguments: argparse.Namespace) -> Costs:
    """Return what the headers of matches cost, for each width."""
    queries, stored = divided(vectors)
    offsets, ordinals, _, _ = built(stored, tables, 18).search(
        queries,
        thresholds=np.array([GENEROUS], np.float32),
        similarity=arguments.similarity,
        distance=DISTANCE + 3,
        delta_distance=DELTA_DISTANCE,
        first=False,
        after=None,
    )
    left = queries[np.repeat(np.arange(len(queries)), np.diff(offsets))]
    return {
        width: kernel.polytope_costs(left, stored[ordinals], width, tables)
        for width in arguments.widths
    }


def ask(
    record: Record, vectors: Vectors, tables: int, costs: Costs, arguments: argparse.Namespace
) -> None:
    """Add the rows for one number of vectors and tables."""
    queries, stored = divided(vectors)
    if len(queries) < CALLS:
        queries = np.resize(queries, (CALLS, queries.shape[1]))
    label = f"{short(len(vectors))}, {tables} tables"
    for variant in arguments.variants:
        kernel.select(variant)
        timing = Timing()
        for _ in range(arguments.repeats):
            measure(partial(kernel.polytope_keys, stored, tables), timing)
        record.add_rate(f"{label}: keys, {variant}", len(stored) / 1e6, "M vectors/s", timing)
    for width in arguments.widths:
        if ENTRIES_MIN[width] <= len(vectors) <= ENTRIES_MAX[width]:
            prepared = built(stored, tables, width)
            for recall in arguments.recall:
                threshold = float(np.quantile(costs[width], recall))
                what = f"{label}, {width} bits, recall {recall:g}"
                search(record, what, prepared, queries, threshold, width, tables, arguments)


def search(
    record: Record,
    what: str,
    prepared: Any,
    queries: Vectors,
    threshold: float,
    width: int,
    tables: int,
    arguments: argparse.Namespace,
) -> None:
    """Add the rows of one threshold."""
    some = queries[:1000]
    probes = len(kernel.polytope_headers(some, width, threshold, tables)[1]) / len(some)
    asked = partial(
        prepared.search,
        queries,
        thresholds=np.array([threshold], np.float32),
        similarity=arguments.similarity,
        distance=DISTANCE,
        delta_distance=DELTA_DISTANCE,
        after=None,
    )
    tasks = {}
    for variant in arguments.variants:
        tasks[variant] = partial(chosen, variant, partial(asked, first=False))
        tasks[f"{variant}, first"] = partial(chosen, variant, partial(asked, first=True))
    for name, timing in in_turns(tasks, arguments.repeats).items():
        note = f"{probes:.0f} probes, threshold {threshold:.3f}"
        record.add_rate(f"{what}, {name}", len(queries) / 1e3, "k queries/s", timing, note)
    limits = np.array([threshold], np.float32), arguments.similarity, DISTANCE, DELTA_DISTANCE
    calls = [query.tobytes() for query in queries[:CALLS]]
    for variant in arguments.variants:
        kernel.select(variant)
        one = partial(called, prepared, limits)
        latencies(record, f"{what}, one, {variant}", one, calls, arguments.repeats)


def chosen(variant: str, task: Any) -> None:
    """Run a task in a variant."""
    kernel.select(variant)
    task()


def called(prepared: Any, limits: tuple[Any, ...], query: bytes) -> None:
    """Ask for one query."""
    prepared.search_one(query, *limits, False, 1000)


if __name__ == "__main__":
    main()
