"""How do rate, pauses, memory and bytes written change while a database grows, and then shrinks?"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

import simdb
from record import Record, number, options, short
from workload import ids, scratch

MILLION = 1_000_000
# A process of its own samples the memory: a thread would wait for the interpreter lock.
WATCHER = """
import select, sys
peak, most = 0, 0
while True:
    try:
        text = open(f"/proc/{sys.argv[1]}/status").read()
    except OSError:
        break
    if "RssAnon:" not in text:
        break  # the process has ended
    kilobytes = int(text.split("RssAnon:")[1].split()[0])
    peak = max(peak, kilobytes)
    if select.select([sys.stdin], [], [], 0.005)[0]:
        if not sys.stdin.readline():
            break
        print(peak * 1024, flush=True)
        peak = kilobytes
"""
# Run by a fresh Python on the stored database.
COMPACTING = """
import json, sys, time
import simdb
with simdb.open(sys.argv[1], "w", durability=sys.argv[2]) as database:
    print("ready", flush=True)
    sys.stdin.readline()
    marks = time.perf_counter(), time.process_time()
    report = database.compact()
    taken = time.perf_counter() - marks[0], time.process_time() - marks[1]
    print(json.dumps([*taken, report.note]), flush=True)
    sys.stdin.readline()
"""
REOPENING = """
import sys, time
import simdb
started = time.perf_counter()
with simdb.open(sys.argv[1], "r") as database:
    database.query(simdb.Fingerprint(12345), distance=3)
    print(time.perf_counter() - started)
"""


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("-n", type=number, nargs="+", default=[MILLION], help="documents")
    parser.add_argument("--batch", type=number, default=100_000, help="documents of one call")
    parser.add_argument("--one", action="store_true", help="all batches in one transaction")
    parser.add_argument("--weights", action="store_true", help="with weights, as texts have them")
    parser.add_argument("--durability", choices=("full", "process", "none"), default="process")
    parser.add_argument("--growth", type=int, default=3, help="option of the database")
    parser.add_argument("--keep", help="keep the database in this directory, not compacted")
    parser.set_defaults(repeats=1)
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    for count in arguments.n:
        with (
            nullcontext(Path(arguments.keep))
            if arguments.keep
            else scratch(arguments.directory) as directory
        ):
            path = directory / "stored"
            label = f"{short(count)} {'with weights' if arguments.weights else 'fingerprints'}"
            label += ", one transaction" if arguments.one else f", batches of {arguments.batch}"
            insert(record, arguments, path, count, label)
            reopen(record, path, label)
            if not arguments.keep:
                compact(record, arguments, path, label)
                reopen(record, path, f"{label}, compacted")
    record.finish()


class Watcher:
    """A process that samples the anonymous memory of another."""

    def __init__(self, pid: int) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-c", WATCHER, str(pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def peak_bytes(self) -> int:
        """Return the largest memory since the last call."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write("\n")
        self._child.stdin.flush()
        return int(self._child.stdout.readline())

    def close(self) -> None:
        assert self._child.stdin is not None
        self._child.stdin.close()
        self._child.wait()


def insert(
    record: Record, arguments: argparse.Namespace, path: Path, count: int, label: str
) -> None:
    """Insert all documents, and add a row for each million and for the whole."""
    watcher = Watcher(os.getpid())
    begun = written_bytes(os.getpid())
    with simdb.open(
        path, "x", options=simdb.Options(growth=arguments.growth), durability=arguments.durability
    ) as database:
        rows = (
            in_one(database, arguments, count, watcher)
            if arguments.one
            else in_batches(database, arguments, count, watcher)
        )
        # What is written down a million at a time: rate, commit, memory, bytes.
        millions = list(rows)
        live, runs = live_state(database)
        if len(database) != count:
            raise ValueError("some documents were not stored")
    watcher.close()
    wall = sum(row["seconds"] for row in millions)
    processor = sum(row["processor"] for row in millions)
    rates = [row["documents"] / row["processor"] for row in millions if row["documents"]]
    facts = {"millions": millions, "label": label, "documents": count}
    note = f"{count / processor:,.0f} by processor time"
    record.add(f"{label}: inserted", count / wall, "docs/s", note=note, facts=facts)
    slowest = min(rates) / rates[0]
    record.add(f"{label}: slowest million, by the first", slowest, "", note="by processor time")
    longest = max(row["longest_processor"] for row in millions)
    note = f"{longest:.2f} of processor time"
    record.add(f"{label}: longest commit", max(row["longest"] for row in millions), "s", note=note)
    peak = max(row["anonymous_bytes"] for row in millions)
    record.add(f"{label}: anonymous memory", peak / 1e6, "MB")
    written = written_bytes(os.getpid()) - begun
    record.add(f"{label}: written, by live bytes", written / live, "")
    record.add(f"{label}: live bytes of a document", live / count, "B", note=f"{len(runs)} runs")
    record.add(f"{label}: file, by live bytes", file_bytes(path) / live, "")


