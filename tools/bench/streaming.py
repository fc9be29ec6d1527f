"""How long does one document take, in one transaction and with a commit each, at several sizes?

The stored documents are random fingerprints with weights; the new ones are random fingerprints
without weights ("int") and texts of about 1 KB of random words.  Nothing matches, but that with "a
duplicate in three" every third document is the one before it.  A claim by
similarity compares what the planner chooses; a claim within distance 3 looks up four tables, so
that it shows what everything around a search costs.  Each row has the calls a second by the clock
and by processor time, and the median, the 99.9th percentile and the longest call.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import simdb
from insert import WEIGHTED_PART, with_weights
from record import Record, number, options, short
from workload import ids, scratch

WORDS, TEXT_WORDS = 20_000, 160
Call = Callable[[Any, int], object]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("-n", type=number, nargs="+", default=[10_000, 1_000_000], help="stored")
    parser.add_argument("--calls", type=int, default=5000, help="calls of each verb")
    parser.add_argument("--durability", choices=("full", "process", "none"), default="process")
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    for count in arguments.n:
        with scratch(arguments.directory) as directory, stored(arguments, directory, count) as made:
            for what, call in verbs(arguments, count).items():
                for is_whole in (True, False):
                    one_by_one(record, arguments, made, f"{short(count)}: {what}", call, is_whole)
    record.finish()


@contextmanager
def stored(arguments: argparse.Namespace, directory: Path, count: int) -> Iterator[simdb.Database]:
    """Open a database with `count` documents, inserted in parts."""
    random = np.random.default_rng([arguments.seed, count])
    path = directory / "stored"
    with simdb.open(path, "x", durability="none") as database:
        for start in range(0, count, WEIGHTED_PART):
            names = ids("str", start, min(start + WEIGHTED_PART, count))
            database.insert_many(names, with_weights(random, len(names)))
    with simdb.open(path, "w", durability=arguments.durability) as database:
        yield database


def verbs(arguments: argparse.Namespace, count: int) -> dict[str, Call]:
    """Return a function for each verb, which calls it with the number of a new document."""
    random = np.random.default_rng([arguments.seed, 1])
    bits = [int(each) for each in random.integers(0, 2**64, arguments.calls, np.uint64)]
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = ["".join(random.choice(letters, random.integers(3, 10))) for _ in range(WORDS)]
    chosen = np.minimum(random.zipf(1.3, (arguments.calls, TEXT_WORDS)), WORDS) - 1
    texts = [" ".join([words[at] for at in row]) for row in chosen]
    gone = ids("str", 0, count)[:: max(count // arguments.calls, 1)]
    return {
        "insert an int": lambda verbs, at: verbs.insert(at, bits[at]),
        "insert a text": lambda verbs, at: verbs.insert(at, texts[at]),
        "add_if_new an int": lambda verbs, at: verbs.add_if_new(at, bits[at]),
        "add_if_new a text": lambda verbs, at: verbs.add_if_new(at, texts[at]),
        "add_if_new a text, distance 3": lambda verbs, at: verbs.add_if_new(
            at, texts[at], distance=3
        ),
        "add_if_new an int, a duplicate in three": lambda verbs, at: verbs.add_if_new(
            at, bits[at - (at % 3 == 2)]
        ),
        "add_if_new a text, a duplicate in three": lambda verbs, at: verbs.add_if_new(
            at, texts[at - (at % 3 == 2)]
        ),
        "insert an int and query it": partial(_insert_and_query, bits),
        "delete": lambda verbs, at: verbs.delete(gone[at]),
    }


def _insert_and_query(bits: list[int], verbs: Any, at: int) -> None:
    verbs.insert(at, bits[at])
    if len(verbs.query(bits[at], distance=3)) != 1:
        raise ValueError("a document was not found after it was inserted")


def one_by_one(
    record: Record,
    arguments: argparse.Namespace,
    database: simdb.Database,
    what: str,
    call: Call,
    is_whole: bool,
) -> None:
    """Call a verb many times, and undo what it did: by an abort, or by deleting the documents."""
    if is_whole:
        transaction = database.write()
        timed(record, f"{what}, one transaction", partial(call, transaction), arguments.calls)
        transaction.abort()
        return
    timed(record, f"{what}, a commit each", partial(call, database), arguments.calls)
    database.delete_many(range(arguments.calls))


def timed(record: Record, what: str, call: Callable[[int], object], calls: int) -> None:
    """Add rows for the rate and for the times of single calls."""
    processor, marks = time.process_time(), [time.perf_counter_ns()]
    for at in range(calls):
        call(at)
        marks.append(time.perf_counter_ns())
    processor = time.process_time() - processor
    taken = np.sort(np.diff(marks)) / 1e3
    record.add(
        what, calls / (taken.sum() / 1e6), "a second",
        note=f"{calls / processor:,.0f} by processor time; p50 {taken[calls // 2]:,.0f} us,"
        f" p99.9 {taken[calls * 999 // 1000]:,.0f} us, longest {taken[-1]:,.0f} us",
        facts={"calls": calls, "p50": taken[calls // 2], "longest": taken[-1]},
    )  # fmt: skip


if __name__ == "__main__":
    main()
