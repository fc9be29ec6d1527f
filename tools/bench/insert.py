"""How fast do documents go in and out, how large is the file, how long does compaction take?"""

import argparse
import os
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

import simdb
from record import Record, Timing, measure, number, options, short
from workload import ids, scratch

BATCH = 10_000
WEIGHTED_PART = 100_000
SINGLE_COMMITS = 200


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("-n", type=number, nargs="+", default=[1_000_000], help="documents")
    parser.add_argument("--durability", choices=("full", "process", "none"), default="full")
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    for count in arguments.n:
        random = np.random.default_rng([arguments.seed, count])
        stored = random.integers(0, 2**64, count, np.uint64)
        names = ids("str", 0, count)
        with scratch(arguments.directory) as directory:
            in_bulk(record, arguments, directory, stored, names)
            one_by_one(record, arguments, directory, stored, names)
            weighted(record, arguments, directory, random, names)
    record.finish()


def in_bulk(
    record: Record,
    arguments: argparse.Namespace,
    directory: Path,
    stored: npt.NDArray[np.uint64],
    names: list[str],
) -> None:
    """Insert ready fingerprints in one transaction, and in transactions of 10,000."""
    whole, parts = Timing(), Timing()
    for turn in range(arguments.repeats):
        for kind, size, timing in (("whole", len(names), whole), ("parts", BATCH, parts)):
            path = directory / f"{kind}{turn}"
            with simdb.open(path, "x", durability=arguments.durability) as database:
                measure(partial(insert, database, names, stored, size), timing)
                if len(database) != len(names):
                    raise ValueError("some documents were not stored")
    label = short(len(names))
    for what, timing in (("one transaction", whole), (f"transactions of {BATCH}", parts)):
        record.add_rate(
            f"{label}: insert_many of ready fingerprints, {what}", len(names), "docs/s", timing
        )


def one_by_one(
    record: Record,
    arguments: argparse.Namespace,
    directory: Path,
    stored: npt.NDArray[np.uint64],
    names: list[str],
) -> None:
    """Commit one document at a time into the full database, in turn with synced disk writes."""
    label = short(len(names))
    path = directory / "whole0"
    for durability in ("full", "process"):
        timings = {name: Timing() for name in ("synced write", "insert", "delete")}
        with (
            simdb.open(path, "w", durability=durability) as database,
            open(directory / "plain", "wb") as plain,
        ):
            for turn in range(SINGLE_COMMITS + 1):
                name, bits = f"{durability}-{turn}", int(stored[turn]) ^ 1
                measure(partial(write_synced, plain.fileno()), timings["synced write"])
                measure(partial(database.insert, name, bits), timings["insert"])
                measure(partial(database.delete, name), timings["delete"])
        for what, timing in timings.items():
            # The first call of each kind reads what has changed since the database was opened.
            taken = sorted(timing.wall[1:])
            for rank in (50, 99):
                record.add(
                    f"{label}: {what}, one at a time, durability {durability}, p{rank}",
                    taken[len(taken) * rank // 100] * 1e6,
                    "us",
                    note=f"{len(taken)} calls",
                )
    with simdb.open(path, "w", durability=arguments.durability) as database:
        timing = Timing()
        gone = names[BATCH : 2 * BATCH]
        measure(partial(database.delete_many, gone), timing)
        record.add_rate(f"{label}: delete_many, one transaction", len(gone), "docs/s", timing)


def weighted(
    record: Record,
    arguments: argparse.Namespace,
    directory: Path,
    random: np.random.Generator,
    names: list[str],
) -> None:
    """Insert fingerprints with 128 weights and volatility of 64 bytes; compact, add the sizes."""
    label = short(len(names))
    path = directory / "weighted"
    each, compacting = Timing(), Timing()
    with simdb.open(path, "x", durability=arguments.durability) as database:
        for start in range(0, len(names), WEIGHTED_PART):
            part = names[start : start + WEIGHTED_PART]
            documents = with_weights(random, len(part))
            measure(partial(database.insert_many, part, documents), each)
        inserting = Timing([sum(each.wall)], [sum(each.processor)])
        record.add_rate(
            f"{label}: insert_many with weights, transactions of {WEIGHTED_PART}",
            len(names),
            "docs/s",
            inserting,
        )
        before = file_bytes(path)
        done = measure(database.compact, compacting)
        record.add_rate(
            f"{label}: compact, 4 tables and volatility",
            len(names),
            "docs/s",
            compacting,
            done.note,
        )
        record.add(f"{label}: file before compact, by document", before / len(names), "bytes")
        record.add(
            f"{label}: file after compact, by document", file_bytes(path) / len(names), "bytes"
        )
        for section, size in sorted(database.stats().section_bytes.items()):
            record.add(f"{label}:   of them {section}", size / len(names), "bytes")


def insert(
    database: simdb.Database, names: list[str], stored: npt.NDArray[np.uint64], size: int
) -> None:
    """Insert all documents, in transactions of `size`."""
    for start in range(0, len(names), size):
        database.insert_many(names[start : start + size], stored[start : start + size])


def with_weights(random: np.random.Generator, count: int) -> simdb.Fingerprints:
    """Draw normally distributed weights and make their fingerprints."""
    weights = random.standard_normal((count, 128), np.float32)
    signs = np.packbits(weights[:, :64] >= 0, axis=1, bitorder="little")
    return simdb.Fingerprints(signs.view(np.uint64).reshape(-1), weights)


def write_synced(descriptor: int) -> None:
    """Overwrite a page in place: about what one of a commit's two synced writes costs."""
    os.pwrite(descriptor, bytes(4096), 0)
    os.fdatasync(descriptor)


def file_bytes(path: Path) -> int:
    """Return the bytes on disk of all files of a database."""
    return sum(each.stat().st_blocks * 512 for each in path.iterdir())


if __name__ == "__main__":
    main()
