"""Which matches are found: exact decisions, runs, sizes of sketches, passages?

Everything is drawn here (`made.py`), so nothing of simdb was fitted to it:

exact      Recall of pairs that texts verify, compared with an inverted index of the shingles.

runs       F1 of rows that later runs of `deduplicate(db=)` remove, compared with a greedy loop over
           that index.

sizes      F1 by estimates of 32 to 512 bytes at the default threshold, with all pairs compared.
           The truth is Jaccard >= 0.8 of word 3-shingles; each seed draws and hashes anew.

contained  Texts that share a run of words with stored texts, and parts of stored texts, found by
           `contained=`; the cost of passages.
"""

import tempfile
from collections import Counter, defaultdict
from dataclasses import replace
from functools import partial
from itertools import combinations, product
from random import Random
from statistics import mean, stdev
from typing import Any

import numpy as np

import simdb
from corpus import f1
from made import KINDS, with_copies, zipf
from record import Record, Timing, latencies, measure, number, options, recorded

LEAST = 0.8
SEEDS = 5
RUNS = 10
SHARED_WORDS = (8, 10, 12, 14, 15, 20, 30)  # shared by a query and a document
QUERIES = 200
SKETCHES = {
    "64 weights": simdb.Simhash(dimensions=64),
    "128 weights": simdb.Simhash(),
    "256 weights": simdb.Simhash(dimensions=256),
    **{
        f"MinHash {8 * size // bits} x {bits} bits": simdb.Minhash(
            permutations=8 * size // bits, stored_bits=bits
        )
        for size in (32, 64, 128, 256)
        for bits in (1, 2, 8)
        if size < 256 or bits > 1
    },
    "MinHash 128 x 32 bits": simdb.Minhash(),
}

Pairs = set[tuple[int, int]]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("-n", type=number, default=1000, help="texts of a small collection")
    parser.add_argument("--only", nargs="*", choices=QUESTIONS, default=list(QUESTIONS))
    with recorded(__doc__, parser) as record:
        arguments = record.arguments
        for name in arguments.only:
            QUESTIONS[name](record, arguments.n, Random(f"{name} {arguments.seed}"))


def shingles_of(text: str) -> set[str]:
    words = text.split()
    return {" ".join(each) for each in zip(words, words[1:], words[2:], strict=False)}


def similar_pairs(texts: list[str]) -> dict[tuple[int, int], float]:
    """Return the pairs with a Jaccard similarity of LEAST or more, by an inverted index."""
    shingles = [shingles_of(each) for each in texts]
    places = defaultdict(list)
    for text, found in enumerate(shingles):
        for shingle in found:
            places[shingle].append(text)
    shared = Counter(pair for each in places.values() for pair in combinations(each, 2))
    sizes = [len(each) for each in shingles]
    every = ((at, both / (sizes[at[0]] + sizes[at[1]] - both)) for at, both in shared.items())
    return {pair: value for pair, value in every if value >= LEAST}


def pairs_of(database: simdb.Database, **criteria: Any) -> Pairs:
    found = database.find_all(**criteria)
    return set(zip(*np.sort([found.left, found.right], axis=0).tolist(), strict=True))


def exact(record: Record, count: int, chance: Random) -> None:
    counted: Counter[Any] = Counter()
    recalls = {"default recall": {}, "recall=1.0": {"recall": 1.0}}
    for kind in KINDS:
        texts = dict(enumerate(with_copies(kind, 2 * count, chance)))
        truth = similar_pairs(list(texts.values()))
        band = {pair: ".80 to .82" if each < 0.82 else ".82 to 1" for pair, each in truth.items()}
        counted.update(band.values())
        with simdb.open(None) as database:
            database.insert_many(texts.keys(), texts.values())
            for name, asked in recalls.items():
                found = pairs_of(database, verify="exact", texts=texts, **asked)
                counted.update((name, band.get(pair, "wrong")) for pair in found)
    for name, each in product(recalls, (".80 to .82", ".82 to 1")):
        right = counted[name, each]
        note = f"{right} of {counted[each]} pairs, {counted[name, 'wrong']} wrong in all"
        record.add(f"exact Jaccard {each}, {name}", right / counted[each], "recall", note=note)


