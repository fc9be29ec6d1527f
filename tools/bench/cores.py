"""What do more cores win, and what do very many texts cost in one database?

Texts are those of `drawn.py`, drawn by --processes beside the one that is measured.

verbs  each verb of a database of --verbs texts, with each number of --threads: times faster than
       with the first, and the share of its processor time that threads cannot share
job    `simdb dedup FILE -o OUT` of as many texts, a whole process, with each number of --threads
many   -n texts are inserted in transactions of --batch, with all cores: the rate of each, memory
       without pages of files, bytes on disk; then single queries, the share of known copies that
       they find, of those that are as similar as is asked for by the stored weights, a batch, what
       is new of a batch, all clusters and all pairs
"""

import argparse
import json
import multiprocessing
import os
import shutil
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import simdb
from drawn import BLOCK, Drawn
from process import Watcher, run
from record import Record, Timing, latencies, measure, number, options, scratch, short
from simdb.running.threads import SharedWork, thread_count

DRAWN_TEXTS = 64 * BLOCK  # by one process at a time
DRAWN = pa.schema([("text", pa.string()), ("number", pa.int64()), ("origin", pa.int64())])
ASKED = 200_000  # texts of a batch that is sketched, asked for or inserted
SAMPLED = 2_000  # copies whose recall is asked for
LOW = 0.8  # similarity
FORK = multiprocessing.get_context("fork")


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("-n", type=number, default=1_000_000, help="texts of `many`")
    parser.add_argument("--batch", type=number, default=1_000_000, help="texts of a transaction")
    parser.add_argument("--verbs", type=number, default=1_000_000, help="texts of `verbs`, `job`")
    parser.add_argument("--asked", type=number, default=ASKED, help="texts of a batch")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--processes", type=int, default=max(thread_count() - 2, 1))
    parser.add_argument("--ask", nargs="+", choices=ASKED_FOR, default=list(ASKED_FOR))
    parser.add_argument("--seconds", type=float, default=1e9, help="to insert for, of `many`")
    parser.set_defaults(core=-1)
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    for name in arguments.ask:
        with scratch(arguments.directory) as folder:
            ASKED_FOR[name](Bench(record, arguments, folder))
    record.finish()


class Bench:
    """A folder for databases, and the texts."""

    def __init__(self, record: Record, arguments: argparse.Namespace, folder: Path) -> None:
        self.record, self.arguments, self.folder = record, arguments, folder
        # Texts far behind all that are stored.
        self.first_new = max(arguments.n, arguments.verbs) // BLOCK * BLOCK + 10 * BLOCK

    def drawn(self, count: int, first: int = 0) -> Iterator[tuple[pa.Table, np.ndarray]]:
        """Yield texts in parts, and the pairs of copies and their origins: int64[n, 2]."""
        starts, drawing = deque(range(first, first + count, DRAWN_TEXTS)), deque[Any]()
        while starts or drawing:
            while starts and len(drawing) < self.arguments.processes:
                start = starts.popleft()
                path = self.folder / f"{start}.arrow"
                size = min(DRAWN_TEXTS, first + count - start)
                given = self.arguments.seed, start, size, path
                drawing.append((path, FORK.Process(target=draw, args=given)))
                drawing[-1][1].start()
            path, process = drawing.popleft()
            process.join()
            if process.exitcode:
                raise RuntimeError(f"drawing texts {path.stem} ended with {process.exitcode}")
            with pa.memory_map(str(path)) as file:
                table = pa.ipc.open_file(file).read_all()
            path.unlink()
            pairs = np.stack([table["number"].to_numpy(), table["origin"].to_numpy()], axis=1)
            yield table, pairs[pairs[:, 0] != pairs[:, 1]]

    def batches(self, count: int) -> Iterator[tuple[range, pa.ChunkedArray, np.ndarray]]:
        """Yield numbers, texts and copies of each transaction."""
        parts, copies, start, done = [], [], 0, 0
        for table, pairs in self.drawn(count):
            parts += table["text"].chunks
            copies.append(pairs)
            done += len(table)
            if done - start >= self.arguments.batch or done == count:
                yield range(start, done), pa.chunked_array(parts), np.concatenate(copies)
                parts, copies, start = [], [], done

    def new_texts(self, count: int, first: int = 0) -> pa.ChunkedArray:
        return Drawn(self.arguments.seed).texts(self.first_new + first, count)


