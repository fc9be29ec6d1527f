"""How many pages does a query read from a database that is larger than the memory?"""

import argparse
import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from growth import insert
from record import Record, number, options, scratch, short

CONTROL = Path("/sys/fs/cgroup/memory")
# Run by a fresh Python with little memory: one line of JSON for each stage.
CHILD = """
import json, os, resource, sys, time
control, path, method, weighted, single, many, limit, seed = sys.argv[1:]
if control:
    open(os.path.join(control, "cgroup.procs"), "w").write(str(os.getpid()))
import numpy as np
import simdb
random = np.random.default_rng(int(seed))
single, many = int(single), int(many)
count = single + many + 1
bits = random.integers(0, 2**64, count, np.uint64)
weights = None
if weighted:
    weights = random.standard_normal((count, 128), np.float32)
    signs = np.packbits(weights[:, :64] >= 0, axis=1, bitorder="little")
    bits = signs.view(np.uint64).reshape(-1)
criterion = {
    "polytope": {"similarity": 0.9}, "psm": {"similarity": 0.97, "recall": 0.8},
    "multiprobe": {"similarity": 0.97, "recall": 0.8},
}.get(method, {"distance": 3})

def marks():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    text = open("/proc/self/io").read()
    read = int(next(line.split()[1] for line in text.splitlines() if line.startswith("read_bytes")))
    return time.perf_counter(), usage.ru_utime + usage.ru_stime, usage.ru_majflt, read

def report(stage, before, queries, **facts):
    taken = [after - begun for after, begun in zip(marks(), before)]
    names = ("seconds", "processor", "faults", "read_bytes")
    print(json.dumps({"stage": stage, "queries": queries, **dict(zip(names, taken)), **facts}))

def part(first, last):
    if weights is None:
        return bits[first:last]
    return simdb.Fingerprints(bits[first:last], weights[first:last])

def one(at):
    return int(bits[at]) if weights is None else simdb.Fingerprint(int(bits[at]), weights[at])

begun = marks()
with simdb.open(path, "r") as database:
    plan = database.plan(search=method, **criterion)
    facts = {name: getattr(plan, name) for name in ("method", "cost_seconds", "page_reads")}
    report("open and plan", begun, 1, **facts)
    begun = marks()
    database.query(one(0), search=method, **criterion)
    report("first query", begun, 1)
    begun = marks()
    for at in range(1, single + 1):
        database.query(one(at), search=method, **criterion)
    report("query", begun, single)
    queries = part(single + 1, count)
    begun = marks()
    database.query_many(queries, search=method, **criterion)
    report("batch", begun, many)
    begun = marks()
    search = simdb.Search(method=method, memory_limit=int(limit))
    database.query_many(queries, search=search, **criterion)
    report("batch with memory_limit", begun, many)
"""


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("-n", type=number, default=10_000_000, help="documents")
    parser.add_argument("--of", choices=("fingerprints", "weights"), default="weights")
    parser.add_argument("--stored", help="a stored database to take instead of a new one")
    parser.add_argument("--memory", type=number, default=256_000_000, help="bytes for a process")
    parser.add_argument("--limit", type=number, default=64_000_000, help="memory_limit of a batch")
    parser.add_argument("--single", type=number, default=200, help="queries one by one")
    parser.add_argument("--many", type=number, default=100_000, help="queries of a batch")
    parser.add_argument("--methods", nargs="+", help="methods; default: all that fit")
    parser.set_defaults(repeats=1, batch=100_000, growth=3, one=False, corpora=None)
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    usual = ["bphs", "psm", "multiprobe", "polytope"] if arguments.of == "weights" else ["bphs"]
    with scratch(arguments.directory) as directory, limited(arguments.memory) as control:
        path = Path(arguments.stored or directory / "stored")
        if not arguments.stored:
            insert(record, arguments, path, arguments.n, short(arguments.n))
        size = os.stat(path / "data.mdb").st_blocks * 512
        record.add("file, by the memory of the process", size / arguments.memory, "")
        for method in arguments.methods or usual:
            measure(record, arguments, path, method, control)
    record.finish()


def measure(
    record: Record, arguments: argparse.Namespace, path: Path, method: str, control: str
) -> None:
    """Run one method in a fresh process on a cold file."""
    forget(path / "data.mdb")
    command = [sys.executable, "-c", CHILD, control, str(path), method]
    command += [
        arguments.of.removeprefix("fingerprints"),
        str(arguments.single),
        str(arguments.many),
    ]
    command += [str(arguments.limit), str(arguments.seed)]
    child = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    for line in child.stdout.splitlines():
        row: dict[str, Any] = json.loads(line)
        each = row["queries"]
        note = f"{row['read_bytes'] / each / 1e3:,.1f} kB read, {row['faults'] / each:.2f} faults,"
        note += f" {row['processor'] / each * 1e3:.3f} ms of processor time"
        if "page_reads" in row:
            note += f"; {row['method']}, {row['page_reads']:.1f} page reads expected"
        record.add(
            f"{method}: {row['stage']}", row["seconds"] / each * 1e3, "ms", note=note, facts=row
        )


@contextmanager
def limited(memory_bytes: int) -> Any:
    """Make a control group with little memory; an empty name if the system allows none."""
    group = CONTROL / f"simdb-{os.getpid()}"
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(memory_bytes))
    except OSError as error:
        print(f"the memory is not limited: {error}")
        yield ""
        return
    try:
        yield str(group)
    finally:
        group.rmdir()


def forget(path: Path) -> None:
    """Drop a file from the page cache."""
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)


if __name__ == "__main__":
    main()
