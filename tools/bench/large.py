"""What does PSM cost compared with exact search, at the sizes that it is for?

Of each BLOCK of fingerprints, the share CLUSTERED is in clusters of 1 to 8 around centres that are
not stored.  A centre has normal numbers as weights; the documents of its cluster add Laplace
numbers times `--noise`.  The rest is uniform.  Ids are the integers from 0 on.  Every second query
is a centre, so its neighbours within distance 3 are known; the others are unrelated.

Databases are filled, asked as inserted, compacted and asked again: `psm` has one table, `psm-4` to
`psm0` the same with that `header_offset`; `bphs4` and `bphs10` have 4 and 10 tables for exact
search, which is given no weights.  Nothing is calibrated.  They take turns on one core, each turn
with other queries; times are processor time.  "attempts" is `Search(attempts=k)` with the least k
that reaches the recall of the search by recall.  During insertion and compaction, a reader in
another thread asks one query after the other; the longest answer is the pause.

    python tools/bench/large.py --documents 1M 10M --noise .05 .08 .12
    python tools/bench/large.py --documents 1G --noise .12 --tables psm --directory /large
    python tools/bench/large.py --table build/bench/large.json      # as tables of Markdown
"""

import itertools
import json
import os
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import simdb
from record import Record, Timing, in_turns, markdown, measure, number, options, recorded, scratch
from simdb.core.vector_form import fingerprints_of

DISTANCE, RECALL, DIMENSIONS = 3, 0.95, 64
BLOCK = 1 << 20  # documents
CLUSTERED, NEIGHBOURS_MAX, MEAN = 0.3, 8, 4.5
QUERIES, ATTEMPTS_MAX = 150_000, 512
EXACT = {"bphs4": {"blocks": 4}, "bphs10": {"blocks": 5, "leading": 2}}
PROBING = ("psm", *(f"psm{offset}" for offset in range(-4, 1)))
STATES = "inserted", "compacted"
FACTS = "documents", "noise", "state", "table", "batch", "way"
PAUSE_SECONDS = 0.001  # between two queries of the reader
Numbers = npt.NDArray[Any]
Way = tuple[Callable[..., simdb.Matches[Any]], dict[str, Any]]


