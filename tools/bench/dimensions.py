"""How well and how fast do 64, 128 and 256 weights tell near-duplicates?

Sketches every corpus of a folder (see `weighting.py`) with the default and each number of weights,
and compares all pairs, so that the measure is judged and not a search.  `tables.py`
prints the curves of F1.  Then measures how long it takes to make the weights of a text, to compare
a vector with all others, and to make cross-polytope keys.
"""

from collections.abc import Callable
from pathlib import Path

import simdb
from corpus import MEASURES, read_corpus
from record import Record, Timing, in_turns, options
from simdb.running import kernel
from simdb.settings.options import DIMENSIONS
from simdb.sketch.sketcher import Sketcher
from weighting import MANY_PAIRS, judge, read_corpora

QUERIES = 32
TABLES = 4


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("folder", type=Path, help="folder of NAME.jsonl.gz and NAME.truth.tsv.gz")
    parser.add_argument("--only", nargs="*", default=[], help="names of corpora; default: all")
    parser.add_argument(
        "--seeds", type=int, default=3, help="seeds for a corpus with fewer than 1,000 pairs"
    )
    parser.add_argument("--texts", help="the corpus whose texts are timed; default: none")
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    for corpus in read_corpora(arguments.folder, arguments.only):
        few = min((corpus.known[name] >= least).sum() for name, (_, least) in MEASURES.items())
        seeds = arguments.seeds if few < MANY_PAIRS else 1
        for dimensions in DIMENSIONS:
            settings = simdb.Simhash(dimensions=dimensions)
            judge(record, corpus, f"{dimensions} weights", settings, seeds)
    if arguments.texts:
        _, texts = read_corpus(f"{arguments.folder}/{arguments.texts}.jsonl.gz")
        measure_speed(record, texts, arguments.repeats)
    record.finish()


def measure_speed(record: Record, texts: list[str], repeats: int) -> None:
    """Add the rates of each number of weights; all tasks take turns."""
    size = sum(len(text.encode()) for text in texts)
    tasks: dict[str, Callable[[], object]] = {}
    counts: dict[str, tuple[float, str]] = {}
    for dimensions in DIMENSIONS:
        for weighting in ("binary", "tf"):
            name = f"{dimensions} weights: texts to vectors, {weighting}"
            sketcher = Sketcher(simdb.Simhash(weighting=weighting, dimensions=dimensions))
            tasks[name] = lambda sketcher=sketcher: sketcher.sketch(texts)
            counts[name] = size / 1e6, "MB/s"
        vectors = sketcher.sketch(texts).vectors
        stored = kernel.Vectors(vectors.shape[1], [(0, vectors)])
        name = f"{dimensions} weights: vectors compared"
        tasks[name] = lambda stored=stored, vectors=vectors: stored.scan(
            vectors[:QUERIES], similarity=1.0, skip=None, after=None
        )
        counts[name] = QUERIES * len(vectors) / 1e6, "M/s"
        name = f"{dimensions} weights: keys of {TABLES} cross-polytope tables"
        tasks[name] = lambda vectors=vectors: kernel.polytope_keys(vectors, TABLES)
        counts[name] = len(vectors) / 1e6, "M documents/s"
    timings: dict[str, Timing] = in_turns(tasks, repeats)
    for name, (count, unit) in counts.items():
        record.add_rate(name, count, unit, timings[name])


if __name__ == "__main__":
    main()
