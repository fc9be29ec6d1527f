"""Which weights and which shingles tell near-duplicates best, in a folder of corpora?

Sketches every corpus with every setting and compares all pairs, so that the measure is judged and
not a search.  Gives F1 at the best threshold; the JSON file has the curve of F1 over all
thresholds, from which `tables.py` finds one threshold for all corpora.

The folder has NAME.jsonl.gz and NAME.truth.tsv.gz (see `corpus.py`).  A table of truth must have
every pair that counts, because pairs that are not in it count as wrong.  NAME.pairs.tsv, if it
exists, has pairs that people have judged.  Their row is the share of couples (a related and an
unrelated pair) in which the related pair has the higher similarity.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

import simdb
from corpus import (
    COSINES,
    MEASURES,
    Couple,
    read_corpus,
    read_judgements,
    read_similarities,
)
from record import Record, options
from simdb.columns import vector_form
from simdb.running import kernel
from simdb.sketch.sketcher import Sketcher
from simdb.values.arrays import WEIGHTED

WEIGHTINGS = simdb.Simhash.WEIGHTINGS
SHINGLES = {"words": (1, 2, 3, 4, 5), "characters": (3, 5, 8)}
# Stop words and stems of English, compared with the same setting without them.
FILTERS = {"stop words": {"stop_words": "english"}, "stems": {"stemming": "english"}}
FILTERED = ("binary", "tf", "tf-idf")
USUAL_DIMENSIONS = simdb.Simhash().dimensions
FLOOR = 0.4  # documents without anything in common do not reach this similarity by chance
STEPS = 1000  # thresholds from 0 to 1
CURVE_STEP = 10  # a curve is stored at every tenth threshold
ROWS = 512  # documents compared with all others at a time
MANY_PAIRS = 1000  # with fewer pairs, the seed of the hash matters too much
FEWEST = 30  # pairs that a deviation needs
BANDS = ((0.5, 0.6), (0.75, 0.8), (0.88, 0.92), (0.95, 0.98))

F32 = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]
I64 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Corpus:
    """Texts, and what is known about some pairs: positions of both documents, and similarities."""

    name: str
    texts: list[str]
    left: I64
    right: I64
    known: dict[str, npt.NDArray[np.float64]]
    judged_left: I64
    judged_right: I64
    is_related: Flags

    @property
    def has_spaces(self) -> bool:
        """Whether words are separated by spaces, as in English and not in Chinese."""
        sample = "".join(self.texts[:: max(1, len(self.texts) // 100)])
        return sample.isascii() or sum(map(str.isascii, sample)) > len(sample) / 2


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("folder", type=Path, help="folder of NAME.jsonl.gz and NAME.truth.tsv.gz")
    parser.add_argument("--only", nargs="*", default=[], help="names of corpora; default: all")
    parser.add_argument("--weightings", nargs="+", default=WEIGHTINGS, choices=WEIGHTINGS)
    parser.add_argument("--words", type=int, nargs="*", default=SHINGLES["words"])
    parser.add_argument("--characters", type=int, nargs="*", default=SHINGLES["characters"])
    parser.add_argument(
        "--dimensions", type=int, nargs="+", default=[USUAL_DIMENSIONS], help="numbers of weights"
    )
    parser.add_argument(
        "--seeds", type=int, default=3, help="seeds for a corpus with fewer than 1,000 pairs"
    )
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    for corpus in read_corpora(arguments.folder, arguments.only):
        few = min((corpus.known[name] >= least).sum() for name, (_, least) in MEASURES.items())
        seeds = arguments.seeds if few < MANY_PAIRS else 1
        shingles = {"words": arguments.words, "characters": arguments.characters}
        for label, settings in variants(shingles, arguments.weightings, corpus.has_spaces):
            for dimensions in arguments.dimensions:
                other = "" if dimensions == USUAL_DIMENSIONS else f", {dimensions} weights"
                chosen = replace(settings, dimensions=dimensions)
                judge(record, corpus, label + other, chosen, seeds)
    record.finish()


def read_corpora(folder: Path, only: list[str]) -> Iterator[Corpus]:
    for path in sorted(folder.glob("*.truth.tsv.gz")):
        name = path.name.removesuffix(".truth.tsv.gz")
        if only and name not in only:
            continue
        ids, texts = read_corpus(str(folder / f"{name}.jsonl.gz"))
        places = {document: place for place, document in enumerate(ids)}
        pairs, known = read_similarities(str(path))
        judged, is_related = read_judgements(folder / f"{name}.pairs.tsv")
        yield Corpus(
            name, texts, *ends(pairs, places), known, *ends(judged, places), np.array(is_related)
        )


def ends(pairs: list[Couple], places: dict[str, int]) -> I64:
    """Return the positions of the left and of the right documents of pairs, [2, n]."""
    both = [(places[left], places[right]) for left, right in pairs]
    return np.array(both, np.int64).reshape(-1, 2).T


def variants(
    shingles: dict[str, list[int]], weightings: list[str], has_spaces: bool
) -> Iterator[tuple[str, simdb.Simhash]]:
    """Return every setting and its name."""
    for weighting in weightings:
        for unit, lengths in shingles.items():
            for length in lengths:
                yield (
                    f"{unit} {length}, {weighting}",
                    simdb.Simhash(unit=unit, shingle=length, weighting=weighting),
                )
    if not has_spaces:
        return
    for weighting in filter(FILTERED.__contains__, weightings):
        for length in (1, 3):
            plain = simdb.Simhash(shingle=length, weighting=weighting)
            for name, filters in filters_of().items():
                yield f"words {length} {name}, {weighting}", replace(plain, **filters)


def filters_of() -> dict[str, dict[str, str]]:
    """Return each filter alone, and both together."""
    both = {key: value for each in FILTERS.values() for key, value in each.items()}
    return {**FILTERS, " and ".join(FILTERS): both}


def judge(record: Record, corpus: Corpus, label: str, settings: simdb.Simhash, seeds: int) -> None:
    """Add the rows of one corpus with one setting; the pairs of all seeds are counted together."""
    found = np.zeros(STEPS + 1, np.int64)
    scores, judged = [], []
    for seed in range(seeds):
        vectors, is_known = sketched(corpus.texts, replace(settings, seed=seed))
        found += histogram_of_all(vectors[is_known])
        scores.append(between(vectors, is_known, corpus.left, corpus.right))
        judged.append(between(vectors, is_known, corpus.judged_left, corpus.judged_right))
    all_scores = np.concatenate(scores)
    for measure, (_, least) in MEASURES.items():
        is_true = np.tile(corpus.known[measure] >= least, seeds)
        add_curves(record, f"{corpus.name}: {label}, {measure}", found, all_scores[is_true], {
            "corpus": corpus.name, "setting": label, "truth": measure, "seeds": seeds,
            "pairs": int(is_true.sum()) // seeds, "documents": len(corpus.texts),
        })  # fmt: skip
    if 0 < corpus.is_related.sum() < len(corpus.is_related):
        shares = [rightly_ordered(each, corpus.is_related) for each in judged]
        record.add(
            f"{corpus.name}: {label}, related pairs before unrelated",
            float(np.mean(shares)),
            "",
            note=f"{corpus.is_related.sum()} related of {len(corpus.is_related)}",
            facts={"corpus": corpus.name, "setting": label, "judged": len(corpus.is_related)},
        )
    if label in COSINES:
        add_errors(record, corpus, label, all_scores)


def add_curves(
    record: Record, what: str, found: I64, true_scores: F32, facts: dict[str, str | int]
) -> None:
    """Add a row with the best F1, and its curves."""
    f1, precision, recall = curves(found, true_scores)
    best = int(np.median(np.flatnonzero(f1 == f1.max())))
    kept = {"curve": f1, "precisions": precision, "recalls": recall}
    record.add(
        what,
        float(f1[best]),
        "",
        note=f"threshold {best / STEPS:.3f}, precision {precision[best]:.3f},"
        f" recall {recall[best]:.3f}",
        facts=facts
        | {"threshold": best / STEPS}
        | {name: [round(float(each), 4) for each in kept[name][::CURVE_STEP]] for name in kept},
    )


def add_errors(record: Record, corpus: Corpus, label: str, scores: F32) -> None:
    """Add how far the estimate is from the true cosine."""
    seeds = len(scores) // max(len(corpus.left), 1)
    cosine = np.tile(corpus.known[COSINES[label]], seeds)
    for low, high in BANDS:
        within = (cosine >= low) & (cosine < high)
        if within.sum() < FEWEST * seeds:
            continue
        error = scores[within] - cosine[within]
        record.add(
            f"{corpus.name}: {label}, standard deviation where the cosine is {low} to {high}",
            float(error.std()),
            "",
            note=f"{within.sum() // seeds} pairs, mean error {error.mean():+.4f}",
            facts={
                "corpus": corpus.name, "setting": label, "band": [low, high],
                "mean": float(error.mean()), "pairs": int(within.sum()) // seeds,
            },
        )  # fmt: skip


def sketched(texts: list[str], settings: simdb.Simhash) -> tuple[npt.NDArray[np.uint8], Flags]:
    """Return packed vectors, and which documents have features; IDF is fitted on the texts."""
    if settings.uses_idf:
        settings = replace(settings, idf=simdb.fit_idf(texts, settings))
    sketches = Sketcher(settings).sketch(texts)
    return sketches.vectors, sketches.states == WEIGHTED


def between(vectors: npt.NDArray[np.uint8], is_known: Flags, left: I64, right: I64) -> F32:
    """Return similarities as the database measures them; 0 for a document without features."""
    scores = kernel.Vectors(vectors.shape[1], [(0, vectors)]).between(
        left.astype(np.uint32), right.astype(np.uint32)
    )
    scores[~(is_known[left] & is_known[right])] = 0
    return scores


def rightly_ordered(scores: F32, is_related: Flags) -> float:
    """Return the share of couples in which the related pair scores higher; a tie counts half.

    A couple is one related and one unrelated pair.
    """
    related, ordered = scores[is_related], np.sort(scores[~is_related])
    below = np.searchsorted(ordered, related, "left") + np.searchsorted(ordered, related, "right")
    return float(below.mean() / 2 / len(ordered))


def histogram_of_all(vectors: npt.NDArray[np.uint8]) -> I64:
    """Count pairs of packed vectors by similarity, in steps; pairs below FLOOR are not counted.

    The weights are odd whole numbers, so that products of them are exact in float32.
    """
    weights = vector_form.unpack(vectors).astype(np.float32)
    units = weights / np.sqrt((weights * weights).sum(axis=1, keepdims=True))
    counts = np.zeros(STEPS + 1, np.int64)
    for start in range(0, len(units), ROWS):
        block = units[start : start + ROWS] @ units[start:].T
        block[np.tril_indices(len(block), m=block.shape[1])] = 0
        counts += np.bincount(steps_of(block[block >= FLOOR]), minlength=STEPS + 1)
    return counts


def steps_of(scores: F32) -> npt.NDArray[np.int32]:
    """Return the highest threshold, in steps, that each score reaches."""
    steps: npt.NDArray[np.int32] = (scores * STEPS + 0.001).astype(np.int32)
    return np.clip(steps, 0, STEPS)


def curves(found: I64, true_scores: F32) -> tuple[npt.NDArray[np.float64], ...]:
    """Return F1, precision and recall at each threshold; 0 below FLOOR."""
    reached = np.bincount(steps_of(true_scores), minlength=STEPS + 1)
    hits = np.cumsum(reached[::-1])[::-1]
    total = np.maximum(np.cumsum(found[::-1])[::-1], hits)
    precision = hits / np.maximum(total, 1)
    recall = hits / max(len(true_scores), 1)
    both = precision + recall
    f1 = np.divide(2 * precision * recall, both, out=np.zeros_like(both), where=both > 0)
    f1[: int(FLOOR * STEPS)] = 0
    return f1, precision, recall


if __name__ == "__main__":
    main()
