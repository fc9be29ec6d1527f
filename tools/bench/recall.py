"""Is the recall given the recall asked, in every state of a database, on every collection?

Collections are texts of the kinds of `made.py`, Zipf's words also with weights of tf, and ready
fingerprints without and with near pairs.  Queries are stored documents, edited ones and
foreign ones.

similarity  Collections with weights, and synthetic ones: normal vectors with one match each, with
            the similarity asked and at most .003 more.  Also the documents of each corpus of
            `--folder` that have a match.  States are: as inserted, a third deleted, calibrated,
            compacted, and inserted after another collection with its calibration.

distance    All collections.  States are: never calibrated, calibrated, and calibrated on a sample
            of the edited queries, which is not asked.

The truth is an exhaustive search; a document is no match of itself.  `given` is the share of all
matches that were found, `each` the mean of the shares of the documents.  Standard errors take
documents, not pairs, as independent.  SHORT is more than two standard errors below what was asked.
"""

import argparse
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import simdb
from corpus import read_corpus
from documents import flipped, taken
from made import KINDS, changed, with_copies
from record import Record, number, options, recorded, scratch
from simdb.core import kernel
from simdb.core.options import AUTO, METHODS
from simdb.core.vector_form import corrected, fingerprints_of, unpack

SIMILARITIES = (0.8, 0.88, 0.9, 0.95)
DISTANCES = tuple(range(1, 9))
RECALLS = (0.9, 0.95, 0.99)
BY_DISTANCE = ("auto", "psm", "multiprobe", "bphs")
WIDE = 0.003  # how much above the similarity asked a synthetic match can be
DIMENSIONS = 128
PART = 2_000  # queries of one exhaustive search
FEWEST = 20  # documents with matches that a verdict needs
OTHER = 1 << 41  # ids of the other collection begin here

I64 = npt.NDArray[np.int64]
F32 = npt.NDArray[np.float32]
Chance = np.random.Generator
States = Iterator[tuple[str, simdb.Database, npt.NDArray[np.bool_]]]


@dataclass(frozen=True)
class Collection:
    """Documents to store, and queries by kind; `own`: the ids of stored queries."""

    name: str
    stored: simdb.Fingerprints
    queries: dict[str, simdb.Fingerprints]
    own: I64
    options: simdb.Options = field(default_factory=simdb.Options)
    sample: simdb.Fingerprints | None = None
    asked: tuple[float, ...] = ()  # other similarities than the usual ones


class Found(NamedTuple):
    """Matches, as numbers query << 42 | id in ascending order, with how near they are."""

    keys: I64
    nearness: F32

    def at_least(self, least: float) -> "Found":
        chosen = self.nearness >= np.float32(least)
        return Found(self.keys[chosen], self.nearness[chosen])


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--by", choices=STATES, default="similarity")
    parser.add_argument("--folder", type=Path, help="folder of NAME.jsonl.gz")
    parser.add_argument("--only", nargs="*", default=[], help="names of collections; default: all")
    parser.add_argument("--documents", type=number, default=20_000, help="of a made collection")
    parser.add_argument("--queries", type=number, default=400)
    parser.add_argument("--method", nargs="+", default=[], choices=(AUTO, *METHODS))
    parser.add_argument("--similarities", type=float, nargs="+", default=SIMILARITIES)
    parser.add_argument("--recalls", type=float, nargs="+", default=RECALLS)
    with recorded(__doc__, parser) as record:
        for collection in collections(record.arguments):
            judge(record, record.arguments, collection)
        rows = [row for row in record.rows if row["documents"] >= FEWEST]
        short = sorted((row for row in rows if shortfall(row) > 2), key=shortfall, reverse=True)
        print(f"\n{len(short)} of {len(rows)} are more than two standard errors short")
        for row in short:
            print(f"{shortfall(row):.1f} errors short: {row['what']}: {row['given']:.4f}")


