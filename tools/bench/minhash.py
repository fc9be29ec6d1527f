"""How many megabytes of text a second become MinHash signatures, beside rensa, gaoya, datasketch?

Measures four things: signatures from text by `simdb.signatures`, beside peers that take text and
peers whose words and shingles `re` cuts; from ready tokens; from ready hashes; and comparing
signatures.  Every signature has 128 minima (gaoya: 126).
"""

import argparse
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np

import simdb
from record import Record, in_turns, missing, options
from simdb.running import kernel
from simdb.sketch.minhash_sketcher import permutations_of
from workload import pieces

try:
    import rensa
except ImportError:
    rensa = None
try:
    import datasketch
except ImportError:
    datasketch = None
try:
    from gaoya import gaoya
except ImportError:
    gaoya = None

Task = Callable[[], object]
Tokens = list[list[str]]

PERMUTATIONS = 128
SLOW_MEGABYTES = 1.0  # megabytes for tasks that do only a few a second
SLOW = ("datasketch", "gaoya", "simdb, weighted")
WORD = re.compile(r"\w+")
WORDS = simdb.Minhash(shingle=1, permutations=PERMUTATIONS)
SHINGLES = replace(WORDS, shingle=3)
SETTINGS = {
    "words": WORDS,
    "word 3-shingles": SHINGLES,
    "character 5-shingles": replace(WORDS, unit="characters", shingle=5),
    "word 3-shingles, 8 bits": replace(SHINGLES, stored_bits=8),
    "word 3-shingles, bag": replace(SHINGLES, weighting="bag"),
    "word 3-shingles, mersenne": replace(SHINGLES, family="mersenne"),
    "word 3-shingles, one permutation": replace(SHINGLES, family="one-permutation"),
}
COMPARED = 100_000  # signatures that one is compared with
DEVIATIONS = 6  # standard deviations that an estimate may be off


def main() -> None:
    parser = options(__doc__)
    parser.add_argument(
        "--megabytes", type=float, default=20.0, help="megabytes of UTF-8 text to use"
    )
    parser.add_argument("--text", nargs="*", default=[], help="text files; default: Python's files")
    parser.add_argument(
        "--all-variants", action="store_true", help="run every variant of the kernel"
    )
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    check()
    texts = pieces(arguments.text, arguments.megabytes)
    few = texts[: max(1, int(len(texts) * SLOW_MEGABYTES / max(size_of(texts), SLOW_MEGABYTES)))]
    record.add("text taken", size_of(texts), "MB", note=f"{len(texts)} documents")
    run(record, arguments, text_tasks(texts, few), texts, few)
    run(record, arguments, token_tasks(texts, few), texts, few)
    if arguments.all_variants:
        for variant in kernel.variants():
            kernel.select(variant)
            named = {f"simdb, {name}, {variant}": signing(texts, SETTINGS[name])
                     for name in ("words", "word 3-shingles")}  # fmt: skip
            run(record, arguments, named, texts, few)
    compare(record, arguments)
    record.finish()


def run(
    record: Record,
    arguments: argparse.Namespace,
    tasks: dict[str, Task],
    texts: list[str],
    few: list[str],
) -> None:
    for label, timing in in_turns(tasks, arguments.repeats).items():
        read = few if label.startswith(SLOW) else texts
        note = f"{len(read) / timing.median:,.0f} documents/s"
        record.add_rate(label, size_of(read), "MB/s", timing, note)


def text_tasks(texts: list[str], few: list[str]) -> dict[str, Task]:
    """Make the tasks from text to signatures."""
    tasks = {f"simdb, {name}": signing(texts, each) for name, each in SETTINGS.items()}
    tasks["simdb, weighted, word 3-shingles"] = signing(few, replace(SHINGLES, weighting="tf"))
    tasks["re alone, words"] = lambda: [words(text) for text in texts]
    tasks["re alone, word 3-shingles"] = lambda: [shingles(text) for text in texts]
    for label, cut in (("words", words), ("word 3-shingles", shingles)):
        if rensa is not None:
            tasks[f"rensa, re, {label}"] = rensa_signing(texts, cut)
        if datasketch is not None:
            tasks[f"datasketch, re, {label}"] = datasketch_signing(few, cut)
    if gaoya is None:
        missing("gaoya")
    else:
        for label, length in (("words", 1), ("word 3-shingles", 3)):
            index = gaoya.minhash.MinHash32StringIntIndexVec(
                analyzer="word", lowercase=True, ngram_range=(length, length)
            )
            tasks[f"gaoya, {label}"] = each_of(index.tokenize_and_minhash, few)
    return tasks


