"""How many megabytes of UTF-8 text a second become sketches, under each option, beside peers?

Fingerprints with weights are made as `insert_many` makes them, from lists of a few thousand str.
The IDF table is fitted before the timing, on every distinct text once: one of repeated texts would
also hold the features that only one distinct text has.  Signatures have 128 minima (gaoya: 126),
and are also made from ready tokens and ready hashes, and compared.  rensa and datasketch take
tokens, so `re` cuts the text for them.  Every library must estimate .5 for sets of similarity .5.

The libraries treat a text differently.  simdb takes each character of a script without spaces as a
word and makes 128 weights.  gaoya takes a row of Chinese characters as one word, so that a Chinese
text has few words and is fast, and makes no features for a text shorter than a shingle.
"""

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import simdb
from corpus import read_corpus
from peers import installed, signed
from pipelines import WORD, shingles
from record import Record, in_turns, options
from simdb.core import kernel
from simdb.core.options import DIMENSIONS
from simdb.database.state.incoming import SKETCHED_DOCUMENTS
from simdb.sketch.minhash_sketcher import permutations_of
from simdb.sketch.sketcher import Sketcher
from texts import Texts, read_pools

Task = tuple[list[str], Callable[[], object]]  # the texts that are read, and the work
Sketch = simdb.Simhash | simdb.Minhash
Found = dict[str, Any]  # the libraries that are installed, by name

MINIMA = 128
PEERS = "rensa", "datasketch"  # of signatures
LIBRARIES = "gaoya", "simhash", *PEERS
SLOW_MEGABYTES = 2.0  # megabytes for libraries that do only a few a second
FEATURES: dict[str, dict[str, Any]] = {
    "words": {"shingle": 1}, "word 3-shingles": {},
    "character 5-shingles": {"unit": "characters", "shingle": 5},
}  # fmt: skip
WORDS = simdb.Simhash(shingle=1, weighting="tf")
SHINGLES = simdb.Minhash(permutations=MINIMA)
SETTINGS: dict[str, Sketch] = {
    **{f"{name}, {weighting}": simdb.Simhash(weighting=weighting, **features)
       for name, features in FEATURES.items() for weighting in ("binary", "tf")},
    **{f"{name}, {weighting}": simdb.Simhash(weighting=weighting, **features)
       for name, features in FEATURES.items() if "unit" not in features
       for weighting in ("log-tf", "tf-idf", "log-tf-idf")},
    "whitespace, tf": replace(WORDS, unit="whitespace"),
    "words, tf, case kept": replace(WORDS, lowercase=False),
    "words, tf, nfc": replace(WORDS, normalisation="nfc"),
    "words, tf, nfkc": replace(WORDS, normalisation="nfkc"),
    "words, tf, stop words": replace(WORDS, stop_words="english"),
    "words, tf, stems": replace(WORDS, stemming="english"),
    "words, tf, html": replace(WORDS, markup="html"),
    "Simhash.paper()": simdb.Simhash.paper(),
    **{f"{each} weights": simdb.Simhash(dimensions=each) for each in DIMENSIONS},
    **{f"MinHash, {name}": replace(SHINGLES, **features) for name, features in FEATURES.items()},
    "MinHash, 8 bits": replace(SHINGLES, stored_bits=8),
    "MinHash, bag": replace(SHINGLES, weighting="bag"),
    "MinHash, mersenne": replace(SHINGLES, family="mersenne"),
    "MinHash, one permutation": replace(SHINGLES, family="one-permutation"),
}  # fmt: skip
VARIANTS = ("words, tf", "word 3-shingles, binary", "MinHash, word 3-shingles")
COMPARED = 100_000  # signatures that one is compared with
DEVIATIONS = 6  # standard deviations that an estimate may be off


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--megabytes", type=float, default=50.0, help="of UTF-8 text to use")
    parser.add_argument("--texts", nargs="*", type=Path, default=[],
                        help="JSON lines with id and text; default: Python's files")  # fmt: skip
    parser.add_argument("--only", nargs="*", default=[], help="names that contain one of these")
    parser.add_argument("--all-variants", action="store_true", help="of the kernel")
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    found = {name: package for name in LIBRARIES if (package := installed(name)) is not None}
    check(found)
    for path in arguments.texts or [None]:
        name, texts, distinct = taken(path, arguments.megabytes)
        few = texts[
            : max(1, int(len(texts) * SLOW_MEGABYTES / max(size_of(texts), SLOW_MEGABYTES)))
        ]
        record.add(f"{name}: text taken", size_of(texts), "MB", note=f"{len(texts)} documents")
        tasks = own_tasks(texts, texts[:distinct]) | peer_tasks(found, texts, few)
        tasks |= ready_tasks(found, few)
        run(record, arguments, name, tasks)
        for variant in kernel.variants() if arguments.all_variants else ():
            kernel.select(variant)
            chosen = {f"{each}, {variant}": sketching(texts, SETTINGS[each]) for each in VARIANTS}
            run(record, arguments, name, chosen)
    compare(record, arguments, found)
    record.finish()


