"""How fast does a database of signatures take, find and reopen, beside rensa and datasketch?

Documents are sets of random features.  Every query is a document with some features replaced, so
its Jaccard similarity to that document is known, 0.8 or more.  The peers keep everything in memory
and return candidates without measuring them.  Signatures have 128 minima and are ready.

`recall of planted documents` is the share of queries whose document is found.  The database is
queried with similarity 0.7 for it, since an estimate can be below the true similarity.  `recall of
matches` is the share of the matches of an exhaustive search that the default search finds.
"""

import argparse
import gc
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import simdb
from record import Record, Timing, in_turns, latencies, measure, missing, number, options

try:
    import rensa
except ImportError:
    rensa = None
try:
    import datasketch
except ImportError:
    datasketch = None

PERMUTATIONS = 128
FEATURES = 100
EXCHANGED_MAX = 11  # of 100: the Jaccard similarity is at least 89 / 111
SINGLE = 2000
COMPARED = 200  # queries whose answers are compared with an exhaustive search
LOWER = 0.7
PEER_BANDS = 16
PAGE = os.sysconf("SC_PAGE_SIZE")

U64 = npt.NDArray[np.uint64]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument(
        "-n", type=number, default=100_000, help="number of documents and of queries"
    )
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    stored, queries = workload(arguments.n, arguments.seed)
    for bits, shape in ((32, {}), (8, {}), (32, {"bands": PEER_BANDS, "rows": 8})):
        sketch = simdb.Minhash(permutations=PERMUTATIONS, stored_bits=bits)
        label = f"simdb, {bits} bits" + (f", {PEER_BANDS} bands" if shape else "")
        settings = simdb.Options(sketch=sketch, **shape)
        with directory(arguments.directory) as path:
            run_simdb(record, label, arguments, path / "db", settings, stored, queries)
    if rensa is None:
        missing("rensa")
    else:
        run_rensa(record, arguments, stored, queries)
    if datasketch is None:
        missing("datasketch")
    else:
        run_datasketch(record, arguments, stored, queries)
    record.finish()


def workload(count: int, seed: int) -> tuple[U64, U64]:
    """Draw features of documents, uint64[count, 100], and of queries that share most of them."""
    chance = np.random.default_rng(seed)
    stored = chance.integers(0, 2**63, (count, FEATURES), np.uint64)
    queries = stored.copy()
    exchanged = np.arange(FEATURES) < chance.integers(0, EXCHANGED_MAX + 1, count)[:, None]
    queries[exchanged] = chance.integers(0, 2**63, int(exchanged.sum()), np.uint64)
    return stored, queries


def signatures_of(features: U64, sketch: simdb.Minhash) -> simdb.Signatures:
    return simdb.signatures([simdb.Features(row) for row in features], sketch)


def run_simdb(
    record: Record,
    label: str,
    arguments: argparse.Namespace,
    path: Path,
    settings: simdb.Options,
    stored: U64,
    queries: U64,
) -> None:
    count = len(stored)
    documents, asked = (signatures_of(each, settings.sketch) for each in (stored, queries))
    timing = Timing()
    with simdb.open(path, options=settings) as database:
        measure(lambda: database.insert_many(range(count), documents), timing)
        record.add_rate(f"{label}: insert, one synced commit", count, "documents/s", timing)
        shape = f"{database.options.bands} bands of {database.options.rows}"
        size = database.stats().live_bytes / count
        record.add(f"{label}: live bytes", size, "bytes/document", note=shape)
        tasks: dict[str, Callable[[], object]] = {
            "batch of queries": lambda: database.query_many(asked),
            "batch, any match of each": lambda: database.query_many(asked, match="first"),
            "all pairs": lambda: sum(len(chunk) for chunk in database.find_all().chunks()),
        }
        for name, each in in_turns(tasks, arguments.repeats).items():
            unit = "documents/s" if name == "all pairs" else "queries/s"
            record.add_rate(f"{label}: {name}", count, unit, each)
        few = [asked[at] for at in range(min(SINGLE, count))]
        latencies(record, f"{label}: one query", database.query, few, arguments.repeats)
        recall(record, label, database, asked)
    timing = Timing()
    for _ in range(arguments.repeats):
        measure(lambda: reopened(path, few[0]), timing)
    record.add(f"{label}: reopening and a first query", timing.median * 1e3, "ms", timing)


