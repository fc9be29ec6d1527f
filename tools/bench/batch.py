"""How fast is a batch matched against 10M documents on disk before it is stored, within 512 MB?

Repeats Figure 9(a) of Sood & Loguinov 2011: PSM-F (finds the first match of each document), PSM-A
(finds all matches) and BPHS (four tables, exact), at recall .95 and distance 3, for batches of
several sizes.  The database holds uniform fingerprints.  A document of the batch has the weights of
a stored document with noise, which flips a few bits; the batch is in a file that is mapped.  A turn
calls `insert_batch` in a transaction and aborts it; only the rows `stored` commit.  The database is
in the page cache, if that has room.

The memory reported is the peak of the memory that is not mapped from files, less what the process
had before the turn.  It includes the ids, the matches and the documents that wait for the commit.
"""

import argparse
import ctypes
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

import simdb
from probing import SAMPLED, build, fingerprints, noisy
from record import Record, Timing, measure, number, options, short
from simdb.engine.search import many
from workload import DISTANCE, scratch

PART = 100_000
BITS = 64
TURNS_DOCUMENTS = 10_000_000  # that all turns with one batch match together
# Name: blocks, search method, which matches are wanted.
WAYS = {"PSM-F": (1, "psm", "first"), "PSM-A": (1, "psm", "all"), "BPHS": (4, "bphs", "all")}


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--documents", type=number, default=10_000_000, help="stored documents")
    parser.add_argument("--batches", type=number, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument(
        "--noise",
        type=float,
        default=0.064,
        help="noise of queries, in units of the spread of weights",
    )
    parser.add_argument("--recall", type=float, default=0.95)
    parser.add_argument("--memory-limit", type=int, default=512 << 20, help="memory limit in bytes")
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    generator = np.random.default_rng([arguments.seed, arguments.documents])
    stored = generator.integers(0, 2**64, arguments.documents, np.uint64)
    sample = noisy(stored, SAMPLED, arguments.noise, generator)
    with scratch(arguments.directory) as directory:
        databases = {
            blocks: build(directory / str(blocks), (blocks, 1), stored)
            for blocks in {blocks for blocks, _, _ in WAYS.values()}
        }
        for database in databases.values():
            database.calibrate(sample)
        for size in arguments.batches:
            batch = on_disk(directory / "weights", stored, size, arguments.noise, generator)
            match(record, arguments, databases, batch)
        store(record, arguments, databases, batch)
        for database in databases.values():
            database.close()
    record.finish()


def on_disk(
    path: Path,
    stored: npt.NDArray[np.uint64],
    count: int,
    noise: float,
    generator: np.random.Generator,
) -> simdb.Fingerprints:
    """Make documents like those of `probing.py`, of 64 weights, in a mapped file."""
    weights: Any = np.memmap(path, np.float32, "w+", shape=(count, BITS))
    bits = np.empty(count, np.uint64)
    for start in range(0, count, PART):
        size = min(PART, count - start)
        chosen = stored[generator.integers(0, len(stored), size)]
        signs = np.unpackbits(chosen.view(np.uint8).reshape(size, 8), axis=1, bitorder="little")
        exact = np.abs(generator.laplace(size=(size, BITS))) * np.where(signs == 1, 1.0, -1.0)
        part = fingerprints(exact + noise * generator.laplace(size=exact.shape))
        bits[start : start + len(part)] = part.bits
        weights[start : start + len(part)] = part.weights
    weights.flush()
    del weights
    return simdb.Fingerprints(bits, np.memmap(path, np.float32, "r", shape=(count, BITS)))


def match(
    record: Record,
    arguments: argparse.Namespace,
    databases: dict[int, simdb.Database],
    batch: simdb.Fingerprints,
) -> None:
    """Match one batch with all methods, in turns."""
    timings = {name: Timing() for name in WAYS}
    alone = {name: Timing() for name in WAYS}
    peaks = dict.fromkeys(WAYS, 0.0)
    found: dict[str, simdb.Matches] = {}
    for _ in range(max(1, min(arguments.repeats, TURNS_DOCUMENTS // len(batch)))):
        for name in WAYS:
            with Watch() as watch, timed_search(alone[name]):
                found[name] = measure(
                    lambda name=name: given_up(arguments, databases, batch, name), timings[name]
                )
            peaks[name] = max(peaks[name], watch.peak_bytes)
    rates = {}
    for name, timing in timings.items():
        share = reached(found[name], found["BPHS"], WAYS[name][2])
        note = f"recall {share:.4f}; {peaks[name] / 2**20:.0f} MB beyond what is mapped"
        label = f"{short(len(batch))} against {short(arguments.documents)}: {name}"
        record.add_rate(label, len(batch), "documents/s", timing, note)
        rates[name] = len(batch) / statistics.median(alone[name].processor)
        searching = "look-up alone, by processor time"
        record.add(f"{label} alone", rates[name], "documents/s", note=searching)
    for name in ("PSM-F", "PSM-A"):
        label = f"{short(len(batch))}: {name} by BPHS, alone"
        record.add(label, rates[name] / rates["BPHS"], "times")


@contextmanager
def timed_search(timing: Timing) -> Iterator[None]:
    """Note how long the look-ups of a batch take, without sketching, ids and staging."""
    search = many.match_stored
    spent = Timing()

    def timed(*given: Any, **named: Any) -> Any:
        return measure(lambda: search(*given, **named), spent)

    many.match_stored = timed
    try:
        yield
    finally:
        many.match_stored = search
    timing.wall.append(sum(spent.wall))
    timing.processor.append(sum(spent.processor))


def given_up(
    arguments: argparse.Namespace,
    databases: dict[int, simdb.Database],
    batch: simdb.Fingerprints,
    name: str,
) -> simdb.Matches:
    """Match and stage a batch, then abort the transaction; return the matches."""
    with databases[WAYS[name][0]].write() as transaction:
        found = insert(arguments, transaction, batch, name)
        transaction.abort()
    return found


def insert(
    arguments: argparse.Namespace, target: Any, batch: simdb.Fingerprints, name: str
) -> simdb.Matches:
    """Insert the batch with one search method; an exact search needs no weights."""
    _, method, matched = WAYS[name]
    first = arguments.documents
    result: simdb.Matches = target.insert_batch(
        np.arange(first, first + len(batch)), batch if method == "psm" else batch.bits,
        match=matched, distance=DISTANCE,
        search=simdb.Search(method=method, memory_limit=arguments.memory_limit),
        recall=arguments.recall if method == "psm" else 1.0,
    )  # fmt: skip
    return result


def store(
    record: Record,
    arguments: argparse.Namespace,
    databases: dict[int, simdb.Database],
    batch: simdb.Fingerprints,
) -> None:
    """Store one batch and commit."""
    for name in ("PSM-F", "BPHS"):
        timing = Timing()
        with Watch() as watch:
            measure(
                lambda name=name: insert(arguments, databases[WAYS[name][0]], batch, name), timing
            )
        note = f"{watch.peak_bytes / 2**20:.0f} MB beyond what is mapped, with the commit"
        label = f"{short(len(batch))} stored: {name}"
        record.add_rate(label, len(batch), "documents/s", timing, note)


def reached(found: simdb.Matches, truth: simdb.Matches, matched: str) -> float:
    """Return the share of the true matches that were found, or of the documents with a match."""
    if matched == "first":
        return float((np.diff(found.offsets) > 0).sum() / (np.diff(truth.offsets) > 0).sum())
    return len(found.ordinals) / len(truth.ordinals)


class Watch:
    """A thread that measures every 20 ms how much memory the process has that no file backs."""

    def __enter__(self) -> "Watch":
        """Return freed memory to the system, and begin."""
        ctypes.CDLL(None).malloc_trim(0)
        self._before = anonymous_bytes()
        self.peak_bytes = 0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop measuring."""
        self._is_over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._is_over.is_set():
            self.peak_bytes = max(self.peak_bytes, anonymous_bytes() - self._before)
            time.sleep(0.02)


def anonymous_bytes() -> int:
    """Return the bytes of memory of this process that are not mapped from a file."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    raise OSError("the system does not tell anonymous memory apart")


if __name__ == "__main__":
    main()
