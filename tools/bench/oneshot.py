"""How long do all pairs of an array take without a database: arrays, and text in and out?"""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

import simdb
from pairs import check_pairs
from peers import duckdb_pairs, has_duckdb, has_simhash, numpy_pairs, simhash_pairs
from record import Record, in_turns, missing, number, options, short
from workload import DISTANCE, planted, scratch

QUERIES = 100_000
ROOT = Path(__file__).parent.parent.parent
U64 = npt.NDArray[np.uint64]
Task = Callable[[], object]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument(
        "-n", type=number, nargs="+", default=[1_000_000], help="fingerprints before the queries"
    )
    parser.add_argument("--blocks", type=int, default=6)
    parser.add_argument(
        "--peers-up-to",
        type=number,
        default=1_000_000,
        help="run peers on at most this many fingerprints",
    )
    parser.set_defaults(repeats=3)
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    for count in arguments.n:
        truth = planted(count, QUERIES, arguments.seed)
        every = np.concatenate([truth.stored, truth.queries])
        pairs = simdb.find_all(every, arguments.blocks, DISTANCE)
        check_pairs(truth, pairs.left, pairs.right)
        with scratch(arguments.directory) as directory:
            tasks = array_tasks(every, arguments.blocks)
            tasks |= text_tasks(every, arguments.blocks, directory)
            if count <= arguments.peers_up_to:
                tasks |= peer_tasks(every, arguments.blocks, len(pairs))
            for name, timing in in_turns(tasks, arguments.repeats).items():
                what = f"{short(len(every))}: {name}"
                record.add_rate(what, len(every), "docs/s", timing, f"{len(pairs)} pairs")
    record.finish()


def array_tasks(every: U64, blocks: int) -> dict[str, Task]:
    return {
        "simdb.find_all": lambda: simdb.find_all(every, blocks, DISTANCE).left,
        "simdb.find_clusters": lambda: simdb.find_clusters(every, blocks, DISTANCE),
    }


def text_tasks(every: U64, blocks: int, directory: Path) -> dict[str, Task]:
    """Make the tasks that run the programs as processes, from file to file."""
    source = directory / "hashes.txt"
    source.write_text("".join(f"{each}\n" for each in every.tolist()))

    def run(name: str) -> None:
        code = f"from simdb.compat import programs; programs.{name}()"
        flags = ["-b", str(blocks), "-d", str(DISTANCE), "-i", source, "-o", directory / name]
        subprocess.run([sys.executable, "-c", code, *flags], check=True, cwd=ROOT)

    return {
        "simhash-find-all, whole process": lambda: run("find_all"),
        "simhash-find-clusters, whole process": lambda: run("find_clusters"),
    }


def peer_tasks(every: U64, blocks: int, pair_count: int) -> dict[str, Task]:
    """Make the tasks of peers; each peer must find the same number of pairs."""
    tasks: dict[str, Task] = {"numpy, 4 sorts and shifted comparison": lambda: numpy_pairs(every)}
    if has_duckdb():
        tasks["duckdb, 4-block self-join"] = lambda: duckdb_pairs(every)
    else:
        missing("duckdb")
    if has_simhash():
        # simhash-pybind takes a list and counts each value once.
        values, hashes = np.unique(every), every.tolist()
        distinct_count = len(simdb.find_all(values, blocks, DISTANCE))
        check_count("simhash-pybind", len(simhash_pairs(hashes, blocks)), distinct_count)
        tasks["simhash-pybind find_all"] = lambda: simhash_pairs(hashes, blocks)
    else:
        missing("simhash-pybind")
    for name, task in tasks.items():
        if name.startswith(("numpy", "duckdb")):
            check_count(name, len(task()[0]), pair_count)  # type: ignore[index]
    return tasks


def check_count(name: str, found: int, wanted: int) -> None:
    """Raise if a peer finds more or fewer pairs than simdb."""
    if found != wanted:
        raise ValueError(f"{name} finds {found} pairs, simdb {wanted}")


if __name__ == "__main__":
    main()
