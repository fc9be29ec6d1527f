"""How do rate, pauses, memory and bytes written change while a database grows, and then shrinks?

Documents are inserted in batches of `--batch`, a commit each, or all in one transaction; each
million is told apart.  Then a fresh process opens the database, and another one compacts it.

With `--memory`, how many pages does a query read from a database that is larger than the memory?
For each of `--methods`, fresh processes of so little memory ask the database, the file being cold.
That needs a system that allows control groups.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import simdb
from documents import DISTANCE, KINDS, add_corpora, parts, source_of, taken, values_of
from process import Watcher, written_bytes
from record import Record, number, options, scratch, short

MILLION = 1_000_000
TOTALS, LONGEST = ("seconds", "processor"), ("longest", "longest_processor")
RANKS = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "longest": 1.0}
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
REOPENING = f"""
import sys, time
import simdb
started = time.perf_counter()
with simdb.open(sys.argv[1], "r") as database:
    database.query(id=0, **({{}} if sys.argv[2] else {{"distance": {DISTANCE}}}))
    print(time.perf_counter() - started)
"""
CONTROL = Path("/sys/fs/cgroup/memory")
CRITERIA: dict[str, dict[str, float]] = {
    "polytope": {"similarity": 0.9}, "psm": {"similarity": 0.97, "recall": 0.8},
    "multiprobe": {"similarity": 0.97, "recall": 0.8}, "bphs": {"distance": DISTANCE},
}  # fmt: skip


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("-n", type=number, nargs="+", default=[MILLION], help="documents")
    parser.add_argument("--of", choices=KINDS, default="weights")
    parser.add_argument("--batch", type=number, default=100_000, help="documents of one call")
    parser.add_argument("--one", action="store_true", help="all batches in one transaction")
    parser.add_argument("--growth", type=int, default=3, help="option of the database")
    parser.add_argument("--keep", help="keep the database in this directory, not compacted")
    parser.add_argument("--memory", type=number, help="bytes for processes that ask")
    parser.add_argument("--methods", nargs="+", choices=CRITERIA, default=["bphs"])
    parser.add_argument("--single", type=number, default=200, help="their queries one by one")
    parser.add_argument("--many", type=number, default=100_000, help="their queries of a batch")
    parser.add_argument("--ask", nargs=3, help=argparse.SUPPRESS)  # control group, path, method
    add_corpora(parser)
    parser.set_defaults(repeats=1)
    arguments = parser.parse_args()
    if arguments.ask:
        ask(arguments, *arguments.ask)
        return
    record = Record(__doc__, arguments)
    for count in arguments.n:
        kept = nullcontext(Path(arguments.keep)) if arguments.keep else scratch(arguments.directory)
        with kept as directory:
            path = directory / "stored"
            label = f"{short(count)} {arguments.of}"
            label += ", one transaction" if arguments.one else f", batches of {arguments.batch}"
            insert(record, arguments, path, count, label)
            reopen(record, arguments, path, label)
            if arguments.memory:
                with limited(arguments.memory) as control:
                    for method in arguments.methods:
                        ask_cold(record, arguments, path, method, control)
            elif not arguments.keep:
                compact(record, arguments, path, label)
                reopen(record, arguments, path, f"{label}, compacted")
    record.finish()


def insert(
    record: Record, arguments: argparse.Namespace, path: Path, count: int, label: str
) -> None:
    """Insert all documents, and add rows for the whole; the JSON file has every million."""
    watcher, begun = Watcher(os.getpid()), written_bytes(os.getpid())
    source = source_of(arguments.of, arguments)
    settings = simdb.Options(sketch=source.options.sketch, growth=arguments.growth)
    with simdb.open(path, "x", options=settings, durability=arguments.durability) as database:
        documents = parts(source, 0, count, arguments.batch)
        commits: list[tuple[float, float]] = []
        millions = list(inserted(database, documents, count, arguments.one, watcher, commits))
        live, runs = live_state(database)
        if len(database) != count:
            raise ValueError("some documents were not stored")
    watcher.close()
    wall, spent = (sum(row[name] for row in millions) for name in ("seconds", "processor"))
    facts = {"millions": millions, "label": label, "documents": count}
    note = f"{count / spent:,.0f} by processor time"
    record.add(f"{label}: inserted", count / wall, "docs/s", note=note, facts=facts)
    rates = [row["documents"] / row["processor"] for row in millions if row["documents"]]
    slowest = min(rates) / rates[0]
    record.add(f"{label}: slowest million, by the first", slowest, "", note="by processor time")
    for name, rank in RANKS.items():
        at = min(int(len(commits) * rank), len(commits) - 1)
        seconds, processor = (sorted(each)[at] for each in zip(*commits, strict=True))
        note = f"{processor * 1e3:.2f} of processor time, {len(commits)} commits"
        record.add(f"{label}: commit, {name}", seconds * 1e3, "ms", note=note)
    peak = max(row["anonymous_bytes"] for row in millions)
    record.add(f"{label}: anonymous memory", peak / 1e6, "MB")
    written = written_bytes(os.getpid()) - begun
    record.add(f"{label}: written, by live bytes", written / live, "")
    every = [row["runs"] for row in millions]
    note = f"{len(runs)} runs, at the ends of the millions {sum(map(len, every)) / len(every):.1f}"
    record.add(f"{label}: live bytes of a document", live / count, "B", note=note)
    record.add(f"{label}: file, by live bytes", file_bytes(path) / live, "")


def inserted(
    database: Any,
    documents: Iterator[tuple[range, Any]],
    count: int,
    is_one: bool,
    watcher: Watcher,
    commits: list[tuple[float, float]],
) -> Iterator[dict[str, Any]]:
    """Commit every batch, or all of them at the end; yield what was measured of each million."""
    target = database.write() if is_one else database
    row: dict[str, Any] = {}
    for names, batch in documents:
        row = row or dict.fromkeys(("documents", *TOTALS, *LONGEST), 0)
        steps = [partial(target.insert_many, names, batch)]
        if is_one and names.stop == count:
            steps.append(target.commit)
        for step in steps:
            marks = time.perf_counter(), time.process_time()
            step()
            taken = time.perf_counter() - marks[0], time.process_time() - marks[1]
            is_commit = not is_one or (len(steps) == 2 and step is steps[1])
            for total, longest, seconds in zip(TOTALS, LONGEST, taken, strict=True):
                row[total] += seconds
                row[longest] = max(row[longest], seconds * is_commit)
            if is_commit:
                commits.append(taken)
        row["documents"] += len(names)
        if names.stop % MILLION == 0 or names.stop == count:
            live, runs = live_state(database)
            row |= {
                "stored": names.stop, "anonymous_bytes": watcher.peak_bytes(),
                "written_bytes": written_bytes(os.getpid()), "live_bytes": live, "runs": runs,
            }  # fmt: skip
            print(json.dumps(row), flush=True)
            yield row
            row = {}


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


def reopen(record: Record, arguments: argparse.Namespace, path: Path, label: str) -> None:
    """Open in a fresh process and query once."""
    has_similarity = "" if arguments.of in ("fingerprints", "noisy") else "yes"
    command = [sys.executable, "-c", REOPENING, str(path), has_similarity]
    seconds = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    record.add(f"{label}: open and first query", seconds * 1e3, "ms")


def ask_cold(
    record: Record, arguments: argparse.Namespace, path: Path, method: str, control: str
) -> None:
    """Ask by one method in a fresh process, of a file that is not in the page cache."""
    descriptor = os.open(path / "data.mdb", os.O_RDONLY)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)
    command = [sys.executable, __file__, "--of", arguments.of, "--seed", str(arguments.seed)]
    command += ["--single", str(arguments.single), "--many", str(arguments.many)]
    command += ["--memory", str(arguments.memory), "--ask", control, str(path), method]
    child = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    for row in map(json.loads, child.stdout.splitlines()):
        each = row["queries"]
        note = f"{row['read_bytes'] / each / 1e3:,.1f} kB read, {row['faults'] / each:.2f} faults,"
        note += f" {row['processor'] / each * 1e3:.3f} ms of processor time{row['plan']}"
        seconds = row["seconds"] / each * 1e3
        record.add(f"{method}: {row['stage']}", seconds, "ms", note=note, facts=row)


def ask(arguments: argparse.Namespace, control: str, path: str, method: str) -> None:
    """Ask in this process, in a control group; print one line of JSON for each stage."""
    if control:
        Path(control, "cgroup.procs").write_text(str(os.getpid()))
    source, single, many = source_of(arguments.of, arguments), arguments.single, arguments.many
    drawn = source.drawn(single + many + 1, np.random.default_rng(arguments.seed))
    queries, asked = source.made(drawn), {"search": method} | CRITERIA[method]

    def marks() -> tuple[float, ...]:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        counts = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
        spent = usage.ru_utime + usage.ru_stime
        return time.perf_counter(), spent, usage.ru_majflt, int(counts["read_bytes"])

    def tell(stage: str, work: Any, count: int, plan: str = "") -> None:
        begun = marks()
        work()
        names = ("seconds", "processor", "faults", "read_bytes")
        spent = [after - before for after, before in zip(marks(), begun, strict=True)]
        facts = dict(zip(names, spent, strict=True))
        print(json.dumps(facts | {"stage": stage, "queries": count, "plan": plan}))

    with simdb.open(path, "r") as database:
        plan = database.plan(**asked)
        told = f"; {plan.method}, {plan.page_reads:.1f} page reads expected"
        every = partial(database.query_many, taken(queries, slice(single + 1, None)))
        ones = values_of(queries, single + 1)
        tell("first query", lambda: database.query(ones[0], **asked), 1, told)
        tell("query", lambda: [database.query(one, **asked) for one in ones[1:]], single)
        tell("batch", partial(every, **asked), many)
        asked |= {"search": simdb.Search(method=method, memory_limit=arguments.memory // 4)}
        tell("batch with memory_limit", partial(every, **asked), many)


@contextmanager
def limited(memory_bytes: int) -> Iterator[str]:
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


def live_state(database: Any) -> tuple[int, list[int]]:
    """Return the bytes of the pages in use, and the documents of each run."""
    # Not by stats(), which reads every fingerprint.
    with database._store.state() as state:
        sizes = database._store.environment.sizes(state.source.transaction)
        return sizes[1], [len(run.info) for run in state.runs]


def file_bytes(path: Path) -> int:
    """Return the bytes of the data file on disk."""
    return os.stat(path / "data.mdb").st_blocks * 512


if __name__ == "__main__":
    main()
