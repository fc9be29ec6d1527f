"""How much faster is each verb with several threads, by the clock, than with one?

The database holds texts (`texts.py`), as inserted, and is searched by the default criterion.  The
turns of all numbers of threads alternate; the ratio is the median of the ratios of each turn, so
that what other programs do affects both sides.  Each task runs once unmeasured before.  The machine
must be quiet otherwise: a second thread needs a second processor.  `processor` in the notes is the
processor time of all threads beside the processor time of one: what is lost to cutting, waiting and
shared caches.
"""

import argparse
import gc
import shutil
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import simdb
from passages import read_pools
from record import Record, Timing, measure, missing, number, options, short
from texts import Texts
from workload import scratch

try:
    import pyarrow
except ImportError:
    pyarrow = None

Verb = Callable[[int], object]


@dataclass(frozen=True)
class Task:
    """`verb(threads)` does something for `count` documents."""

    count: int
    verb: Verb
    before: Callable[[], object] = lambda: None


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("-n", type=number, default=200_000, help="stored texts")
    parser.add_argument("--queries", type=number, default=50_000)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="the first: beside")
    parser.add_argument("--corpora", type=Path, help="folder of corpora, NAME.jsonl.gz")
    parser.add_argument("--durability", choices=("full", "process", "none"), default="process")
    parser.set_defaults(core=-1)
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    texts = Texts(read_pools(arguments.corpora), arguments.seed)
    stored, queries = (
        [text for batch in texts.batches(*bounds) for text in batch]
        for bounds in ((0, arguments.n), (arguments.n, arguments.n + arguments.queries))
    )
    with scratch(arguments.directory) as folder:
        tasks = inserting(stored, folder / "new", arguments.durability)
        with simdb.open(folder / "stored", "x", durability=arguments.durability) as database:
            database.insert_many(range(len(stored)), stored)
            tasks |= searching(database, queries) | sketching(database, stored)
            tell(record, tasks, arguments)
    record.finish()


def inserting(stored: list[str], path: Path, durability: str) -> dict[str, Task]:
    """Make the tasks that store all texts in a new database."""
    names = np.arange(len(stored))

    def insert(documents: object, threads: int) -> None:
        with simdb.open(path, "x", durability=durability) as database:
            database.insert_many(names, documents, threads=threads)

    remove = partial(shutil.rmtree, path, ignore_errors=True)
    return {
        f"insert_many, {kind}": Task(len(stored), partial(insert, documents), remove)
        for kind, documents in kinds(stored).items()
    }


def kinds(texts: list[str]) -> dict[str, Any]:
    """Return the texts as a list and, if pyarrow is installed, as a column."""
    if pyarrow is None:
        missing("pyarrow")
        return {"list of str": texts}
    return {"list of str": texts, "Arrow column": pyarrow.array(texts, pyarrow.large_string())}


def searching(database: simdb.Database, queries: list[str]) -> dict[str, Task]:
    ready, count = database.sketcher.fingerprints(queries), len(database)
    return {
        "query_many, texts": Task(
            len(queries), lambda threads: database.query_many(queries, threads=threads)
        ),
        "query_many, ready fingerprints": Task(
            len(queries), lambda threads: database.query_many(ready, threads=threads)
        ),
        "find_all": Task(
            count, lambda threads: sum(map(len, database.find_all(threads=threads).chunks()))
        ),
        "find_clusters": Task(count, lambda threads: len(database.find_clusters(threads=threads))),
    }


def sketching(database: simdb.Database, stored: list[str]) -> dict[str, Task]:
    bits = database.sketcher.fingerprints(stored).bits
    signer = simdb.Minhash()
    tasks: dict[str, Verb] = {
        f"fingerprints, {kind}": lambda threads, given=documents: simdb.fingerprints(
            given, threads=threads
        )
        for kind, documents in kinds(stored).items()
    }
    tasks["signatures, list of str"] = lambda threads: simdb.signatures(
        stored, signer, threads=threads
    )
    tasks["find_all of an array, distance 3"] = lambda threads: len(
        simdb.find_all(bits, 6, 3, threads=threads).left
    )
    return {name: Task(len(stored), verb) for name, verb in tasks.items()}


def tell(record: Record, tasks: Mapping[str, Task], arguments: argparse.Namespace) -> None:
    """Run each task in turns with each number of threads, and add rates and ratios."""
    for name, task in tasks.items():
        try:
            task.before()
            task.verb(1)
        except simdb.InputError as error:
            print(f"{name} is left out: {error}")
            continue
        timings = {threads: Timing() for threads in arguments.threads}
        for _ in range(arguments.repeats):
            for threads, timing in timings.items():
                task.before()
                gc.collect()
                measure(partial(task.verb, threads), timing)
        task.before()
        label = f"{short(task.count)}: {name}"
        beside = timings[arguments.threads[0]]
        for threads, timing in timings.items():
            record.add_rate(f"{label}: threads={threads}", task.count, "docs/s", timing)
            if timing is not beside:
                ratio = ratio_of(beside.wall, timing.wall)
                spent = 1 / ratio_of(beside.processor, timing.processor)
                what = f"{label}: {threads} threads beside {arguments.threads[0]}"
                record.add(what, ratio, "times", note=f"processor {spent:.2f} times")


def ratio_of(left: list[float], right: list[float]) -> float:
    return statistics.median(one / two for one, two in zip(left, right, strict=True))


if __name__ == "__main__":
    main()