def draw(seed: int, start: int, size: int, path: Path) -> None:
    """Write texts, with their numbers and those of their origins, to a file."""
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, DRAWN) as writer:
        at = start
        for texts, origins in Drawn(seed).blocks(size, start):
            own = np.arange(at, at + len(origins))
            writer.write_batch(pa.record_batch([texts, own, origins], schema=DRAWN))
            at += len(origins)


def ask_verbs(bench: Bench) -> None:
    """Measure each verb with each number of threads."""
    count, asked = bench.arguments.verbs, bench.arguments.asked
    path = bench.folder / "db"
    with simdb.open(path, "x", durability="process") as database:
        for ids, texts, _ in bench.batches(count):
            database.insert_many(ids, texts)
        texts, others = bench.new_texts(asked), bench.new_texts(asked, 100 * DRAWN_TEXTS)
        listed, ready = texts.to_pylist(), database.sketcher.fingerprints(texts)
        bits = np.random.default_rng(1).integers(0, 2**63, 10 * asked, dtype=np.uint64)
        minhash = simdb.Options(sketch=simdb.Minhash())
        with simdb.open(None, options=minhash) as other:
            sign = other.sketcher.signatures

        def pairs(threads: int, **asked: Any) -> int:
            return sum(map(len, database.find_all(threads=threads, **asked).chunks()))

        sketch = database.sketcher.fingerprints
        verbs: dict[str, Callable[[int], Any]] = {
            "fingerprints, Arrow": lambda threads: sketch(texts, threads=threads),
            "fingerprints, list": lambda threads: sketch(listed, threads=threads),
            "signatures": lambda threads: sign(texts, threads=threads),
            "query_many, texts": lambda threads: database.query_many(texts, threads=threads),
            "query_many, ready": lambda threads: database.query_many(ready, threads=threads),
            "find_all": pairs,
            "find_clusters": lambda threads: database.find_clusters(threads=threads),
            f"find_all, {LOW}": partial(pairs, similarity=LOW),
            "find_all of an array": lambda threads: sum(
                map(len, simdb.find_all(bits, 6, 3, threads=threads).chunks())
            ),
            "find_clusters of an array": lambda threads: simdb.find_clusters(
                bits, 6, 3, threads=threads
            ),
        }
        database.find_clusters()
        for name, verb in verbs.items():
            in_threads(bench, f"{short(count)}: {name}", verb)

    def made(threads: int) -> Any:
        shutil.rmtree(bench.folder / "new", ignore_errors=True)
        return simdb.open(bench.folder / "new", "x", durability="process")

    def insert(threads: int) -> None:
        with made(threads) as new:
            for start in range(0, 3 * asked, asked):
                new.insert_many(range(start, start + asked), texts, threads=threads)

    def claim(threads: int) -> None:
        with made(threads) as new:
            new.add_many_if_new(range(asked), texts, threads=threads)
            new.add_many_if_new(range(asked, 2 * asked), others, threads=threads)

    in_threads(bench, f"insert_many, 3 x {short(asked)} texts", insert)
    in_threads(bench, f"add_many_if_new, 2 x {short(asked)} texts", claim)


def in_threads(bench: Bench, what: str, verb: Callable[[int], Any]) -> None:
    """Add a row for each number of threads: seconds, times faster, and the serial share."""
    timings = {threads: Timing() for threads in bench.arguments.threads}
    shared = dict.fromkeys(timings, 0.0)
    for _ in range(bench.arguments.repeats):
        for threads, timing in timings.items():
            before = SharedWork.total_seconds
            measure(partial(verb, threads), timing)
            shared[threads] += SharedWork.total_seconds - before
    first = next(iter(timings.values())).median
    for threads, timing in timings.items():
        serial = 1 - shared[threads] / sum(timing.processor)
        note = f"{first / timing.median:.2f} times faster, serial {serial:.1%}"
        bench.record.add(f"{what}, {threads} threads", timing.median, "s", timing, note)


