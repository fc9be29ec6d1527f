"""Is the recall given the recall asked, in every state of a database, on every collection?

similarity  documents of each corpus of `--folder` that have a match, and synthetic ones: normal
            vectors with one match each, with the similarity asked and at most .003 more.  States:
            as inserted; a third deleted; calibrated; compacted; inserted after another corpus that
            the database was calibrated on.  `--filler` stores so many texts besides, so that the
            planner uses its tables.
distance    made collections: exact copies, near copies, texts of a Zipf vocabulary, the same with
            weights of tf, templates, unrelated texts, ready fingerprints without and with near
            pairs.  Queries are stored documents, edited ones and foreign ones.  States: never
            calibrated; calibrated; by a sample of the edited queries, which is not asked

The truth is an exhaustive search; a document is no match of itself.  `given` is the share of all
matches that were found, `each` the mean of the shares of the documents, `near` the share of the
matches within .02 of the similarity asked.  Standard errors take documents, not pairs, as
independent.  SHORT is more than two standard errors below what was asked.
"""

import argparse
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import simdb
from corpus import read_corpus
from documents import flipped, parts, source_of, taken
from record import Record, markdown, number, options, scratch
from simdb.core import kernel
from simdb.core.options import AUTO, METHODS
from simdb.core.vector_form import corrected, fingerprints_of, unpack

SIMILARITIES = (0.8, 0.88, 0.9, 0.95)
DISTANCES = tuple(range(1, 9))
RECALLS = (0.9, 0.95, 0.99)
BY_DISTANCE = ("auto", "psm", "multiprobe", "bphs")
NEAR = 0.02
WIDE = 0.003  # how much above the similarity asked a synthetic match can be
STORED = 10_000  # synthetic documents without the matches that are stored
DIMENSIONS = 128
PART = 2_000  # queries of one exhaustive search
FEWEST = 20  # documents with matches that a verdict needs
WORDS = 120  # of a made text
# Ids of the filler and of the other corpus begin here.
FILLER, OTHER = 1 << 40, 1 << 41

I64 = npt.NDArray[np.int64]
F32 = npt.NDArray[np.float32]
Chance = np.random.Generator


@dataclass(frozen=True)
class Collection:
    """Documents to store, and queries by their kind; `own`: the ids of those that are stored."""

    name: str
    stored: simdb.Fingerprints
    queries: dict[str, simdb.Fingerprints]
    own: I64
    options: simdb.Options = field(default_factory=simdb.Options)
    sample: simdb.Fingerprints | None = None
    asked: tuple[float, ...] = ()  # other similarities than the usual ones


@dataclass(frozen=True)
class Found:
    """Matches, as numbers query << 42 | id in ascending order, with how near they are."""

    keys: I64
    nearness: F32

    def at_least(self, least: float) -> "Found":
        chosen = self.nearness >= np.float32(least)
        return Found(self.keys[chosen], self.nearness[chosen])


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--by", choices=("similarity", "distance"), default="similarity")
    parser.add_argument("--folder", type=Path, help="folder of NAME.jsonl.gz")
    parser.add_argument("--only", nargs="*", default=[], help="names of collections; default: all")
    parser.add_argument("--other", nargs="*", default=[], help="corpora to calibrate on")
    parser.add_argument("--documents", type=number, default=20_000, help="of a made collection")
    parser.add_argument("--queries", type=number, default=400)
    parser.add_argument("--filler", type=number, default=0, help="texts stored besides")
    parser.add_argument("--method", nargs="+", default=[], choices=(AUTO, *METHODS))
    parser.add_argument("--similarities", type=float, nargs="+", default=SIMILARITIES)
    parser.add_argument("--recalls", type=float, nargs="+", default=RECALLS)
    arguments = parser.parse_args()
    arguments.corpora = arguments.folder
    record = Record(__doc__, arguments)
    for collection in COLLECTIONS[arguments.by](arguments):
        judge(record, arguments, collection)
    tell_worst(record)
    record.finish()


