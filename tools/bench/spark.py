"""What do jobs of Spark cost in bytes and processor time, ours and those of other packages?

    python tools/bench/spark.py TEXTS FOLDER --runs sketch distance similarity -n 200k 1M

`TEXTS` is a file of `texts.py`, or `drawn`: the texts of `drawn.py`, for many millions.  Needs
PySpark and Java.  Run it with the Python of an environment that has the package of the run and its
PySpark; only runs of simdb import simdb.  What was found is written to FOLDER as Parquet, and what
it took as JSON; `spark_judge.py` compares it with the truth.  The first texts run once before, so
that Java is warm.  Then each run is repeated, and the one with the median of processor time is
printed.  Processor time is read from /proc: that of Java, and that of the Python workers below it.
Bytes are those of the event log: as written to shuffle files.  Memory is the largest resident one
of a Python process.

    sketch, sign                        fingerprints and signatures, which other jobs read
    collapse, distance, similarity, bands, clusters     jobs on these; collapse: of equal vectors
    random                              by distance, of random fingerprints: one in ten is near one
    simdb-minhash, simdb-similarity     drop_duplicates of simdb.spark; with -exact: verify="exact";
                                        with -star: policy="star"
    ml                                  MinHashLSH of pyspark.ml, approxSimilarityJoin
    text-dedup                          minhash_spark.py of text-dedup 0.4.0 (PySpark 3.5)
    distributed-curator                 partition_aware_deduplicate (PySpark 3.5, pandas below 3)

Packages look for Jaccard .8; shingles are three words, and nine characters in distributed-curator,
which has no others.  text-dedup joins components by GraphFrames, a package of Java that PyPI does
not have; `--driver-components` joins them in this process, which is faster.  `--few-partitions`
runs a copy of its script with as many partitions as the other runs have, not 8,192 and 4,096.
"""

import argparse
import importlib.util
import itertools
import json
import os
import runpy
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from pyspark.sql import SparkSession, functions as f

from drawn import Drawn

try:
    import simdb
    import simdb.spark as ss
    from simdb.spark import packing, pairing, sketching
except ImportError:  # an environment of another package
    simdb = None  # type: ignore[assignment]

JACCARD = 0.8
# What simdb estimates of two fingerprints is a cosine: 2 j / (1 + j) of sets of one size.
COSINE = 0.889
SIMILAR = {"similarity": 0.9, "recall": 0.98}
SHINGLE = 3
FILES = 4
FILE_TEXTS = 1 << 19  # of drawn texts
MULTIPLES = {"k": 1000, "M": 1_000_000}
# The partitions that the script of text-dedup writes out.
WRITTEN_PARTITIONS = ('"8192"', "repartition(4096)")
ML_TABLES = 3
ML_FEATURES = 1 << 20
TICKS = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
# The event log is written after a stage has ended.
SETTLED_SECONDS = 1.0
LOOK_SECONDS = 0.2
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.rolling.enabled": "false",
    "spark.eventLog.compress": "false",
    "spark.network.timeout": "600s",
    "spark.rpc.askTimeout": "600s",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}


class Work(NamedTuple):
    """One run: its documents, Parquet of id and text, and where its results go.

    `found` has left and right, or id and representative; `root` has what several runs read.
    """

    session: Any
    run: str
    count: int
    root: Path
    folder: Path
    arguments: argparse.Namespace

    @property
    def texts(self) -> str:
        return str(self.root / f"texts-{self.count}")

    @property
    def found(self) -> str:
        return str(self.folder / "found")

    @property
    def kept(self) -> str:
        return str(self.folder / "kept")

    def documents(self) -> Any:
        return self.session.read.parquet(self.texts)

    def sketches(self, kind: str) -> Any:
        """Read what `sketch` or `sign` has written, or make it."""
        path = self.root / f"{kind}-{self.count}"
        if not path.exists():
            SKETCHES[kind](self)
        return self.session.read.parquet(str(path))


