"""What do bytes buy: F1 of estimates at 32, 64 and 128 bytes, on collections that are drawn here?

Nothing of simdb was fitted to these collections.  Each has texts of one kind and, for each of them,
a copy changed by `edits.py`, at cosines spread evenly around the threshold: short texts, long ones,
words of a Zipf vocabulary, words of a small vocabulary, pages with templates, and families of four
versions.  The truth is Jaccard >= 0.8 of word 3-shingles, of all pairs, by the texts.  Each setting
decides all pairs by its estimates at the default threshold; no pair is lost by a search.  Every
seed draws other texts and hashes them otherwise.
"""

from collections.abc import Callable
from functools import cache
from itertools import accumulate
from random import Random
from statistics import mean, stdev

import simdb
from edits import edited
from record import Record, number, options

LEAST = 0.8
COSINES = 0.80, 0.98  # of a copy with its text; the threshold .8 is a cosine of .889
VOCABULARY = 30_000
TEMPLATES = 5
SETTINGS = {
    "64 weights": simdb.Simhash(dimensions=64),
    "128 weights": simdb.Simhash(),
    "256 weights": simdb.Simhash(dimensions=256),
    "MinHash 32 x 8 bits": simdb.Minhash(permutations=32, stored_bits=8),
    "MinHash 64 x 8 bits": simdb.Minhash(permutations=64, stored_bits=8),
    "MinHash 128 x 8 bits": simdb.Minhash(stored_bits=8),
    "MinHash 128 x 32 bits": simdb.Minhash(),
}

Pairs = set[tuple[int, int]]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("-n", type=number, default=1000, help="texts of a collection, and copies")
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    for name, make in COLLECTIONS.items():
        found: dict[str, list[float]] = {setting: [] for setting in SETTINGS}
        counts = []
        for seed in range(arguments.seed, arguments.seed + arguments.seeds):
            texts = drawn(make, arguments.n, Random(f"{name} {seed}"))
            truth = true_pairs(texts)
            counts.append(len(truth))
            for setting, sketch in SETTINGS.items():
                found[setting].append(f1(truth, estimated_pairs(texts, sketch, seed)))
        for setting, values in found.items():
            error = stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
            note = f"standard error {error:.4f}, {mean(counts):.0f} true pairs"
            facts = {"setting": setting, "collection": name, "error": error}
            record.add(f"{name}, {setting}", mean(values), "F1", note=note, facts=facts)
    for setting, sketch in SETTINGS.items():
        figures = [row["figure"] for row in record.rows if row.get("setting") == setting]
        record.add(f"mean, {setting}", mean(figures), "F1", note=f"{sketch.vector_bytes} bytes")
    record.finish()


def drawn(make: Callable[[Random], list[str]], count: int, chance: Random) -> list[str]:
    """Return `count` texts and as many changed copies, in an order by chance."""
    texts = []
    words = vocabulary(VOCABULARY)
    while len(texts) < 2 * count:
        text = " ".join(make(chance))
        copies = 3 if make is versions else 1
        texts.append(text)
        texts += [edited(text, words, chance.uniform(*COSINES), chance) for _ in range(copies)]
    chance.shuffle(texts)
    return texts


def true_pairs(texts: list[str]) -> Pairs:
    """Return the pairs that are similar by their texts, with every pair of sketches compared."""
    given = dict(enumerate(texts))
    with simdb.open(None, options=simdb.Options(sketch=simdb.Simhash(dimensions=256))) as database:
        database.insert_many(given.keys(), texts)
        found = database.find_all(
            similarity=LEAST, recall=1.0, search="exhaustive", verify="exact", texts=given
        )
        return {(pair.left, pair.right) for pair in found}


def estimated_pairs(texts: list[str], sketch: simdb.Simhash | simdb.Minhash, seed: int) -> Pairs:
    """Return the pairs that match by the estimates of `sketch`, hashed otherwise for each seed."""
    made = type(sketch)(**{**settings_of(sketch), "seed": seed})
    with simdb.open(None, options=simdb.Options(sketch=made)) as database:
        database.insert_many(range(len(texts)), texts)
        found = database.find_all(recall=1.0, search="exhaustive")
        return {(pair.left, pair.right) for pair in found}


def settings_of(sketch: simdb.Simhash | simdb.Minhash) -> dict[str, int]:
    if isinstance(sketch, simdb.Simhash):
        return {"dimensions": sketch.dimensions}
    return {"permutations": sketch.permutations, "stored_bits": sketch.stored_bits}


def f1(truth: Pairs, found: Pairs) -> float:
    return 2 * len(truth & found) / (len(truth) + len(found))


@cache
def vocabulary(count: int) -> list[str]:
    return [f"word{at}" for at in range(count)]


@cache
def frequencies(count: int) -> list[float]:
    """Return the sums of the frequencies of the words of a vocabulary, the most frequent first."""
    return list(accumulate(1 / (at + 1) for at in range(count)))


def short(chance: Random) -> list[str]:
    return chance.choices(vocabulary(VOCABULARY), k=chance.randrange(15, 50))


def long(chance: Random) -> list[str]:
    return chance.choices(vocabulary(VOCABULARY), k=chance.randrange(300, 1200))


def zipf(chance: Random) -> list[str]:
    words = vocabulary(VOCABULARY)
    return chance.choices(words, cum_weights=frequencies(VOCABULARY), k=chance.randrange(60, 300))


def poor(chance: Random) -> list[str]:
    """Draw a text of few different words, so that shingles are shared by chance and repeated."""
    return chance.choices(vocabulary(60), k=chance.randrange(60, 300))


def templates(chance: Random) -> list[str]:
    """Draw a page, a half of which is one of some templates."""
    number = chance.randrange(TEMPLATES)
    frame = Random(number).choices(vocabulary(VOCABULARY), k=100)
    own = chance.choices(vocabulary(VOCABULARY), k=chance.randrange(60, 140))
    return [*frame[:60], *own, *frame[60:]]


def versions(chance: Random) -> list[str]:
    return chance.choices(vocabulary(VOCABULARY), k=chance.randrange(80, 400))


COLLECTIONS = {
    "short texts": short, "long texts": long, "Zipf words": zipf, "few words": poor,
    "templates": templates, "versions": versions,
}  # fmt: skip

if __name__ == "__main__":
    main()
