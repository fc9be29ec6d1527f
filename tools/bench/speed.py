"""How fast is each verb of a database, by kind of document, method, number of documents, threads?

A database of each kind (`documents.py`) grows from size to size in transactions of `--batch`, as it
is inserted and by the default options, unless others are given.  At each size it is asked:

single   one query after the other, of the database and of a snapshot
batch    `query_many`, all matches and the first; the recall is the share of the matches that
         exhaustive search finds for a sample; texts also as ready sketches
nearest  the 1 and 10 nearest of near and of far queries, in a batch and alone, beside comparing
         all, with the share found
pairs    `find_all` and `find_clusters`, with the recall of a sample
stream   one document at a time: insert, add_if_new, delete, in one transaction and a commit each
open     a fresh process: import, open, first answer, beside `import numpy`
array    `find_all` and `find_clusters` of fingerprints without a database, and the programs

Exact search (`bphs`) is asked for distance 3, `psm` for the same with a recall of .95, others for
what the database is made for; `--distance`, `--similarity` and `--recall` say otherwise.  A probing
method is asked after a calibration.  What takes more than `--patience` seconds runs once, and what
would take more than `--limit` at the next size is left out from there on.  Several `--threads` take
turns, and the ratio of each turn to the first number of threads is given.  SIMDB_KERNEL chooses the
instruction set.

    python tools/bench/speed.py -n 1M 10M --of fingerprints --compacted --peers
    python tools/bench/speed.py -n 1M --of texts --ask batch pairs --threads 1 2 --core -1
"""

import argparse
import gc
import json
import shutil
import statistics
import subprocess
import sys
import time
from ast import literal_eval
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import peers
import simdb
from documents import (
    DISTANCE,
    KINDS,
    Source,
    add_corpora,
    head,
    parts,
    source_of,
    taken,
    values_of,
)  # fmt: skip
from record import (
    TURN_SECONDS,
    Record,
    Timing,
    latencies,
    measure,
    number,
    options,
    scratch,
    short,
)  # fmt: skip
from simdb.settings.options import BANDING
from simdb.settings.options import METHODS as BY_WEIGHTS

BY_METHOD: dict[str, dict[str, Any]] = {
    "exhaustive": {"recall": 1.0},
    "bphs": {"distance": DISTANCE, "recall": 1.0},
    "psm": {"distance": DISTANCE, "recall": 0.95},
}
METHODS = (*BY_WEIGHTS, BANDING)
PROBING = ("psm", "multiprobe")
FEW = 100  # queries of a slow method
COMPARED = 2_000_000_000  # pairs of documents that exhaustive search of a sample compares at most
NEAREST = (1, 10)
SAMPLED = 20_000  # documents like the queries, for the calibration of a database without weights
BITS = ("fingerprints", "noisy")  # kinds that no similarity can be asked for
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
PROGRAM = "from simdb.compat import programs; programs.{}()"
ROOT = Path(__file__).parents[2]


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
            Bench(record, arguments, kind, folder).grow()
    record.finish()


