"""How fast is a batch matched against 10M documents on disk before it is stored, within 512 MB?

As Figure 9(a) of Sood & Loguinov 2011: PSM-F (the first match of each), PSM-A (all) and BPHS (four
tables, exact) at a recall of .95 and distance 3, by the size of the batch.  Stored are uniform
fingerprints; the batch are documents whose weights are those of a stored one with noise that flips
a few bits, in a file that is mapped.  A turn is `insert_batch` in a transaction that is given up;
`stored` is one that commits.  The database lies in the cache of the system, if that has room.

Memory is what is not mapped from files, at its peak beyond what it was before; the ids, the matches
and what waits for the commit are part of it.
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
TURNS_DOCUMENTS = 10_000_000  # of all turns of a batch
# Name: blocks, how they are asked, whether the first match will do.
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
    """Documents like those of `probing.py`, of 64 weights, in a mapped file."""
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
    """All ways with one batch, in turns."""
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
        searching = "looked up by processor time, what is around that left out"
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
    """A batch matched and staged, and forgotten."""
    with databases[WAYS[name][0]].write() as transaction:
        found = insert(arguments, transaction, batch, name)
        transaction.abort()
    return found


def insert(
    arguments: argparse.Namespace, target: Any, batch: simdb.Fingerprints, name: str
) -> simdb.Matches:
    """The batch, as one way has it; exact search needs no weights."""
    _, method, matched = WAYS[name]
    first = arguments.documents
    result: simdb.Matches = target.insert_batch(
        np.arange(first, first + len(batch)), batch if method == "psm" else batch.bits,
        match=matched, distance=DISTANCE, method=method,
        recall=arguments.recall if method == "psm" else 1.0,
        memory_limit=arguments.memory_limit,
    )  # fmt: skip
    return result


def store(
    record: Record,
    arguments: argparse.Namespace,
    databases: dict[int, simdb.Database],
    batch: simdb.Fingerprints,
) -> None:
    """One batch with its commit."""
    for name in ("PSM-F", "BPHS"):
        timing = Timing()
        with Watch() as watch:
            measure(
                lambda name=name: insert(arguments, databases[WAYS[name][0]], batch, name), timing
            )
        note = f"{watch.peak_bytes / 2**20:.0f} MB beyond what is mapped, the commit among it"
        label = f"{short(len(batch))} stored: {name}"
        record.add_rate(label, len(batch), "documents/s", timing, note)


def reached(found: simdb.Matches, truth: simdb.Matches, matched: str) -> float:
    """The share of the matches that were found, or of the documents with a match."""
    if matched == "first":
        return float((np.diff(found.offsets) > 0).sum() / (np.diff(truth.offsets) > 0).sum())
    return len(found.ordinals) / len(truth.ordinals)


class Watch:
    """Looks every few milliseconds how much memory the process has that no file backs."""

    def __enter__(self) -> "Watch":
        """Begin, with nothing kept that was freed."""
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
        """End."""
        self._is_over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._is_over.is_set():
            self.peak_bytes = max(self.peak_bytes, anonymous_bytes() - self._before)
            time.sleep(0.02)


def anonymous_bytes() -> int:
    """Memory of this process that is not mapped from a file."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    raise OSError("the system does not tell anonymous memory apart")


if __name__ == "__main__":
    main()
