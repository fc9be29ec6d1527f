"""How many megabytes of UTF-8 text a second become sketches, by each option and peer?

Fingerprints with weights are made as `insert_many` makes them, from lists of a few thousand str.
The IDF table is fitted before the timing.  Signatures have 128 minima (gaoya: 126).  rensa takes
tokens, so `re` cuts the text for it.

The libraries treat a text differently.  In simdb, each character of a script without spaces is a
word, and a sketch has 128 weights.  In gaoya, a run of Chinese characters is one word, so a Chinese
text has few words and is fast.  A text shorter than a shingle has no features there.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import simdb
from corpus import read_corpus
from peers import signed
from pipelines import WORD, shingles
from record import in_turns, installed, options, recorded
from simdb.core import kernel
from simdb.core.options import DIMENSIONS
from simdb.database.state.incoming import SKETCHED_DOCUMENTS
from simdb.sketch.sketcher import Sketcher
from texts import Texts, read_pools

Task = tuple[list[Any], Callable[[], object]]  # the texts that are read, and the work
Sketch = simdb.Simhash | simdb.Minhash

SLOW_MEGABYTES = 2.0  # megabytes for what does only a few a second
FEATURES: dict[str, dict[str, Any]] = {
    "words": {"shingle": 1}, "word 3-shingles": {},
    "character 5-shingles": {"unit": "characters", "shingle": 5},
}  # fmt: skip
WORDS = simdb.Simhash(shingle=1, weighting="tf")
SETTINGS: dict[str, Sketch] = {
    **{f"{name}, {weighting}": simdb.Simhash(weighting=weighting, **features)
       for name, features in FEATURES.items()
       for weighting in ("binary", "tf", "log-tf", "tf-idf", "log-tf-idf")
       if "unit" not in features or weighting in ("binary", "tf")},
    "whitespace, tf": replace(WORDS, unit="whitespace"),
    **{f"words, tf, {each}": replace(WORDS, normalisation=each) for each in ("nfc", "nfkc")},
    "words, tf, stop words": replace(WORDS, stop_words="english"),
    "words, tf, stems": replace(WORDS, stemming="english"),
    "words, tf, html": replace(WORDS, markup="html"),
    "Simhash.paper()": simdb.Simhash.paper(),
    **{f"{each} weights": simdb.Simhash(dimensions=each) for each in DIMENSIONS},
    **{f"MinHash, {name}": simdb.Minhash(**features) for name, features in FEATURES.items()},
    "MinHash, 8 bits": simdb.Minhash(stored_bits=8),
    "MinHash, bag": simdb.Minhash(weighting="bag"),
    "MinHash, mersenne": simdb.Minhash(family="mersenne"),
    "MinHash, one permutation": simdb.Minhash(family="one-permutation"),
}  # fmt: skip


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--megabytes", type=float, default=50.0, help="of UTF-8 text to use")
    parser.add_argument("--texts", nargs="*", type=Path, default=[None],
                        help="JSON lines with id and text; default: Python's files")  # fmt: skip
    parser.add_argument("--only", nargs="*", default=[""], help="names that contain one of these")
    parser.add_argument("--all-variants", action="store_true", help="of the kernel")
    with recorded(__doc__, parser) as record:
        arguments = record.arguments
        for path in arguments.texts:
            name, texts = taken(path, arguments.megabytes)
            record.add(f"{name}: text taken", size_of(texts), "MB", note=f"{len(texts)} documents")
            for variant in kernel.variants() if arguments.all_variants else [kernel.CHOSEN]:
                if arguments.all_variants:
                    kernel.select(variant)
                tasks = own_tasks(texts) | peer_tasks(texts)
                works = {
                    label: work for label, (_, work) in tasks.items()
                    if any(part in label for part in arguments.only)
                }  # fmt: skip
                for label, timing in in_turns(works, arguments.repeats).items():
                    what = f"{name}: {label}{f', {variant}' if variant else ''}"
                    record.add_rate(what, size_of(tasks[label][0]), "MB/s", timing)


def taken(path: Path | None, megabytes: float) -> tuple[str, list[str]]:
    """Return a name, and documents of `megabytes` in all; a small corpus is repeated."""
    if path is None:
        return "Python", Texts(read_pools(None)).between(0, max(1, int(megabytes * 1e3)))
    _, texts = read_corpus(str(path))
    times = max(1, round(megabytes / size_of(texts) + 0.5))
    # Each text is a new str object, so that none is in a cache because it was sketched before.
    return path.name.split(".")[0], [f"{text} "[:-1] for _ in range(times) for text in texts]


def own_tasks(texts: list[str]) -> dict[str, Task]:
    tasks, distinct = dict[str, Task](), list(dict.fromkeys(texts))
    for name, setting in SETTINGS.items():
        if setting.uses_idf:
            setting = replace(setting, idf=simdb.fit_idf(distinct, setting))
        make = simdb.signatures if isinstance(setting, simdb.Minhash) else fingerprints
        tasks[f"simdb, {name}"] = texts, partial(make, texts, setting, threads=1)
    fitting = replace(WORDS, weighting="tf-idf")
    tasks["simdb, fit_idf of words"] = distinct, partial(simdb.fit_idf, distinct, fitting)
    return tasks


def fingerprints(texts: list[str], setting: simdb.Simhash, threads: int) -> None:
    sketcher, rest = Sketcher(setting), iter(texts)
    while some := list(islice(rest, SKETCHED_DOCUMENTS)):
        sketcher.sketch(some)


def peer_tasks(texts: list[str]) -> dict[str, Task]:
    """Make the tasks from text to sketches in other libraries."""
    tasks, size = dict[str, Task](), size_of(texts)
    few = texts[: max(1, int(len(texts) * SLOW_MEGABYTES / max(size, SLOW_MEGABYTES)))]
    gaoya, rensa = installed("gaoya"), installed("rensa")
    for label, shingle, cut in (("words", 1, words), ("word 3-shingles", 3, shingles)):
        tasks[f"re alone, {label}"] = texts, partial(each_of, cut, texts)
        if gaoya:
            form = {"analyzer": "word", "lowercase": True, "ngram_range": (shingle, shingle)}
            index = gaoya.gaoya.simhash.SimHash64StringIntIndex(6, 3, **form)
            work = partial(each_of, index.tokenize_and_simhash, texts)
            tasks[f"gaoya simhash, {label}"] = texts, work
            signer = gaoya.gaoya.minhash.MinHash32StringIntIndexVec(**form)
            work = partial(each_of, signer.tokenize_and_minhash, few)
            tasks[f"gaoya minhash, {label}"] = few, work
        if rensa:
            work = partial(lambda cut: signed(rensa, each_of(cut, texts)), cut)
            tasks[f"rensa, re, {label}"] = texts, work
    return tasks


def each_of(function: Callable[[str], Any], many: list[str]) -> list[Any]:
    return [function(each) for each in many]


def words(text: str) -> list[str]:
    return WORD.findall(text.lower())


def size_of(texts: list[str]) -> float:
    """Return megabytes of UTF-8."""
    return sum(len(text.encode()) for text in texts) / 1e6


if __name__ == "__main__":
    main()
