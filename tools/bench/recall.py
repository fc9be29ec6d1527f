"""Is the recall given the recall asked, in every state of a database and on every corpus?

Searches by `--methods` for documents of a corpus that have matches, in these states: as
inserted; after deleting a third; calibrated; compacted; and inserted after another corpus that the
database was calibrated on.  The truth is an exhaustive search by the stored weights.  A document
does not count as a match of itself.  `--filler` stores other documents besides, so that the planner
uses its tables.

`given` is the share of all matches that were found, `each` the mean of the shares of the documents,
`near` the share of the matches within .02 of the similarity asked.  Standard errors take documents,
not pairs, as independent.  The last corpus is synthetic: normal vectors, and one match for each
query, with the similarity asked and at most .003 more.
"""

import argparse
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import simdb
from corpus import read_corpus
from record import Record, number, options
from simdb.columns.vector_form import corrected, fingerprints_of, unpack
from simdb.running import kernel
from simdb.settings.options import AUTO, METHODS
from texts import load_sketches
from workload import scratch

SIMILARITIES = (0.8, 0.88, 0.9, 0.95)
RECALLS = (0.9, 0.95, 0.99)
NEAR = 0.02
SYNTHETIC = "synthetic"
WIDE = 0.003  # how much above the similarity asked a synthetic match can be
STORED = 10_000  # synthetic documents without the matches that are stored
DIMENSIONS = 128
PART = 2_000  # queries of one exhaustive search
FILLER_PART = 100_000  # documents of one transaction
FEWEST = 20  # documents with matches that a verdict needs
# Ids of the filler and of the other corpus begin here.
FILLER, OTHER = 1 << 40, 1 << 41

I64 = npt.NDArray[np.int64]
F32 = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Documents:
    """Documents to store, and those that are queried; documents without a match are in no truth."""

    name: str
    stored: simdb.Fingerprints
    queries: simdb.Fingerprints
    own: I64  # the id of each query among the stored documents; -1 if it is not stored


@dataclass(frozen=True)
class Found:
    """Matches, as numbers query << 42 | id in ascending order, with their similarities."""

    keys: I64
    similarities: F32

    def at_least(self, similarity: float) -> "Found":
        chosen = self.similarities >= np.float32(similarity)
        return Found(self.keys[chosen], self.similarities[chosen])


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("folder", type=Path, help="folder of NAME.jsonl.gz")
    parser.add_argument("--only", nargs="*", default=[], help="names of corpora; default: all")
    parser.add_argument(
        "--other", nargs=2, default=("zh_songci", "zh_lcqmc_devtest"),
        help="corpora for a calibration of their own; the first that is not searched itself",
    )  # fmt: skip
    parser.add_argument("--queries", type=number, default=2_000, help="documents of a corpus")
    parser.add_argument("--filler", help="prefix of sketches that texts.py has written")
    parser.add_argument("--methods", nargs="+", default=["auto"], choices=(AUTO, *METHODS))
    parser.add_argument("--similarities", type=float, nargs="+", default=SIMILARITIES)
    parser.add_argument("--recalls", type=float, nargs="+", default=RECALLS)
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    paths = sorted(arguments.folder.glob("*.jsonl.gz"))
    for name in [*(path.name.removesuffix(".jsonl.gz") for path in paths), SYNTHETIC]:
        if arguments.only and name not in arguments.only:
            continue
        if name != SYNTHETIC:
            judge(record, arguments, corpus_of(arguments, name), arguments.similarities)
            continue
        for similarity in arguments.similarities:
            judge(record, arguments, synthetic(similarity, arguments), [similarity])
    tell_worst(record)
    record.finish()


def corpus_of(arguments: argparse.Namespace, name: str) -> Documents:
    """Sketch a corpus; its queries are documents that have a match, drawn at random."""
    stored = sketched(arguments, name)
    with scratch(arguments.directory) as directory, simdb.open(directory / "db", "x") as database:
        database.insert_many(range(len(stored)), stored)
        matched = []
        for start in range(0, len(stored), PART):
            own = np.arange(start, min(start + PART, len(stored)))
            found = truth_of(database, taken(stored, own), own, min(arguments.similarities))
            matched.append(own[np.unique(found.keys >> 42)])
    chosen = np.concatenate(matched)
    chance = np.random.default_rng(arguments.seed)
    if len(chosen) > arguments.queries:
        chosen = np.sort(chance.choice(chosen, arguments.queries, replace=False))
    return Documents(name, stored, taken(stored, chosen), chosen)


def sketched(arguments: argparse.Namespace, name: str) -> simdb.Fingerprints:
    """Make the fingerprints of the documents of a corpus that have features."""
    made = simdb.fingerprints(read_corpus(str(arguments.folder / f"{name}.jsonl.gz"))[1])
    assert made.weights is not None
    return taken(made, np.flatnonzero(made.weights.any(axis=1)))