def runs(record: Record, count: int, chance: Random) -> None:
    texts = with_copies("Zipf words", 4 * count, chance)
    each, truth = len(texts) // RUNS, set[int]()
    for left, right in sorted(similar_pairs(texts), key=lambda pair: pair[::-1]):
        truth |= set() if left in truth else {right}  # a text that is kept removes later ones
    for features in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            path, settings = f"{folder}/db", simdb.Options(features=features)
            parts = [texts[at : at + each] for at in range(0, len(texts), each)]
            with simdb.open(path, options=settings) as database:
                kept = [simdb.deduplicate(part, db=database).kept for part in parts]
                database.compact()
                size = database.stats().live_bytes / len(database)
        found = set(np.flatnonzero(~np.concatenate(kept)).tolist())
        later = [{at for at in removed if at >= each} for removed in (truth, found)]
        note = f"{len(later[0])} of {len(texts)} texts are to leave; {size:.0f} bytes a stored text"
        record.add(f"runs 2 to {RUNS}, {features=}", f1(*later), "F1", note=note)


def sizes(record: Record, count: int, chance: Random) -> None:
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    first = record.arguments.seed
    for name, seed in product(KINDS, range(first, first + SEEDS)):
        texts = dict(enumerate(with_copies(name, 2 * count, Random(f"{name} {seed}"))))
        with simdb.open(None, options=simdb.Options(sketch=SKETCHES["256 weights"])) as database:
            database.insert_many(texts.keys(), texts.values())
            truth = pairs_of(
                database, similarity=LEAST, recall=1.0, search="exhaustive", verify="exact",
                texts=texts,
            )  # fmt: skip
        for setting, sketch in SKETCHES.items():
            settings = simdb.Options(sketch=replace(sketch, seed=seed))
            with simdb.open(None, options=settings) as database:
                database.insert_many(texts.keys(), texts.values())
                pairs = pairs_of(database, recall=1.0, search="exhaustive")
            found[name, setting].append(f1(truth, pairs))
    for (name, setting), values in found.items():
        note = f"standard error {stdev(values) / len(values) ** 0.5:.4f}"
        record.add(f"{name}, {setting}", mean(values), "F1", note=note)
    for setting, sketch in SKETCHES.items():
        means = [mean(each) for each in zip(*(found[name, setting] for name in KINDS), strict=True)]
        note = f"{sketch.vector_bytes} bytes, standard error {stdev(means) / SEEDS**0.5:.4f}"
        record.add(f"mean, {setting}", mean(means), "F1", note=note)


def contained(record: Record, count: int, chance: Random) -> None:
    """Ask for texts with a run of words of a stored one, and for parts of stored ones."""
    texts = dict(enumerate(passage(chance, 150, 260) for _ in range(count)))
    chosen = chance.choices(range(count), k=QUERIES)
    with tempfile.TemporaryDirectory(dir=record.arguments.directory) as folder:
        seconds = []
        for name in ("plain", "passages"):
            settings = simdb.Options(passages=name == "passages")
            database = simdb.open(f"{folder}/{name}", options=settings, durability="none")
            timing = Timing()
            measure(partial(database.insert_many, texts.keys(), texts.values()), timing)
            seconds.append(timing.median)
            database.compact()
        size = database.stats().section_bytes["passages"] / count
        record.add(f"{count:,}: passages", size, "bytes a document")
        record.add(f"{count:,}: inserting", seconds[1] / seconds[0], "times without passages")
        for length in SHARED_WORDS:
            asked = [(at, with_run(passage(chance, 200, 200), texts[at], length)) for at in chosen]
            found = [
                any(match.id == at for match in database.query(text, contained=1e-9))
                for at, text in asked
            ]
            what = f"{count:,}: recall, a run of {length} words"
            record.add(what, mean(map(float, found)), "")
        parts = [" ".join(texts[at].split()[20:120]) for at in chosen]
        for name, more in {"estimated": {}, "texts=": {"texts": texts}}.items():
            ask = partial(database.query, contained=0.8, **more)
            latencies(record, f"{count:,}: contained=.8, {name}", ask, parts, 1)
        timing = Timing()
        pairs = len(measure(lambda: list(database.find_all(contained=0.8)), timing))
        what = f"{count:,}: find_all(contained=.8), {pairs} pairs"
        record.add(what, timing.median, "s", timing)
        database.close()


def with_run(text: str, other: str, length: int) -> str:
    """Return a text that shares a run of `length` words, from its middle, with another text."""
    words, theirs = text.split(), other.split()
    start = len(theirs) // 3
    words[100 : 100 + length] = theirs[start : start + length]
    return " ".join(words)


def passage(chance: Random, least: int, most: int) -> str:
    return " ".join(zipf(chance, least, most))


QUESTIONS = {each.__name__: each for each in (exact, runs, sizes, contained)}

if __name__ == "__main__":
    main()
