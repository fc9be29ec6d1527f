"""Contained: what do passages find, and what do they cost?

Documents of `--words` words are drawn, of a vocabulary as uneven as that of a language.  A query is
a text of as many words that shares one run of words with a stored document, or a part of one.
Recall is that of `contained=` near 0, so any shared grain counts.  Beside it: what
passages add to the file and to inserting, and a query by similarity.
"""

from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import simdb
from record import Record, latencies, number, options, scratch

VOCABULARY = 50_000
RUNS = (8, 10, 12, 14, 15, 20, 30)  # words that a query shares with a document
QUERIES = 200
TINY = 1e-9


class Drawn:
    """Texts of drawn words, the same for the same seed."""

    def __init__(self, seed: int, words: int) -> None:
        self._chance, self._words = np.random.default_rng(seed), words
        frequencies = 1 / np.arange(10, VOCABULARY + 10)
        self._bounds = np.cumsum(frequencies / frequencies.sum())

    def drawn(self, count: int) -> list[str]:
        places = np.searchsorted(self._bounds, self._chance.random(count))
        return [f"w{place}" for place in places.tolist()]

    def many(self, count: int) -> list[str]:
        return [" ".join(self.drawn(self._words)) for _ in range(count)]

    def with_run(self, text: str, length: int) -> str:
        """Return a text that shares a run of so many words, from its middle, with another one."""
        words, start = self.drawn(self._words - length), self._words // 3
        run = text.split()[start : start + length]
        return " ".join([*words[: len(words) // 2], *run, *words[len(words) // 2 :]])


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


def measure(record: Record, count: int, made: Drawn, folder: Path) -> None:
    texts = made.many(count)
    database, seconds = inserted(folder / f"passages-{count}", texts, passages=True)
    plain, plain_seconds = inserted(folder / f"plain-{count}", texts, passages=False)
    size = database.stats().section_bytes["passages"]
    record.add(f"{count:,}: passages", size / count, "bytes a document")
    record.add(f"{count:,}: inserting", seconds / plain_seconds, "times without passages")
    chosen = np.random.default_rng(count).integers(0, count, QUERIES).tolist()
    for length in RUNS:
        queries = [made.with_run(texts[at], length) for at in chosen]
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
    parser.add_argument("--words", type=number, default=200, help="words of a document")
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    made = Drawn(arguments.seed, arguments.words)
    with scratch(arguments.directory) as folder:
        for count in arguments.n:
            measure(record, count, made, folder)
    record.finish()


if __name__ == "__main__":
    main()