def corpora(arguments: argparse.Namespace) -> Iterator[Collection]:
    """Yield corpora, with queries that have a match, and synthetic documents."""
    paths = sorted(arguments.folder.glob("*.jsonl.gz")) if arguments.folder else []
    for name in (path.name.removesuffix(".jsonl.gz") for path in paths):
        if arguments.only and name not in arguments.only:
            continue
        stored = sketched(arguments, name)
        with simdb.open(None) as database:
            database.insert_many(range(len(stored)), stored)
            own = np.arange(len(stored))
            least = {"similarity": min(arguments.similarities)}
            chosen = np.unique(truth_of(database, stored, own, least).keys >> 42)
        if len(chosen) > arguments.queries:
            chance = np.random.default_rng(arguments.seed)
            chosen = np.sort(chance.choice(chosen, arguments.queries, replace=False))
        yield Collection(name, stored, {"stored": taken(stored, chosen)}, chosen)
    for similarity in arguments.similarities:
        if not arguments.only or "synthetic" in arguments.only:
            yield synthetic(similarity, arguments)


def sketched(arguments: argparse.Namespace, name: str) -> simdb.Fingerprints:
    """Make the fingerprints of the documents of a corpus that have features."""
    made = simdb.fingerprints(read_corpus(str(arguments.folder / f"{name}.jsonl.gz"))[1])
    assert made.weights is not None
    return taken(made, np.flatnonzero(made.weights.any(axis=1)))


