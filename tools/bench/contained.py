"""Contained: what do passages find, and what do they cost?

Documents are those of `drawn.py`, about 200 words each, without its copies.  A query is another one
with a run of words of a stored document in its middle, or a part of a stored document.  Recall is
that of `contained=` near 0, so any shared grain counts.  Beside it: what passages add to the file
and to inserting, and a query by similarity.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import simdb
from documents import unrelated
from record import Record, latencies, number, options, scratch

RUNS = (8, 10, 12, 14, 15, 20, 30)  # words that a query shares with a document
QUERIES = 200
TINY = 1e-9


def with_run(text: str, other: str, length: int) -> str:
    """Return a text that shares a run of so many words, from its middle, with another one."""
    words, theirs = text.split(), other.split()
    middle, start = len(words) // 2, len(theirs) // 3
    words[middle : middle + length] = theirs[start : start + length]
    return " ".join(words)


def inserted(path: Path, texts: list[str], *, passages: bool) -> tuple[simdb.Database, float]:
    """Return a compact database of the texts, and the seconds of inserting them."""
    database = simdb.open(path, options=simdb.Options(passages=passages), durability="none")
    start = perf_counter()
    for first in range(0, len(texts), 10_000):
        part = texts[first : first + 10_000]
        database.insert_many(range(first, first + len(part)), part, threads=1)
    seconds = perf_counter() - start
    database.compact()
    return database, seconds


def measure(record: Record, count: int, made: Iterator[str], folder: Path) -> None:
    texts = list(islice(made, count))
    database, seconds = inserted(folder / f"passages-{count}", texts, passages=True)
    plain, plain_seconds = inserted(folder / f"plain-{count}", texts, passages=False)
    size = database.stats().section_bytes["passages"]
    record.add(f"{count:,}: passages", size / count, "bytes a document")
    record.add(f"{count:,}: inserting", seconds / plain_seconds, "times without passages")
    chosen = np.random.default_rng(count).integers(0, count, QUERIES).tolist()
    for length in RUNS:
        queries = [with_run(next(made), texts[at], length) for at in chosen]
        found = [
            any(match.id == at for match in database.query(query, contained=TINY))
            for at, query in zip(chosen, queries, strict=True)
        ]
        record.add(f"{count:,}: recall, a run of {length} words", float(np.mean(found)), "")
    parts = [" ".join(texts[at].split()[20:120]) for at in chosen]
    known = dict(enumerate(texts))
    asked: dict[str, Callable[[str], Any]] = {
        "contained=.8, estimated": lambda text: database.query(text, contained=0.8),
        "contained=.8, texts=": lambda text: database.query(text, contained=0.8, texts=known),
        "similarity, without passages": plain.query,
    }
    for name, ask in asked.items():
        latencies(record, f"{count:,}: {name}", ask, parts, 1)
    start = perf_counter()
    pairs = len(database.find_all(contained=0.8))
    record.add(f"{count:,}: find_all(contained=.8), {pairs} pairs", perf_counter() - start, "s")
    database.close()
    plain.close()


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("-n", type=number, nargs="+", default=[1_000, 20_000, 100_000])
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    with scratch(arguments.directory) as folder:
        for count in arguments.n:
            measure(record, count, unrelated(arguments.seed), folder)
    record.finish()


if __name__ == "__main__":
    main()
