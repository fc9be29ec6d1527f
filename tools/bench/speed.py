"""How fast is each verb of a database, by kind of document, method, number of documents, threads?

A database of each kind (`documents.py`) grows from size to size in transactions of `--batch`, or
`--one`, as it is inserted and by the default options, unless others are given.  Pauses, memory and
bytes written are told.  At each size it is asked:

single   one query after the other, of the database and of a snapshot
batch    `query_many`, all matches and the first; the recall is the share of the matches that
         exhaustive search finds for a sample; texts also as ready sketches
nearest  the 1 and 10 nearest of near and of far queries, in a batch and alone, beside comparing
         all, with the share found
pairs    `find_all` and `find_clusters`, with the recall of a sample
stream   one document at a time: insert, add_if_new, delete, in one transaction and a commit each
open     a fresh process: import, open, first answer, beside `import numpy`
array    `find_all` and `find_clusters` of fingerprints without a database
claim    `insert_many` and `add_many_if_new` of the queries, in a new database
copies   the share of known copies that are found, of drawn texts
cold     the pages that a query reads of a file that is not in memory, in processes of `--memory`
         bytes, which needs a system that allows control groups

Exact search (`bphs`) is asked for distance 3, `psm` for the same with a recall of .95, others for
what the database is made for; `--distance`, `--similarity` and `--recall` say otherwise.  A probing
method is asked after a calibration.  What takes more than `--patience` seconds runs once, and what
would take more than `--limit` at the next size is left out from there on.  Several `--threads` take
turns; for each the ratio to the first, and the share of processor time that is in no part which
threads can share.  SIMDB_KERNEL chooses the
instruction set.

    python tools/bench/speed.py -n 1M 10M --of fingerprints --compacted --peers
    python tools/bench/speed.py -n 1M --of texts --ask batch pairs --threads 1 2 --core -1
"""

import gc
import json
import multiprocessing
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import peers
import simdb
from documents import DISTANCE, KINDS, Written, add_corpora, head, taken, values_of
from filled import BITS, Filled
from record import Record, Timing, latencies, number, options, scratch, short
from simdb.core.options import BANDING, METHODS as BY_WEIGHTS

METHODS = (*BY_WEIGHTS, BANDING)
FEW = 100  # queries of a slow method
COMPARED = 2_000_000_000  # pairs of documents that exhaustive search of a sample compares at most
NEAREST = (1, 10)
# Run by a fresh Python; a program pays for the import once.
CHILD = """
import json, sys, time
marks = [time.perf_counter()]
import numpy
marks.append(time.perf_counter())
import simdb; simdb.open
marks.append(time.perf_counter())
database = simdb.open(sys.argv[1], "r")
marks.append(time.perf_counter())
for _ in range(2):
    found = database.query(id=int(sys.argv[2]), **json.loads(sys.argv[3]))
    marks.append(time.perf_counter())
print(json.dumps(marks))
"""
STAGES = ("import numpy", "import simdb after it", "open", "first query", "second query")
CONTROL = Path("/sys/fs/cgroup/memory")
FORK = multiprocessing.get_context("fork")


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("-n", type=number, nargs="+", default=[100_000], help="sizes")
    parser.add_argument("--of", nargs="+", choices=KINDS, default=["weights"])
    parser.add_argument("--ask", nargs="*", choices=ASKED, default=["single", "batch", "pairs"])
    parser.add_argument("--method", nargs="+", default=["auto"], choices=METHODS)
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--distance", type=int)
    parser.add_argument("--similarity", type=float)
    parser.add_argument("--recall", type=float)
    parser.add_argument("--sketch", choices=("simhash", "minhash"), default="simhash",
                        help="of texts")  # fmt: skip
    parser.add_argument(
        "--option", nargs="*", default=[], metavar="NAME=VALUE", help="of databases"
    )
    parser.add_argument("--batch", type=number, default=100_000, help="documents of a transaction")
    parser.add_argument("--one", action="store_true", help="all batches in one transaction")
    parser.add_argument("--memory", type=number, default=1 << 29, help="bytes, of cold")
    parser.add_argument("--queries", type=number, default=10_000, help="of a batch")
    parser.add_argument("--single", type=number, default=1_000, help="calls of one query each")
    parser.add_argument("--sample", type=number, default=500, help="queries asked exhaustively")
    parser.add_argument("--compacted", action="store_true", help="compact before asking")
    parser.add_argument("--patience", type=float, default=5, help="seconds of what is repeated")
    parser.add_argument("--limit", type=float, default=60, help="seconds of one task")
    parser.add_argument("--disk", type=float, default=20, help="gigabytes at most")
    parser.add_argument("--peers", action="store_true", help="other libraries, if installed")
    parser.add_argument("--peers-up-to", type=number, default=1_000_000, help="documents")
    add_corpora(parser)
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    for kind in arguments.of:
        with scratch(arguments.directory) as folder:
            grow(Filled(record, arguments, kind, folder))
    record.finish()


