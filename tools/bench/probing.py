"""How fast is probing in the order of volatility (PSM), beside exact search, at a recall of .95?

The database holds uniform fingerprints.  A query has the signs of a stored document, weights from a
Laplace distribution, and noise that flips a few signs.  An exact search gives the true matches
within distance 3.  PSM looks up one table; the exact methods look up four tables, ten, or two with
one flipped bit, with the same queries and with ready fingerprints alone.  No database stores
weights, so the bytes reported are those of tables, ids and fingerprints.

`--corpus` measures volatility multi-probe instead of uniform fingerprints, with similarity .9 and
recall .95.  The documents are passages from random places of the corpus with some words replaced.
Recall is the share of the matches that an exhaustive search finds.
"""

import argparse
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import simdb
from corpus import read_corpus
from record import Record, in_turns, number, options, short
from simdb.engine.search.method import levels_of
from workload import DISTANCE, scratch

INSERTED = 1_000_000
PART = 100_000
SAMPLED = 20_000  # documents like the queries, for the calibration
CHECKED = 500  # queries that an exhaustive search answers, too
# Name: blocks, leading, search method, whether only the first match is wanted.
WAYS = {
    "PSM-A": (1, 1, "psm", False),
    "PSM-F": (1, 1, "psm", True),
    "4 tables, exact": (4, 1, "bphs", False),
    "10 tables, exact": (5, 2, "bphs", False),
    "2 tables with one flip, exact": (2, 1, "auto", False),
}
BARE = ", asked by ready fingerprints"
Bits = npt.NDArray[np.uint64]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("-n", type=number, nargs="*", default=[1_000_000], help="stored documents")
    parser.add_argument("--queries", type=number, default=100_000)
    parser.add_argument("--ways", nargs="*", choices=[*WAYS], default=[*WAYS])
    parser.add_argument(
        "--noise",
        type=float,
        default=0.064,
        help="noise of queries, in units of the spread of weights",
    )
    parser.add_argument("--recall", type=float, default=0.95)
    parser.add_argument("--corpus", help="JSON lines with id and text, gzipped or not")
    parser.add_argument("--passages", type=number, default=1_000_000)
    parser.add_argument("--words", type=int, default=80, help="words of a passage")
    parser.add_argument("--similarity", type=float, default=0.9)
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    for count in arguments.n:
        with scratch(arguments.directory) as directory:
            by_distance(record, arguments, count, directory)
    if arguments.corpus:
        with scratch(arguments.directory) as directory:
            by_similarity(record, arguments, directory)
    record.finish()


def by_distance(record: Record, arguments: argparse.Namespace, count: int, directory: Path) -> None:
    """Run all search methods on one set of fingerprints, in turns."""
    generator = np.random.default_rng([arguments.seed, count])
    stored = generator.integers(0, 2**64, count, np.uint64)
    queries = noisy(stored, arguments.queries, arguments.noise, generator)
    sample = noisy(stored, SAMPLED, arguments.noise, generator)
    databases: dict[tuple[int, int], simdb.Database] = {}
    tasks = {}
    for name in arguments.ways:
        blocks, leading, method, first = WAYS[name]
        layout = blocks, leading
        if layout not in databases:
            databases[layout] = build(directory / f"{blocks}-{leading}", layout, stored)
        database = databases[layout]
        if method == "psm":
            database.calibrate(sample)
        tasks[name] = partial(
            database.query_many, queries, distance=DISTANCE, search=method, first=first,
            recall=arguments.recall if method == "psm" else 1.0,
        )  # fmt: skip
        if method != "psm":
            # A query without weights is sketched faster, and an exact search needs no weights.
            tasks[f"{name}{BARE}"] = partial(
                database.query_many, queries.bits, distance=DISTANCE, recall=1.0
            )
    exact = next(name for name in arguments.ways if WAYS[name][2] != "psm")
    truth = tasks[exact]()
    label = short(count)
    for name, timing in in_turns(tasks, arguments.repeats).items():
        blocks, leading, _, first = WAYS[name.removesuffix(BARE)]
        database = databases[blocks, leading]
        share = recall_of(tasks[name](), truth, first)
        table_bytes, all_bytes = sizes(database)
        note = (
            f"recall {share:.4f}; {table_bytes:.1f} bytes a document in tables,"
            f" {all_bytes:.1f} in all"
        )
        record.add_rate(f"{label}: {name}", len(queries), "queries/s", timing, note)
    tell_matches(record, label, truth)
    for database in databases.values():
        database.close()


def noisy(
    stored: Bits, count: int, noise: float, generator: np.random.Generator
) -> simdb.Fingerprints:
    """Make weights with the signs of some of the stored documents, and add noise."""
    signs = np.unpackbits(
        stored[generator.integers(0, len(stored), count)].view(np.uint8).reshape(count, 8),
        axis=1,
        bitorder="little",
    )
    weights = generator.laplace(size=(count, 128))
    weights[:, :64] = np.abs(weights[:, :64]) * np.where(signs == 1, 1.0, -1.0)
    return fingerprints(weights + noise * generator.laplace(size=weights.shape))


def fingerprints(weights: npt.NDArray[Any]) -> simdb.Fingerprints:
    """Make fingerprints of exact weights."""
    packed = np.packbits(weights[:, :64] >= 0, axis=1, bitorder="little")
    bits = packed.view("<u8")[:, 0].astype(np.uint64)
    return simdb.Fingerprints(bits, weights.astype(np.float32))


