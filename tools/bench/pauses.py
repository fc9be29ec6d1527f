"""How long does a commit take, at most too, while many small batches are inserted?"""

import argparse
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import simdb
from record import Record, number, options, short
from workload import ids, scratch

RANKS = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "longest": 1.0}
# Runs are counted at this many moments; queries probe every run.
MOMENTS = 500


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("-n", type=number, nargs="+", default=[1_000_000], help="documents")
    parser.add_argument("--batch", type=number, default=1000, help="documents of one commit")
    parser.add_argument("--durability", choices=("full", "process", "none"), default="process")
    parser.add_argument("--weights", action="store_true", help="with weights, as texts have them")
    parser.set_defaults(repeats=1)
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    for count in arguments.n:
        for turn in range(arguments.repeats):
            with scratch(arguments.directory) as directory:
                insert(record, arguments, directory / "stored", count, turn)
    record.finish()


def insert(
    record: Record, arguments: argparse.Namespace, path: Path, count: int, turn: int
) -> None:
    """Insert documents batch by batch, and add the durations of the commits."""
    wall, processor, runs = [], [], []
    written = written_bytes()
    every = max(count // arguments.batch // MOMENTS, 1)
    with simdb.open(path, "x", durability=arguments.durability) as database:
        for names, documents in batches(arguments, count, turn):
            marks = time.perf_counter(), time.thread_time()
            database.insert_many(names, documents)
            wall.append(time.perf_counter() - marks[0])
            processor.append(time.thread_time() - marks[1])
            if len(wall) % every == 0:
                # Not by stats(), which reads every fingerprint.
                with database._store.state() as state:
                    runs.append(len(state.runs))
        if len(database) != count:
            raise ValueError("some documents were not stored")
        live = database.stats().live_bytes
    what = "with weights" if arguments.weights else "ready fingerprints"
    label = f"{short(count)} {what} in batches of {arguments.batch}"
    record.add(f"{label}: inserted", count / sum(wall), "docs/s")
    for name, rank in RANKS.items():
        at = min(int(len(wall) * rank), len(wall) - 1)
        note = f"{sorted(processor)[at] * 1e3:.2f} of processor time"
        record.add(f"{label}: commit, {name}", sorted(wall)[at] * 1e3, "ms", note=note)
    record.add(f"{label}: written, by live bytes", (written_bytes() - written) / live, "")
    record.add(f"{label}: file, by live bytes", file_bytes(path) / live, "")
    record.add(f"{label}: runs, mean", sum(runs) / len(runs), "", note=f"at most {max(runs)}")


def batches(
    arguments: argparse.Namespace, count: int, turn: int
) -> Iterator[tuple[list[str] | list[int], Any]]:
    """Yield ids and documents of each commit."""
    random = np.random.default_rng([arguments.seed, count, turn])
    for start in range(0, count, arguments.batch):
        stop = min(start + arguments.batch, count)
        bits = random.integers(0, 2**64, stop - start, np.uint64)
        if arguments.weights:
            weights = random.standard_normal((stop - start, 128), np.float32)
            signs = np.packbits(weights[:, :64] >= 0, axis=1, bitorder="little")
            bits = simdb.Fingerprints(signs.view(np.uint64).reshape(-1), weights)
        yield ids("int", start, stop), bits


def written_bytes() -> int:
    """Return the bytes that this process has written to files."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("wchar")))


def file_bytes(path: Path) -> int:
    """Return the bytes of the data file on disk."""
    return os.stat(path / "data.mdb").st_blocks * 512


if __name__ == "__main__":
    main()
