"""How well does each kind of sketch tell near-duplicates, in a folder of corpora?

Every corpus is sketched with every setting and all pairs are compared, so that the measure is
judged and not a search.  `--method`:

weightings  Every weighting and length of shingles.  In languages with spaces, also without stop
            words and with stems.

dimensions  64, 128 and 256 weights.

minhash     Signatures of several sizes and the default, and the errors of their estimates.

bytes       Weights and minima of every width that take 32, 64, 128 and 256 bytes.

The folder has NAME.jsonl.gz and NAME.truth.tsv.gz (see `corpus.py`), a table with every pair that
counts, because other pairs count as wrong.  NAME.pairs.tsv, if it exists, has pairs that people
have judged.  For couples of a related and an unrelated pair, their row is the share in which the
related pair has the higher similarity.

At the end, the tables of docs/QUALITY.md are printed: F1 at one threshold for all corpora, at the
usual one, and at the best of each.  A further table of `bytes` has F1 at the usual threshold and
its standard error over the seeds.  It also has the gain over the first sketch of the size, with an
interval of 90 % over corpora (bootstrap).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

import simdb
from corpus import (
    LABELS,
    MEASURES,
    Curve,
    read_corpus,
    read_judgements,
    read_similarities,
)  # fmt: skip
from record import Record, markdown, options, recorded
from simdb.core.choices import SimhashWeightingName
from simdb.core.options import DIMENSIONS, PERMUTATIONS_MOST

SHINGLES = [("words", length) for length in (1, 2, 3, 4, 5)]
SHINGLES += [("characters", length) for length in (3, 5, 8)]
# Stop words and stems of English, compared with the same setting without them.
FILTERS = {
    "stop words": {"stop_words": "english"}, "stems": {"stemming": "english"},
    "stop words and stems": {"stop_words": "english", "stemming": "english"},
}  # fmt: skip
FILTERED = ("binary", "tf", "tf-idf")
SIZES = ((64, 8), (128, 8), (128, 32))  # minima and bits of each
BYTES = (32, 64, 128, 256)
FEW_BITS = (1, 2, 8)  # of each minimum
DRAWS = 10_000  # of corpora, with replacement
LEAST = 0.4  # documents without anything in common do not reach this similarity by chance
STEPS = 1000  # thresholds from 0 to 1
CURVE_STEP = 10  # a curve is stored at every tenth threshold
MANY_PAIRS = 1000  # with fewer pairs, the seed of the hash matters too much
FEWEST_PAIRS = 20  # a corpus with fewer is not used
FEWEST = 30  # pairs that a deviation needs
BANDS = ((0.5, 0.6), (0.6, 0.7), (0.7, 0.8), (0.8, 0.9), (0.9, 1.0))  # of true similarities
# The usual threshold by measure and truth.
USUAL = {("cosine", "jaccard"): 0.889, ("cosine", "tfidf"): 0.909}

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Sketch = simdb.Simhash | simdb.Minhash
Settings = Iterator[tuple[str, Sketch]]


@dataclass(frozen=True)
class Corpus:
    """Texts, and the truth about some pairs: positions of both documents, and similarities."""

    name: str
    texts: list[str]
    pairs: I64
    known: dict[str, F64]
    judged: I64
    is_related: npt.NDArray[np.bool_]

    @property
    def has_spaces(self) -> bool:
        """Whether words are separated by spaces, as in English and not in Chinese."""
        sample = "".join(self.texts[:: max(1, len(self.texts) // 100)])
        return sum(map(str.isascii, sample)) > len(sample) / 2


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("folder", type=Path, help="folder of NAME.jsonl.gz and NAME.truth.tsv.gz")
    parser.add_argument("--method", choices=METHODS, default="weightings")
    parser.add_argument("--only", nargs="*", default=[], help="names of corpora; default: all")
    parser.add_argument("--settings", nargs="*", default=[""], help="beginnings of their names")
    parser.add_argument("--seeds", type=int, default=3, help="for a corpus with few pairs")
    with recorded(__doc__, parser) as record:
        arguments = record.arguments
        for corpus in read_corpora(arguments.folder, arguments.only):
            few = min((corpus.known[name] >= least).sum() for name, (_, least) in MEASURES.items())
            seeds = arguments.seeds if few < MANY_PAIRS or arguments.method == "bytes" else 1
            for label, sketch in METHODS[arguments.method](corpus):
                if label.startswith(tuple(arguments.settings)):
                    judge(record, corpus, label, sketch, seeds)
        print_tables(record.rows)
        if arguments.method == "bytes":
            print_sizes(record.rows)


def read_corpora(folder: Path, only: list[str]) -> Iterator[Corpus]:
    for path in sorted(folder.glob("*.truth.tsv.gz")):
        name = path.name.removesuffix(".truth.tsv.gz")
        if only and name not in only:
            continue
        ids, texts = read_corpus(str(folder / f"{name}.jsonl.gz"))
        places = {document: place for place, document in enumerate(ids)}
        pairs, known = read_similarities(str(path))
        judged, is_related = read_judgements(folder / f"{name}.pairs.tsv")
        both = [
            np.array([[places[each] for each in pair] for pair in some], np.int64).reshape(-1, 2).T
            for some in (pairs, judged)
        ]
        yield Corpus(name, texts, both[0], known, both[1], np.array(is_related, np.bool_))


def weightings(corpus: Corpus) -> Settings:
    for weighting in get_args(SimhashWeightingName):
        for unit, length in SHINGLES:
            sketch = simdb.Simhash(unit=unit, shingle=length, weighting=weighting)
            yield f"{unit} {length}, {weighting}", sketch
            if corpus.has_spaces and weighting in FILTERED and (unit, length) in SHINGLES[:3:2]:
                for name, filters in FILTERS.items():
                    yield f"words {length} {name}, {weighting}", replace(sketch, **filters)


def dimensions(corpus: Corpus) -> Settings:
    for count in DIMENSIONS:
        yield f"{count} weights", simdb.Simhash(dimensions=count)


def minhash(corpus: Corpus) -> Settings:
    for shingle, kind, beside in ((3, "set", "binary"), (1, "tf-idf", "tf-idf")):
        yield f"simhash words {shingle}, {beside}", simdb.Simhash(shingle=shingle, weighting=beside)
        for permutations, bits in SIZES:
            sketch = simdb.Minhash(
                shingle=shingle, weighting=kind, permutations=permutations, stored_bits=bits
            )
            yield f"MinHash {permutations} x {bits} bits, words {shingle}, {kind}", sketch


def sizes(corpus: Corpus) -> Settings:
    for size in BYTES:
        if 2 * size in DIMENSIONS:
            yield f"{2 * size} weights", simdb.Simhash(dimensions=2 * size)
        for bits in FEW_BITS:
            count = size * 8 // bits
            if count <= PERMUTATIONS_MOST:
                sketch = simdb.Minhash(permutations=count, stored_bits=bits)
                yield f"{count} x {bits} bits", sketch


METHODS = {"weightings": weightings, "dimensions": dimensions, "minhash": minhash, "bytes": sizes}


def judge(record: Record, corpus: Corpus, label: str, sketch: Sketch, seeds: int) -> None:
    """Add the rows of one corpus with one setting; the pairs of all seeds are counted together."""
    counts, scores, judged = [], [], []
    for seed in range(seeds):
        found, *each = measured(corpus, replace(sketch, seed=seed))
        counts.append(found)
        scores.append(each[0])
        judged.append(each[1])
    every = np.concatenate(scores)
    facts = {
        "corpus": corpus.name, "setting": label, "seeds": seeds, "documents": len(corpus.texts),
        "bytes": sketch.vector_bytes,
    }  # fmt: skip
    for truth, (_, least) in MEASURES.items():
        is_true = corpus.known[truth] >= least
        usual = USUAL.get((sketch.scale_of().measure, truth), 0.8)
        of_seeds = [
            float(curve_of(found, own[is_true]).f1[round(usual * STEPS)])
            for found, own in zip(counts, scores, strict=True)
        ]
        more = {
            "truth": truth, "pairs": int(is_true.sum()), "usual": usual, "f1_of_seeds": of_seeds,
        }  # fmt: skip
        what, true_scores = f"{corpus.name}: {label}, {truth}", every[np.tile(is_true, seeds)]
        add_curves(record, what, sum(counts), true_scores, facts | more)
    if 0 < corpus.is_related.sum() < len(corpus.is_related):
        shares = [rightly_ordered(each, corpus.is_related) for each in judged]
        what = f"{corpus.name}: {label}, related pairs before unrelated"
        note = f"{corpus.is_related.sum()} related of {len(corpus.is_related)}"
        judged_facts = facts | {"judged": len(corpus.is_related)}
        record.add(what, float(np.mean(shares)), "", note=note, facts=judged_facts)
    # The table of truth has what these estimate.
    known = {"words 1, tf": "tf", "words 1, tf-idf": "tfidf"}.get(label)
    known = "jaccard" if label.endswith("set") else known
    for low, high in BANDS if known else ():
        chosen = np.flatnonzero((corpus.known[known] >= low) & (corpus.known[known] < high))
        if len(chosen) >= FEWEST:
            errors = np.array(scores)[:, chosen] - corpus.known[known][chosen]
            note = f"{len(chosen)} pairs, mean error {errors.mean():+.4f}"
            what = f"{corpus.name}: {label}, deviation where the truth is {low} to {high}"
            record.add(what, float(errors.std()), "", note=note)


def measured(corpus: Corpus, sketch: Sketch) -> tuple[I64, ...]:
    """Count all pairs by similarity, and measure the known and the judged pairs, in a database.

    IDF is fitted on the texts.
    """
    if sketch.uses_idf:
        sketch = replace(sketch, idf=simdb.fit_idf(corpus.texts, sketch))
    counts = np.zeros(STEPS + 1, np.int64)
    with simdb.open(None, options=simdb.Options(sketch=sketch)) as database:
        database.insert_many(range(len(corpus.texts)), corpus.texts)
        every = database.find_all(similarity=LEAST, recall=1.0, search="exhaustive")
        for chunk in every.chunks():
            counts += np.bincount(steps_of(np.asarray(chunk.similarity)), minlength=STEPS + 1)
        return counts, *(
            np.nan_to_num(database.compare(*pairs).similarity) if pairs.size else np.empty(0)
            for pairs in (corpus.pairs, corpus.judged)
        )


def add_curves(
    record: Record, what: str, found: I64, true_scores: F32, facts: dict[str, Any]
) -> None:
    """Add a row with the best F1, its curve over all thresholds, and what the usual one gives."""
    made = curve_of(found, true_scores)
    values = made.f1
    values[: int(LEAST * STEPS)] = 0
    best, usual = int(np.median(np.flatnonzero(values == values.max()))), facts["usual"]
    three = [each[best] for each in (made.thresholds, made.precision, made.recall)]
    note = "threshold {:.3f}, precision {:.3f}, recall {:.3f}".format(*three)
    at = round(usual * STEPS)
    note += f"; {values[at]:.3f} at {usual}"
    facts = facts | {
        "curve": [round(float(each), 4) for each in values[::CURVE_STEP]],
        "at_usual": [round(float(each[at]), 4) for each in (values, made.precision, made.recall)],
    }
    record.add(what, float(values[best]), "", note=note, facts=facts)


def curve_of(found: I64, true_scores: F32) -> Curve:
    """Return the curve of pairs that were `found` at each step, of which some are true."""
    reached = np.bincount(steps_of(true_scores), minlength=STEPS + 1)
    hits = np.cumsum(reached[::-1])[::-1]
    total = np.maximum(np.cumsum(found[::-1])[::-1], hits)
    return Curve(
        np.arange(STEPS + 1) / STEPS, hits / np.maximum(total, 1), hits / max(len(true_scores), 1)
    )


def rightly_ordered(scores: F32, is_related: npt.NDArray[np.bool_]) -> float:
    """Return the share of couples in which the related pair scores higher; a tie counts half."""
    related, ordered = scores[is_related], np.sort(scores[~is_related])
    below = np.searchsorted(ordered, related, "left") + np.searchsorted(ordered, related, "right")
    return float(below.mean() / 2 / len(ordered))


def print_sizes(rows: list[dict[str, Any]]) -> None:
    """Print the sketches of each size, and by how much each is better than the first of them."""
    counted = [
        row for row in rows if row.get("truth") == "jaccard" and row["pairs"] >= FEWEST_PAIRS
    ]
    lines = []
    for size in BYTES:
        chosen = [row for row in counted if row["bytes"] == size]
        # F1 by sketch, corpus and seed.
        every = {
            setting: np.array([row["f1_of_seeds"] for row in chosen if row["setting"] == setting])
            for setting in dict.fromkeys(row["setting"] for row in chosen)
        }
        first = next(iter(every.values()))
        draws = np.random.default_rng(0).integers(0, len(first), (DRAWS, len(first)))
        for setting, found in every.items():
            error = found.mean(axis=0).std(ddof=1) / found.shape[1] ** 0.5
            gains = (found - first).mean(axis=1)
            low, high = np.quantile(gains[draws].mean(axis=1), (0.05, 0.95))
            more = f"{gains.mean():+.3f} ({low:+.3f} to {high:+.3f})"
            lines.append([str(size), setting, f"{found.mean():.3f}", f"{error:.4f}", more])
    print("\n### By bytes\n")
    print(markdown(["bytes", "sketch", "f1", "error", "more"], lines))


def steps_of(scores: F32) -> npt.NDArray[np.int32]:
    """Return the highest threshold, in steps, that each score reaches."""
    return np.clip((scores * STEPS + 0.001).astype(np.int32), 0, STEPS)


def print_tables(rows: list[dict[str, Any]]) -> None:
    """Print means over corpora; the rows have F1, precision and recall of each."""
    for truth, (_, least) in MEASURES.items():
        of_truth = [row for row in rows if row.get("truth") == truth and row["pairs"]]
        counted = [row for row in of_truth if row["pairs"] >= FEWEST_PAIRS]
        corpora = sorted({row["corpus"] for row in counted})
        lines = []
        for setting in dict.fromkeys(row["setting"] for row in counted):
            chosen = [row for row in counted if row["setting"] == setting]
            if len(chosen) < len(corpora):
                setting += f" ({len(chosen)} corpora)"
            mean = np.mean([row["curve"] for row in chosen], axis=0)
            usual = np.mean([row["at_usual"][0] for row in chosen])
            best = np.mean([row["figure"] for row in chosen])
            cells = (f"{mean.max():.3f} at {mean.argmax() / 100:.2f}",
                     f"{usual:.3f} at {chosen[0]['usual']:.3f}", f"{best:.3f}")  # fmt: skip
            lines.append([setting, str(chosen[0]["bytes"]), *cells])
        print(f"\n### {LABELS[truth]} >= {least}: mean of {len(corpora)} corpora\n")
        print(markdown(["setting", "bytes", "one_for_all", "usual", "best_of_each"], lines))


if __name__ == "__main__":
    main()