def synthetic(similarity: float, arguments: argparse.Namespace) -> Documents:
    """Draw normal vectors, and for each query a stored match just as similar as asked.

    As many other pairs are stored, from which a calibration can learn.
    """
    chance = np.random.default_rng([arguments.seed, int(similarity * 1e6)])
    stored = chance.standard_normal((STORED, DIMENSIONS)).astype(np.float32)
    count = min(arguments.queries, STORED // 2)
    partners = just_as_similar(stored[: 2 * count], similarity, chance)
    return Documents(
        f"{SYNTHETIC} {similarity:g}",
        of_weights(np.concatenate([stored, partners[count:]])),
        of_weights(partners[:count]),
        np.full(count, -1, np.int64),
    )


def just_as_similar(weights: F32, similarity: float, chance: np.random.Generator) -> F32:
    """Draw a vector for each row, with the similarity asked and at most WIDE more."""
    made = np.empty_like(weights)
    left, middle = np.arange(len(weights)), similarity
    rows = stored_weights(weights)
    while len(left):
        noise = chance.standard_normal((len(left), DIMENSIONS))
        drawn = (middle * weights[left] + np.sqrt(1 - middle**2) * noise).astype(np.float32)
        measured = measured_similarity(rows[left], stored_weights(drawn))
        # The estimate can be low, and is again in the next round.
        middle += (similarity + WIDE / 2 - float(measured.mean())) / 2
        is_made = (measured >= np.float32(similarity)) & (measured < similarity + WIDE)
        made[left[is_made]] = drawn[is_made]
        left = left[~is_made]
    return made


def stored_weights(weights: F32) -> F32:
    """Return the weights as a database stores them."""
    return unpack(kernel.quantise(weights)[1]).astype(np.float32)


def measured_similarity(left: F32, right: F32) -> F32:
    """Measure rows of weights as a database does."""
    norms = (left * left).sum(axis=1) * (right * right).sum(axis=1)
    return corrected((left * right).sum(axis=1) / np.sqrt(norms))


def of_weights(weights: F32) -> simdb.Fingerprints:
    return simdb.Fingerprints(fingerprints_of(weights), weights)


def taken(documents: simdb.Fingerprints, chosen: I64) -> simdb.Fingerprints:
    assert documents.weights is not None
    return simdb.Fingerprints(documents.bits[chosen], documents.weights[chosen])


def judge(
    record: Record, arguments: argparse.Namespace, documents: Documents, similarities: list[float]
) -> None:
    """Add rows for one corpus in every state."""
    least = min(similarities)
    for state, database, is_live in states(arguments, documents):
        asked = np.flatnonzero((documents.own < 0) | is_live[documents.own])
        queries, own = taken(documents.queries, asked), documents.own[asked]
        every = truth_of(database, queries, own, least)
        for similarity in similarities:
            truth = every.at_least(similarity)
            for recall, method in product(arguments.recalls, arguments.methods):
                asked_for = {"similarity": similarity, "recall": recall, "search": method}
                plan = database.plan(**asked_for)
                found = found_by(database, queries, own, **asked_for)
                facts = {
                    "corpus": documents.name, "state": state, "similarity": similarity,
                    "asked": recall, "by": method, "method": plan.method, "planned": plan.recall,
                    "probes": plan.probes,
                }  # fmt: skip
                tell(record, facts, truth, found)


def states(
    arguments: argparse.Namespace, documents: Documents
) -> Iterator[tuple[str, simdb.Database, npt.NDArray[np.bool_]]]:
    """Yield the name of each state, a database in it, and which documents are stored."""
    names = np.arange(len(documents.stored))
    every = np.ones(len(names), np.bool_)
    with scratch(arguments.directory) as directory:
        with filled(arguments, directory / "one") as database:
            database.insert_many(names.tolist(), documents.stored)
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
        with filled(arguments, directory / "three") as database:
            other = sketched(arguments, other_of(arguments, documents))
            database.insert_many(range(OTHER, OTHER + len(other)), other)
            database.calibrate()
            database.insert_many(names.tolist(), documents.stored)
            yield "calibrated on another", database, every


def other_of(arguments: argparse.Namespace, documents: Documents) -> str:
    return next(name for name in arguments.other if name != documents.name)


def filled(arguments: argparse.Namespace, path: Path) -> simdb.Database:
    """Create a database that has the filler."""
    database = simdb.open(path, "x", durability="none")
    if arguments.filler:
        bits, vectors = load_sketches(arguments.filler)
        for start in range(0, len(bits), FILLER_PART):
            part = slice(start, min(start + FILLER_PART, len(bits)))
            weights = unpack(np.asarray(vectors[part])).astype(np.float32)
            documents = simdb.Fingerprints(np.array(bits[part]), weights)
            database.insert_many(range(FILLER + part.start, FILLER + part.stop), documents)
    return database


def truth_of(
    database: simdb.Database, queries: simdb.Fingerprints, own: I64, similarity: float
) -> Found:
    """Find the matches by exhaustive search."""
    parts = []
    for start in range(0, len(queries), PART):
        at = np.arange(start, min(start + PART, len(queries)))
        part = found_by(
            database, taken(queries, at), own[at],
            similarity=similarity, search="exhaustive", recall=1.0,
        )  # fmt: skip
        parts.append(Found(part.keys + (start << 42), part.similarities))
    return Found(
        np.concatenate([np.empty(0, np.int64), *(part.keys for part in parts)]),
        np.concatenate([np.empty(0, np.float32), *(part.similarities for part in parts)]),
    )


def found_by(
    database: simdb.Database, queries: simdb.Fingerprints, own: I64, **criterion: Any
) -> Found:
    """Search, and leave out each document as a match of itself."""
    matches = database.query_many(queries, **criterion)
    positions = np.repeat(np.arange(len(queries)), np.diff(matches.offsets))
    ids = np.array(matches.ids, np.int64)
    keys, similarities = positions << 42 | ids, matches.similarities
    kept = np.flatnonzero(ids != own[positions])
    kept = kept[np.argsort(keys[kept])]
    return Found(keys[kept], similarities[kept])


def tell(record: Record, facts: dict[str, Any], truth: Found, found: Found) -> None:
    """Add the recall given, with its standard error, beside the recall asked."""
    if not len(truth.keys):
        return
    is_found = np.isin(truth.keys, found.keys)
    _, owners = np.unique(truth.keys >> 42, return_inverse=True)
    wanted = np.bincount(owners).astype(np.float64)
    reached = np.bincount(owners, is_found)
    given, count = float(reached.sum() / wanted.sum()), len(wanted)
    spread = np.sqrt(((reached - given * wanted) ** 2).sum()) / wanted.sum()
    shares = reached / wanted
    is_near = truth.similarities < facts["similarity"] + NEAR
    near = float(is_found[is_near].mean()) if is_near.any() else 1.0
    facts = facts | {
        "given": given, "error": float(spread), "documents": count, "matches": len(truth.keys),
        "each": float(shares.mean()), "each_error": float(shares.std() / np.sqrt(count)),
        "near": near, "near_matches": int(is_near.sum()),
        "wrong": len(found.keys) - int(np.isin(found.keys, truth.keys).sum()),
    }  # fmt: skip
    what = (
        f"{facts['corpus']}, {facts['state']}, similarity {facts['similarity']:g},"
        f" recall {facts['asked']:g}, {facts['by']}"
    )
    record.add(what, given, "", note=_note(facts), facts=facts)


def _note(facts: dict[str, Any]) -> str:
    short = "  SHORT" if shortfall(facts) > 2 else ""
    wrong = f", {facts['wrong']} WRONG" if facts["wrong"] else ""
    return (
        f"+- {facts['error']:.4f}, each {facts['each']:.4f} +- {facts['each_error']:.4f},"
        f" near {facts['near']:.3f}; {facts['matches']} matches of {facts['documents']};"
        f" {facts['method']}, planned {facts['planned']:.3f}, {facts['probes']} probes"
        f"{wrong}{short}"
    )


def shortfall(facts: dict[str, Any]) -> float:
    """Return by how many standard errors the recall given is below the recall asked.

    The error is at least that of a binomial share with the recall asked; 0 for few documents.
    """
    if facts["documents"] < FEWEST:
        return 0.0
    asked = facts["asked"]
    least = np.sqrt(asked * (1 - asked) / facts["documents"])
    return float((asked - facts["given"]) / max(facts["error"], least))


def tell_worst(record: Record) -> None:
    """Print the recall given, the least over all corpora, for each state and question."""
    rows = [row for row in record.rows if row.get("documents", 0) >= FEWEST]
    titles = ["state", "method", "similarity", *(f"recall {asked:g}" for asked in RECALLS)]
    print(f"\n| {' | '.join(titles)} |")
    print("|---|---|--:|" + "--:|" * len(RECALLS))
    for question in sorted({(row["state"], row["by"], row["similarity"]) for row in rows}):
        cells = []
        for asked in RECALLS:
            some = [
                row for row in rows
                if (row["state"], row["by"], row["similarity"], row["asked"]) == (*question, asked)
            ]  # fmt: skip
            worst = max(some, key=shortfall, default=None)
            cells.append("" if worst is None else f"{worst['given']:.3f} +- {worst['error']:.3f}")
        print("| {} | {} | {:g} | ".format(*question) + " | ".join(cells) + " |")
    short = [row for row in rows if shortfall(row) > 2]
    print(f"\n{len(short)} of {len(rows)} are more than two standard errors short")
    for row in sorted(short, key=shortfall, reverse=True):
        print(
            f"{shortfall(row):.1f} errors short: {row['what']}: {row['given']:.4f}; {row['note']}"
        )


if __name__ == "__main__":
    main()
