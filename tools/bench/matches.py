"""Which matches are found: forms, kinds, exact decisions, numbers, runs, sizes, judged pairs?

Everything is drawn here, words by Zipf's law (`drawn.py`), so nothing of simdb was fitted to it:

equal    copies that look equal, removed at the defaults and with the option for them, if any
mixture  recall of each kind in one collection, of the pairs that comparing all vectors finds, and
         whether a lower similarity finds what a higher one finds
exact    recall of pairs that the texts decide, beside an inverted index of the shingles
minhash  F1 by MinHash estimates, all pairs compared, beside rensa and datasketch
numbers  copies that differ in digits alone, removed
runs     F1 of what later runs of `deduplicate(db=)` remove, beside a greedy loop over that index
sizes    F1 by estimates of 32 to 512 bytes at the default threshold, all pairs compared, of texts
         and copies changed by the edits of `texts.py`, at cosines spread evenly around it; the
         truth is Jaccard >= 0.8 of word 3-shingles, and each seed draws and hashes anew
tune     F1 of the candidates of a blocking step, at the threshold that 50 judged ones give
"""

import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import accumulate, combinations, compress, islice, product
from math import sqrt
from random import Random
from statistics import mean, stdev
from typing import Any
from unicodedata import normalize

import numpy as np

import simdb
from corpus import curve, f1
from documents import unrelated
from peers import installed, signed
from record import Record, number, options
from texts import edited

LEAST = 0.8
SEEDS = 3
RUNS = 10
GROUP, JUDGED, DRAWS = 5, 50, 6  # records of a block in each of two lists; judged pairs
MINIMA = 128
PEERS = "rensa", "datasketch"
SEARCHES = ("polytope", 0.9), ("polytope", 0.95), ("auto", 0.95)  # methods, recalls asked
LETTERS = "bdfghklmnprstvzaeiou"  # of `drawn.py`

COSINES = 0.80, 0.98  # of a copy with its text; the threshold .8 is a cosine of .889
VOCABULARY, TEMPLATES = 30_000, 5
SKETCHES = {
    "64 weights": simdb.Simhash(dimensions=64),
    "128 weights": simdb.Simhash(),
    "256 weights": simdb.Simhash(dimensions=256),
    "MinHash 32 x 8 bits": simdb.Minhash(permutations=32, stored_bits=8),
    "MinHash 64 x 8 bits": simdb.Minhash(permutations=64, stored_bits=8),
    "MinHash 128 x 8 bits": simdb.Minhash(stored_bits=8),
    "MinHash 128 x 32 bits": simdb.Minhash(),
}

Pairs = set[tuple[int, int]]
Words = Iterator[str]
Rewritten = Callable[[str], str]

KINDS: dict[str, Callable[[Words, Random], list[str]]] = {  # how the words of a text are drawn
    "short texts": lambda words, chance: take(words, chance.randrange(12, 40)),
    "texts": lambda words, chance: take(words, chance.randrange(60, 300)),
    "long texts": lambda words, chance: take(words, chance.randrange(400, 900)),
    "few words": lambda words, chance: chance.choices(take(words, 30), k=chance.randrange(60, 300)),
    "numbers": lambda words, chance: [
        str(int(10 ** chance.uniform(0, 5))) for _ in range(chance.randrange(30, 90))
    ],
}  # fmt: skip


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("-n", type=number, default=1000, help="texts of a small collection")
    parser.add_argument("--only", nargs="*", choices=QUESTIONS, default=list(QUESTIONS))
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    for name in arguments.only:
        chance = Random(f"{name} {arguments.seed}")
        QUESTIONS[name](record, arguments.n, zipf(chance.randrange(1 << 30)), chance)
    record.finish()


def zipf(seed: int) -> Words:
    """Yield words by Zipf's law, without end."""
    for text in unrelated(seed):
        yield from text.split()


def take(words: Words, count: int) -> list[str]:
    return list(islice(words, count))