def collections(arguments: argparse.Namespace) -> Iterator[Collection]:
    by_similarity = arguments.by == "similarity"
    for name, make in MADE.items():
        if arguments.only and name not in arguments.only:
            continue
        made = make(name, arguments.seed, arguments.documents, arguments.queries)
        if made.stored.weights is not None or not by_similarity:
            yield made
    if by_similarity:
        for similarity in arguments.similarities:
            if not arguments.only or "synthetic" in arguments.only:
                yield synthetic(similarity, arguments)
        for path in sorted(arguments.folder.glob("*.jsonl.gz")) if arguments.folder else []:
            if not arguments.only or path.name.removesuffix(".jsonl.gz") in arguments.only:
                yield of_corpus(path, arguments)


def of_corpus(path: Path, arguments: argparse.Namespace) -> Collection:
    """Return the documents of a corpus that have features; those with a match are the queries."""
    made = simdb.fingerprints(read_corpus(str(path))[1])
    stored = taken(made, np.flatnonzero(made.weights.any(axis=1)))
    with simdb.open(None) as database:
        database.insert_many(range(len(stored)), stored)
        least = {"similarity": min(arguments.similarities)}
        own = np.unique(truth_of(database, stored, np.arange(len(stored)), least).keys >> 42)
    if len(own) > arguments.queries:
        chance = np.random.default_rng(arguments.seed)
        own = np.sort(chance.choice(own, arguments.queries, replace=False))
    return Collection(path.name.split(".")[0], stored, {"stored": taken(stored, own)}, own)