def in_batches(
    database: Any, arguments: argparse.Namespace, count: int, watcher: Watcher
) -> Iterator[dict[str, Any]]:
    """Commit every batch; yield what was measured of each million."""
    row = new_row()
    for stop, names, documents in batches(arguments, count):
        marks = time.perf_counter(), time.process_time()
        database.insert_many(names, documents)
        seconds = time.perf_counter() - marks[0]
        processor = time.process_time() - marks[1]
        add(row, len(names), seconds, processor)
        row["longest"] = max(row["longest"], seconds)
        row["longest_processor"] = max(row["longest_processor"], processor)
        if stop % MILLION == 0 or stop == count:
            live, runs = live_state(database)
            yield finished(row, stop, watcher) | {"live_bytes": live, "runs": runs}
            row = new_row()


def in_one(
    database: Any, arguments: argparse.Namespace, count: int, watcher: Watcher
) -> Iterator[dict[str, Any]]:
    """Stage every batch and commit once; yield what was measured of each million."""
    row = new_row()
    transaction = database.write()
    for stop, names, documents in batches(arguments, count):
        marks = time.perf_counter(), time.process_time()
        transaction.insert_many(names, documents)
        add(row, len(names), time.perf_counter() - marks[0], time.process_time() - marks[1])
        if stop % MILLION == 0 or stop == count:
            yield finished(row, stop, watcher)
            row = new_row()
    marks = time.perf_counter(), time.process_time()
    transaction.commit()
    seconds = time.perf_counter() - marks[0]
    processor = time.process_time() - marks[1]
    add(row, 0, seconds, processor)
    row |= {"longest": seconds, "longest_processor": processor}
    yield finished(row, count, watcher)


def new_row() -> dict[str, Any]:
    return {
        "documents": 0,
        "seconds": 0.0,
        "processor": 0.0,
        "longest": 0.0,
        "longest_processor": 0.0,
    }


def add(row: dict[str, Any], count: int, seconds: float, processor: float) -> None:
    row["documents"] += count
    row["seconds"] += seconds
    row["processor"] += processor


def finished(row: dict[str, Any], stop: int, watcher: Watcher) -> dict[str, Any]:
    row |= {
        "stored": stop,
        "anonymous_bytes": watcher.peak_bytes(),
        "written_bytes": written_bytes(os.getpid()),
    }
    print(json.dumps(row), flush=True)
    return row


def compact(record: Record, arguments: argparse.Namespace, path: Path, label: str) -> None:
    """Compact in a fresh process."""
    command = [sys.executable, "-c", COMPACTING, str(path), arguments.durability]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdout.readline()
    watcher, begun = Watcher(child.pid), written_bytes(child.pid)
    child.stdin.write("\n")
    child.stdin.flush()
    seconds, processor, note = json.loads(child.stdout.readline())
    note = f"{processor:.1f} of processor time {note}".strip()
    record.add(f"{label}: compact", seconds, "s", note=note)
    record.add(f"{label}: compact, anonymous memory", watcher.peak_bytes() / 1e6, "MB")
    written = written_bytes(child.pid) - begun
    record.add(f"{label}: compact, written by file bytes", written / file_bytes(path), "")
    child.communicate("\n")
    watcher.close()


def reopen(record: Record, path: Path, label: str) -> None:
    """Open in a fresh process and query once."""
    command = [sys.executable, "-c", REOPENING, str(path)]
    seconds = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    record.add(f"{label}: open and first query", seconds * 1e3, "ms")


def batches(
    arguments: argparse.Namespace, count: int
) -> Iterator[tuple[int, list[str] | list[int], Any]]:
    """Yield the number of documents up to a batch, its ids and its documents."""
    random = np.random.default_rng([arguments.seed, count])
    for start in range(0, count, arguments.batch):
        stop = min(start + arguments.batch, count)
        documents: Any = random.integers(0, 2**64, stop - start, np.uint64)
        if arguments.weights:
            weights = random.standard_normal((stop - start, 128), np.float32)
            signs = np.packbits(weights[:, :64] >= 0, axis=1, bitorder="little")
            documents = simdb.Fingerprints(signs.view(np.uint64).reshape(-1), weights)
        yield stop, ids("int", start, stop), documents


def live_state(database: Any) -> tuple[int, list[int]]:
    """Return the bytes of the pages in use, and the documents of each run."""
    # Not by stats(), which reads every fingerprint.
    with database._store.state() as state:
        sizes = database._store.environment.sizes(state.source.transaction)
        return sizes[1], [len(run.info) for run in state.runs]


def written_bytes(pid: int) -> int:
    """Return the bytes that a process has written to files."""
    lines = Path(f"/proc/{pid}/io").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("wchar")))


def file_bytes(path: Path) -> int:
    """Return the bytes of the data file on disk."""
    return os.stat(path / "data.mdb").st_blocks * 512


if __name__ == "__main__":
    main()
