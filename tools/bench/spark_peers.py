"""Runs one deduplication of Spark on texts: ours, or another package, each with the same measures.

    python spark_peers.py RUN TEXTS FOLDER -n 1M

`TEXTS` is a file of `texts.py`.  Run it with the Python of an environment that has the package and
its PySpark; only the runs of simdb and `spark_judge.py` import simdb.  What was found is written to
FOLDER as Parquet, and what it took as JSON; `spark_judge.py` compares it with the truth.  The
first texts run once before, so that Java is warm.

RUN is one of
    simdb-minhash, simdb-similarity     drop_duplicates of simdb.spark; with -exact: verify="exact";
                                        with -star: policy="star"
    simdb-pairs, simdb-pairs-exact      pairs by MinHash
    ml                                  MinHashLSH of pyspark.ml, approxSimilarityJoin
    text-dedup                          minhash_spark.py of text-dedup 0.4.0 (PySpark 3.5)
    distributed-curator                 partition_aware_deduplicate (PySpark 3.5, pandas below 3)

All look for Jaccard .8; shingles are three words, and nine characters in distributed-curator, which
has no others.  text-dedup joins components by GraphFrames, a package of Java that PyPI does not
have; `--driver-components` joins them in this process, which is faster.  `--few-partitions` runs a
copy of its script with as many partitions as the other runs have, not 8,192 and 4,096.
"""

import argparse
import importlib.util
import itertools
import json
import os
import runpy
import sys
import time
import types
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from spark_costs import SETTINGS, Meter

JACCARD = 0.8
# What simdb estimates of two fingerprints is a cosine: 2 j / (1 + j) of sets of one size.
COSINE = 0.889
SHINGLE = 3
FILES = 4
MULTIPLES = {"k": 1000, "M": 1_000_000}
# The partitions that the script of text-dedup writes out.
WRITTEN_PARTITIONS = ('"8192"', "repartition(4096)")
ML_TABLES = 3
ML_FEATURES = 1 << 20
WARM = 20_000


class Work(NamedTuple):
    """One run: its documents, Parquet of id and text, and where its results go.

    `found` has left and right, or id and representative.
    """

    session: Any
    texts: str
    folder: Path
    arguments: argparse.Namespace

    @property
    def found(self) -> str:
        return str(self.folder / "found")

    @property
    def kept(self) -> str:
        return str(self.folder / "kept")

    def documents(self) -> Any:
        return self.session.read.parquet(self.texts)


def simdb_dedup(work: Work) -> None:
    import simdb  # noqa: PLC0415
    import simdb.spark as ss  # noqa: PLC0415

    name = work.arguments.run
    is_minhash = "minhash" in name
    kept = ss.drop_duplicates(
        work.documents(),
        sketch=simdb.Minhash(stored_bits=8) if is_minhash else simdb.Simhash(),
        similarity=JACCARD if is_minhash or "exact" in name else COSINE,
        verify="exact" if "exact" in name else "estimate",
        policy="star" if "star" in name else "connected",
        partitions=work.arguments.partitions,
    )
    kept.write.parquet(work.kept)
    kept.removed.selectExpr("id", "kept AS representative").write.parquet(work.found)
    kept.removed.unpersist()


def simdb_pairs(work: Work) -> None:
    import simdb  # noqa: PLC0415
    import simdb.spark as ss  # noqa: PLC0415

    documents = work.documents()
    sketches = ss.signatures(documents, simdb.Minhash(stored_bits=8)).persist()
    is_exact = "exact" in work.arguments.run
    pairs = ss.pairs(
        sketches,
        similarity=JACCARD,
        verify="exact" if is_exact else "estimate",
        texts=documents if is_exact else None,
        partitions=work.arguments.partitions,
    )
    pairs.select("left", "right").write.parquet(work.found)
    sketches.unpersist()


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


RUNS: dict[str, Callable[[Work], None]] = {
    **{f"simdb-{kind}{how}{policy}": simdb_dedup
       for kind in ("minhash", "similarity") for how in ("", "-exact") for policy in ("", "-star")},
    "simdb-pairs": simdb_pairs,
    "simdb-pairs-exact": simdb_pairs,
    "ml": ml,
    "text-dedup": text_dedup,
    "distributed-curator": distributed_curator,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", choices=RUNS)
    parser.add_argument("texts", type=Path, help="a file of texts.py")
    parser.add_argument("folder", type=Path, help="where results and files of Spark go")
    parser.add_argument("-n", type=_number, nargs="+", default=[200_000], help="numbers of texts")
    parser.add_argument("--partitions", type=int, default=6, help="of shuffles")
    parser.add_argument("--warm", type=_number, default=WARM, help="texts that run before")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--memory", default="6g", help="of Java")
    parser.add_argument("--conf", nargs="*", default=[], help="settings of Spark, NAME=VALUE")
    parser.add_argument("--driver-components", action="store_true", help="of text-dedup, see above")
    parser.add_argument("--few-partitions", action="store_true", help="of text-dedup, see above")
    arguments = parser.parse_args()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    root = arguments.folder.resolve() / arguments.run
    events = root / f"events-{time.time_ns()}"
    events.mkdir(parents=True)
    session = _session(arguments, root, events)
    meter = Meter(session, events)
    for count in [arguments.warm, *arguments.n]:
        texts = root.parent / f"texts-{count}"
        if not texts.exists():
            _write_texts(arguments.texts, count, texts)
        work = Work(session, str(texts), root / f"{count}-{time.time_ns()}", arguments)
        _, cost = meter.cost(lambda work=work: RUNS[arguments.run](work), is_alone=True)  # type: ignore[misc]
        facts = {"run": arguments.run, "documents": count, "found": work.found, **asdict(cost)}
        facts["settings"] = {"few": arguments.few_partitions, "parts": arguments.partitions}
        print(json.dumps(facts), flush=True)
        if count != arguments.warm:
            with (root.parent / "costs.jsonl").open("a") as file:
                file.write(json.dumps(facts) + "\n")
    session.stop()


def _session(arguments: argparse.Namespace, root: Path, events: Path) -> Any:
    places = {
        "spark.eventLog.dir": f"file://{events}",
        "spark.local.dir": f"{root}/local",
        "spark.sql.warehouse.dir": f"{root}/warehouse",
        "spark.driver.memory": arguments.memory,
        "spark.sql.shuffle.partitions": str(arguments.partitions),
    }
    if arguments.run == "text-dedup":
        places["spark.default.parallelism"] = str(arguments.partitions)
    if arguments.run == "distributed-curator":
        from distributed_curator import get_jar_path  # noqa: PLC0415

        places["spark.jars"] = get_jar_path()
    chosen = dict(each.split("=", 1) for each in arguments.conf)
    builder = SparkSession.builder.master(f"local[{arguments.cores}]").appName("peers")
    for key, value in {**SETTINGS, **places, **chosen}.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def _write_texts(source: Path, count: int, folder: Path) -> None:
    with source.open("rb") as file:
        lines = (json.loads(line) for line in itertools.islice(file, count))
        records = [(int(line["id"]), line["text"]) for line in lines]
    table = pa.table({"id": [id for id, _ in records], "text": [text for _, text in records]})
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