def ask_job(bench: Bench) -> None:
    """Measure the main job from file to file."""
    source, size = bench.folder / "texts.jsonl", 0
    with source.open("w") as file:
        for table, _ in bench.drawn(bench.arguments.verbs):
            for text in table["text"].to_pylist():
                file.write(json.dumps({"id": size, "text": text}) + "\n")
                size += 1
    megabytes, cores = source.stat().st_size / 1e6, sorted(os.sched_getaffinity(0))
    command = [sys.executable, "-m", "simdb", "dedup", str(source), "-o"]
    first = 0.0
    for threads in bench.arguments.threads:
        chosen = set(cores[:threads])
        told = bench.folder / "told"
        every = [
            run([*command, str(bench.folder / f"out{turn}.jsonl")], chosen, told)
            for turn in range(bench.arguments.repeats)
        ]
        costs = sorted(every, key=lambda cost: cost.seconds)
        cost = costs[len(costs) // 2]
        first = first or cost.seconds
        note = f"{first / cost.seconds:.2f} times faster, {megabytes / cost.seconds:.0f} MB/s,"
        note += f" {cost.anonymous_bytes / 1e6:.0f} MB"
        what = f"dedup of {short(size)} texts, {megabytes:.0f} MB, {threads} cores"
        timing = Timing(
            [each.seconds for each in every], [each.processor_seconds for each in every]
        )
        bench.record.add(what, cost.seconds, "s", timing, note)


def ask_many(bench: Bench) -> None:
    """Insert very many texts, then ask."""
    record, count = bench.record, bench.arguments.n
    watcher, path, begun = Watcher(os.getpid()), bench.folder / "db", time.perf_counter()
    copies, inserting, done = [], Timing(), 0
    with simdb.open(path, "x", durability="process") as database:
        for ids, texts, pairs in bench.batches(count):
            measure(partial(database.insert_many, ids, texts), inserting)
            chosen = np.random.default_rng(ids.start).random(len(pairs))
            copies.append(pairs[chosen < 4 * SAMPLED / count / 0.1])
            done = ids.stop
            del texts
            note = f"after {time.perf_counter() - begun:.0f} s with drawing"
            rate = len(ids) / inserting.wall[-1]
            record.add(f"inserted, up to {short(done)}", rate, "texts/s", note=note)
            if time.perf_counter() - begun > bench.arguments.seconds:
                break

        def tell(what: str, figure: float, unit: str, note: str = "") -> None:
            memory = f"{watcher.peak_bytes() / 1e9:.2f} GB without pages of files"
            record.add(f"{short(done)}: {what}", figure, unit, note=f"{note} {memory}".strip())

        size = sum(file.stat().st_blocks * 512 for file in path.iterdir())
        tell("inserted", done / sum(inserting.wall), "texts/s",
             f"{sum(inserting.wall):.0f} s, {sum(inserting.processor):.0f} s of processor,"
             f" longest {max(inserting.wall):.1f} s, {time.perf_counter() - begun:.0f} s with"
             f" drawing, {len(database.stats().runs)} runs, {size / 1e9:.1f} GB")  # fmt: skip
        tell("on disk", size / done, "bytes")
        asked = bench.new_texts(bench.arguments.asked)
        single = asked[: bench.arguments.asked // 100].to_pylist()
        latencies(record, f"{short(done)}: query", database.query, single, 3)
        tell_recall(bench, database, np.concatenate(copies))
        for what, task in (
            ("query_many", partial(database.query_many, asked)),
            ("add_many_if_new", partial(
                database.add_many_if_new, range(done, done + len(asked)), asked)),
            ("find_clusters", database.find_clusters),
            ("find_all", lambda: sum(map(len, database.find_all().chunks()))),
        ):  # fmt: skip
            timing = Timing()
            found = measure(task, timing)
            given = found if isinstance(found, int) else len(found)
            note = f"{timing.processor[0]:.0f} s of processor, {given:,} found,"
            tell(what, timing.wall[0], "s", note)
    watcher.close()


def tell_recall(bench: Bench, database: simdb.Database, pairs: np.ndarray) -> None:
    """Add the share of similar copies whose origin a query finds."""
    some = np.random.default_rng(1).permutation(pairs)[:SAMPLED]
    similarities = database.compare(some[:, 0], some[:, 1]).similarity
    similar = some[similarities >= database.plan().similarity].tolist()
    found = sum(
        origin in [match.id for match in database.query(id=copy)] for copy, origin in similar
    )
    what, share = f"{short(len(database))}: recall of copies", found / max(len(similar), 1)
    bench.record.add(what, share, "share", note=f"{found} of {len(similar)}")


ASKED_FOR = {"verbs": ask_verbs, "job": ask_job, "many": ask_many}


if __name__ == "__main__":
    main()
