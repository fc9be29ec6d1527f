"""How many megabytes of UTF-8 text a second become fingerprints, under each option?

Measures every setting as `insert_many` sketches: lists of a few thousand str through
`Sketcher.sketch`.  Fits the IDF table before the timing, on every distinct document once: a table
fitted on repeated documents would also hold the features that only one distinct document has.
"""

import argparse
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import simdb
from corpus import read_corpus
from record import Record, in_turns, missing, options
from simdb.engine.state.incoming import SKETCHED_DOCUMENTS
from simdb.running import kernel
from simdb.sketch.sketcher import Sketcher
from workload import pieces

try:
    from gaoya import gaoya
except ImportError:
    gaoya = None
try:
    import simhash
except ImportError:
    simhash = None

Task = Callable[[], object]

SLOW_MEGABYTES = 2.0  # megabytes for tasks that do only a few a second
FITTING = "simdb, fit_idf of words"
SLOW = ("simhash-pybind", "gaoya minhash")
WORDS = simdb.Simhash(shingle=1, weighting="tf")
SHINGLES = simdb.Simhash(shingle=3, weighting="tf")
CHARACTERS = simdb.Simhash(unit="characters", shingle=5, weighting="tf")
SETTINGS = {
    "words, tf": WORDS,
    "words, tf, bytes": WORDS,
    "word 3-shingles, tf": SHINGLES,
    "word 3-shingles, tf, bytes": SHINGLES,
    "character 5-shingles, tf": CHARACTERS,
    "character 5-shingles, binary": replace(CHARACTERS, weighting="binary"),
    "whitespace, tf": replace(WORDS, unit="whitespace"),
    "words, tf, case kept": replace(WORDS, lowercase=False),
    "words, tf, nfc": replace(WORDS, normalisation="nfc"),
    "words, tf, nfkc": replace(WORDS, normalisation="nfkc"),
    "words, binary": replace(WORDS, weighting="binary"),
    "word 3-shingles, binary": replace(SHINGLES, weighting="binary"),
    "words, log-tf": replace(WORDS, weighting="log-tf"),
    "word 3-shingles, log-tf": replace(SHINGLES, weighting="log-tf"),
    "words, tf-idf": replace(WORDS, weighting="tf-idf"),
    "word 3-shingles, tf-idf": replace(SHINGLES, weighting="tf-idf"),
    "words, log-tf-idf": replace(WORDS, weighting="log-tf-idf"),
    "words, tf, stop words": replace(WORDS, stop_words="english"),
    "words, tf, stems": replace(WORDS, stemming="english"),
    "Simhash.paper()": simdb.Simhash.paper(),
}
HTML_SETTINGS = {
    "words, tags as text": WORDS,
    "words, html": replace(WORDS, markup="html"),
    "word 3-shingles, html": replace(SHINGLES, markup="html"),
}
ENGLISH = ("stop_words", "stemming")  # options that work only for English here


def main() -> None:
    parser = options(__doc__)
    parser.add_argument(
        "--megabytes", type=float, default=50.0, help="megabytes of UTF-8 text to use"
    )
    parser.add_argument("--english", help="JSON lines with id and text; default: Python's files")
    parser.add_argument("--html", help="JSON lines whose texts are HTML")
    parser.add_argument("--other", help="JSON lines in a language without stop words and stems")
    parser.add_argument(
        "--only", nargs="*", default=[], help="only settings whose names contain one of these"
    )
    parser.add_argument(
        "--all-variants", action="store_true", help="run every variant of the kernel"
    )
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    english = taken(arguments.english, arguments.megabytes)
    run(record, arguments, english, SETTINGS)
    if arguments.all_variants:
        variants(record, arguments, english)
    if arguments.other:
        kept = {
            name: each
            for name, each in SETTINGS.items()
            if not any(getattr(each, option) for option in ENGLISH)
        }
        run(record, arguments, taken(arguments.other, arguments.megabytes), kept)
    if arguments.html:
        run(record, arguments, taken(arguments.html, arguments.megabytes), HTML_SETTINGS)
    record.finish()


def taken(path: str | None, megabytes: float) -> tuple[str, list[str], int]:
    """Return a name, documents of `megabytes` in all, and how many of them are distinct.

    Documents of a small corpus are repeated.
    """
    if path is None:
        found = pieces([], megabytes)
        return "Python sources", found, len(found)
    _, texts = read_corpus(path)
    times = max(1, round(megabytes / size_of(texts) + 0.5))
    # Each text is a new str object, so that none is in a cache because it was sketched before.
    repeated = [f"{text} "[:-1] for _ in range(times) for text in texts]
    return Path(path).name.split(".")[0], repeated, len(texts)