def taken(path: Path | None, megabytes: float) -> tuple[str, list[str], int]:
    """Return a name, documents of `megabytes` in all, and how many of them are distinct.

    Documents of a small corpus are repeated.
    """
    if path is None:
        found = of_python(megabytes)
        return "Python sources", found, len(found)
    _, texts = read_corpus(str(path))
    times = max(1, round(megabytes / size_of(texts) + 0.5))
    # Each text is a new str object, so that none is in a cache because it was sketched before.
    repeated = [f"{text} "[:-1] for _ in range(times) for text in texts]
    return path.name.split(".")[0], repeated, len(texts)


def of_python(megabytes: float) -> list[str]:
    """Return texts of 1 KB that are made of the sources of the running Python."""
    return Texts(read_pools(None)).between(0, max(1, int(megabytes * 1e3)))


def run(
    record: Record, arguments: argparse.Namespace, name: str, tasks: Mapping[str, Task]
) -> None:
    chosen = {
        label: work
        for label, (_, work) in tasks.items()
        if not arguments.only or any(part in label for part in arguments.only)
    }
    for label, timing in in_turns(chosen, arguments.repeats).items():
        record.add_rate(f"{name}: {label}", size_of(tasks[label][0]), "MB/s", timing)


def own_tasks(texts: list[str], distinct: list[str]) -> dict[str, Task]:
    tasks: dict[str, Task] = {}
    for name, setting in SETTINGS.items():
        fitted = (
            replace(setting, idf=simdb.fit_idf(distinct, setting)) if setting.uses_idf else setting
        )
        tasks[f"simdb, {name}"] = sketching(texts, fitted)
    fitting = replace(WORDS, weighting="tf-idf")
    tasks["simdb, fit_idf of words"] = distinct, lambda: simdb.fit_idf(distinct, fitting)
    return tasks


def sketching(texts: list[str], setting: Sketch) -> Task:
    if isinstance(setting, simdb.Minhash):
        return texts, lambda: simdb.signatures(texts, setting, threads=1)
    sketcher = Sketcher(setting)
    starts = range(0, len(texts), SKETCHED_DOCUMENTS)
    chunks = [texts[start : start + SKETCHED_DOCUMENTS] for start in starts]
    return texts, lambda: [len(sketcher.sketch(chunk).bits) for chunk in chunks]


def peer_tasks(found: Found, texts: list[str], few: list[str]) -> dict[str, Task]:
    """Make the tasks from text to sketches in other libraries; `few` is for the slow ones."""
    tasks: dict[str, Task] = {
        "re alone, words": (texts, lambda: list(map(words, texts))),
        "re alone, word 3-shingles": (texts, lambda: list(map(shingles, texts))),
    }
    for label, shingle, cut in (("words", 1, words), ("word 3-shingles", 3, shingles)):
        if gaoya := found.get("gaoya"):
            form = {"analyzer": "word", "lowercase": True, "ngram_range": (shingle, shingle)}
            index = gaoya.gaoya.simhash.SimHash64StringIntIndex(6, 3, **form)
            tasks[f"gaoya simhash, {label}"] = texts, each_of(index.tokenize_and_simhash, texts)
            signer = gaoya.gaoya.minhash.MinHash32StringIntIndexVec(**form)
            tasks[f"gaoya minhash, {label}"] = few, each_of(signer.tokenize_and_minhash, few)
        if simhash := found.get("simhash"):
            tasks[f"simhash-pybind, {label}"] = few, each_of(partial(pybind, simhash, shingle), few)
        for name, some in (("rensa", texts), ("datasketch", few)):
            if name in found:
                sign = partial(signed_matrix, found[name], some, cut)
                tasks[f"{name}, re, {label}"] = some, sign
    return tasks