class Planted:
    """Documents in blocks; `truth`: query << 40 | id of all neighbours that queries have so far."""

    def __init__(self, count: int, noise: float, queries: int, seed: int) -> None:
        self._count, self._noise, self._seed = count, noise, seed
        self._kept = -(-queries // 2 // -(-count // BLOCK))  # centres of each block
        self._centres, self.truth = np.zeros((0, DIMENSIONS), np.float32), np.zeros(0, np.int64)

    def blocks(self) -> Iterator[tuple[range, Numbers]]:
        """Yield the ids and the fingerprints of each block."""
        for start in range(0, self._count, BLOCK):
            chance = np.random.default_rng([self._seed, start])
            ids = range(start, min(start + BLOCK, self._count))
            bits = chance.integers(0, 2**64, len(ids), np.uint64)
            sizes = chance.integers(1, NEIGHBOURS_MAX + 1, int(CLUSTERED * len(ids) / MEAN))
            centres = chance.standard_normal((len(sizes), DIMENSIONS), np.float32)
            owners = np.repeat(np.arange(len(sizes)), sizes)
            weights, shape = centres[owners], (len(owners), DIMENSIONS)
            for sign in (1, -1):  # the difference of exponential numbers is a Laplace number
                weights += sign * self._noise * chance.standard_exponential(shape, np.float32)
            places = chance.permutation(len(ids))[: len(owners)]
            bits[places] = fingerprints_of(weights)
            is_near = np.bitwise_count(fingerprints_of(centres)[owners] ^ bits[places]) <= DISTANCE
            rows = 2 * (len(self._centres) + owners) << 40 | (start + places)
            self.truth = np.append(self.truth, rows[is_near & (owners < self._kept)])
            self._centres = np.concatenate([self._centres, centres[: self._kept]])
            yield ids, bits

    def queries(self) -> simdb.Fingerprints:
        """Return centres, each with an unrelated query after it."""
        chance = np.random.default_rng([self._seed, self._count])
        weights = np.repeat(self._centres, 2, axis=0)
        weights[1::2] = chance.standard_normal(self._centres.shape, np.float32)
        return simdb.Fingerprints(fingerprints_of(weights), weights)

    def recalls(self, found: simdb.Matches[Any]) -> tuple[float, float]:
        """Return the share of the neighbours that were found, and of the queries with any."""
        rows = np.repeat(np.arange(len(found)), np.diff(found.offsets))
        is_found = np.isin(self.truth, rows << 40 | np.asarray(found.ids, np.int64))
        queries = self.truth >> 40
        return float(is_found.mean()), len(set(queries[is_found])) / len(set(queries))


def opened(kind: str, folder: Path, durability: Any) -> simdb.Database[Any]:
    offset = kind.removeprefix("psm")
    given = EXACT.get(kind) or {"blocks": 1} | ({"header_offset": int(offset)} if offset else {})
    sketch = simdb.Simhash(store_volatility=False, dimensions=DIMENSIONS)
    made = simdb.Options(**{"sketch": sketch, "leading": 1} | given)
    return simdb.open(folder / kind, "x", options=made, durability=durability)


@contextmanager
def reader(database: simdb.Database[Any], queries: Any, waited: list[float]) -> Iterator[None]:
    """Ask one query after the other in another thread; add the seconds of the longest answer."""
    stop = threading.Event()

    def ask() -> None:
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
        for query in itertools.cycle(queries):
            started = time.perf_counter()
            database.query(query, distance=DISTANCE)
            waited[0] = max(waited[0], time.perf_counter() - started)
            if stop.wait(PAUSE_SECONDS):
                return

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    yield
    stop.set()
    thread.join()


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--table", nargs="*", help="print these records")
    parser.add_argument("--documents", type=number, nargs="+", default=[1_000_000])
    parser.add_argument("--noise", type=float, nargs="+", default=[0.05, 0.08, 0.12])
    usual = ["psm", *EXACT]
    parser.add_argument("--tables", nargs="+", choices=[*PROBING, *EXACT], default=usual)
    parser.add_argument("--batches", type=number, nargs="+", default=[256, 4096, 20_000, QUERIES])
    parser.add_argument("--queries", type=number, default=QUERIES)
    if names := parser.parse_args().table:
        print("\n\n".join(itertools.chain.from_iterable(map(tables, names))))
        return
    with recorded(__doc__, parser) as record:
        for count, noise in itertools.product(record.arguments.documents, record.arguments.noise):
            with scratch(record.arguments.directory) as folder:
                run(record, folder, count, noise)


def run(record: Record, folder: Path, count: int, noise: float) -> None:
    """Fill a database of each kind, and ask all as inserted and after their compaction."""
    given = record.arguments
    planted = Planted(count, noise, given.queries, given.seed)
    databases = {kind: opened(kind, folder, given.durability) for kind in given.tables}
    for state in STATES:
        taken = {kind: (Timing(), [0.0]) for kind in databases}
        once = [(None, planted.queries().bits)]
        for ids, bits in planted.blocks() if state == "inserted" else once:
            for kind, database in databases.items():
                inserting = partial(database.insert_many, ids, bits)
                with reader(database, bits[:1000].tolist(), taken[kind][1]):
                    done = measure(inserting if ids else database.compact, taken[kind][0])
                if ids is None and done.note:
                    database.compact()  # the reader kept the file from shrinking
        facts = {"documents": count, "noise": noise, "state": state}
        for kind, (timing, waited) in taken.items():
            size = sum(file.stat().st_blocks for file in (folder / kind).iterdir()) * 512
            known = {"table": kind, "seconds": sum(timing.wall), "pause_seconds": max(waited)}
            note = f"in {known['seconds']:.2f} s, longest pause {max(waited) * 1e3:.2f} ms"
            record.add(label(facts | known), size / count, "bytes", None, note, facts | known)
        ask(record, planted, databases, facts)
    for database in databases.values():
        database.close()


def ask(record: Record, planted: Planted, databases: dict[str, Any], facts: dict[str, Any]) -> None:
    """Let all ways to search take turns with batches of each size."""
    queries = planted.queries()
    ways = [way for kind in databases for way in ways_of(kind, databases[kind], planted)]
    for size in record.arguments.batches:
        size = min(size, len(queries.bits))
        starts = range(0, len(queries.bits) - size + 1, size)
        parts = [queries.taken(slice(at, at + size)) for at in starts]
        turns = [itertools.cycle(parts) for _ in ways]
        tasks = {at: partial(way, turns[at]) for at, (way, _) in enumerate(ways)}
        for at, timing in in_turns(tasks, record.arguments.repeats).items():
            spent = float(np.median(timing.processor)) / size * 1e6
            known = facts | ways[at][1] | {"batch": size}
            note = f"recall {known['recall']:.4f}, look-ups {known['look_ups']:.1f}"
            record.add(label(known), spent, "us", timing, note, known)


def label(facts: dict[str, Any]) -> str:
    return ", ".join(str(facts[name]) for name in FACTS if name in facts)


def ways_of(kind: str, database: simdb.Database[Any], planted: Planted) -> Iterator[Way]:
    """Yield the ways to search a database, each with what it finds."""
    exact = {"search": "bphs", "recall": 1.0}
    searching: dict[str, Any] = exact if kind in EXACT else {"search": "psm", "recall": RECALL}

    def ask(parts: Iterator[simdb.Fingerprints], **more: Any) -> simdb.Matches[Any]:
        part, asked = next(parts), searching | more
        asked["documents"] = part.bits if kind in EXACT else part
        return database.query_many(distance=DISTANCE, threads=1, **asked)

    def limited(attempts: int) -> Callable[..., simdb.Matches[Any]]:
        return partial(ask, recall=None, search=simdb.Search(method="psm", attempts=attempts))

    def recalls(way: Callable[..., simdb.Matches[Any]]) -> tuple[float, float]:
        return planted.recalls(way(iter([planted.queries()])))

    first, every = partial(ask, match="first"), recalls(ask)[0]
    # Of documents without weights, the queries of a batch tell how many look-ups they need.
    facts = {"table": kind, "look_ups": database.plan(distance=DISTANCE, **searching).probes}
    yield ask, facts | {"way": "all", "recall": every}
    yield first, facts | {"way": "first", "recall": recalls(first)[1]}
    if kind in PROBING:
        k = bisect_left(range(ATTEMPTS_MAX), every, 1, key=lambda k: recalls(limited(k))[0])
        facts |= {"look_ups": k + 1, "way": "attempts"}
        yield limited(k), facts | {"recall": recalls(limited(k))[0]}


def tables(path: str) -> Iterator[str]:
    """Yield the searches of one record as a table of Markdown, then its databases."""
    whole = json.loads(Path(path).read_text())
    yield f"{whole['machine']['processor']}, {whole['versions']['kernel']}, {whole['commit']}"
    rows = {label(row): row for row in whole["rows"]}
    found, files = [], []
    for row in rows.values():
        name = f"{row['documents']:,}, {row['noise']:g}, {row['state']}, {row['table']}"
        if "way" not in row:
            figures = row["figure"], row["seconds"], row["pause_seconds"] * 1e3
            files.append([name, *(f"{each:,.1f}" for each in figures)])
        elif row["way"] == "all" and row["table"] in PROBING:
            first, limited = (rows[label(row | {"way": way})] for way in ("first", "attempts"))
            cells = [f"{name}, {row['batch']:,}", joined([row, first]), joined([limited])]
            for kind in EXACT:
                beside = [rows.get(label(each | {"table": kind})) for each in (row, first)]
                cells += [joined(beside), joined(beside, [row, first])] if all(beside) else ["", ""]
            recalls = f"{row['recall']:.3f} / {first['recall']:.3f}"
            found.append([*cells, recalls, f"{row['look_ups']:.1f}"])
    head = "n, noise, state, table, batch; psm, us, all / first; attempts=, us; 4 tables, us;"
    head += " 4 tables : psm; 10 tables, us; 10 tables : psm; recall; look-ups"
    yield markdown(head.split("; "), found)
    yield markdown(["", "bytes a document", "seconds", "longest pause, ms"], files)


def joined(rows: Any, units: Any = ()) -> str:
    """Write the times of rows, or their ratios to the times of `units`."""
    parts = [unit["figure"] for unit in units] or [1.0] * len(rows)
    return " / ".join(f"{row['figure'] / part:.2f}" for row, part in zip(rows, parts, strict=True))


if __name__ == "__main__":
    main()