def templates(count: int, words: Words, chance: Random) -> list[str]:
    """Fill forms, 40 texts of each; the pairs of one form are around the threshold."""
    forms = [take(words, 200) for _ in range(count // 40)]
    return [" ".join(take(words, chance.randrange(10, 32)) + form) for form in forms * 40]


def with_copies(kind: str, count: int, words: Words, chance: Random) -> list[str]:
    """Make `count` texts, a half of them copies with a Jaccard similarity of around .8.

    k replaced words of w leave a similarity of about (w - 3 k) / (w + 3 k): .8 if k = w / 27.
    """
    made = []
    for _ in range(count // 2):
        text = KINDS[kind](words, chance)
        made.append(" ".join(text))
        edits = int(len(text) / 27 * chance.uniform(0.5, 1.4) + chance.random())
        for place in chance.sample(range(len(text)), edits):
            text[place] = next(words)
        made.append(" ".join(text))
    return made


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


def between(mark: str) -> Rewritten:
    """Put a character between the letters of each word."""
    return lambda text: re.sub(r"\B(?=\w)", mark, text)


def written(letters: str) -> Rewritten:
    """Write with other letters."""
    return lambda text: text.translate(str.maketrans(LETTERS, letters))


PLAIN = written(LETTERS)
ACCENTED = written("bdfghklmñprštvžáèîõü")
ARABIC = written("بدفغهكلمنپرستوزاىيعح")
HEBREW = written("בדפגהכלמנקרסתוזאעיחש")
GREEK = written("βδφγθκλμνπρστξζαειου")
TURKIC = written("bdfğhklmnprştvzaei\u0131u")
GERMAN = written("bdfghklmnprßtvzaeiou")
DROPPED = {"marks": "drop"}
# Name: how the text is written, how its copy, the option that makes them equal.
FORMS: dict[str, tuple[Rewritten, Rewritten, dict[str, Any]]] = {
    "soft hyphens in words": (PLAIN, between("\u00ad"), {}),
    "zero width spaces in words": (PLAIN, between("\u200b"), {}),
    "word joiners in words": (PLAIN, between("\u2060"), {}),
    "accented words, NFC and NFD": (ACCENTED, lambda text: normalize("NFD", text), {}),
    "capitals": (ACCENTED, str.upper, {}),
    "final sigma": (lambda text: GREEK(text).replace(" ", "ς "), str.upper, {}),
    "capital sharp s": (GERMAN, lambda text: text.replace("ß", "ẞ").upper(), {}),
    "sharp s and SS": (GERMAN, str.upper, {}),
    "words cut at line ends": (PLAIN, lambda text: re.sub(r"(?<=\w{4})\B", "-\n", text), {}),
    "full width": (PLAIN, written("".join(chr(ord(each) + 0xFEE0) for each in LETTERS)),
                   {"normalisation": "nfkc"}),
    "harakat": (ARABIC, between("\u064e"), DROPPED),
    "tatweel": (ARABIC, between("\u0640"), DROPPED),
    "niqqud": (HEBREW, between("\u05b0"), DROPPED),
    "no accents": (ACCENTED, lambda text: re.sub(r"[^\w ]", "", normalize("NFD", text)), DROPPED),
    "Turkic capitals": (TURKIC, lambda text: text.replace("i", "İ").upper(), {"turkic_case": True}),
}  # fmt: skip


def equal(record: Record, count: int, words: Words, chance: Random) -> None:
    for name, (original, copied, option) in FORMS.items():
        texts = [original(" ".join(KINDS["texts"](words, chance))) for _ in range(count // 5)]
        copies = [copied(text) for text in texts]
        for each in [{}, option] if option else [{}]:
            kept = simdb.deduplicate(texts + copies, sketch=simdb.Simhash(**each)).kept
            how = ", ".join(f"{key}={value!r}" for key, value in each.items()) or "defaults"
            note = f"{len(copies)} copies; {(~kept[: len(texts)]).sum()} others removed"
            share = 1 - float(kept[len(texts) :].mean())
            record.add(f"{name}, {how}", share, "removed", note=note)


def mixture(record: Record, count: int, words: Words, chance: Random) -> None:
    sizes = {"short texts": 6, "long texts": 1, "few words": 2, "numbers": 2}
    kinds = {kind: with_copies(kind, sizes[kind] * count, words, chance) for kind in sizes}
    kinds["templates"] = templates(count, words, chance)
    blocks = [(kind, text) for kind, texts in kinds.items() for text in texts]
    add_recalls(record, "in blocks, as inserted", blocks, range(SEEDS))
    chance.shuffle(blocks)
    add_recalls(record, "interleaved, compacted", blocks, range(SEEDS, 2 * SEEDS))


def add_recalls(record: Record, order: str, rows: list[tuple[str, str]], seeds: range) -> None:
    counted: Counter[Any] = Counter()
    for seed in seeds:
        with simdb.open(None, options=simdb.Options(sketch=simdb.Simhash(seed=seed))) as database:
            database.insert_many(range(len(rows)), [text for _, text in rows])
            if "compacted" in order:
                database.compact()
            count_pairs(database, [kind for kind, _ in rows], counted)
    for kind, (method, recall) in product(dict.fromkeys(kind for kind, _ in rows), SEARCHES):
        pairs = counted[kind]
        share = counted[kind, method, recall] / pairs
        error = sqrt(share * (1 - share) / pairs)
        note = f"{pairs} pairs of {len(seeds)} hash seeds, standard error {error:.4f}"
        record.add(f"{kind}, {order}, {method}, {recall}", share, "recall", note=note)
    record.add(f"{order}, lost by a similarity .01 lower", counted["lost"], "pairs")


def count_pairs(database: simdb.Database, kinds: list[str], counted: Counter[Any]) -> None:
    """Count the pairs of each kind, those found by each search, and those lost by asking less."""
    every = pairs_of(database, recall=1.0, search="exhaustive")
    one_kind = {(a, b): kinds[a] for a, b in every if kinds[a] == kinds[b]}
    counted.update(one_kind.values())
    for method, recall in SEARCHES:
        found = pairs_of(database, recall=recall, search=method)
        less = database.options.similarity - 0.01
        lower = pairs_of(database, recall=recall, search=method, similarity=less)
        counted["lost"] += len(found - lower)
        counted.update((one_kind[pair], method, recall) for pair in found & one_kind.keys())


def exact(record: Record, count: int, words: Words, chance: Random) -> None:
    counted: Counter[Any] = Counter()
    recalls = {"default recall": {}, "recall=1.0": {"recall": 1.0}}
    for kind in ("short texts", "texts", "long texts", "few words"):
        texts = dict(enumerate(with_copies(kind, 2 * count, words, chance)))
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


def minhash(record: Record, count: int, words: Words, chance: Random) -> None:
    for kind in ("short texts", "texts", "long texts"):
        texts = with_copies(kind, 2 * count, words, chance)
        truth = set(similar_pairs(texts))
        for name in ("simdb", *PEERS):
            package = installed(name)
            if package is not None:
                made = [minima_of(name, package, texts, seed) for seed in range(1, SEEDS + 1)]
                values = [f1(truth, agreeing(each)) for each in made]
                note = f"{len(truth)} pairs, {SEEDS} seeds, deviation {stdev(values):.4f}"
                record.add(f"{kind}, {MINIMA} minima, {name}", mean(values), "F1", note=note)


def minima_of(name: str, package: Any, texts: list[str], seed: int) -> Any:
    if name == "simdb":
        return simdb.signatures(texts, simdb.Minhash(permutations=MINIMA, seed=seed)).minima
    tokens = [list(shingles_of(text)) for text in texts]
    return np.array([each.digest() for each in signed(name, package, tokens, MINIMA, seed)])


def agreeing(minima: Any) -> Pairs:
    """Return the pairs that agree in the share LEAST of their minima."""
    found = set()
    for at in range(len(minima) - 1):
        shares = (minima[at + 1 :] == minima[at]).mean(axis=1)
        found |= {(at, at + 1 + other) for other in np.flatnonzero(shares >= LEAST).tolist()}
    return found


def numbers(record: Record, count: int, words: Words, chance: Random) -> None:
    forms = [" {} ".join(" ".join(take(words, 40)) for _ in range(5)) for _ in range(count)]
    invoices = [form.format(*chance.choices(range(100_000), k=4)) for form in forms]
    others = [form.format(*chance.choices(range(100_000), k=4)) for form in forms]
    for verify in ("exact", "numbers"):
        for name, copies in {"differ in digits alone": others, "are equal": invoices}.items():
            kept = simdb.deduplicate(invoices + copies, verify=verify).kept
            share = 1 - float(kept[count:].mean())
            record.add(f"copies that {name}, {verify=}", share, "removed", note=f"{count} invoices")


def runs(record: Record, count: int, words: Words, chance: Random) -> None:
    texts = with_copies("texts", 4 * count, words, chance)
    chance.shuffle(texts)
    each, truth = len(texts) // RUNS, set[int]()
    for left, right in sorted(similar_pairs(texts), key=lambda pair: pair[::-1]):
        truth |= set() if left in truth else {right}  # a text that is kept removes later ones
    for features in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            path, settings = f"{folder}/db", simdb.Options(features=features)
            parts = [texts[at : at + each] for at in range(0, len(texts), each)]
            kept = [simdb.deduplicate(part, db=path, options=settings).kept for part in parts]
            with simdb.open(path) as database:
                database.compact()
                size = database.stats().live_bytes / len(database)
        found = set(np.flatnonzero(~np.concatenate(kept)).tolist())
        later = [{at for at in removed if at >= each} for removed in (truth, found)]
        note = f"{len(later[0])} of {len(texts)} texts are to leave; {size:.0f} bytes a stored text"
        record.add(f"runs 2 to {RUNS}, {features=}", f1(*later), "F1", note=note)


@cache
def vocabulary(count: int = VOCABULARY) -> list[str]:
    return [f"word{at}" for at in range(count)]


@cache
def frequencies() -> list[float]:
    """Return the sums of the frequencies of the vocabulary, the most frequent word first."""
    return list(accumulate(1 / (at + 1) for at in range(VOCABULARY)))


def page(chance: Random) -> list[str]:
    """Draw a page, a half of which is one of some templates."""
    frame = Random(chance.randrange(TEMPLATES)).choices(vocabulary(), k=100)
    own = chance.choices(vocabulary(), k=chance.randrange(60, 140))
    return [*frame[:60], *own, *frame[60:]]


def uniform(least: int, most: int, words: int = VOCABULARY) -> Callable[[Random], list[str]]:
    return lambda chance: chance.choices(vocabulary(words), k=chance.randrange(least, most))


SIZED: dict[str, Callable[[Random], list[str]]] = {
    "short texts": uniform(15, 50), "long texts": uniform(300, 1200),
    "Zipf words": lambda chance: chance.choices(
        vocabulary(), cum_weights=frequencies(), k=chance.randrange(60, 300)
    ),
    "few words": uniform(60, 300, 60), "templates": page, "versions": uniform(80, 400),
}  # fmt: skip


def sizes(record: Record, count: int, words: Words, chance: Random) -> None:
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    first = record.arguments.seed
    for name, seed in product(SIZED, range(first, first + SEEDS)):
        texts = dict(enumerate(with_edits(name, count, Random(f"{name} {seed}"))))
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
        average = mean(mean(found[name, setting]) for name in SIZED)
        record.add(f"mean, {setting}", average, "F1", note=f"{sketch.vector_bytes} bytes")


def with_edits(name: str, count: int, chance: Random) -> list[str]:
    """Return `count` texts and as many changed copies, in an order by chance."""
    texts: list[str] = []
    while len(texts) < 2 * count:
        text = " ".join(SIZED[name](chance))
        copies = 3 if name == "versions" else 1
        texts.append(text)
        texts += [
            edited(text, vocabulary(), chance.uniform(*COSINES), chance) for _ in range(copies)
        ]
    chance.shuffle(texts)
    return texts


def products(words: Words, chance: Random) -> Iterator[tuple[list[str], list[str]]]:
    """Yield products of one maker as two shops list them."""
    maker, line, *common = take(words, 12)
    for _ in range(GROUP):
        model = f"{chance.choice('abcdefgh')}{chance.randrange(10, 999)}"
        told = chance.sample(common, 4)
        yield [maker, line, model, *told], [line, maker, *told[:2], model, next(words)]


def songs(words: Words, chance: Random) -> Iterator[tuple[list[str], list[str]]]:
    """Yield songs of one album as two shops list them, one of them with a phrase of its own."""
    album, phrase = take(words, 5), LETTERS[:15]
    for _ in range(GROUP):
        title = take(words, chance.randrange(2, 5))
        yield [*title, *album, *phrase], [*title[:2], *album[2:], *take(words, 3)]


def tune(record: Record, count: int, words: Words, chance: Random) -> None:
    for make in (products, songs):
        groups = [make(words, chance) for _ in range(count // GROUP)]
        texts = [" ".join(text) for group in groups for both in group for text in both]
        blocks = [range(at, at + 2 * GROUP) for at in range(0, len(texts), 2 * GROUP)]
        candidates = [pair for block in blocks for pair in product(block[::2], block[1::2])]
        orders = [chance.sample(candidates, len(candidates)) for _ in range(DRAWS)]
        for blocking in (False, True):
            results = [advised(texts, order, blocking) for order in orders]
            given, best = (mean(values) for values in zip(*results, strict=True))
            note = f"best threshold {best:.3f}; {len(candidates)} candidates, {DRAWS} draws"
            what = f"{make.__name__}, {JUDGED} judged pairs, {blocking=}"
            record.add(what, given, "F1", note=note)


def advised(texts: list[str], pairs: list[tuple[int, int]], blocking: bool) -> tuple[float, float]:
    """Return F1 of all but the first, judged pairs, as advised and at the best threshold."""
    labels = [left // 2 == right // 2 for left, right in pairs]
    advice = simdb.tune(texts, pairs[:JUDGED], labels[:JUDGED], blocking=blocking).options
    held = pairs[JUDGED:]
    truth = set(compress(held, labels[JUDGED:]))
    with simdb.open(None, options=advice) as database:
        database.insert_many(range(len(texts)), texts)
        scores = database.compare(*np.array(held).T).similarity.astype(np.float64)
    found = set(compress(held, scores >= advice.similarity))
    return f1(truth, found), float(curve(held, scores, truth).f1.max())


QUESTIONS = {
    each.__name__: each for each in (equal, mixture, exact, minhash, numbers, runs, sizes, tune)
}

if __name__ == "__main__":
    main()