def sketch(work: Work) -> None:
    made = ss.fingerprints(work.documents(), simdb.Simhash())
    made.write.mode("overwrite").parquet(str(work.root / f"sketch-{work.count}"))


def sign(work: Work) -> None:
    made = ss.signatures(work.documents(), simdb.Minhash(stored_bits=8))
    made.write.mode("overwrite").parquet(str(work.root / f"sign-{work.count}"))


SKETCHES = {"sketch": sketch, "sign": sign}


def collapse(work: Work) -> None:
    sketches = work.sketches("sketch")
    rows = sketching.with_key(sketches, "id", False, 0).select("key", "vector")
    parts = pairing.partitions_of(sketches, work.arguments.partitions)
    made = packing.collapsed(rows, simdb.Simhash().vector_bytes, parts)
    made.write.format("noop").mode("overwrite").save()


def pairs(work: Work, kind: str, **asked: Any) -> None:
    found = ss.pairs(work.sketches(kind), **asked, partitions=work.arguments.partitions)
    found.select("left", "right").write.parquet(work.found)


def clusters(work: Work) -> None:
    found = ss.clusters(work.sketches("sketch"), **SIMILAR, partitions=work.arguments.partitions)
    found.write.format("noop").mode("overwrite").save()


def random(work: Work) -> None:
    """Search random fingerprints, one in ten of which is within a distance of 3 of another one."""
    folder = work.root / f"random-{work.count}"
    if not folder.exists():
        chance, near = np.random.default_rng(1), work.count // 10
        bits = chance.integers(0, 1 << 64, work.count, np.uint64)
        bits[:near] = bits[chance.integers(0, work.count, near)]
        for _ in range(3):
            bits[:near] ^= np.uint64(1) << chance.integers(0, 64, near, np.uint64)
        columns = {
            "id": np.arange(work.count), "fp": bits.view(np.int64),
            "vector": pa.nulls(work.count, pa.binary()), "is_empty": np.zeros(work.count, np.bool_),
        }  # fmt: skip
        write(pa.table(columns), folder)
    read, note = work.session.read.parquet(str(folder)), json.dumps(["Simhash", {}])
    sketches = read.withMetadata("vector", {sketching.METADATA: note})
    found = ss.pairs(sketches, distance=3, partitions=work.arguments.partitions)
    found.select("left", "right").write.parquet(work.found)


def simdb_dedup(work: Work) -> None:
    is_minhash, is_exact = "minhash" in work.run, "exact" in work.run
    kept = ss.drop_duplicates(
        work.documents(),
        sketch=simdb.Minhash(stored_bits=8) if is_minhash else simdb.Simhash(),
        similarity=JACCARD if is_minhash or is_exact else COSINE,
        verify="exact" if is_exact else "estimate",
        policy="star" if "star" in work.run else "connected",
        partitions=work.arguments.partitions,
    )
    kept.write.parquet(work.kept)
    kept.removed.selectExpr("id", "kept AS representative").write.parquet(work.found)
    kept.removed.unpersist()


def ml(work: Work) -> None:
    from pyspark.ml import Pipeline  # noqa: PLC0415
    from pyspark.ml.feature import (  # noqa: PLC0415
        HashingTF,
        MinHashLSH,
        NGram,
        RegexTokenizer,
    )

    features = Pipeline(
        stages=[
            RegexTokenizer(inputCol="text", outputCol="words", pattern=r"\W+"),
            NGram(n=SHINGLE, inputCol="words", outputCol="shingles"),
            HashingTF(
                inputCol="shingles", outputCol="features", numFeatures=ML_FEATURES, binary=True
            ),
        ]
    )
    documents = work.documents()
    made = features.fit(documents).transform(documents).where(f.size("shingles") > 0)
    made = made.select("id", "features").persist()
    model = MinHashLSH(
        inputCol="features", outputCol="hashes", numHashTables=ML_TABLES, seed=1
    ).fit(made)
    joined = model.approxSimilarityJoin(made, made, 1 - JACCARD, "distance")
    left, right = f.col("datasetA.id").alias("left"), f.col("datasetB.id").alias("right")
    joined.select(left, right).where("left < right").write.parquet(work.found)
    made.unpersist()


