"""Is the recall given the recall asked, by distance, for every kind of collection and of query?

Collections are made here: exact copies, near copies, texts of a Zipf vocabulary, the same with
weights of tf, templates, unrelated texts, and ready fingerprints without and with near pairs.  The
queries are stored documents, edited ones and foreign ones of the same kind, and those with a match
count.  Each collection is searched as it is, after `calibrate()`, and after `calibrate(sample=...)`
of half of the edited queries, which are then not asked.  The truth is a comparison with all
fingerprints.  A document does not count as a match of itself.

`short` counts the cells whose recall is more than two standard errors below what was asked; the
errors take queries as independent.  A plan that says it is no estimate and is short is a fault.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

import simdb
from record import Record, number, options
from simdb.ground.bits import bit_counts

METHODS = ("auto", "psm", "multiprobe", "bphs")
RECALLS = (0.9, 0.95, 0.99)
DISTANCES = tuple(range(1, 9))
FEWEST = 20  # queries with a match that a verdict needs
WORDS = 120

U64 = npt.NDArray[np.uint64]
F32 = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Collection:
    """Documents to store, queries by their kind, and a sample; `own`: ids of stored queries."""

    options: simdb.Options
    stored: simdb.Fingerprints
    queries: dict[str, simdb.Fingerprints]
    own: npt.NDArray[np.int64]
    sample: simdb.Fingerprints


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--documents", type=number, default=20_000)
    parser.add_argument("--queries", type=number, default=400)
    parser.add_argument("--only", nargs="*", default=[], help="names of collections; default: all")
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    for name, make in COLLECTIONS.items():
        if not arguments.only or name in arguments.only:
            chance = np.random.default_rng([arguments.seed, sum(map(ord, name))])
            judge(record, name, make(chance, arguments.documents, arguments.queries))
    short = sum(row["figure"] for row in record.rows)
    record.add("all cells", short, "short", note=f"of {sum(row['cells'] for row in record.rows)}",
               facts={"cells": 0})  # fmt: skip
    record.finish()


def texts_of(
    chance: np.random.Generator, count: int, vocabulary: int, skew: float, fixed: int = 0
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


def edited(chance: np.random.Generator, words: list[str], most: int) -> list[str]:
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

    def make(chance: np.random.Generator, count: int, asked: int) -> Collection:
        sketch = simdb.Simhash(weighting=weighting, shingle=1 if weighting == "tf" else 3)
        texts = texts_of(chance, count, vocabulary, skew, fixed)
        if copies >= 0:
            for at in range(count // 2, count // 2 + count // 10):
                source = texts[at - count // 2]
                texts[at] = edited(chance, source, copies) if copies else list(source)
        own = np.sort(chance.choice(count * 6 // 10, asked, replace=False))
        changed = [edited(chance, texts[at], 4) for at in own]
        foreign = texts_of(chance, asked, vocabulary, skew, fixed)
        made = [
            simdb.fingerprints([" ".join(words) for words in some], sketch)
            for some in (texts, [texts[at] for at in own], changed, foreign)
        ]
        return collected(simdb.Options(sketch=sketch), own, *made)

    return make


def of_bits(*, near: bool) -> Callable[..., Collection]:
    """Return what makes a collection of ready fingerprints, without weights."""

    def make(chance: np.random.Generator, count: int, asked: int) -> Collection:
        bits = chance.integers(0, 1 << 63, count, np.uint64)
        if near:
            bits[count // 2 :] = flipped(chance, bits[: count - count // 2])
        own = np.sort(chance.choice(count, asked, replace=False))
        foreign = chance.integers(0, 1 << 63, asked, np.uint64)
        made = map(simdb.Fingerprints, (bits, bits[own], flipped(chance, bits[own]), foreign))
        return collected(simdb.Options(), own, *made)

    return make


def flipped(chance: np.random.Generator, bits: U64) -> U64:
    """Flip up to 8 bits of each."""
    found = bits.copy()
    for at, count in enumerate(chance.integers(1, 9, len(bits)).tolist()):
        for bit in chance.choice(64, count, replace=False).tolist():
            found[at] ^= np.uint64(1 << bit)
    return found


def collected(
    settings: simdb.Options,
    own: npt.NDArray[np.int64],
    stored: simdb.Fingerprints,
    same: simdb.Fingerprints,
    changed: simdb.Fingerprints,
    foreign: simdb.Fingerprints,
) -> Collection:
    half = len(own) // 2
    queries = {"stored": same, "edited": taken(changed, slice(half, None)), "foreign": foreign}
    return Collection(settings, stored, queries, own, taken(changed, slice(half)))


def taken(documents: simdb.Fingerprints, chosen: Any) -> simdb.Fingerprints:
    weights = documents.weights
    return simdb.Fingerprints(documents.bits[chosen], None if weights is None else weights[chosen])


def judge(record: Record, name: str, collection: Collection) -> None:
    """Add rows for one collection in its states."""
    with simdb.open(None, options=collection.options) as database:
        database.insert_many(range(len(collection.stored)), collection.stored)
        database.compact()
        for state in ("never", "by itself", "by sample"):
            if state != "never" and not calibrated(database, state, collection):
                continue
            for kind, queries in collection.queries.items():
                own = collection.own if kind == "stored" else np.full(len(queries), -1)
                rows = list(cells(database, collection.stored.bits, queries, own))
                short = [row for row in rows if row["short"]]
                least = min((row["recall"] - row["asked"] for row in rows), default=0.0)
                record.add(
                    f"{name}, calibrated {state}, {kind} queries", len(short), "short",
                    note=f"of {len(rows)}; least given - asked {least:+.3f}",
                    facts={"cells": len(rows), "rows": rows},
                )  # fmt: skip
                for row in short:
                    print("   ", *(f"{key}={value}" for key, value in row.items()), flush=True)


def calibrated(database: simdb.Database, state: str, collection: Collection) -> bool:
    try:
        database.calibrate(**({"sample": collection.sample} if state == "by sample" else {}))
    except simdb.Error:
        return False
    return True


def cells(
    database: simdb.Database, stored: U64, queries: simdb.Fingerprints, own: Any
) -> Iterator[dict[str, Any]]:
    """Yield the recall of each method, distance and recall asked."""
    apart = bit_counts(stored[None, :] ^ queries.bits[:, None])
    apart[own >= 0, own[own >= 0]] = 255
    for distance, asked, method in product(DISTANCES, RECALLS, METHODS):
        wanted = (apart <= distance).sum(axis=1)
        matched = np.flatnonzero(wanted)
        if len(matched) < FEWEST:
            continue
        given = {"distance": distance, "recall": asked, "search": method}
        try:
            plan = database.plan(**given)
            found = database.query_many(queries, **given)
        except simdb.OptionError:
            continue
        which = np.repeat(np.arange(len(queries)), np.diff(found.offsets))
        is_own = np.asarray(found.ids, np.int64) == own[which]
        counts = np.bincount(which[~is_own], minlength=len(queries))
        shares = counts[matched] / wanted[matched]
        recall = float(counts[matched].sum() / wanted[matched].sum())
        error = float(shares.std() / np.sqrt(len(shares)))
        yield {
            "distance": distance, "asked": asked, "by": method, "method": plan.method,
            "probes": plan.probes, "matched": len(matched), "recall": round(recall, 4),
            "each": round(float(shares.mean()), 4), "error": round(error, 4),
            "short": min(recall, float(shares.mean())) < asked - 2 * max(error, 1e-9),
        }  # fmt: skip


COLLECTIONS: dict[str, Callable[..., Collection]] = {
    "exact copies": of_texts(),
    "near copies": of_texts(copies=4),
    "Zipf": of_texts(vocabulary=2_000, skew=1.1, copies=-1),
    "Zipf, tf": of_texts(vocabulary=2_000, skew=1.1, copies=4, weighting="tf"),
    "templates": of_texts(vocabulary=5_000, fixed=112, copies=-1),
    "unrelated": of_texts(copies=-1),
    "bits": of_bits(near=False),
    "near bits": of_bits(near=True),
}

if __name__ == "__main__":
    main()