def synthetic(similarity: float, arguments: argparse.Namespace) -> Collection:
    """Draw normal vectors, and for each query a stored match just as similar as asked.

    As many other pairs are stored, from which a calibration can learn.
    """
    chance = np.random.default_rng([arguments.seed, int(similarity * 1e6)])
    stored = chance.standard_normal((STORED, DIMENSIONS)).astype(np.float32)
    count = min(arguments.queries, STORED // 2)
    partners = just_as_similar(stored[: 2 * count], similarity, chance)
    both = of_weights(np.concatenate([stored, partners[count:]])), of_weights(partners[:count])
    queries = {"foreign": both[1]}
    return Collection(
        f"synthetic {similarity:g}", both[0], queries, np.full(count, -1), asked=(similarity,)
    )


def just_as_similar(weights: F32, similarity: float, chance: Chance) -> F32:
    """Draw a vector for each row, with the similarity asked and at most WIDE more."""
    made = np.empty_like(weights)
    left, middle = np.arange(len(weights)), similarity
    rows = stored_weights(weights)
    while len(left):
        noise = chance.standard_normal((len(left), DIMENSIONS))
        drawn = (middle * weights[left] + np.sqrt(1 - middle**2) * noise).astype(np.float32)
        one, other = rows[left], stored_weights(drawn)
        norms = (one * one).sum(axis=1) * (other * other).sum(axis=1)
        measured = corrected((one * other).sum(axis=1) / np.sqrt(norms))
        # The estimate can be low, and is again in the next round.
        middle += (similarity + WIDE / 2 - float(measured.mean())) / 2
        is_made = (measured >= np.float32(similarity)) & (measured < similarity + WIDE)
        made[left[is_made]] = drawn[is_made]
        left = left[~is_made]
    return made


def stored_weights(weights: F32) -> F32:
    """Return the weights as a database stores them."""
    return unpack(kernel.quantise(weights)[1]).astype(np.float32)


def of_weights(weights: F32) -> simdb.Fingerprints:
    return simdb.Fingerprints(fingerprints_of(weights), weights)


def made(arguments: argparse.Namespace) -> Iterator[Collection]:
    for name, make in MADE.items():
        if not arguments.only or name in arguments.only:
            chance = np.random.default_rng([arguments.seed, sum(map(ord, name))])
            yield make(name, chance, arguments.documents, arguments.queries)


def texts_of(
    chance: Chance, count: int, vocabulary: int, skew: float, fixed: int = 0
) -> list[list[str]]:
    """Draw texts of words, `fixed` of which are those of one of a few templates."""
    shares = 1 / np.arange(1, vocabulary + 1) ** skew
    drawn = chance.choice(vocabulary, (count, WORDS), p=shares / shares.sum())
    templates = chance.choice(vocabulary, (5, fixed))
    which = chance.integers(0, 5, count)
    return [
        [f"w{at}" for at in (*templates[kind], *row[fixed:])]
        for kind, row in zip(which.tolist(), drawn.tolist(), strict=True)
    ]


def edited(chance: Chance, words: list[str], most: int) -> list[str]:
    found = list(words)
    for at in chance.integers(0, len(words), chance.integers(1, most + 1)).tolist():
        found[at] = f"new{chance.integers(1 << 30)}"
    return found


def of_texts(
    *,
    vocabulary: int = 50_000,
    skew: float = 0.0,
    fixed: int = 0,
    copies: int = 0,
    weighting: Any = "binary",
) -> Callable[..., Collection]:
    """Return what makes a collection of texts; `copies`: the most edits of a near copy, if any."""

    def make(name: str, chance: Chance, count: int, asked: int) -> Collection:
        sketch = simdb.Simhash(weighting=weighting, shingle=1 if weighting == "tf" else 3)
        texts = texts_of(chance, count, vocabulary, skew, fixed)
        if copies >= 0:
            for at in range(count // 2, count // 2 + count // 10):
                source = texts[at - count // 2]
                texts[at] = edited(chance, source, copies) if copies else list(source)
        own = np.sort(chance.choice(count * 6 // 10, asked, replace=False))
        changed = [edited(chance, texts[at], 4) for at in own]
        foreign = texts_of(chance, asked, vocabulary, skew, fixed)
        each = [
            simdb.fingerprints([" ".join(words) for words in some], sketch)
            for some in (texts, changed, foreign)
        ]
        return collected(name, simdb.Options(sketch=sketch), own, *each)

    return make


def of_bits(*, near: bool) -> Callable[..., Collection]:
    """Return what makes a collection of ready fingerprints, without weights."""

    def make(name: str, chance: Chance, count: int, asked: int) -> Collection:
        bits = chance.integers(0, 1 << 63, count, np.uint64)
        if near:
            bits[count // 2 :] = flipped(bits[: count - count // 2], chance, least=1, most=8)
        own = np.sort(chance.choice(count, asked, replace=False))
        foreign = chance.integers(0, 1 << 63, asked, np.uint64)
        changed = flipped(bits[own], chance, least=1, most=8)
        each = map(simdb.Fingerprints, (bits, changed, foreign))
        return collected(name, simdb.Options(), own, *each)

    return make


def collected(
    name: str,
    settings: simdb.Options,
    own: I64,
    stored: simdb.Fingerprints,
    changed: simdb.Fingerprints,
    foreign: simdb.Fingerprints,
) -> Collection:
    half = len(own) // 2
    queries = {
        "stored": taken(stored, own), "edited": taken(changed, slice(half, None)),
        "foreign": foreign,
    }  # fmt: skip
    return Collection(name, stored, queries, own, settings, taken(changed, slice(half)))


MADE: dict[str, Callable[..., Collection]] = {
    "exact copies": of_texts(),
    "near copies": of_texts(copies=4),
    "Zipf": of_texts(vocabulary=2_000, skew=1.1, copies=-1),
    "Zipf, tf": of_texts(vocabulary=2_000, skew=1.1, copies=4, weighting="tf"),
    "templates": of_texts(vocabulary=5_000, fixed=112, copies=-1),
    "unrelated": of_texts(copies=-1),
    "bits": of_bits(near=False),
    "near bits": of_bits(near=True),
}
COLLECTIONS = {"similarity": corpora, "distance": made}


def judge(record: Record, arguments: argparse.Namespace, collection: Collection) -> None:
    """Add rows for one collection in every state."""
    by = arguments.by
    methods = arguments.method or (BY_DISTANCE if by == "distance" else ["auto"])
    limits = collection.asked or (DISTANCES if by == "distance" else arguments.similarities)
    farthest = {by: max(limits) if by == "distance" else min(limits)}
    for state, database, is_live in STATES[by](arguments, collection):
        for kind, every in collection.queries.items():
            own = collection.own if kind == "stored" else np.full(len(every), -1)
            asked = np.flatnonzero((own < 0) | is_live[own])
            queries, mine = taken(every, asked), own[asked]
            whole = truth_of(database, queries, mine, farthest)
            for limit, recall, method in product(limits, arguments.recalls, methods):
                truth = whole.at_least(-limit if by == "distance" else limit)
                given = {by: limit, "recall": recall, "search": method}
                if by == "distance" and len(np.unique(truth.keys >> 42)) < FEWEST:
                    continue
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


def similar_states(
    arguments: argparse.Namespace, collection: Collection
) -> Iterator[tuple[str, simdb.Database, npt.NDArray[np.bool_]]]:
    """Yield the name of each state, a database in it, and which documents are stored."""
    names = np.arange(len(collection.stored))
    every = np.ones(len(names), np.bool_)
    with scratch(arguments.directory) as directory:
        with filled(arguments, directory / "one") as database:
            database.insert_many(names.tolist(), collection.stored)
            yield "as inserted", database, every
            shutil.copytree(directory / "one", directory / "two")
            with simdb.open(directory / "two", "w") as thinned:
                is_live = names % 3 != 0
                thinned.delete_many(names[~is_live].tolist())
                yield "a third deleted", thinned, is_live
            database.calibrate()
            yield "calibrated", database, every
            database.compact()
            yield "compacted", database, every
        other = next((name for name in arguments.other if name != collection.name), None)
        if other is not None:
            with filled(arguments, directory / "three") as database:
                before = sketched(arguments, other)
                database.insert_many(range(OTHER, OTHER + len(before)), before)
                database.calibrate()
                database.insert_many(names.tolist(), collection.stored)
                yield "calibrated on another", database, every


def filled(arguments: argparse.Namespace, path: Path) -> simdb.Database:
    """Create a database that has the filler."""
    database = simdb.open(path, "x", durability="none")
    if arguments.filler:
        for names, texts in parts(source_of("texts", arguments), 0, arguments.filler, 100_000):
            database.insert_many(range(FILLER + names.start, FILLER + names.stop), texts)
    return database


def near_states(
    arguments: argparse.Namespace, collection: Collection
) -> Iterator[tuple[str, simdb.Database, npt.NDArray[np.bool_]]]:
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
        at = np.arange(start, min(start + PART, len(queries)))
        part = found_by(
            database, taken(queries, at), own[at], search="exhaustive", recall=1.0, **farthest
        )
        keys.append(part.keys + (start << 42))
        nearness.append(part.nearness)
    return Found(np.concatenate(keys), np.concatenate(nearness))


def found_by(
    database: simdb.Database, queries: simdb.Fingerprints, own: I64, **criterion: Any
) -> Found:
    """Search, and leave out each document as a match of itself."""
    matches = database.query_many(queries, **criterion)
    positions = np.repeat(np.arange(len(queries)), np.diff(matches.offsets))
    ids = np.array(matches.ids, np.int64)
    keys = positions << 42 | ids
    near = (
        -matches.distances.astype(np.float32) if "distance" in criterion else matches.similarities
    )
    kept = np.flatnonzero(ids != own[positions])
    kept = kept[np.argsort(keys[kept])]
    return Found(keys[kept], near[kept])


def tell(record: Record, facts: dict[str, Any], truth: Found, found: Found) -> None:
    """Add the recall given, with its standard error, beside the recall asked."""
    if not len(truth.keys):
        return
    is_found = np.isin(truth.keys, found.keys)
    _, owners = np.unique(truth.keys >> 42, return_inverse=True)
    wanted = np.bincount(owners).astype(np.float64)
    reached = np.bincount(owners, is_found)
    given, count = float(reached.sum() / wanted.sum()), len(wanted)
    error = float(np.sqrt(((reached - given * wanted) ** 2).sum()) / wanted.sum())
    shares = reached / wanted
    is_near = truth.nearness < facts["limit"] + NEAR
    wrong = len(found.keys) - int(np.isin(found.keys, truth.keys).sum())
    facts |= {"given": given, "error": error, "documents": count, "each": float(shares.mean())}
    note = (
        f"+- {error:.4f}, each {shares.mean():.4f} +- {shares.std() / np.sqrt(count):.4f},"
        f" near {float(is_found[is_near].mean()) if is_near.any() else 1:.3f};"
        f" {len(truth.keys)} matches of {count};"
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


def tell_worst(record: Record) -> None:
    """Print the recall given, the least over all collections, for each state and question."""
    rows = [row for row in record.rows if row.get("documents", 0) >= FEWEST]
    questions: dict[tuple[str, ...], dict[float, list[dict[str, Any]]]] = {}
    for row in rows:
        question = row["state"], row["kind"], row["by"], f"{row['limit']:g}"
        questions.setdefault(question, {}).setdefault(row["asked"], []).append(row)
    lines = []
    for question, by_recall in sorted(questions.items()):
        worst = [max(by_recall.get(asked, []), key=shortfall, default=None) for asked in RECALLS]
        cells = [f"{row['given']:.3f} +- {row['error']:.3f}" if row else "" for row in worst]
        lines.append([*question, *cells])
    head = ["state", "queries", "method", "limit", *(f"recall {asked:g}" for asked in RECALLS)]
    print("\n" + markdown(head, lines))
    short = sorted((row for row in rows if shortfall(row) > 2), key=shortfall, reverse=True)
    print(f"\n{len(short)} of {len(rows)} are more than two standard errors short")
    for row in short:
        print(f"{shortfall(row):.1f} errors short: {row['what']}: {row['given']:.4f}")


if __name__ == "__main__":
    main()