def text_dedup(work: Work) -> None:
    spec = importlib.util.find_spec("text_dedup")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("text-dedup is missing: pip install --no-deps text-dedup==0.4.0")
    script = Path(spec.submodule_search_locations[0]) / "minhash_spark.py"
    if work.arguments.few_partitions:
        script = _with_few_partitions(script, work)
    if work.arguments.driver_components:
        module = types.ModuleType("graphframes")
        module.GraphFrame = DriverGraph  # type: ignore[attr-defined]
        sys.modules["graphframes"] = module
    given = sys.argv
    sys.argv = [
        str(script), "--input", work.texts, "--output", work.kept, "--column", "text",
        "--index", "id", "--threshold", str(JACCARD), "--ngram_size", str(SHINGLE),
        "--checkpoint_dir", str(work.folder / "checkpoints"), "--debug",
    ]  # fmt: skip
    runpy.run_path(str(script), run_name="__main__")
    sys.argv = given
    assigned = work.session.read.parquet(f"{work.kept}-assignment/assignment.parquet")
    pairs = assigned.select("id", f.col("component").alias("representative"))
    pairs.where("id != representative").write.parquet(work.found)
    work.session.catalog.clearCache()


class DriverGraph:
    """In place of GraphFrame: the components of a graph, joined in the process of the driver."""

    def __init__(self, vertices: Any, edges: Any) -> None:
        """Take vertices (id) and edges (src, dst)."""
        self._vertices, self._edges = vertices, edges

    def connectedComponents(self) -> Any:  # noqa: N802
        """Return id and component, the least id that it is connected with."""
        roots: dict[int, int] = {row[0]: row[0] for row in self._vertices.collect()}

        def root_of(name: int) -> int:
            while roots[name] != name:
                roots[name] = name = roots[roots[name]]
            return name

        for source, target in self._edges.collect():
            both = sorted((root_of(source), root_of(target)))
            roots[both[1]] = both[0]
        rows = [(name, root_of(name)) for name in roots]
        return self._vertices.sparkSession.createDataFrame(rows, "id long, component long")


def _with_few_partitions(script: Path, work: Work) -> Path:
    text = script.read_text()
    for written in WRITTEN_PARTITIONS:
        if written not in text:
            sys.exit(f"{script} has no {written}: --few-partitions is for text-dedup 0.4.0")
        number = "".join(filter(str.isdigit, written))
        text = text.replace(written, written.replace(number, str(work.arguments.partitions)))
    target = work.folder / "minhash_spark.py"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)
    return target


def distributed_curator(work: Work) -> None:
    from distributed_curator import partition_aware_deduplicate  # noqa: PLC0415

    documents = work.documents().select(f.col("id").cast("string").alias("doc_id"), "text")
    marked = partition_aware_deduplicate(
        spark=work.session,
        input_df=documents,
        text_column="text",
        similarity_threshold=JACCARD,
        num_partitions=work.arguments.partitions,
        is_input_doc_id_unique=True,
    )
    marked.where("not is_duplicate").select("doc_id", "text").write.parquet(work.kept)
    removed = marked.where("is_duplicate").select(
        f.col("doc_id").cast("long").alias("id"),
        f.col("representative_id").cast("long").alias("representative"),
    )
    removed.write.parquet(work.found)
    work.session.catalog.clearCache()


