"""What do jobs of Spark cost in bytes and processor time?

    python tools/bench/spark.py FOLDER --runs sketch distance similarity -n 200k 1M

It needs PySpark and Java.  The texts come from `drawn.py`.  Jobs on few texts run first, so that
Java is warm.  Of the repeats, the one with the median of processor time is reported.  Processor
time of Java and of its Python workers is read from /proc.  Bytes are read from the event log, as
written to shuffle files.  Memory is the largest resident set of a Python process.

    sketch, sign                    fingerprints and signatures, which other jobs read
    distance, similarity, bands     pairs
    clusters                        of the pairs by similarity
    dedup, dedup-minhash            drop_duplicates; with -exact: verify="exact", with -star:
                                    policy="star"

`tests/spark/` asks whether they find what one database finds.
"""

import itertools
import json
import os
import sys
import threading
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet
from pyspark.sql import SparkSession

import simdb
import simdb.spark as ss
from drawn import Drawn
from record import Record, Timing, number, options

JACCARD = 0.8
COSINE = 0.889  # what simdb estimates of two fingerprints: 2 j / (1 + j) of sets of one size
FILE_TEXTS = 1 << 19
WORDS = simdb.Minhash(stored_bits=8)
TICKS = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
SETTLED_SECONDS = 1.0  # the event log is written after a stage has ended
LOOK_SECONDS = 0.2
SETTINGS = {
    "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false",
    "spark.eventLog.enabled": "true", "spark.eventLog.rolling.enabled": "false",
    "spark.eventLog.compress": "false", "spark.network.timeout": "600s",
    "spark.rpc.askTimeout": "600s", "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}  # fmt: skip
# The kind of sketches of each job of pairs, and how it is asked.
PAIRS = {
    "distance": ("sketch", {"distance": 3}),
    "similarity": ("sketch", {"similarity": 0.9, "recall": 0.98}),
    "bands": ("sign", {"similarity": JACCARD}),
}
SKETCHES = {"sketch": simdb.Simhash(), "sign": WORDS}


class Work(NamedTuple):
    """One run: its documents, Parquet of id and text, and the folder of its results."""

    session: Any
    run: str
    texts: Path
    folder: Path
    partitions: int

    def documents(self) -> Any:
        return self.session.read.parquet(str(self.texts))

    def sketches(self, kind: str) -> Any:
        """Read what `sketch` or `sign` has written, or make it."""
        path = Path(f"{self.texts}-{kind}")
        if not path.exists():
            make(self, kind)
        return self.session.read.parquet(str(path))

    @property
    def found(self) -> str:
        return str(self.folder / "found")


def make(work: Work, kind: str) -> None:
    verb = ss.fingerprints if kind == "sketch" else ss.signatures
    verb(work.documents(), SKETCHES[kind]).write.mode("overwrite").parquet(f"{work.texts}-{kind}")


def pairs(work: Work) -> None:
    kind, asked = PAIRS[work.run]
    found = ss.pairs(work.sketches(kind), **asked, partitions=work.partitions)
    found.select("left", "right").write.parquet(work.found)


def clusters(work: Work) -> None:
    asked = PAIRS["similarity"][1]
    found = ss.clusters(work.sketches("sketch"), **asked, partitions=work.partitions)
    found.write.format("noop").mode("overwrite").save()


def dedup(work: Work) -> None:
    is_minhash, is_exact = "minhash" in work.run, "exact" in work.run
    kept = ss.drop_duplicates(
        work.documents(), sketch=WORDS if is_minhash else simdb.Simhash(),
        similarity=JACCARD if is_minhash or is_exact else COSINE,
        verify="exact" if is_exact else "estimate",
        policy="star" if "star" in work.run else "connected", partitions=work.partitions,
    )  # fmt: skip
    kept.write.parquet(str(work.folder / "kept"))
    kept.removed.select("id", "kept").write.parquet(work.found)
    kept.removed.unpersist()


RUNS: dict[str, Callable[[Work], None]] = {
    **{kind: partial(make, kind=kind) for kind in SKETCHES}, **dict.fromkeys(PAIRS, pairs),
    "clusters": clusters,
    **{f"dedup{kind}{how}{policy}": dedup for kind in ("", "-minhash") for how in ("", "-exact")
       for policy in ("", "-star")},
}  # fmt: skip


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("folder", type=Path, help="where results and files of Spark go")
    parser.add_argument("--runs", nargs="+", choices=RUNS, default=list(RUNS)[:6], metavar="RUN")
    parser.add_argument("-n", type=number, nargs="+", default=[200_000], help="numbers of texts")
    parser.add_argument("--warm", type=number, default=20_000, help="texts that run before")
    parser.add_argument("--partitions", type=int, default=6, help="of shuffles")
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--memory", default="6g", help="of Java")
    parser.add_argument("--conf", nargs="*", default=[], help="settings of Spark, NAME=VALUE")
    parser.set_defaults(repeats=3, core=-1)
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    root = arguments.folder.resolve()
    events = root / f"events-{time.time_ns()}"
    events.mkdir(parents=True)
    session = session_of(arguments, root, events)
    meter = Meter(session, events)
    for count, run in itertools.product([arguments.warm, *arguments.n], arguments.runs):
        texts = root / f"texts-{count}"
        write_texts(arguments, count, texts)
        costs = []
        for turn in range(1 if count == arguments.warm else arguments.repeats):
            folder = root / run / f"{count}-{turn}-{time.time_ns()}"
            work = Work(session, run, texts, folder, arguments.partitions)
            costs.append((meter.cost(partial(RUNS[run], work)), work))
            session.catalog.clearCache()
        if count != arguments.warm:
            costs.sort(key=lambda each: each[0].java + each[0].python)
            cost, work = costs[len(costs) // 2]
            tell(record, f"{count:,} texts: {run}", count, cost)
    session.stop()
    record.finish()


class Cost(NamedTuple):
    """Seconds of processors and of the clock, peak memory of Python, bytes and stages."""

    java: float
    python: float
    wall: float
    peak_bytes: int
    sent_bytes: int
    stages: int


def tell(record: Record, what: str, count: int, cost: Cost) -> None:
    spent = cost.java + cost.python
    note = f"Java {cost.java:.1f} s, Python {cost.python:.1f} s, by the clock {cost.wall:.1f} s,"
    note += f" {cost.sent_bytes / count:.0f} bytes sent a document in {cost.stages} stages,"
    note += f" {cost.peak_bytes / 1e6:.0f} MB of a Python process"
    timing = Timing([cost.wall], [spent])
    record.add(what, count / spent, "documents/core-s", timing, note, cost._asdict())


class Meter:
    """Measures the jobs of one session, which was made with `SETTINGS` and writes to `log`.

    The daemon of PySpark does not count workers that have ended, so a thread looks at all processes
    again and again.  It misses at most the work of an ended worker since the last look.
    """

    def __init__(self, session: Any, log: Path) -> None:
        """Find the Java process of the session and its event log."""
        self._root = session.sparkContext._gateway.proc.pid
        self._log, self._read, self._peak_bytes = log, 0, 0
        # Of a process, by its number and start: whether it is Java, and its processor time.
        self._seen = {}
        self._lock = threading.Lock()
        threading.Thread(target=self._look_again, daemon=True).start()

    def cost(self, job: Callable[[], object]) -> Cost:
        """Run a job, the only one meanwhile; return what it took."""
        (java, python), started = self._spent(), time.perf_counter()
        self._peak_bytes = 0
        job()
        wall, (java_after, python_after) = time.perf_counter() - started, self._spent()
        peak = self._peak_bytes
        time.sleep(SETTLED_SECONDS)
        sent, stages = 0, set()
        for event in self._events():
            if event["Event"] == "SparkListenerTaskEnd":
                stages.add(event["Stage ID"])
                if event["Task End Reason"]["Reason"] == "Success":
                    written = (event.get("Task Metrics") or {}).get("Shuffle Write Metrics", {})
                    sent += written.get("Shuffle Bytes Written", 0)
        return Cost(java_after - java, python_after - python, wall, peak, sent, len(stages))

    def _events(self) -> Iterator[dict[str, Any]]:
        files = [path for path in self._log.iterdir() if not path.name.startswith(".")]
        with max(files, key=lambda path: path.stat().st_mtime).open("rb") as file:
            file.seek(self._read)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self._read += len(line)
                yield json.loads(line)

    def _spent(self) -> list[float]:
        """Return the processor time of Java and of Python, until now."""
        with self._lock:
            for process, is_java, spent, resident in processes(self._root):
                self._seen[process] = is_java, spent
                if not is_java:
                    self._peak_bytes = max(self._peak_bytes, resident)
            return [
                sum(seconds for is_java, seconds in self._seen.values() if is_java == wanted)
                for wanted in (True, False)
            ]

    def _look_again(self) -> None:
        while True:
            self._spent()
            time.sleep(LOOK_SECONDS)


def processes(root: int) -> Iterator[tuple[tuple[int, str], bool, float, int]]:
    """Yield a process and those below it: number and start, whether it is Java, time, memory."""
    children, stats = {}, {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            name, _, rest = (entry / "stat").read_text().partition("(")[2].rpartition(") ")
            stats[int(entry.name)] = name, rest.split()
            children.setdefault(int(rest.split()[1]), []).append(int(entry.name))
    found = [root]
    for process in found:
        found += children.get(process, [])
        if process in stats:
            name, fields = stats[process]
            seconds = sum(map(float, fields[11:13])) / TICKS
            yield (process, fields[19]), name == "java", seconds, int(fields[21]) * PAGE_BYTES


def session_of(arguments: Namespace, root: Path, events: Path) -> Any:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    places = {
        "spark.eventLog.dir": f"file://{events}", "spark.local.dir": f"{root}/local",
        "spark.sql.warehouse.dir": f"{root}/warehouse", "spark.driver.memory": arguments.memory,
        "spark.sql.shuffle.partitions": str(arguments.partitions),
    }  # fmt: skip
    chosen = dict(each.split("=", 1) for each in arguments.conf)
    builder = SparkSession.builder.master(arguments.master).appName("simdb bench")
    for key, value in {**SETTINGS, **places, **chosen}.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def write_texts(arguments: Namespace, count: int, folder: Path) -> None:
    """Write Parquet of id and text, in several files."""
    if folder.exists():
        return
    folder.mkdir(parents=True)
    drawn, size = Drawn(arguments.seed), min(FILE_TEXTS, -(-count // 4))
    for start in range(0, count, size):
        texts = drawn.texts(start, min(size, count - start))
        table = pa.table({"id": pa.array(range(start, start + len(texts))), "text": texts})
        pyarrow.parquet.write_table(table, folder / f"{start}.parquet", compression="zstd")


if __name__ == "__main__":
    main()