def synthetic(similarity: float, arguments: argparse.Namespace) -> Collection:
    """Draw normal vectors, and for each query a stored match just as similar as asked.

    An equal number of other pairs is stored, from which a calibration can learn.
    """
    chance = np.random.default_rng([arguments.seed, int(similarity * 1e6)])
    size = arguments.documents // 2
    stored = chance.standard_normal((size, DIMENSIONS)).astype(np.float32)
    count = min(arguments.queries, size // 2)
    partners = just_as_similar(stored[: 2 * count], similarity, chance)
    every, asked = (
        simdb.Fingerprints(fingerprints_of(weights), weights)
        for weights in (np.concatenate([stored, partners[count:]]), partners[:count])
    )
    name, own = f"synthetic {similarity:g}", np.full(count, -1)
    return Collection(name, every, {"foreign": asked}, own, asked=(similarity,))


def just_as_similar(weights: F32, similarity: float, chance: Chance) -> F32:
    """Draw a vector for each row, with the similarity asked and at most WIDE more."""
    made = np.empty_like(weights)
    left, middle = np.arange(len(weights)), similarity
    rows = as_stored(weights)
    while len(left):
        noise = chance.standard_normal((len(left), DIMENSIONS))
        drawn = (middle * weights[left] + np.sqrt(1 - middle**2) * noise).astype(np.float32)
        one, other = rows[left], as_stored(drawn)
        norms = (one * one).sum(axis=1) * (other * other).sum(axis=1)
        measured = corrected((one * other).sum(axis=1) / np.sqrt(norms))
        # The estimate can be low, and is again in the next round.
        middle += (similarity + WIDE / 2 - float(measured.mean())) / 2
        is_made = (measured >= np.float32(similarity)) & (measured < similarity + WIDE)
        made[left[is_made]] = drawn[is_made]
        left = left[~is_made]
    return made


def as_stored(weights: F32) -> F32:
    """Return the weights as a database stores them."""
    return unpack(kernel.quantise(weights)[1]).astype(np.float32)


def of_texts(kind: str, weighting: Any = "binary") -> Callable[..., Collection]:
    """Return a function that makes texts, half of them changed copies of others."""

    def make(name: str, seed: int, count: int, asked: int) -> Collection:
        sketch = simdb.Simhash(weighting=weighting, shingle=1 if weighting == "tf" else 3)
        chance = Random(f"{name} {seed}")
        texts = with_copies(kind, count, chance)
        own = np.array(sorted(chance.sample(range(len(texts)), min(asked, count // 2))))
        edits = [changed(texts[at], chance) for at in own]
        foreign = [" ".join(KINDS[kind](chance)) for _ in range(asked)]
        each = [simdb.fingerprints(some, sketch) for some in (texts, edits, foreign)]
        return collected(name, simdb.Options(sketch=sketch), own, *each)

    return make


def of_bits(*, near: bool) -> Callable[..., Collection]:
    """Return a function that makes ready fingerprints, without weights."""

    def make(name: str, seed: int, count: int, asked: int) -> Collection:
        chance = np.random.default_rng([seed, near])
        bits = chance.integers(0, 1 << 63, count, np.uint64)
        if near:
            bits[count // 2 :] = flipped(bits[: count - count // 2], chance, least=1, most=8)
        own = np.sort(chance.choice(count, min(asked, count), replace=False))
        foreign = chance.integers(0, 1 << 63, asked, np.uint64)
        changed = flipped(bits[own], chance, least=1, most=8)
        return collected(
            name, simdb.Options(), own, *map(simdb.Fingerprints, (bits, changed, foreign))
        )

    return make


def collected(
    name: str, settings: simdb.Options, own: I64, stored: simdb.Fingerprints,
    edits: simdb.Fingerprints, foreign: simdb.Fingerprints,
) -> Collection:  # fmt: skip
    half = len(own) // 2
    edited, sample = (taken(edits, part) for part in (slice(half, None), slice(half)))
    queries = {"stored": taken(stored, own), "edited": edited, "foreign": foreign}
    return Collection(name, stored, queries, own, settings, sample)


MADE: dict[str, Callable[..., Collection]] = {
    **{kind: of_texts(kind) for kind in KINDS}, "Zipf words, tf": of_texts("Zipf words", "tf"),
    "bits": of_bits(near=False), "near bits": of_bits(near=True),
}  # fmt: skip


def judge(record: Record, arguments: argparse.Namespace, collection: Collection) -> None:
    """Add rows for one collection in every state."""
    by, is_distance = arguments.by, arguments.by == "distance"
    methods = arguments.method or (BY_DISTANCE if is_distance else ["auto"])
    limits = collection.asked or (DISTANCES if is_distance else arguments.similarities)
    farthest = {by: max(limits) if is_distance else min(limits)}
    for state, database, is_live in STATES[by](arguments, collection):
        for kind, every in collection.queries.items():
            own = collection.own if kind == "stored" else np.full(len(every), -1)
            asked = np.flatnonzero((own < 0) | is_live[own])
            queries, mine = taken(every, asked), own[asked]
            whole = truth_of(database, queries, mine, farthest)
            for limit, recall, method in product(limits, arguments.recalls, methods):
                truth = whole.at_least(-limit if is_distance else limit)
                if len(np.unique(truth.keys >> 42)) < (FEWEST if is_distance else 1):
                    continue
                given = {by: limit, "recall": recall, "search": method}
                try:
                    plan = database.plan(**given)
                    found = found_by(database, queries, mine, **given)
                except simdb.OptionError:
                    continue
                facts = {
                    "collection": collection.name, "state": state, "kind": kind, "limit": limit,
                    "asked": recall, "by": method, "method": plan.method, "planned": plan.recall,
                    "probes": plan.probes,
                }  # fmt: skip
                tell(record, facts, truth, found)


def similar_states(arguments: argparse.Namespace, collection: Collection) -> States:
    """Yield the name of each state, a database in it, and which documents are stored."""
    names = np.arange(len(collection.stored))
    every, settings = np.ones(len(names), np.bool_), collection.options
    with scratch(arguments.directory) as folder:
        with simdb.open(folder / "one", "x", options=settings, durability="none") as database:
            database.insert_many(names.tolist(), collection.stored)
            yield "as inserted", database, every
            shutil.copytree(folder / "one", folder / "two")
            with simdb.open(folder / "two", "w") as thinned:
                is_live = names % 3 != 0
                thinned.delete_many(names[~is_live].tolist())
                yield "a third deleted", thinned, is_live
            database.calibrate()
            yield "calibrated", database, every
            database.compact()
            yield "compacted", database, every
        with simdb.open(folder / "three", "x", options=settings, durability="none") as database:
            other = synthetic(0.97, arguments).stored
            database.insert_many(range(OTHER, OTHER + len(other)), other)
            database.calibrate()
            database.insert_many(names.tolist(), collection.stored)
            yield "calibrated on another", database, every


def near_states(arguments: argparse.Namespace, collection: Collection) -> States:
    every = np.ones(len(collection.stored), np.bool_)
    with simdb.open(None, options=collection.options) as database:
        database.insert_many(range(len(collection.stored)), collection.stored)
        database.compact()
        yield "never calibrated", database, every
        for state, sample in (("calibrated", None), ("calibrated by sample", collection.sample)):
            try:
                database.calibrate(sample)
            except simdb.Error:
                continue
            yield state, database, every


STATES = {"similarity": similar_states, "distance": near_states}


def truth_of(
    database: simdb.Database, queries: simdb.Fingerprints, own: I64, farthest: dict[str, Any]
) -> Found:
    """Find the matches by exhaustive search."""
    keys, nearness = [np.empty(0, np.int64)], [np.empty(0, np.float32)]
    for start in range(0, len(queries), PART):
        at = slice(start, start + PART)
        part = found_by(
            database, taken(queries, at), own[at], search="exhaustive", recall=1.0, **farthest
        )
        keys.append(part.keys + (start << 42))
        nearness.append(part.nearness)
    return Found(np.concatenate(keys), np.concatenate(nearness))


def found_by(
    database: simdb.Database, queries: simdb.Fingerprints, own: I64, **criterion: Any
) -> Found:
    """Search, and exclude each document as a match of itself."""
    matches = database.query_many(queries, **criterion)
    positions = np.repeat(np.arange(len(queries)), np.diff(matches.offsets))
    ids = np.array(matches.ids, np.int64)
    near = matches.similarities
    if "distance" in criterion:
        near = -matches.distances.astype(np.float32)
    kept = np.flatnonzero(ids != own[positions])
    keys = (positions << 42 | ids)[kept]
    order = np.argsort(keys)
    return Found(keys[order], near[kept][order])


def tell(record: Record, facts: dict[str, Any], truth: Found, found: Found) -> None:
    """Add the recall given, with its standard error, and the recall asked."""
    is_found = np.isin(truth.keys, found.keys)
    _, owners = np.unique(truth.keys >> 42, return_inverse=True)
    wanted = np.bincount(owners).astype(np.float64)
    reached = np.bincount(owners, is_found)
    given, count = float(reached.sum() / wanted.sum()), len(wanted)
    error = float(np.sqrt(((reached - given * wanted) ** 2).sum()) / wanted.sum())
    each = float((reached / wanted).mean())
    wrong = len(found.keys) - int(np.isin(found.keys, truth.keys).sum())
    facts |= {"given": given, "error": error, "documents": count, "each": each}
    note = (
        f"+- {error:.4f}, each {each:.4f}; {len(truth.keys)} matches of {count};"
        f" {facts['method']}, planned {facts['planned']:.3f}, {facts['probes']} probes"
        f"{f', {wrong} WRONG' if wrong else ''}{'  SHORT' if shortfall(facts) > 2 else ''}"
    )
    what = "{collection}, {state}, {kind}, {limit:g}, recall {asked:g}, {by}".format(**facts)
    record.add(what, given, "", note=note, facts=facts)


def shortfall(facts: dict[str, Any]) -> float:
    """Return by how many standard errors the recall given is below the recall asked.

    The error is at least that of a binomial share with the recall asked; 0 for few documents.
    """
    if facts["documents"] < FEWEST:
        return 0.0
    asked = facts["asked"]
    least = np.sqrt(asked * (1 - asked) / facts["documents"])
    return float((asked - min(facts["given"], facts["each"])) / max(facts["error"], least))


if __name__ == "__main__":
    main()