OURS: dict[str, Callable[[Work], None]] = {
    **SKETCHES, "collapse": collapse, "distance": partial(pairs, kind="sketch", distance=3),
    "similarity": partial(pairs, kind="sketch", **SIMILAR),
    "bands": partial(pairs, kind="sign", similarity=JACCARD), "clusters": clusters,
}  # fmt: skip
RUNS: dict[str, Callable[[Work], None]] = {
    **OURS, "random": random,
    **{f"simdb-{kind}{how}{policy}": simdb_dedup
       for kind in ("minhash", "similarity") for how in ("", "-exact") for policy in ("", "-star")},
    "ml": ml, "text-dedup": text_dedup, "distributed-curator": distributed_curator,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("texts", type=Path, help="a file of texts.py, or drawn")
    parser.add_argument("folder", type=Path, help="where results and files of Spark go")
    parser.add_argument("--runs", nargs="+", choices=RUNS, default=list(OURS), metavar="RUN")
    parser.add_argument("-n", type=_number, nargs="+", default=[200_000], help="numbers of texts")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--warm", type=_number, default=20_000, help="texts that run before")
    parser.add_argument("--partitions", type=int, default=6, help="of shuffles")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--memory", default="6g", help="of Java")
    parser.add_argument("--conf", nargs="*", default=[], help="settings of Spark, NAME=VALUE")
    parser.add_argument("--driver-components", action="store_true", help="of text-dedup, see above")
    parser.add_argument("--few-partitions", action="store_true", help="of text-dedup, see above")
    arguments = parser.parse_args()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    root = arguments.folder.resolve()
    events = root / f"events-{time.time_ns()}"
    events.mkdir(parents=True)
    session = _session(arguments, root, events)
    meter = Meter(session, events)
    for count, run in itertools.product([arguments.warm, *arguments.n], arguments.runs):
        _write_texts(arguments.texts, count, root / f"texts-{count}")
        costs = []
        for turn in range(1 if count == arguments.warm else arguments.repeats):
            folder = root / run / f"{count}-{turn}-{time.time_ns()}"
            work = Work(session, run, count, root, folder, arguments)
            cost = meter.cost(partial(RUNS[run], work))
            session.catalog.clearCache()
            facts = {"run": run, "documents": count, "found": work.found, **asdict(cost)}
            costs.append((cost.java_seconds + cost.python_seconds, facts))
            if count != arguments.warm:
                with (root / "costs.jsonl").open("a") as file:
                    file.write(json.dumps(facts) + "\n")
        costs.sort(key=lambda each: each[0])
        seconds, facts = costs[len(costs) // 2]
        others = ", ".join(f"{each:.1f}" for each, _ in costs)
        print(
            f"{count / seconds:,.0f} documents/core-second of {others} core-s:", json.dumps(facts)
        )
    session.stop()


@dataclass(frozen=True)
class Cost:
    """What one job took: seconds of processors and of the clock, bytes, and stages.

    `python_bytes`: the memory of the largest Python process at its peak.
    """

    java_seconds: float
    python_seconds: float
    seconds: float
    python_bytes: int
    shuffle_bytes: int
    stages: int


class Meter:
    """Measures the jobs of one session, which was made with `SETTINGS` and writes to `log`.

    The daemon of PySpark does not count workers that have ended, so a thread looks at all processes
    again and again; of a worker that ends, at most what it did since the last look is missing.
    """

    def __init__(self, session: Any, log: Path) -> None:
        """Find the Java process of the session and its event log."""
        self._root = session.sparkContext._gateway.proc.pid
        self._log, self._read = log, 0
        # Of a process, by its number and start: whether it is Java, and its processor time.
        self._seen: dict[tuple[int, str], tuple[bool, float]] = {}
        self._peak_bytes = 0
        self._lock = threading.Lock()
        threading.Thread(target=self._look_again, daemon=True).start()

    def cost(self, job: Callable[[], object]) -> Cost:
        """Run a job, the only one meanwhile; return what it took."""
        (java, python), started = self._spent(), time.perf_counter()
        self._peak_bytes = 0
        job()
        seconds, (java_after, python_after) = time.perf_counter() - started, self._spent()
        peak = self._peak_bytes
        time.sleep(SETTLED_SECONDS)
        sent, stages = 0, set()
        for event in self._events():
            if event["Event"] == "SparkListenerTaskEnd":
                stages.add(event["Stage ID"])
                metrics = event.get("Task Metrics") or {}
                if event["Task End Reason"]["Reason"] == "Success":
                    written = metrics.get("Shuffle Write Metrics", {})
                    sent += written.get("Shuffle Bytes Written", 0)
        return Cost(java_after - java, python_after - python, seconds, peak, sent, len(stages))

    def _events(self) -> Iterator[dict[str, Any]]:
        files = [path for path in self._log.iterdir() if not path.name.startswith(".")]
        with max(files, key=lambda path: path.stat().st_mtime).open("rb") as file:
            file.seek(self._read)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self._read += len(line)
                yield json.loads(line)

    def _spent(self) -> tuple[float, float]:
        """Return the processor time of Java and of Python, until now."""
        with self._lock:
            for process, is_java, spent, resident in _processes(self._root):
                self._seen[process] = is_java, spent
                if not is_java:
                    self._peak_bytes = max(self._peak_bytes, resident)
            both = [
                sum(seconds for is_java, seconds in self._seen.values() if is_java == wanted)
                for wanted in (True, False)
            ]
            return both[0], both[1]

    def _look_again(self) -> None:
        while True:
            self._spent()
            time.sleep(LOOK_SECONDS)


def _processes(root: int) -> Iterator[tuple[tuple[int, str], bool, float, int]]:
    """Yield a process and those below it: number and start, whether it is Java, time, memory."""
    children: dict[int, list[int]] = {}
    stats: dict[int, tuple[str, list[str]]] = {}
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


def _session(arguments: argparse.Namespace, root: Path, events: Path) -> Any:
    places = {
        "spark.eventLog.dir": f"file://{events}",
        "spark.local.dir": f"{root}/local",
        "spark.sql.warehouse.dir": f"{root}/warehouse",
        "spark.driver.memory": arguments.memory,
        "spark.sql.shuffle.partitions": str(arguments.partitions),
    }
    if "text-dedup" in arguments.runs:
        places["spark.default.parallelism"] = str(arguments.partitions)
    if "distributed-curator" in arguments.runs:
        from distributed_curator import get_jar_path  # noqa: PLC0415

        places["spark.jars"] = get_jar_path()
    chosen = dict(each.split("=", 1) for each in arguments.conf)
    builder = SparkSession.builder.master(f"local[{arguments.cores}]").appName("simdb bench")
    for key, value in {**SETTINGS, **places, **chosen}.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def _write_texts(source: Path, count: int, folder: Path) -> None:
    if not folder.exists() and str(source) == "drawn":
        _write_drawn(count, folder)
    elif not folder.exists():
        with source.open("rb") as file:
            lines = (json.loads(line) for line in itertools.islice(file, count))
            records = [(int(line["id"]), line["text"]) for line in lines]
        ids, texts = zip(*records, strict=True)
        write(pa.table({"id": list(ids), "text": list(texts)}), folder)


def _write_drawn(count: int, folder: Path) -> None:
    folder.mkdir(parents=True)
    drawn = Drawn(1)
    for start in range(0, count, FILE_TEXTS):
        texts = drawn.texts(start, min(FILE_TEXTS, count - start))
        table = pa.table({"id": np.arange(start, start + len(texts)), "text": texts})
        pyarrow.parquet.write_table(table, folder / f"{start}.parquet", compression="zstd")


def write(table: Any, folder: Path) -> None:
    """Write a table as several files."""
    share = -(-len(table) // FILES)
    written = folder.with_name(f"{folder.name}-{os.getpid()}")
    written.mkdir(parents=True)
    for at in range(FILES):
        part = table.slice(at * share, share)
        pyarrow.parquet.write_table(part, written / f"{at}.parquet", compression="zstd")
    written.rename(folder)


def _number(text: str) -> int:
    return int(float(text[:-1]) * MULTIPLES[text[-1]]) if text[-1:] in MULTIPLES else int(text)


if __name__ == "__main__":
    main()
