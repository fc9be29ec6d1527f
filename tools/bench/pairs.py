"""How long does it take to find all pairs, and all clusters, within a distance of a database?"""

import argparse
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

import simdb
from exact_search import build
from peers import numpy_pairs
from record import Record, in_turns, number, options, short
from workload import Planted, check_found, planted, scratch

QUERIES = 100_000


def main() -> None:
    parser = options(__doc__)
    parser.add_argument(
        "-n", type=number, nargs="+", default=[1_000_000], help="documents before the queries"
    )
    parser.add_argument(
        "--distances", type=int, nargs="*", default=[], help="also count pairs within these"
    )
    parser.add_argument("--tables", type=int, default=4, choices=(4, 10, 20))
    parser.add_argument(
        "--peers-up-to",
        type=number,
        default=1_000_000,
        help="run numpy on at most this many documents",
    )
    parser.set_defaults(repeats=3)
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    for count in arguments.n:
        truth = planted(count, QUERIES, arguments.seed)
        with scratch(arguments.directory) as directory:
            compare(record, arguments, truth, directory)
    record.finish()


def compare(record: Record, arguments: argparse.Namespace, truth: Planted, directory: Path) -> None:
    """Store the stored documents and the queries in one database, so that near pairs exist."""
    count = len(truth.stored)
    every = np.concatenate([truth.stored, truth.queries])
    both = Planted(every, truth.queries, truth.asked, truth.neighbour, truth.distance)
    database = build(directory / "stored", both, arguments.tables, "int")
    pairs = database.find_all(distance=3)
    check_pairs(truth, pairs.left.astype(np.int64), pairs.right.astype(np.int64))
    tasks = {
        "find_all, ids of both sides": lambda: database.find_all(distance=3).left,
        "find_clusters": lambda: database.find_clusters(distance=3),
        "simdb.find_all's chunks, counted only": partial(count_pairs, database, 3),
    }
    tasks |= {
        f"pairs within distance {distance}, counted only": partial(count_pairs, database, distance)
        for distance in arguments.distances
    }
    if count <= arguments.peers_up_to:
        left, right = numpy_pairs(every)
        check_pairs(truth, left, right)
        if len(left) != len(pairs):
            raise ValueError(f"numpy finds {len(left)} pairs, simdb {len(pairs)}")
        tasks["numpy, 4 sorts and shifted comparison"] = lambda: numpy_pairs(every)
    label = short(len(every))
    for name, timing in in_turns(tasks, arguments.repeats).items():
        note = f"{len(pairs)} pairs, {arguments.tables} tables"
        record.add_rate(f"{label}: {name}", len(every), "docs/s", timing, note)
    database.close()


def count_pairs(database: simdb.Database, distance: int) -> int:
    """Return how many pairs are within a distance, from their chunks."""
    return sum(len(chunk) for chunk in database.find_all(distance=distance).chunks())


def check_pairs(truth: Planted, left: npt.NDArray[np.int64], right: npt.NDArray[np.int64]) -> None:
    """Raise unless the pairs of a query and a stored document are right and complete."""
    count = len(truth.stored)
    low, high = np.minimum(left, right), np.maximum(left, right)
    chosen = (low < count) & (high >= count)
    check_found(truth, high[chosen] - count, low[chosen])


if __name__ == "__main__":
    main()