def grow(bench: Filled) -> None:
    """Let the database grow from size to size, and ask at each."""
    arguments, sizes = bench.arguments, sorted(bench.arguments.n)
    with bench.database:
        for count, after in pairwise([*sizes, sizes[-1]]):
            bench.growing = after / count
            bench.insert(count)
            if arguments.compacted:
                bench.compact()
            bench.queries = bench.source.queries(arguments.queries)
            for name in arguments.ask:
                gc.collect()
                ASKED[name](bench)
            size = bench.database.stats().live_bytes
            if 4 * size * bench.growing > arguments.disk * 1e9:  # while runs are merged
                print(f"{short(after)} {bench.kind} need too much of the disk")
                break
    bench.database.close()  # which `cold` has opened again


def ask_single(bench: Filled) -> None:
    queries = values_of(bench.queries, bench.arguments.single)
    for method, asked in bench.methods():
        with bench.database.read() as snapshot:
            for name, verb in (
                ("query", bench.database.query), ("first", bench.database.first),
                ("query of a snapshot", snapshot.query),
            ):  # fmt: skip
                facts = {
                    "kind": bench.kind, "method": method, "task": "one query", "count": bench.count,
                }  # fmt: skip
                latencies(
                    bench.record, f"{bench.label}: {method}: {name}", partial(verb, **asked),
                    queries, bench.arguments.repeats, facts=facts if name == "query" else None,
                )  # fmt: skip
    if bench.arguments.peers and bench.count <= bench.arguments.peers_up_to:
        peers.ask(bench, queries)


def ask_batch(bench: Filled) -> None:
    queries, threads = bench.queries, bench.arguments.threads[0]
    ready = sketched(bench, queries)
    for method, asked in bench.methods():
        started = time.perf_counter()
        bench.database.query_many(head(queries, FEW), **asked, threads=threads)
        slow = (time.perf_counter() - started) * len(queries) / FEW > bench.arguments.patience
        some = head(queries, FEW) if slow else queries

        def search(threads: int, some: Any = some, asked: Any = asked, **more: Any) -> Any:
            return bench.database.query_many(some, **asked, **more, threads=threads)

        bench.rate(
            "batch", len(some), search, method=method, drawn="batch",
            note=partial(tell_recall, bench, method),
        )  # fmt: skip
        bench.rate("batch with ids", len(some), lambda threads: search(threads).ids, method=method)
        bench.rate("batch, first", len(some), partial(search, match="first"), method=method)
        if ready is not None:
            bench.rate("batch, ready", len(some), partial(search, some=head(ready, len(some))),
                       method=method)  # fmt: skip


def sketched(bench: Filled, queries: Any) -> Any:
    """Return the sketches of texts, and add how long a list and Arrow take to become sketches."""
    if not bench.is_text:
        return None
    sketcher = bench.database.sketcher
    make = sketcher.signatures if bench.is_minhash else sketcher.fingerprints
    for name, texts in (("Arrow", pa.array(queries)), ("alone", queries)):
        made = bench.rate(
            f"sketching {name}", len(queries), partial(sketch_with, make, texts),
            unit="documents/s",
        )  # fmt: skip
    return made


def sketch_with(make: Callable[..., Any], texts: Any, threads: int) -> Any:
    return make(texts, threads=threads)


