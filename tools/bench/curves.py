"""How does the time of every method grow with the number of stored documents?

A database of fingerprints with weights grows to one size after another, in transactions of 100,000
documents and by the default options, and so does a database of MinHash signatures.  At each size
every method answers single queries and a batch and finds all pairs.  The weights are normal random
numbers, and every tenth document is near the one before it, with a cosine of .88 to 1; half of the
queries are as near to a stored document.  The minima of a signature are random, and near documents
share .8 to 1 of them.  Exact search is asked for distance 3, PSM for the same with a recall of .95,
and the other methods for the similarity and recall of the default options.

A method whose task took longer than `--patience` seconds at one size, or would at the next if it
grew in proportion, is left out from there on.  A database is closed before it would need more than
`--room` gigabytes.  `draw.py` draws the curves.
"""

import argparse
import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import simdb
from record import Record, Timing, measure, number, options, short
from workload import scratch

PART = 100_000  # documents of one transaction
QUERIES = 10_000
FEW = 100  # queries of a batch for a slow method
SINGLE = 1_000  # queries asked one by one
KEPT = 40_000  # documents that queries are made from
DIMENSIONS = 128
NEAR = 0.88  # the least cosine of near documents
SHARED = 0.8  # the least share of minima that near documents have in common
PERMUTATIONS = 128
BY_DISTANCE = {"distance": 3, "recall": 1.0}
SPREAD = 4  # bytes on disk while runs are merged, by bytes of one copy; rather too many
# What each method is asked; those after None need a calibration.
ASKED: dict[str, dict[str, dict[str, Any] | None]] = {
    "fingerprints": {
        "exhaustive": {"recall": 1.0},
        "bphs": BY_DISTANCE,
        "polytope": {},
        "rotation": {},
        "calibrate": None,
        "psm": {"distance": 3, "recall": 0.95},
        "multiprobe": {},
    },
    "signatures": {"exhaustive": {"recall": 1.0}, "banding": {}},
}

Numbers = npt.NDArray[Any]
Documents = simdb.Fingerprints | simdb.Signatures


@dataclass
class Curves:
    """The record, and the tasks that have become too slow."""

    record: Record
    patience: float
    left_out: set[tuple[str, str, str]]

    def tell(
        self, place: tuple[str, str, str], count: int, ratio: float, task: Callable[[], Timing]
    ) -> None:
        """Run a task that returns its seconds for one thing done, unless it is too slow.

        `ratio`: the number of documents at the next size by their number now.
        """
        if place in self.left_out:
            return
        started = time.perf_counter()
        try:
            timing = task()
        except simdb.OptionError as error:
            print(f"{' '.join(place)} is left out: {error}")
            self.left_out.add(place)
            return
        if (time.perf_counter() - started) * ratio > self.patience:
            self.left_out.add(place)
        kind, method, what = place
        facts = {"kind": kind, "method": method, "task": what, "count": count}
        label = f"{short(count)} {kind}: {method}: {what}"
        self.record.add(label, timing.median * 1e6, "us", timing, facts=facts)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("-n", type=number, nargs="+", default=[10_000, 100_000], help="sizes")
    parser.add_argument("--patience", type=float, default=60, help="seconds for one task")
    parser.add_argument("--room", type=float, default=20, help="gigabytes on disk")
    parser.add_argument("--kinds", nargs="+", choices=[*ASKED], default=[*ASKED])
    parser.add_argument("--durability", choices=("full", "process", "none"), default="process")
    parser.set_defaults(repeats=3)
    arguments = parser.parse_args()
    arguments.n.sort()
    curves = Curves(Record(__doc__, arguments), arguments.patience, set())
    for kind in arguments.kinds:
        with scratch(arguments.directory) as folder:
            grow(curves, kind, folder / "db", arguments)
    curves.record.finish()


def grow(curves: Curves, kind: str, path: Path, arguments: argparse.Namespace) -> None:
    """Let a database grow from size to size, and measure at each."""
    source = SOURCES[kind](arguments.seed)
    with simdb.open(path, "x", options=source.options, durability=arguments.durability) as database:
        before = 0
        for count, after in zip(arguments.n, [*arguments.n[1:], arguments.n[-1]], strict=True):
            timing = insert(database, source, before, count)
            place = (kind, "insert", "one document")
            curves.tell(place, count, 0, lambda timing=timing: timing)
            ask(curves, kind, database, source, count, after / count, arguments)
            before = count
            each = database.stats().live_bytes / count
            if each * after * SPREAD > arguments.room * 1e9:
                print(f"{kind}: {short(after)} documents need too much room")
                return


def insert(database: simdb.Database, source: "Source", start: int, stop: int) -> Timing:
    """Store the documents from `start` up to `stop`; return the mean time of one."""
    timing = Timing()
    for first in range(start, stop, PART):
        documents = source.stored(first, min(PART, stop - first))
        names = range(first, first + len(documents))
        measure(
            lambda names=names, documents=documents: database.insert_many(names, documents), timing
        )
    return Timing([sum(timing.wall) / (stop - start)], [sum(timing.processor) / (stop - start)])


def ask(
    curves: Curves,
    kind: str,
    database: simdb.Database,
    source: "Source",
    count: int,
    ratio: float,
    arguments: argparse.Namespace,
) -> None:
    """Let every method answer, as it stands and, for probing methods, after a calibration."""
    queries, few = source.queries(QUERIES), source.queries(FEW)
    single = [queries[at] for at in range(SINGLE)]
    for method, asked in ASKED[kind].items():
        if asked is None:
            timing = Timing()
            measure(database.calibrate, timing)
            curves.tell((kind, method, "once"), count, 0, lambda timing=timing: timing)
            continue
        given = {"search": method, **asked}
        tasks: dict[str, Callable[[], Timing]] = {
            "one query": lambda given=given: one_by_one(database, single, given),
            "batch": lambda given=given: batch(database, queries, few, given, arguments.repeats),
            "all pairs": lambda given=given: all_pairs(database, given, arguments.repeats),
        }
        for what, task in tasks.items():
            gc.collect()
            curves.tell((kind, method, what), count, ratio, task)