def signed_matrix(library: Any, many: Sequence[Any], cut: Callable[[Any], Any] | None) -> object:
    """Sign texts that `cut` cuts, or ready tokens, by the fastest call of a library for many."""
    tokens = many if cut is None else list(map(cut, many))
    if hasattr(library, "RMinHash"):
        return library.RMinHash.digest_matrix_from_token_sets(tokens, MINIMA, 1)
    ready = tokens if cut is None else list(map(encoded, tokens))
    return library.MinHash.bulk(ready, num_perm=MINIMA)


def ready_tasks(found: Found, texts: list[str]) -> dict[str, Task]:
    """Make the tasks from ready tokens, which are 3-shingles as strings, and from ready hashes."""
    cut = list(map(shingles, texts))
    offsets = np.cumsum([0, *map(len, cut)])
    hashes = np.random.default_rng(1).integers(0, 2**64, offsets[-1], np.uint64)
    tokens, family = simdb.Minhash(shingle=1, permutations=MINIMA), permutations_of(SHINGLES)
    tasks: dict[str, Callable[[], object]] = {
        "simdb, ready tokens": lambda: simdb.signatures(cut, tokens, threads=1),
        "simdb, ready hashes": lambda: kernel.sign_features(
            offsets, hashes, None, family=family, feature_bits=64
        ),
    }
    for name, ready in (("rensa", cut), ("datasketch", list(map(encoded, cut)))):
        if name in found:
            tasks[f"{name}, ready tokens"] = partial(signed_matrix, found[name], ready, None)
    if rensa := found.get("rensa"):
        make, places = (
            rensa.RMinHash.digest_matrix_from_flat_token_hashes,
            offsets.astype(np.uint64),
        )
        tasks["rensa, ready hashes"] = lambda: make(hashes, places, MINIMA, 1)
    return {name: (texts, work) for name, work in tasks.items()}


def each_of(function: Callable[[Any], object], many: Sequence[Any]) -> Callable[[], object]:
    return lambda: [function(each) for each in many]


def pybind(simhash: Any, shingle: int, text: str) -> int:
    """Make a fingerprint as its documentation shows: shingles in Python, MD5 hashes."""
    grams = simhash.shingle(re.findall(r"\w+", text.lower()), shingle)
    return int(simhash.compute([simhash.unsigned_hash(" ".join(gram).encode()) for gram in grams]))


def compare(record: Record, arguments: argparse.Namespace, found: Found) -> None:
    """Compare one signature with many."""
    chance = np.random.default_rng(arguments.seed)
    tasks: dict[str, Task] = {}
    for bits, kind in ((32, np.uint32), (8, np.uint8)):
        minima = chance.integers(0, 2**bits, (COMPARED, MINIMA), kind)
        sketch = replace(SHINGLES, stored_bits=bits)
        many = simdb.Signatures(minima, sketch, np.zeros(COMPARED, np.bool_))
        work = partial(simdb.similarities, many[0], many)
        tasks[f"simdb, {bits} bits"] = ["each"] * COMPARED, work
    few = [text.split() for text in of_python(0.5)]
    for name in filter(found.get, PEERS):
        first, *others = signed(name, found[name], few, MINIMA)
        tasks[name] = ["each"] * len(others), each_of(first.jaccard, others)
    works = {name: work for name, (_, work) in tasks.items()}
    for label, timing in in_turns(works, arguments.repeats).items():
        count = len(tasks[label][0]) / 1e6
        record.add_rate(f"{label}: one signature compared with many", count, "M pairs/s", timing)


def check(found: Found) -> None:
    """Check that every library estimates 0.5 for two sets whose Jaccard similarity is 0.5."""
    both = [[f"word{at}" for at in range(first, first + 300)] for first in (0, 100)]
    sketch = simdb.Minhash(shingle=1, permutations=MINIMA)
    estimates = {"simdb": simdb.similarity(*simdb.signatures(both, sketch))}
    for name in filter(found.get, PEERS):
        left, right = signed(name, found[name], both, MINIMA)
        estimates[name] = left.jaccard(right)
    for library, similarity in estimates.items():
        if abs(similarity - 0.5) > DEVIATIONS * (0.25 / MINIMA) ** 0.5:
            raise SystemExit(f"{library} estimates {similarity:.3f} for sets of similarity 0.5")


def words(text: str) -> list[str]:
    return WORD.findall(text.lower())


def encoded(tokens: list[str]) -> list[bytes]:
    return [token.encode() for token in tokens]


def size_of(texts: list[str]) -> float:
    """Return megabytes of UTF-8."""
    return sum(len(text.encode()) for text in texts) / 1e6


if __name__ == "__main__":
    main()