def token_tasks(texts: list[str], few: list[str]) -> dict[str, Task]:
    """Make the tasks from ready tokens, which are 3-shingles as strings, and from ready hashes."""
    cut = [shingles(text) for text in texts]
    tasks: dict[str, Task] = {"simdb, ready tokens": signing(cut, WORDS)}
    offsets = np.cumsum([0, *map(len, cut)])
    hashes = np.random.default_rng(1).integers(0, 2**64, offsets[-1], np.uint64)
    family = permutations_of(WORDS)
    tasks["simdb, ready hashes"] = lambda: kernel.sign_features(
        offsets, hashes, None, family=family, feature_bits=64
    )
    if rensa is None:
        missing("rensa")
    else:
        make = rensa.RMinHash
        tasks["rensa, ready tokens"] = lambda: make.digest_matrix_from_token_sets(
            cut, PERMUTATIONS, 1
        )
        tasks["rensa, ready hashes"] = lambda: make.digest_matrix_from_flat_token_hashes(
            hashes, offsets.astype(np.uint64), PERMUTATIONS, 1
        )
    if datasketch is None:
        missing("datasketch")
    else:
        tokens = encoded(cut[: len(few)])
        tasks["datasketch, ready tokens"] = lambda: datasketch.MinHash.bulk(
            tokens, num_perm=PERMUTATIONS
        )
    return tasks


def signing(documents: list[str] | Tokens, sketch: simdb.Minhash) -> Task:
    return lambda: simdb.signatures(documents, sketch)


def rensa_signing(texts: list[str], cut: Callable[[str], list[str]]) -> Task:
    return lambda: rensa.RMinHash.digest_matrix_from_token_sets(
        [cut(text) for text in texts], PERMUTATIONS, 1
    )


def datasketch_signing(texts: list[str], cut: Callable[[str], list[str]]) -> Task:
    return lambda: datasketch.MinHash.bulk(
        encoded([cut(text) for text in texts]), num_perm=PERMUTATIONS
    )


def each_of(function: Callable[[str], object], texts: list[str]) -> Task:
    return lambda: [function(text) for text in texts]


def compare(record: Record, arguments: argparse.Namespace) -> None:
    """Compare one signature with many."""
    chance = np.random.default_rng(arguments.seed)
    tasks: dict[str, Task] = {}
    for bits in (32, 8):
        sketch = replace(WORDS, stored_bits=bits)
        minima = chance.integers(0, 2**32, (COMPARED, PERMUTATIONS), np.uint32)
        many = simdb.Signatures(
            minima.astype(np.uint8 if bits == 8 else np.uint32),
            sketch,
            np.zeros(COMPARED, np.bool_),
        )
        tasks[f"simdb, compare one with many, {bits} bits"] = comparing(many)
    counts = dict.fromkeys(tasks, COMPARED)
    few = [text.split() for text in pieces([], 0.5)]
    if rensa is not None:
        first, *others = [rensa_one(tokens) for tokens in few]
        tasks["rensa, compare one with many"] = lambda: [first.jaccard(each) for each in others]
    if datasketch is not None:
        lead, *rest = datasketch.MinHash.bulk(encoded(few), num_perm=PERMUTATIONS)
        tasks["datasketch, compare one with many"] = lambda: [lead.jaccard(each) for each in rest]
    for label, timing in in_turns(tasks, arguments.repeats).items():
        record.add_rate(label, counts.get(label, len(few) - 1) / 1e6, "M pairs/s", timing)


def comparing(many: simdb.Signatures) -> Task:
    return lambda: simdb.similarities(many[0], many)


def check() -> None:
    """Check that every library estimates 0.5 for two sets whose Jaccard similarity is 0.5."""
    left, right = ([f"word{at}" for at in range(first, first + 300)] for first in (0, 100))
    found = {"simdb": simdb.similarity(*simdb.signatures([left, right], WORDS))}
    if rensa is not None:
        found["rensa"] = rensa_one(left).jaccard(rensa_one(right))
    if datasketch is not None:
        pair = datasketch.MinHash.bulk(encoded([left, right]), num_perm=PERMUTATIONS)
        found["datasketch"] = pair[0].jaccard(pair[1])
    for library, similarity in found.items():
        if abs(similarity - 0.5) > DEVIATIONS * (0.25 / PERMUTATIONS) ** 0.5:
            raise SystemExit(f"{library} estimates {similarity:.3f} for sets of similarity 0.5")


def rensa_one(tokens: list[str]) -> "rensa.RMinHash":
    made = rensa.RMinHash(PERMUTATIONS, 1)
    made.update(tokens)
    return made


def words(text: str) -> list[str]:
    return WORD.findall(text.lower())


def shingles(text: str) -> list[str]:
    tokens = words(text)
    pairs = list(pairwise(tokens))
    return [f"{one} {two} {three}" for (one, two), three in zip(pairs, tokens[2:], strict=False)]


def encoded(documents: Tokens) -> list[list[bytes]]:
    return [[token.encode() for token in document] for document in documents]


def size_of(texts: list[str]) -> float:
    """Return megabytes of UTF-8."""
    return sum(len(text.encode()) for text in texts) / 1e6


if __name__ == "__main__":
    main()