def one_by_one(
    database: simdb.Database, queries: list[Any], asked: Mapping[str, Any], seconds: float = 3.0
) -> Timing:
    """Return the median time of single queries, as many as fit into some seconds.

    The processor time is the mean.
    """
    with database.read() as snapshot:
        snapshot.query(queries[0], **asked)
        taken, stop, processor = [], time.perf_counter() + seconds, time.process_time()
        for query in queries:
            started = time.perf_counter()
            snapshot.query(query, **asked)
            taken.append(time.perf_counter() - started)
            if time.perf_counter() > stop:
                break
        spent = time.process_time() - processor
    return Timing([statistics.median(taken)], [spent / len(taken)])


def batch(
    database: simdb.Database,
    queries: Documents,
    few: Documents,
    asked: Mapping[str, Any],
    repeats: int,
) -> Timing:
    """Return the time of one query of a batch; a slow method gets the batch of `few` queries."""
    timing = Timing()
    measure(lambda: database.query_many(few, **asked), timing)
    chosen = queries if timing.best / len(few) * QUERIES * repeats < 10 else few
    timing = Timing()
    for _ in range(repeats):
        measure(lambda: database.query_many(chosen, **asked), timing)
    return divided(timing, len(chosen))


def all_pairs(database: simdb.Database, asked: Mapping[str, Any], repeats: int) -> Timing:
    """Return the time of finding all pairs, once if it takes long."""
    timing = Timing()
    for _ in range(repeats):
        measure(lambda: sum(map(len, database.find_all(**asked).chunks())), timing)
        if sum(timing.wall) > 5:
            break
    return timing


def divided(timing: Timing, count: int) -> Timing:
    return Timing(
        [each / count for each in timing.wall], [each / count for each in timing.processor]
    )


class Source:
    """Documents in parts, and queries near some of them."""

    options = simdb.Options()

    def __init__(self, seed: int) -> None:
        """Begin without documents."""
        self._seed = seed
        self._kept: Numbers | None = None
        self._step = 1  # every so many documents are kept

    def stored(self, first: int, count: int) -> Documents:
        """Draw documents, every tenth of them near the one before it."""
        chance = np.random.default_rng([self._seed, first, count])
        drawn = self.drawn(count, chance)
        drawn[1::10] = self.near(drawn[::10][: len(drawn[1::10])], chance)
        kept = drawn[:: self._step]
        self._kept = kept if self._kept is None else np.concatenate([self._kept, kept])
        while len(self._kept) > KEPT:
            self._kept, self._step = self._kept[::2].copy(), 2 * self._step
        return self.made(drawn)

    def queries(self, count: int) -> Documents:
        """Draw queries, every second of them near a stored document."""
        assert self._kept is not None
        chance = np.random.default_rng([self._seed, len(self._kept), count])
        drawn = self.drawn(count, chance)
        chosen = chance.integers(0, len(self._kept), len(drawn[::2]))
        drawn[::2] = self.near(self._kept[chosen], chance)
        return self.made(drawn)

    def drawn(self, count: int, chance: np.random.Generator) -> Numbers:
        """Draw the numbers of unrelated documents, one row for each."""
        raise NotImplementedError

    def near(self, rows: Numbers, chance: np.random.Generator) -> Numbers:
        """Draw a near document for each row."""
        raise NotImplementedError

    def made(self, rows: Numbers) -> Documents:
        """Return rows as documents."""
        raise NotImplementedError


class Weights(Source):
    """Fingerprints of normal weights."""

    def drawn(self, count: int, chance: np.random.Generator) -> Numbers:
        """Draw weights float32[count, 128]."""
        return chance.standard_normal((count, DIMENSIONS), np.float32)

    def near(self, rows: Numbers, chance: np.random.Generator) -> Numbers:
        """Add noise, so that the cosine is NEAR to 1."""
        cosine = chance.uniform(NEAR, 1, (len(rows), 1)).astype(np.float32)
        return cosine * rows + np.sqrt(1 - cosine**2) * self.drawn(len(rows), chance)

    def made(self, rows: Numbers) -> Documents:
        """Return fingerprints with weights."""
        packed = np.packbits(rows[:, :64] >= 0, axis=1, bitorder="little")
        return simdb.Fingerprints(packed.view("<u8")[:, 0].astype(np.uint64), rows)


class Minima(Source):
    """Signatures of random minima."""

    options = simdb.Options(sketch=simdb.Minhash(permutations=PERMUTATIONS))

    def drawn(self, count: int, chance: np.random.Generator) -> Numbers:
        """Draw minima uint32[count, 128]."""
        return chance.integers(0, 2**32, (count, PERMUTATIONS), np.uint32)

    def near(self, rows: Numbers, chance: np.random.Generator) -> Numbers:
        """Replace some minima, a fifth at most."""
        shared = chance.uniform(SHARED, 1, (len(rows), 1))
        is_kept = chance.random(rows.shape) < shared
        return np.where(is_kept, rows, self.drawn(len(rows), chance))

    def made(self, rows: Numbers) -> Documents:
        """Return signatures, none of them empty."""
        sketch = simdb.Minhash(permutations=PERMUTATIONS)
        return simdb.Signatures(rows, sketch, np.zeros(len(rows), np.bool_))


SOURCES: dict[str, Callable[[int], Source]] = {"fingerprints": Weights, "signatures": Minima}


if __name__ == "__main__":
    main()
