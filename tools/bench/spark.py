"""What does a job of simdb.spark cost in bytes and processor time, and does it find all pairs?

Needs PySpark and Java.  `TEXTS` is a file of `texts.py`; its first texts run once before, so that
Java is warm.  Then each job runs `--repeats` times, and the run with the median of processor time
counts.  The sketches are written to Parquet, and the other jobs read them there.

`--equal` compares the pairs of so many texts with those of one database.  Within a distance and by
MinHash they must be equal.  By similarity they are compared with all pairs, of which the database
finds at least the share .9999.
"""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet
from pyspark.sql import SparkSession

import simdb
from record import Record, number, options, short
from simdb import spark as ss
from simdb.spark import finding, packing, sketching
from spark_costs import SETTINGS, Cost, Meter

I64 = npt.NDArray[np.int64]

WARM = 20_000
FILES = 4
JOBS = ("sketch", "sign", "collapse", "distance", "similarity", "bands", "clusters")
MINHASH = simdb.Minhash(stored_bits=8)
SIMHASH = simdb.Simhash()


class Collection:
    """Documents in Parquet files, and the jobs that read them."""

    def __init__(self, session: Any, folder: Path, count: int, partitions: int | None) -> None:
        """Name the files of `count` documents; `partitions`: of the shuffles."""
        self.session = session
        self.count = count
        self.texts = str(folder / f"texts-{count}")
        self.fingerprints = str(folder / f"fingerprints-{count}")
        self.signatures = str(folder / f"signatures-{count}")
        self.partitions = partitions

    def write_texts(self, source: Path) -> None:
        with source.open("rb") as file:
            lines = (json.loads(next(file)) for _ in range(self.count))
            records = [(int(line["id"]), line["text"]) for line in lines]
        table = pa.table({"id": [id for id, _ in records], "text": [text for _, text in records]})
        _write(table, self.texts)

    def write_random(self, seed: int) -> None:
        """Write fingerprints of which one in ten is within a distance of 3 of another one."""
        generator = np.random.default_rng(seed)
        bits = generator.integers(0, 1 << 64, self.count, np.uint64)
        near = generator.integers(0, self.count, self.count // 10)
        for _ in range(3):
            bits[near] ^= np.uint64(1) << generator.integers(0, 64, len(near), np.uint64)
        bits[: len(near)] = bits[near]
        values = bits.view(np.int64)
        vectors = pa.nulls(self.count, pa.binary())
        empty = np.zeros(self.count, np.bool_)
        ids = np.arange(self.count)
        table = pa.table({"id": ids, "fp": values, "vector": vectors, "is_empty": empty})
        _write(table, self.fingerprints)

    def sketch(self) -> None:
        made = ss.fingerprints(self.session.read.parquet(self.texts), SIMHASH)
        made.write.mode("overwrite").parquet(self.fingerprints)

    def sign(self) -> None:
        made = ss.signatures(self.session.read.parquet(self.texts), MINHASH)
        made.write.mode("overwrite").parquet(self.signatures)

    def collapse(self) -> None:
        sketches = self._fingerprints()
        rows = sketching.with_key(sketches, "id", False, 0).select("key", "vector")
        parts = finding.partitions_of(sketches, self.partitions)
        _run(packing.collapsed(rows, SIMHASH.vector_bytes, parts))

    def distance(self) -> None:
        _run(ss.pairs(self._fingerprints(), distance=3, partitions=self.partitions))

    def similarity(self) -> None:
        sketches = self._fingerprints()
        _run(ss.pairs(sketches, similarity=0.9, recall=0.98, partitions=self.partitions))

    def bands(self) -> None:
        sketches = self.session.read.parquet(self.signatures)
        _run(ss.pairs(sketches, similarity=0.8, partitions=self.partitions))

    def clusters(self) -> None:
        sketches = self._fingerprints()
        _run(ss.clusters(sketches, similarity=0.9, recall=0.98, partitions=self.partitions))

    def _fingerprints(self) -> Any:
        sketches = self.session.read.parquet(self.fingerprints)
        if sketching.METADATA in sketches.schema["vector"].metadata:
            return sketches
        note = json.dumps(["Simhash", {}])
        return sketches.withMetadata("vector", {sketching.METADATA: note})


def _write(table: Any, folder: str) -> None:
    Path(folder).mkdir(parents=True, exist_ok=True)
    share = -(-len(table) // FILES)
    for at in range(FILES):
        target = f"{folder}/{at}.parquet"
        pyarrow.parquet.write_table(table.slice(at * share, share), target, compression="zstd")


def _run(frame: Any) -> None:
    frame.write.format("noop").mode("overwrite").save()


def _costs(meter: Meter, documents: Collection, job: str, repeats: int) -> list[Cost]:
    """Run a job `repeats` times, at least once; no run uses what another one cached."""
    found = []
    for _ in range(max(repeats, 1)):
        found.append(meter.cost(getattr(documents, job))[1])
        documents.session.catalog.clearCache()
    return found


def _add(record: Record, job: str, count: int, costs: list[Cost]) -> None:
    """Add the run with the median of processor time; the others are named."""
    cost, others = _middle(costs)
    what = f"{job}, {short(count)} documents"
    note = (
        f"{cost.shuffle_bytes / count:.1f} B/document sent, Java {cost.java_seconds:.1f} s,"
        f" Python {cost.python_seconds:.1f} s ({cost.python_share:.0%}), {cost.stages} stages,"
        f" {cost.seconds:.0f} s; other runs {others}"
    )
    record.add(what, count / cost.core_seconds, "/core-s", note=note, facts=vars(cost))


def _middle(costs: list[Cost]) -> tuple[Cost, str]:
    ordered = sorted(costs, key=lambda cost: cost.core_seconds)
    middle = ordered.pop(len(ordered) // 2)
    return middle, ", ".join(f"{cost.core_seconds:.1f} core-s" for cost in ordered) or "none"


def _add_equal(record: Record, documents: Collection, source: Path, folder: Path) -> None:
    """Compare the pairs that jobs find with those of one database."""
    documents.write_texts(source)
    count = documents.count
    given = documents.session.read.parquet(documents.texts)
    texts = given.orderBy("id").toArrow().column("text").to_pylist()
    sketches, signatures = ss.fingerprints(given).persist(), ss.signatures(given, MINHASH)
    similar = {"similarity": 0.9, "recall": 0.98}
    jobs: dict[str, tuple[Any, dict[str, Any], Any, dict[str, Any]]] = {
        "distance 3": (sketches, {"distance": 3}, SIMHASH, {"distance": 3}),
        "MinHash .8": (signatures, {"similarity": 0.8}, MINHASH, {"similarity": 0.8}),
        "similarity .9, recall .98": (sketches, similar, SIMHASH, similar | {"recall": 0.9999}),
    }
    for job, (frame, asked, sketch, single) in jobs.items():
        found = ss.pairs(frame, **asked).select("left", "right").toArrow()
        keys = [_keys(*(found.column(name).to_numpy() for name in ("left", "right")), count)]
        with simdb.open(None, options=simdb.Options(sketch=sketch)) as database:
            database.insert_many(range(count), texts)
            every = database.find_all(**single)
            keys.append(_keys(np.asarray(every.left), np.asarray(every.right), count))
        both = len(np.intersect1d(*keys, assume_unique=True))
        note = f"Spark {len(keys[0])} pairs, database {len(keys[1])}, both {both}"
        share = both / max(len(keys[1]), 1)
        record.add(f"{job}, {count} texts", share, "of the database's", note=note)


def _keys(left: I64, right: I64, count: int) -> I64:
    return np.unique(np.minimum(left, right).astype(np.int64) * count + np.maximum(left, right))


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("texts", type=Path, help="a file of texts.py")
    parser.add_argument("-n", type=number, nargs="*", default=[200_000], help="numbers of texts")
    parser.add_argument("--random", type=number, nargs="*", default=[], help="of fingerprints")
    parser.add_argument("--equal", type=number, nargs="*", default=[], help="numbers of texts")
    parser.add_argument("--jobs", nargs="+", choices=JOBS, default=list(JOBS))
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--partitions", type=int, help="of shuffles; default: 3 for each core")
    parser.add_argument("--events", type=Path, help="folder that keeps the event log of Spark")
    parser.add_argument("--conf", nargs="*", default=[], help="settings of Spark, NAME=VALUE")
    parser.set_defaults(core=-1, repeats=3)
    arguments = parser.parse_args()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    record = Record(__doc__, arguments)
    with tempfile.TemporaryDirectory(dir=arguments.directory) as name:
        folder = Path(name).resolve()
        events = (arguments.events or folder / "events").resolve()
        events.mkdir(parents=True, exist_ok=True)
        session = session_of(arguments, folder, events)
        meter = Meter(session, events)
        for count in [WARM, *arguments.n]:
            documents = Collection(session, folder, count, arguments.partitions)
            documents.write_texts(arguments.texts)
            for job in arguments.jobs:
                costs = _costs(meter, documents, job, arguments.repeats * (count != WARM))
                if count != WARM:
                    _add(record, job, count, costs)
        for count in arguments.random:
            documents = Collection(session, folder, count, arguments.partitions)
            documents.write_random(arguments.seed)
            costs = _costs(meter, documents, "distance", arguments.repeats)
            _add(record, "distance of random fingerprints", count, costs)
        for count in arguments.equal:
            documents = Collection(session, folder, count, arguments.partitions)
            _add_equal(record, documents, arguments.texts, folder)
        session.stop()
    record.finish()


def session_of(arguments: argparse.Namespace, folder: Path, events: Path) -> Any:
    places: dict[str, str] = {
        "spark.eventLog.dir": f"file://{events}",
        "spark.local.dir": f"{folder}/local",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
    }
    chosen = dict(each.split("=", 1) for each in arguments.conf)
    builder = SparkSession.builder.master(arguments.master).appName("simdb bench")
    for key, value in {**SETTINGS, **places, **chosen}.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


if __name__ == "__main__":
    main()