def reopened(path: Path, query: simdb.Signature) -> None:
    with simdb.open(path, "r") as database:
        database.query(query)


def recall(record: Record, label: str, database: simdb.Database, asked: simdb.Signatures) -> None:
    """Measure the recall of planted documents, and of the matches of an exhaustive search."""
    count = len(asked)
    found = database.query_many(asked, similarity=LOWER, search="banding")
    owners = np.repeat(np.arange(count), np.diff(found.offsets))
    record.add(f"{label}: recall of planted documents", (owners == found.ordinals).mean()
               * len(owners) / count, "")  # fmt: skip
    places = slice(0, count, max(count // COMPARED, 1))
    few = simdb.Signatures(asked.minima[places], asked.sketch, asked.is_empty[places])
    exact = len(database.query_many(few, search="exhaustive").ordinals)
    banded = len(database.query_many(few, search="banding").ordinals)
    record.add(f"{label}: recall of matches", banded / max(exact, 1), "", note=f"{exact} matches")


def run_rensa(record: Record, arguments: argparse.Namespace, stored: U64, queries: U64) -> None:
    count = len(stored)
    documents, asked = (
        rensa.RMinHash.from_token_sets(
            [[f"{each:x}" for each in row] for row in features.tolist()], PERMUTATIONS, 1
        )
        for features in (stored, queries)
    )
    gc.collect()
    before, timing = resident_bytes(), Timing()
    index = rensa.RMinHashLSH(threshold=0.8, num_perm=PERMUTATIONS, num_bands=PEER_BANDS)
    measure(lambda: index.insert_many(documents), timing)
    record.add_rate("rensa: insert", count, "documents/s", timing)
    size = (resident_bytes() - before) / count
    record.add("rensa: memory", size, "bytes/document", note=f"{PEER_BANDS} bands, no signatures")
    tasks: dict[str, Callable[[], object]] = {
        "batch of queries": lambda: index.query_all(asked),
        "queries in a loop": lambda: [index.query(each) for each in asked],
        "batch, flags only": lambda: index.query_duplicate_flags(asked),
    }
    for name, each in in_turns(tasks, arguments.repeats).items():
        record.add_rate(f"rensa: {name}", count, "queries/s", each)
    latencies(record, "rensa: one query", index.query, asked[:SINGLE], arguments.repeats)
    hits = sum(at in found for at, found in enumerate(index.query_all(asked)))
    record.add("rensa: recall of planted documents", hits / count, "")


def run_datasketch(
    record: Record, arguments: argparse.Namespace, stored: U64, queries: U64
) -> None:
    count = min(len(stored), 20_000)  # all documents would take a minute
    documents, asked = (
        datasketch.MinHash.bulk(
            [[each.tobytes() for each in row] for row in features[:count]], num_perm=PERMUTATIONS
        )
        for features in (stored, queries)
    )
    gc.collect()
    before, timing = resident_bytes(), Timing()
    index = datasketch.MinHashLSH(threshold=0.8, num_perm=PERMUTATIONS)
    measure(lambda: insert_each(index, documents), timing)
    record.add_rate("datasketch: insert", count, "documents/s", timing, f"{count} documents")
    size = (resident_bytes() - before) / count
    record.add("datasketch: memory", size, "bytes/document", note=f"{index.b} bands of {index.r}")
    tasks = {"datasketch: queries in a loop": lambda: [index.query(each) for each in asked]}
    for name, each in in_turns(tasks, arguments.repeats).items():
        record.add_rate(name, count, "queries/s", each)
    hits = sum(at in index.query(each) for at, each in enumerate(asked))
    record.add("datasketch: recall of planted documents", hits / count, "")


def insert_each(index: Any, documents: list[Any]) -> None:
    for at, each in enumerate(documents):
        index.insert(at, each, check_duplication=False)


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


@contextmanager
def directory(parent: str | None) -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="simdb-bench-", dir=parent))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


if __name__ == "__main__":
    main()