def build(directory: Path, layout: tuple[int, int], stored: Bits) -> simdb.Database:
    """Make a compacted database without weights, and open it for reading and calibration."""
    chosen = simdb.Options(
        sketch=simdb.Simhash(store_volatility=False), blocks=layout[0], leading=layout[1]
    )
    with simdb.open(directory, "x", options=chosen, durability="none") as database:
        for start in range(0, len(stored), INSERTED):
            part = stored[start : start + INSERTED]
            database.insert_many(range(start, start + len(part)), part)
        database.compact()
    return simdb.open(directory)


def sizes(database: simdb.Database) -> tuple[float, float]:
    """Return the bytes for each document: in the tables of fingerprints, and in all."""
    sections = database.stats().section_bytes
    tables = sum(size for name, size in sections.items() if name.startswith("table/"))
    return tables / len(database), sum(sections.values()) / len(database)


def recall_of(found: simdb.Matches, truth: simdb.Matches, first: bool) -> float:
    """Return the share of the matches found; with `first`, of the queries with any match."""
    if first:
        return float((np.diff(found.offsets) > 0).sum() / (np.diff(truth.offsets) > 0).sum())
    return len(found.ordinals) / len(truth.ordinals)


def tell_matches(record: Record, label: str, truth: simdb.Matches) -> None:
    """Add how many matches a query has."""
    record.add(f"{label}: matches of a query", len(truth.ordinals) / len(truth), "")


def by_similarity(record: Record, arguments: argparse.Namespace, directory: Path) -> None:
    """Search passages of a corpus for passages like them, with a few other words."""
    generator = np.random.default_rng([arguments.seed, arguments.passages])
    words = " ".join(read_corpus(arguments.corpus)[1]).split()
    with simdb.open(directory / "x", "x", durability="none") as database:
        for start in range(0, arguments.passages, PART):
            count = min(PART, arguments.passages - start)
            made = passages(words, count, arguments.words, generator)
            database.insert_many(range(start, start + count), made)
        database.compact()
        queries = database.sketcher.fingerprints(
            passages(words, arguments.queries, arguments.words, generator)
        )
        database.calibrate(
            database.sketcher.fingerprints(passages(words, 2000, arguments.words, generator))
        )
    criterion = {"similarity": arguments.similarity, "recall": arguments.recall}
    with simdb.open(directory / "x", "r") as database:
        tasks = {}
        for name, method in (("multi-probe", "multiprobe"), ("as planned", "auto")):
            tasks[name] = partial(database.query_many, queries, search=method, **criterion)
            tasks[f"{name}, first"] = partial(tasks[name], first=True)
        label = f"{short(arguments.passages)} passages, similarity {arguments.similarity:g}"
        for name, timing in in_turns(tasks, arguments.repeats).items():
            plan = database.plan(search=tasks[name].keywords["method"], **criterion)
            note = (
                f"{plan.method}: {plan.tables} tables, {plan.probes} probes, distance"
                f" {plan.distance}; {candidates(database, queries, plan):.1f} candidates a query"
            )
            record.add_rate(f"{label}: {name}", len(queries), "queries/s", timing, note)
        tell_recall(record, label, tasks["multi-probe"]().offsets, database, queries, criterion)


def passages(
    words: list[str], count: int, length: int, generator: np.random.Generator
) -> list[str]:
    """Take `length` words in a row from random places, and replace up to three of them."""
    starts = generator.integers(0, len(words) - length, count).tolist()
    replaced = generator.integers(0, 4, count).tolist()
    places = generator.integers(0, length, (count, 3)).tolist()
    others = generator.integers(0, len(words), (count, 3)).tolist()
    made = []
    for start, most, at, other in zip(starts, replaced, places, others, strict=True):
        passage = words[start : start + length]
        for each in range(most):
            passage[at[each]] = words[other[each]]
        made.append(" ".join(passage))
    return made


def candidates(database: simdb.Database, queries: simdb.Fingerprints, plan: simdb.Plan) -> float:
    """Return how many stored documents are measured for each query, on average."""
    with database._enter() as (view, source):
        sketches = database._store.sketcher.sketch(queries, is_query=True)
        if plan.probing is None:
            offsets, _, _ = view.tables(source).lookup(
                sketches.bits, distance=plan.distance, flips=plan.flips, first=False, after=None
            )
        else:
            offsets, _, _ = view.tables(source).probe(
                sketches.bits, levels_of(sketches), costs=plan.probing.costs,
                theta=plan.probing.theta, cap=plan.probing.cap, distance=plan.distance,
                first=False, after=None, tables=plan.probing.tables,
            )  # fmt: skip
        return float(offsets[-1]) / len(queries)


def tell_recall(
    record: Record,
    label: str,
    offsets: npt.NDArray[np.int64],
    database: simdb.Database,
    queries: simdb.Fingerprints,
    criterion: dict[str, float],
) -> None:
    """Add the share of the matches of an exhaustive search that were found."""
    part = simdb.Fingerprints(queries.bits[:CHECKED], queries.weights[:CHECKED])
    every = database.query_many(
        part, similarity=criterion["similarity"], search="exhaustive", recall=1.0
    )
    share = float(offsets[CHECKED]) / len(every.ordinals)
    note = f"of {len(every.ordinals)} matches of {CHECKED} queries"
    record.add(f"{label}: recall of multi-probe", share, "", note=note)
    record.add(f"{label}: matches of a query", float(offsets[-1]) / len(queries), "")


if __name__ == "__main__":
    main()