class Bench:
    """One kind of document: its database, its queries, and the tasks that have become too slow."""

    def __init__(
        self, record: Record, arguments: argparse.Namespace, kind: str, folder: Path
    ) -> None:
        self.record, self.arguments, self.kind, self.folder = record, arguments, kind, folder
        self.source: Source = source_of(kind, arguments)
        self.left_out: set[tuple[str, str]] = set()
        self.documents: list[Any] = []  # kept for peers and arrays only
        self.count, self.growing = 0, 1.0  # stored documents, and how many times more are next
        self.is_text = kind in ("texts", "drawn")

    @property
    def settings(self) -> simdb.Options:
        given: dict[str, Any] = {}
        for each in self.arguments.option:
            name, _, value = each.partition("=")
            given[name] = value if value.isidentifier() else literal_eval(value)
        if self.is_text and self.arguments.sketch == "minhash":
            given["sketch"] = simdb.Minhash()
        return simdb.Options(**{"sketch": self.source.options.sketch} | given)

    def grow(self) -> None:
        """Let the database grow from size to size, and ask at each."""
        sizes = sorted(self.arguments.n)
        path = self.folder / "db"
        with simdb.open(
            path, "x", options=self.settings, durability=self.arguments.durability
        ) as self.database:
            for count, after in pairwise([*sizes, sizes[-1]]):
                self.growing = after / count
                self.insert(count)
                if self.arguments.compacted:
                    timing = Timing()
                    measure(self.database.compact, timing)
                    self.record.add_rate(f"{self.label}: compact", count, "documents/s", timing)
                self.queries = self.source.queries(self.arguments.queries)
                self.tell_size(path)
                for name in self.arguments.ask:
                    gc.collect()
                    ASKED[name](self)
                size = self.database.stats().live_bytes
                if 4 * size * self.growing > self.arguments.disk * 1e9:  # while runs are merged
                    print(f"{short(after)} {self.kind} need too much of the disk")
                    return

    @property
    def label(self) -> str:
        kind = f"{self.kind}, MinHash" if self.is_text and self.is_minhash else self.kind
        return f"{short(self.count)} {kind}"

    @property
    def is_minhash(self) -> bool:
        return isinstance(self.database.options.sketch, simdb.Minhash)

    def insert(self, count: int) -> None:
        """Store documents up to a number; making them is not timed."""
        timing, self.is_calibrated = Timing(), False
        for names, documents in parts(self.source, self.count, count, self.arguments.batch):
            measure(partial(self.database.insert_many, names, documents), timing)
            if self.arguments.peers or "array" in self.arguments.ask:
                self.documents.append(
                    self.source.features if self.kind == "signatures" else documents
                )
        added, self.count = count - self.count, count
        if len(self.database) != count:
            raise ValueError("some documents were not stored")
        note = f"longest transaction {max(timing.wall):.2f} s"
        facts = self.facts("insert", "one document", timing.summed().over(added))
        what = f"{self.label}: insert_many, {short(self.arguments.batch)} a transaction"
        self.record.add_rate(what, added, "documents/s", timing.summed(), note, facts)

    def tell_size(self, path: Path) -> None:
        stats, count = self.database.stats(), self.count
        sections = [f"{name} {size / count:.1f}" for name, size in stats.section_bytes.items()]
        note = f"{len(stats.runs)} runs; {' '.join(sections)}"
        self.record.add(f"{self.label}: live", stats.live_bytes / count, "bytes", note=note)
        size = sum(file.stat().st_blocks * 512 for file in path.iterdir())
        self.record.add(f"{self.label}: on disk", size / count, "bytes")

    def facts(self, method: str, task: str, each: Timing) -> dict[str, Any]:
        """Return what `draw.py` reads."""
        return {
            "kind": self.kind, "method": method, "task": task, "count": self.count,
            "each_seconds": each.median, "each_processor": statistics.median(each.processor),
        }  # fmt: skip

    def criterion(self, method: str, *, is_asked: bool = True) -> dict[str, Any]:
        """Return what a method is asked for."""
        has_weights = self.kind not in BITS
        asked = dict(BY_METHOD.get(method, {}) if has_weights else BY_METHOD["bphs"])
        if method == "psm":
            asked |= BY_METHOD["psm"]
        names = ("similarity", "distance", "recall")
        given = {name: getattr(self.arguments, name) for name in names}
        if given["similarity"] is not None:
            asked.pop("distance", None)
        asked |= {name: value for name, value in given.items() if value is not None}
        if method in ("exhaustive", "bphs"):
            asked["recall"] = 1.0
        return asked | ({"search": method} if is_asked else {})

    def methods(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield each method and what it is asked for; calibrate once before those that probe."""
        for method in self.arguments.method:
            asked, timing = self.criterion(method), Timing()
            try:
                if method in PROBING and not self.is_calibrated:
                    sample = self.source.queries(SAMPLED) if self.kind == "noisy" else None
                    measure(partial(self.database.calibrate, sample), timing)
                    self.is_calibrated = True
                    facts = self.facts("calibrate", "once", timing)
                    what = f"{self.label}: calibrate"
                    self.record.add(what, timing.median, "s", timing, "", facts)
                plan = self.database.plan(**asked)
            except simdb.OptionError as error:
                print(f"{self.label}: {method} is left out: {error}")
                continue
            print(f"{self.label}: {method}: {plan.method}, recall planned {plan.recall:.3f}")
            yield method, asked

    def rate(
        self,
        what: str,
        things: int,
        task: Callable[[int], Any],
        *,
        method: str = "",
        unit: str = "queries/s",
        drawn: str = "",
        note: Callable[[Any], str] = lambda _: "",
    ) -> Any:
        """Add the rate of a task that takes a number of threads; return its first result."""
        place, name = (what, method), f"{self.label}: {f'{method}: ' if method else ''}{what}"
        if place in self.left_out:
            return None
        first, numbers = Timing(), self.arguments.threads
        result = measure(partial(task, numbers[0]), first)
        if first.median * self.growing > self.arguments.limit:
            self.left_out.add(place)
        timings = {each: Timing() for each in numbers}
        if first.median > self.arguments.patience and len(numbers) == 1:
            timings = {numbers[0]: first}
        else:
            times = 1 + int(TURN_SECONDS / (first.median + 1e-9))
            for _, each in (
                (turn, each) for turn in range(self.arguments.repeats) for each in numbers
            ):
                gc.collect()
                measure(partial(task, each), timings[each], times)
        told = note(result)
        for each, timing in timings.items():
            shown = f"{name}, {each} threads" if len(numbers) > 1 else name
            of = timing.over(1 if drawn == "all pairs" else things)
            facts = self.facts(method, drawn, of) if drawn and each == numbers[0] else None
            self.record.add_rate(shown, things, unit, timing, told, facts)
            if each != numbers[0]:
                beside = timings[numbers[0]]
                pairs = zip(beside.wall, timing.wall, strict=True)
                ratio = statistics.median(one / other for one, other in pairs)
                spent = statistics.median(timing.processor) / statistics.median(beside.processor)
                what = f"{name}: {each} threads beside {numbers[0]}"
                self.record.add(what, ratio, "times", note=f"processor {spent:.2f} times")
        return result


def ask_single(bench: Bench) -> None:
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


def ask_batch(bench: Bench) -> None:
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


def sketched(bench: Bench, queries: Any) -> Any:
    """Return the sketches of texts, and add how long they take alone."""
    if not bench.is_text:
        return None
    make = bench.database.sketcher.signatures if bench.is_minhash else (
        bench.database.sketcher.fingerprints
    )  # fmt: skip
    return bench.rate("sketching alone", len(queries), lambda _: make(queries), unit="documents/s")


def tell_recall(bench: Bench, method: str, found: simdb.Matches) -> str:
    """Say what share of the matches of exhaustive search the first queries have found."""
    count = min(bench.arguments.sample, len(found), COMPARED // bench.count)
    asked = bench.criterion("exhaustive" if bench.kind not in BITS else "bphs")
    wanted = bench.criterion(method, is_asked=False)
    asked |= {name: value for name, value in wanted.items() if name != "recall"}
    every = bench.database.query_many(head(bench.queries, count), **asked)
    keys = [
        np.repeat(np.arange(len(each)), np.diff(each.offsets)) << 40 | each.ordinals
        for each in (every, found)
    ]
    share = float(np.isin(*keys).mean()) if len(keys[0]) else 1.0
    return f"recall {share:.4f} of {len(keys[0])} matches of {count} queries"


def ask_nearest(bench: Bench) -> None:
    count = min(2 * bench.arguments.sample, len(bench.queries))
    groups = {"near queries": slice(0, count, 2), "far queries": slice(1, count, 2)}
    for group, chosen in {"queries": slice(count)}.items() if bench.is_text else groups.items():
        for k in NEAREST:
            ask_group(bench, f"{k} nearest, {group}", chosen, k)


def ask_group(bench: Bench, what: str, chosen: slice, k: int) -> None:
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
        f"{shared(np.split(found.ordinals, found.offsets[1:-1]), rows):.4f}",
    )  # fmt: skip
    for name, recall in (("", None), (", comparing all", 1.0)):
        ask = partial(database.nearest, k=k, recall=recall)
        one = values_of(some, bench.arguments.single)
        latencies(bench.record, f"{bench.label}: {what}{name}, one by one", ask, one, 1)
    if bench.arguments.peers and bench.count <= bench.arguments.peers_up_to:
        peers.ask_nearest(bench, what, chosen, k, rows)


def shared(found: list[Any], exact: list[Any]) -> float:
    """Return the share of the exact answers that were found."""
    both = sum(len(np.intersect1d(one, other)) for one, other in zip(found, exact, strict=True))
    return both / max(sum(map(len, exact)), 1)


def ask_pairs(bench: Bench) -> None:
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


def sampled_pairs(bench: Bench, method: str) -> tuple[Any, Any]:
    """Return the pairs of a sample of documents with any other, by exhaustive search."""
    count = min(bench.arguments.sample, bench.count, COMPARED // bench.count)
    chosen = np.linspace(0, bench.count - 1, count).astype(np.int64)
    asked = bench.criterion("exhaustive" if bench.kind not in BITS else "bphs")
    wanted = bench.criterion(method, is_asked=False)
    asked |= {name: value for name, value in wanted.items() if name != "recall"}
    found = bench.database.query_many(ids=chosen.tolist(), **asked)
    return np.repeat(chosen, np.diff(found.offsets)), np.asarray(found.ids, np.int64)


def pair_keys(left: Any, right: Any) -> Any:
    return np.minimum(left, right).astype(np.int64) << 32 | np.maximum(left, right).astype(np.int64)


def ask_stream(bench: Bench) -> None:
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


def stream(bench: Bench, what: str, call: Callable[[int], object], calls: int) -> None:
    processor, marks = time.process_time(), [time.perf_counter_ns()]
    for at in range(calls):
        call(at)
        marks.append(time.perf_counter_ns())
    taken = np.sort(np.diff(marks)) / 1e3
    timing = Timing([taken.sum() / 1e6], [time.process_time() - processor])
    note = f"p50 {taken[calls // 2]:,.0f} us, p99.9 {taken[calls * 999 // 1000]:,.0f} us,"
    note += f" longest {taken[-1]:,.0f} us"
    bench.record.add_rate(f"{bench.label}: {what}", calls, "documents/s", timing, note)


def ask_open(bench: Bench) -> None:
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


def ask_array(bench: Bench) -> None:
    """Find the pairs of stored fingerprints and queries within distance 3, in memory."""
    if bench.kind not in (*BITS, "weights", "families"):
        print(f"{bench.label}: array is left out: it takes fingerprints")
        return
    every = [*bench.documents, bench.queries]
    bits = np.concatenate([each if isinstance(each, np.ndarray) else each.bits for each in every])
    source = bench.folder / "hashes.txt"
    source.write_text("".join(f"{each}\n" for each in bits.tolist()))

    def run(name: str, threads: int) -> None:
        flags = ["-b", "6", "-d", str(DISTANCE), "-i", source, "-o", bench.folder / name]
        command = [sys.executable, "-c", PROGRAM.format(name), *flags]
        subprocess.run(command, check=True, cwd=ROOT)

    tasks: dict[str, Callable[[int], Any]] = {
        "simdb.find_all": lambda threads: simdb.find_all(bits, 6, DISTANCE, threads=threads).left,
        "simdb.find_clusters": lambda threads: simdb.find_clusters(
            bits, 6, DISTANCE, threads=threads
        ),
        "simhash-find-all, a process": partial(run, "find_all"),
        "simhash-find-clusters, a process": partial(run, "find_clusters"),
    }
    if bench.arguments.peers and len(bits) <= 2 * bench.arguments.peers_up_to:
        tasks |= peers.pair_tasks(bits)
    for name, task in tasks.items():
        bench.rate(name, len(bits), task, unit="documents/s")


ASKED: dict[str, Callable[[Bench], None]] = {
    "single": ask_single, "batch": ask_batch, "nearest": ask_nearest, "pairs": ask_pairs,
    "stream": ask_stream, "open": ask_open, "array": ask_array,
}  # fmt: skip


if __name__ == "__main__":
    main()