def run(
    record: Record,
    arguments: argparse.Namespace,
    collection: tuple[str, list[str], int],
    settings: Mapping[str, simdb.Simhash],
) -> None:
    """Add the rows of one collection: simdb with each setting, and the peers."""
    name, texts, distinct = collection
    size = size_of(texts)
    plain = sum(map(str.isascii, texts)) / max(len(texts), 1)
    note = f"{len(texts)} documents, {plain:.0%} of them ASCII"
    record.add(f"{name}: text taken", size, "MB", note=note)
    few = texts[: max(1, int(len(texts) * SLOW_MEGABYTES / max(size, SLOW_MEGABYTES)))]
    tasks = own_tasks(texts, texts[:distinct], settings) | peer_tasks(texts, few)
    chosen = {
        label: task
        for label, task in tasks.items()
        if not arguments.only or any(part in label for part in arguments.only)
    }
    for label, timing in in_turns(chosen, arguments.repeats).items():
        read = size_of(few) if label.startswith(SLOW) else size
        if label == FITTING:
            read = size_of(texts[:distinct])
        record.add_rate(f"{name}: {label}", read, "MB/s", timing)


def own_tasks(
    texts: list[str], distinct: list[str], settings: Mapping[str, simdb.Simhash]
) -> dict[str, Task]:
    """Make the tasks that sketch as insert_many does, and that fit an IDF table on `distinct`."""
    raw = [text.encode() for text in texts]
    tasks: dict[str, Task] = {}
    for name, setting in settings.items():
        table = simdb.fit_idf(distinct, setting) if setting.uses_idf else None
        tasks[f"simdb, {name}"] = sketching(
            raw if name.endswith("bytes") else texts, replace(setting, idf=table)
        )
    fitted = replace(WORDS, weighting="tf-idf")
    tasks[FITTING] = lambda: simdb.fit_idf(distinct, fitted)
    return tasks


def sketching(documents: list[str] | list[bytes], setting: simdb.Simhash) -> Task:
    sketcher = Sketcher(setting)
    starts = range(0, len(documents), SKETCHED_DOCUMENTS)
    chunks = [documents[start : start + SKETCHED_DOCUMENTS] for start in starts]
    return lambda: [len(sketcher.sketch(chunk).bits) for chunk in chunks]


def peer_tasks(texts: list[str], few: list[str]) -> dict[str, Task]:
    """Make the tasks from text to a signature in other libraries; `few` is for the slow library."""
    tasks: dict[str, Task] = {}
    if gaoya is None:
        missing("gaoya")
    else:
        for label, analyzer, shingle in (
            ("words", "word", 1),
            ("word 3-shingles", "word", 3),
            ("character 5-shingles", "char", 5),
        ):
            form = {"analyzer": analyzer, "lowercase": True, "ngram_range": (shingle, shingle)}
            simhashes = gaoya.simhash.SimHash64StringIntIndex(6, 3, **form).tokenize_and_simhash
            minhashes = gaoya.minhash.MinHash64StringIntIndexVec(**form).tokenize_and_minhash
            tasks[f"gaoya simhash, {label}"] = each_of(simhashes, texts)
            tasks[f"gaoya minhash of 126, {label}"] = each_of(minhashes, few)
    if simhash is None:
        missing("simhash-pybind")
    else:
        for label, shingle in (("words", 1), ("word 3-shingles", 3)):
            tasks[f"simhash-pybind, {label}"] = each_of(pybind(shingle), few)
    return tasks


def each_of(function: Callable[[str], object], texts: list[str]) -> Task:
    return lambda: [function(text) for text in texts]


def pybind(shingle: int) -> Callable[[str], int]:
    """Make simhash-pybind's function as its documentation shows: shingles in Python, MD5 hashes."""

    def fingerprint(text: str) -> int:
        tokens = re.findall(r"\w+", text.lower())
        grams = simhash.shingle(tokens, shingle)
        return simhash.compute([simhash.unsigned_hash(" ".join(gram).encode()) for gram in grams])

    return fingerprint


def variants(
    record: Record, arguments: argparse.Namespace, collection: tuple[str, list[str], int]
) -> None:
    """Run the kernel alone, in each variant of the processor."""
    name, texts, _ = collection
    for setting in (WORDS, SHINGLES, CHARACTERS):
        for variant in kernel.variants():
            kernel.select(variant)
            label = f"{setting.unit} {setting.shingle}, kernel alone, {variant}"
            timing = in_turns({label: projecting(texts, setting)}, arguments.repeats)[label]
            record.add_rate(f"{name}: {label}", size_of(texts), "MB/s", timing)
    kernel.select(kernel.variants()[-1])


def projecting(texts: list[str], setting: simdb.Simhash) -> Task:
    return lambda: kernel.project_texts(
        texts,
        unit=setting.unit,
        shingle=setting.shingle,
        lowercase=True,
        seed=0,
        replace=False,
        start=0,
    )


def size_of(texts: list[str]) -> float:
    """Return megabytes of UTF-8."""
    return sum(len(text.encode()) for text in texts) / 1e6


if __name__ == "__main__":
    main()