def tell_recall(bench: Filled, method: str, found: simdb.Matches) -> str:
    """Say what share of the matches of exhaustive search the first queries have found."""
    count = min(bench.arguments.sample, len(found), COMPARED // bench.count)
    every = bench.database.query_many(head(bench.queries, count), **bench.exhaustively(method))
    keys = [
        np.repeat(np.arange(len(each)), np.diff(each.offsets)) << 40 | each.ordinals
        for each in (every, found)
    ]
    share = float(np.isin(*keys).mean()) if len(keys[0]) else 1.0
    return f"recall {share:.4f} of {len(keys[0])} matches of {count} queries"


def ask_nearest(bench: Filled) -> None:
    count = min(2 * bench.arguments.sample, len(bench.queries))
    groups = {"near queries": slice(0, count, 2), "far queries": slice(1, count, 2)}
    for group, chosen in {"queries": slice(count)}.items() if bench.is_text else groups.items():
        for k in NEAREST:
            ask_group(bench, f"{k} nearest, {group}", chosen, k)


def ask_group(bench: Filled, what: str, chosen: slice, k: int) -> None:
    """Ask for the nearest documents of some queries, and compare with comparing all."""
    database, some = bench.database, taken(bench.queries, chosen)
    exact = bench.rate(
        f"{what}, comparing all, batch", len(some),
        lambda threads: database.nearest_many(some, k, recall=1.0, threads=threads),
    )  # fmt: skip
    if exact is None:
        return
    rows = np.split(exact.ordinals, exact.offsets[1:-1])
    bench.rate(
        f"{what}, batch", len(some),
        lambda threads: database.nearest_many(some, k, threads=threads),
        note=lambda found: "recall "
        f"{peers.shared(np.split(found.ordinals, found.offsets[1:-1]), rows):.4f}",
    )  # fmt: skip
    for name, recall in (("", None), (", comparing all", 1.0)):
        ask = partial(database.nearest, k=k, recall=recall)
        one = values_of(some, bench.arguments.single)
        latencies(bench.record, f"{bench.label}: {what}{name}, one by one", ask, one, 1)
    if bench.arguments.peers and bench.count <= bench.arguments.peers_up_to:
        peers.ask_nearest(bench, what, chosen, k, rows)


def ask_pairs(bench: Filled) -> None:
    database = bench.database
    for method, asked in bench.methods():
        left, right = sampled_pairs(bench, method)

        def tell(chunks: Any, left: Any = left, right: Any = right) -> str:
            keys = [pair_keys(np.asarray(each.left), np.asarray(each.right)) for each in chunks]
            is_found = np.isin(pair_keys(left, right), np.concatenate([np.zeros(0, int), *keys]))
            share = float(is_found.mean()) if len(is_found) else 1.0
            return f"{sum(map(len, chunks)):,} pairs, recall {share:.4f} of {len(is_found)}"

        bench.rate(
            "find_all", bench.count,
            lambda threads, asked=asked: list(database.find_all(**asked, threads=threads).chunks()),
            method=method, unit="documents/s", drawn="all pairs", note=tell,
        )  # fmt: skip
        bench.rate(
            "find_clusters", bench.count,
            lambda threads, asked=asked: database.find_clusters(**asked, threads=threads),
            method=method, unit="documents/s", note=lambda found: f"{len(found):,} clusters",
        )  # fmt: skip


def sampled_pairs(bench: Filled, method: str) -> tuple[Any, Any]:
    """Return the pairs of a sample of documents with any other, by exhaustive search."""
    count = min(bench.arguments.sample, bench.count, COMPARED // bench.count)
    chosen = np.linspace(0, bench.count - 1, count).astype(np.int64)
    found = bench.database.query_many(ids=chosen.tolist(), **bench.exhaustively(method))
    return np.repeat(chosen, np.diff(found.offsets)), np.asarray(found.ids, np.int64)


def pair_keys(left: Any, right: Any) -> Any:
    return np.minimum(left, right).astype(np.int64) << 32 | np.maximum(left, right).astype(np.int64)


def ask_stream(bench: Filled) -> None:
    """Insert, claim and delete one document at a time, and undo it."""
    new = values_of(bench.queries, bench.arguments.single)
    names = range(bench.count, bench.count + len(new))
    verbs: dict[str, Callable[[Any, int], object]] = {
        "insert": lambda target, at: target.insert(names[at], new[at]),
        "delete": lambda target, at: target.delete(names[at]),
        "add_if_new": lambda target, at: target.add_if_new(
            names[at], new[at], **bench.criterion("auto")
        ),
    }
    transaction = bench.database.write()
    for verb, call in verbs.items():
        stream(bench, f"{verb}, one transaction", partial(call, transaction), len(new))
    transaction.abort()
    for verb, call in verbs.items():
        stream(bench, f"{verb}, a commit each", partial(call, bench.database), len(new))
    bench.database.delete_many(name for name in names if name in bench.database)


def stream(bench: Filled, what: str, call: Callable[[int], object], calls: int) -> None:
    processor, marks = time.process_time(), [time.perf_counter_ns()]
    for at in range(calls):
        call(at)
        marks.append(time.perf_counter_ns())
    taken = np.sort(np.diff(marks)) / 1e3
    timing = Timing([taken.sum() / 1e6], [time.process_time() - processor])
    note = f"p50 {taken[calls // 2]:,.0f} us, p99.9 {taken[calls * 999 // 1000]:,.0f} us,"
    note += f" longest {taken[-1]:,.0f} us"
    bench.record.add_rate(f"{bench.label}: {what}", calls, "documents/s", timing, note)


def ask_open(bench: Filled) -> None:
    timings = {name: Timing() for name in STAGES}
    asked = json.dumps(bench.criterion("auto"))
    path = bench.folder / "copied"
    bench.database.copy(path)
    for turn in range(bench.arguments.repeats + 1):
        command = [sys.executable, "-c", CHILD, str(path), str(turn), asked]
        answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        # The first process brings the file into the page cache and is not counted.
        for name, seconds in zip(STAGES if turn else (), np.diff(json.loads(answer)), strict=False):
            timings[name].wall.append(float(seconds))
    for name, timing in timings.items():
        note = f"best {timing.best * 1e3:.2f}"
        bench.record.add(f"{bench.label}: {name}", timing.median * 1e3, "ms", note=note)
    shutil.rmtree(path)


def ask_array(bench: Filled) -> None:
    """Find the pairs of stored fingerprints and queries within distance 3, in memory."""
    if bench.kind not in (*BITS, "weights", "families"):
        print(f"{bench.label}: array is left out: it takes fingerprints")
        return
    every = [*bench.documents, bench.queries]
    bits = np.concatenate([each if isinstance(each, np.ndarray) else each.bits for each in every])
    tasks: dict[str, Callable[[int], Any]] = {
        "simdb.find_all": lambda threads: simdb.find_all(bits, 6, DISTANCE, threads=threads).left,
        "simdb.find_clusters": lambda threads: simdb.find_clusters(
            bits, 6, DISTANCE, threads=threads
        ),
    }
    if bench.arguments.peers and len(bits) <= 2 * bench.arguments.peers_up_to:
        tasks |= peers.pair_tasks(bits)
    for name, task in tasks.items():
        bench.rate(name, len(bits), task, unit="documents/s")


def ask_claim(bench: Filled) -> None:
    """Store the queries in a new database, all of them and what is new, in two halves."""
    half = len(bench.queries) // 2
    parts = {0: head(bench.queries, half), half: taken(bench.queries, slice(half, 2 * half))}

    def fill(verb: str, threads: int) -> None:
        shutil.rmtree(bench.folder / "new", ignore_errors=True)
        with bench.opened("x", "new", options=bench.settings) as new:
            for start, part in parts.items():
                getattr(new, verb)(range(start, start + half), part, threads=threads)

    for verb in ("insert_many", "add_many_if_new"):
        what = f"{verb}, a new database"
        bench.rate(what, 2 * half, partial(fill, verb), unit="documents/s")


def ask_copies(bench: Filled) -> None:
    """Add the share of the known copies, as similar as is asked for, whose origin a query finds."""
    source = bench.source
    if not isinstance(source, Written) or source.origins is None:
        print(f"{bench.label}: copies is left out: only drawn texts have known copies")
        return
    # A block of texts has some 400 copies.
    places = np.linspace(0, bench.count - 1, max(bench.arguments.sample // 100, 1))
    every = np.stack(source.origins(places.astype(np.int64)))
    copies, origins = every[:, every[0] < bench.count]
    similarity = bench.database.compare(copies, origins).similarity
    near = np.flatnonzero(similarity >= bench.database.plan().similarity)
    found = bench.database.query_many(ids=copies[near].tolist())
    pairs = zip(origins[near].tolist(), found, strict=True)
    share = np.mean([origin in [match.id for match in row] for origin, row in pairs] or [1.0])
    note = f"{len(near)} copies"
    bench.record.add(f"{bench.label}: recall of copies", float(share), "", note=note)


def ask_cold(bench: Filled) -> None:
    """Ask each method in a process of `--memory` bytes, of a file that is not in the page cache."""
    arguments, ones = bench.arguments, values_of(bench.queries, bench.arguments.single + 1)
    many = taken(bench.queries, slice(len(ones), None))
    every = list(bench.methods())
    label_of = f"{bench.label}: {{}}: {{}}, cold".format  # which needs the open database
    bench.database.close()
    for method, asked in every:
        descriptor = os.open(bench.path / "data.mdb", os.O_RDONLY)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)
        with limited(arguments.memory) as control:
            receiving, sending = FORK.Pipe(duplex=False)
            given = sending, control, bench.path, asked, ones, many, arguments.memory
            child = FORK.Process(target=answer_cold, args=given)
            child.start()
            sending.close()
            for row in receiving.recv():
                note = f"{row['read_bytes'] / 1e3:,.1f} kB read, {row['faults']:.2f} faults,"
                note += f" {row['processor'] * 1e3:.3f} ms of processor time; {row['plan']}"
                what = label_of(method, row["stage"])
                bench.record.add(what, row["seconds"] * 1e3, "ms", note=note, facts=row)
            child.join()
    bench.database = bench.opened("w")


def answer_cold(
    sending: Any, control: str, path: Path, asked: dict[str, Any], ones: list[Any], many: Any,
    memory: int,
) -> None:  # fmt: skip
    """Ask in this process, in a control group; send what a query took in each stage."""
    if control:
        Path(control, "cgroup.procs").write_text(str(os.getpid()))
    with simdb.open(path, "r") as database:
        plan = database.plan(**asked)
        limit = {"search": simdb.Search(method=asked["search"], memory_limit=memory // 4)}
        stages: dict[str, tuple[int, Callable[[], object]]] = {
            "first query": (1, lambda: database.query(ones[0], **asked)),
            "query": (len(ones) - 1, lambda: [database.query(one, **asked) for one in ones[1:]]),
            "batch": (len(many), partial(database.query_many, many, **asked)),
            "batch with memory_limit":
                (len(many), partial(database.query_many, many, **asked | limit)),
        }  # fmt: skip
        rows = []
        for stage, (count, work) in stages.items():
            begun = spent_marks()
            work()
            spent = zip(spent_marks().items(), begun.values(), strict=True)
            row: dict[str, Any] = {
                name: (after - first) / max(count, 1) for (name, after), first in spent
            }
            told = f"{plan.method}, {plan.page_reads:.1f} page reads expected"
            rows.append(row | {"stage": stage, "plan": told})
    sending.send(rows)


def spent_marks() -> dict[str, float]:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    counts = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return {
        "seconds": time.perf_counter(), "processor": usage.ru_utime + usage.ru_stime,
        "faults": usage.ru_majflt, "read_bytes": int(counts["read_bytes"]),
    }  # fmt: skip


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


ASKED: dict[str, Callable[[Filled], None]] = {
    "single": ask_single, "batch": ask_batch, "nearest": ask_nearest, "pairs": ask_pairs,
    "stream": ask_stream, "open": ask_open, "array": ask_array, "claim": ask_claim,
    "copies": ask_copies, "cold": ask_cold,
}  # fmt: skip


if __name__ == "__main__":
    main()
