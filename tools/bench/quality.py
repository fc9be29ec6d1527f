"""How well does each kind of sketch tell near-duplicates, in a folder of corpora?

Sketches every corpus with every setting and compares all pairs, so that the measure is judged and
not a search.  `--method`:

weightings  every weighting and length of shingles; in languages with spaces also without stop words
            and with stems
dimensions  64, 128 and 256 weights
minhash     signatures of several sizes beside the default, and the errors of their estimates
exact       the exact cosine of the same features: what the stored weights lose; needs scipy

The folder has NAME.jsonl.gz and NAME.truth.tsv.gz (see `corpus.py`).  A table of truth must have
every pair that counts, because pairs that are not in it count as wrong.  NAME.pairs.tsv, if it
exists, has pairs that people have judged.  Their row is the share of couples (a related and an
unrelated pair) in which the related pair has the higher similarity.  The end are tables of
docs/QUALITY.md: F1 at one threshold for all corpora, at the usual one, and at the best of each.
It multiplies large matrices, so give it one core: OPENBLAS_NUM_THREADS=1.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

import simdb
from corpus import LABELS, MEASURES, Couple, Curve, read_corpus, read_judgements, read_similarities
from record import Record, markdown, options
from simdb.core import kernel, vector_form
from simdb.core.arrays import WEIGHTED
from simdb.core.choices import SimhashWeightingName
from simdb.core.documents import CHANCE, estimates
from simdb.core.options import DIMENSIONS
from simdb.sketch.sketcher import Sketcher

SHINGLES = [("words", length) for length in (1, 2, 3, 4, 5)]
SHINGLES += [("characters", length) for length in (3, 5, 8)]
# Stop words and stems of English, compared with the same setting without them.
FILTERS = {
    "stop words": {"stop_words": "english"}, "stems": {"stemming": "english"},
    "stop words and stems": {"stop_words": "english", "stemming": "english"},
}  # fmt: skip
FILTERED = ("binary", "tf", "tf-idf")
SIZES = ((64, 8), (128, 8), (128, 32))  # minima and bits of each
LEAST = 0.4  # documents without anything in common do not reach this similarity by chance
STEPS = 1000  # thresholds from 0 to 1
CURVE_STEP = 10  # a curve is stored at every tenth threshold
ROWS = 512  # documents compared with all others at a time
MANY_PAIRS = 1000  # with fewer pairs, the seed of the hash matters too much
FEWEST_PAIRS = 20  # a corpus with fewer says too little
FEWEST = 30  # pairs that a deviation needs
TILE_BYTES = 1 << 18  # of signatures, which stay in the cache for many comparisons
GATHERED = 1 << 14  # pairs compared at a time
COSINE_BANDS = ((0.5, 0.6), (0.75, 0.8), (0.88, 0.92), (0.95, 0.98))
JACCARD_BANDS = ((0.5, 0.7), (0.7, 0.8), (0.8, 0.9), (0.9, 1.0))
# The usual threshold by sketch and truth.
USUAL = {("cosine", "jaccard"): 0.88, ("cosine", "tfidf"): 0.90}

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
Pairs = tuple[I64, I64]
# Counts all pairs by similarity in steps, and measures some pairs.
Measured = tuple[I64, Callable[[I64, I64], F32]]
Sketch = simdb.Simhash | simdb.Minhash


@dataclass(frozen=True)
class Corpus:
    """Texts, and what is known about some pairs: positions of both documents, and similarities."""

    name: str
    texts: list[str]
    pairs: Pairs
    known: dict[str, npt.NDArray[np.float64]]
    judged: Pairs
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
    parser.add_argument(
        "--settings", nargs="*", default=[], help="names that begin with one of these"
    )
    parser.add_argument("--seeds", type=int, default=3, help="for a corpus with few pairs")
    parser.add_argument("--error-seeds", type=int, default=20, help="for the errors of estimates")
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    measure = exact if arguments.method == "exact" else estimated
    for corpus in read_corpora(arguments.folder, arguments.only):
        few = min((corpus.known[name] >= least).sum() for name, (_, least) in MEASURES.items())
        seeds = arguments.seeds if few < MANY_PAIRS and measure is estimated else 1
        for label, sketch in METHODS[arguments.method](corpus):
            if not arguments.settings or label.startswith(tuple(arguments.settings)):
                judge(record, corpus, label, sketch, measure, seeds)
        if arguments.method == "minhash":
            for permutations, bits in SIZES:
                sketch = simdb.Minhash(permutations=permutations, stored_bits=bits)
                add_errors(record, corpus, sketch, arguments.error_seeds)
    print_tables(record.rows)
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
        both = ends(pairs, places), ends(judged, places)
        yield Corpus(name, texts, both[0], known, both[1], np.array(is_related, np.bool_))


def ends(pairs: list[Couple], places: dict[str, int]) -> Pairs:
    """Return the positions of the left and of the right documents of pairs."""
    both = [(places[left], places[right]) for left, right in pairs]
    left, right = np.array(both, np.int64).reshape(-1, 2).T
    return left, right


def weightings(corpus: Corpus) -> Iterator[tuple[str, Sketch]]:
    for weighting in get_args(SimhashWeightingName):
        for unit, length in SHINGLES:
            sketch = simdb.Simhash(unit=unit, shingle=length, weighting=weighting)
            yield f"{unit} {length}, {weighting}", sketch
            if corpus.has_spaces and weighting in FILTERED and (unit, length) in SHINGLES[:3:2]:
                for name, filters in FILTERS.items():
                    yield f"words {length} {name}, {weighting}", replace(sketch, **filters)


def dimensions(corpus: Corpus) -> Iterator[tuple[str, Sketch]]:
    for count in DIMENSIONS:
        yield f"{count} weights", simdb.Simhash(dimensions=count)


def minhash(corpus: Corpus) -> Iterator[tuple[str, Sketch]]:
    for shingle, kind, beside in ((3, "set", "binary"), (1, "tf-idf", "tf-idf")):
        yield f"simhash words {shingle}, {beside}", simdb.Simhash(shingle=shingle, weighting=beside)
        for permutations, bits in SIZES:
            sketch = simdb.Minhash(
                shingle=shingle, weighting=kind, permutations=permutations, stored_bits=bits
            )
            yield f"{size_of(sketch)}, words {shingle}, {kind}", sketch


def exact_settings(corpus: Corpus) -> Iterator[tuple[str, Sketch]]:
    for weighting in ("binary", "tf", "log-tf"):
        yield f"words 3, {weighting}", simdb.Simhash(weighting=weighting)
    yield "words 1, tf-idf", simdb.Simhash(shingle=1, weighting="tf-idf")


METHODS: dict[str, Callable[[Corpus], Iterator[tuple[str, Sketch]]]] = {
    "weightings": weightings, "dimensions": dimensions, "minhash": minhash, "exact": exact_settings,
}  # fmt: skip


def size_of(sketch: simdb.Minhash) -> str:
    return f"MinHash {sketch.permutations} x {sketch.stored_bits} bits"


def judge(
    record: Record,
    corpus: Corpus,
    label: str,
    sketch: Sketch,
    measure: Callable[[list[str], Sketch], Measured],
    seeds: int,
) -> None:
    """Add the rows of one corpus with one setting; the pairs of all seeds are counted together."""
    found = np.zeros(STEPS + 1, np.int64)
    scores, judged = [], []
    for seed in range(seeds):
        counts, between = measure(corpus.texts, replace(sketch, seed=seed))
        found += counts
        scores.append(between(*corpus.pairs))
        judged.append(between(*corpus.judged))
    every = np.concatenate(scores)
    facts = {
        "corpus": corpus.name, "setting": label, "seeds": seeds, "documents": len(corpus.texts),
        "bytes": sketch.vector_bytes,
    }  # fmt: skip
    kind = "cosine" if isinstance(sketch, simdb.Simhash) else "jaccard"
    for truth, (_, least) in MEASURES.items():
        is_true = np.tile(corpus.known[truth] >= least, seeds)
        more = {
            "truth": truth,
            "pairs": int(is_true.sum()) // seeds,
            "usual": USUAL.get((kind, truth), 0.8),
        }
        add_curves(record, f"{corpus.name}: {label}, {truth}", found, every[is_true], facts | more)
    if 0 < corpus.is_related.sum() < len(corpus.is_related):
        shares = [rightly_ordered(each, corpus.is_related) for each in judged]
        what = f"{corpus.name}: {label}, related pairs before unrelated"
        note = f"{corpus.is_related.sum()} related of {len(corpus.is_related)}"
        judged_facts = facts | {"judged": len(corpus.is_related)}
        record.add(what, float(np.mean(shares)), "", note=note, facts=judged_facts)
    if label in ("words 1, tf", "words 1, tf-idf"):
        # The table of truth has the cosines of these.
        cosine = np.tile(corpus.known["tf" if label.endswith("tf") else "tfidf"], seeds)
        add_deviations(record, f"{corpus.name}: {label}", every - cosine, cosine, seeds)


def add_curves(
    record: Record, what: str, found: I64, true_scores: F32, facts: dict[str, Any]
) -> None:
    """Add a row with the best F1, and its curves over all thresholds."""
    reached = np.bincount(steps_of(true_scores), minlength=STEPS + 1)
    hits = np.cumsum(reached[::-1])[::-1]
    total = np.maximum(np.cumsum(found[::-1])[::-1], hits)
    precision, recall = hits / np.maximum(total, 1), hits / max(len(true_scores), 1)
    f1 = Curve(np.arange(STEPS + 1) / STEPS, precision, recall).f1
    f1[: int(LEAST * STEPS)] = 0
    best = int(np.median(np.flatnonzero(f1 == f1.max())))
    note = (
        f"threshold {best / STEPS:.3f}, precision {precision[best]:.3f}, recall {recall[best]:.3f}"
    )
    kept = {"curve": f1, "precisions": precision, "recalls": recall}
    rounded = {
        name: [round(float(each), 4) for each in values[::CURVE_STEP]]
        for name, values in kept.items()
    }
    record.add(what, float(f1[best]), "", note=note, facts=facts | rounded)


def add_deviations(
    record: Record, what: str, errors: F32, cosine: npt.NDArray[np.float64], seeds: int
) -> None:
    """Add how far the estimate is from the true cosine."""
    for low, high in COSINE_BANDS:
        within = errors[(cosine >= low) & (cosine < high)]
        if len(within) >= FEWEST * seeds:
            note = f"{len(within) // seeds} pairs, mean error {within.mean():+.4f}"
            shown = f"{what}, standard deviation where the cosine is {low} to {high}"
            record.add(shown, float(within.std()), "", note=note)


def estimated(texts: list[str], sketch: Sketch) -> Measured:
    """Measure as a database does; IDF is fitted on the texts."""
    if sketch.uses_idf:
        sketch = replace(sketch, idf=simdb.fit_idf(texts, sketch))
    if isinstance(sketch, simdb.Minhash):
        signatures = simdb.signatures(texts, sketch)
        return histogram_of_signatures(signatures), lambda *pairs: agreements(signatures, *pairs)
    sketches = Sketcher(sketch).sketch(texts)
    vectors, is_known = sketches.vectors, sketches.states == WEIGHTED

    def between(left: I64, right: I64) -> F32:
        stored = kernel.Vectors(vectors.shape[1], [(0, vectors)])
        scores: F32 = stored.between(left.astype(np.uint32), right.astype(np.uint32))
        scores[~(is_known[left] & is_known[right])] = 0
        return scores

    # The weights are odd whole numbers, so that products of them are exact in float32.
    weights = vector_form.unpack(vectors[is_known]).astype(np.float32)
    units = weights / np.sqrt((weights * weights).sum(axis=1, keepdims=True))
    counts = np.zeros(STEPS + 1, np.int64)
    for start in range(0, len(units), ROWS):
        block = units[start : start + ROWS] @ units[start:].T
        block[np.tril_indices(len(block), m=block.shape[1])] = 0
        counts += np.bincount(steps_of(block[block >= LEAST]), minlength=STEPS + 1)
    return counts, between


def exact(texts: list[str], sketch: Any) -> Measured:
    """Measure the cosine of the weighted features of documents, by sparse products."""
    import scipy.sparse as sparse  # noqa: PLC0415

    offsets, hashes, counts = kernel.count_texts(
        texts, unit=sketch.unit, shingle=sketch.shingle, lowercase=True, seed=sketch.seed,
        replace=False, start=0,
    )  # fmt: skip
    features, columns, frequencies = np.unique(hashes, return_inverse=True, return_counts=True)
    weights = {
        "binary": np.ones(len(counts)), "tf": counts.astype(np.float64),
        "log-tf": 1 + np.log(counts),
    }[sketch.weighting.removesuffix("-idf")]  # fmt: skip
    if sketch.uses_idf:
        weights *= (np.log((1 + len(texts)) / (1 + frequencies)) + 1)[columns]
    matrix = sparse.csr_matrix((weights, columns, offsets), shape=(len(texts), len(features)))
    lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    inverse = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    units = sparse.csr_matrix(sparse.diags(inverse) @ matrix)
    turned, found = units.T.tocsr(), np.zeros(STEPS + 1, np.int64)
    for start in range(0, units.shape[0], ROWS):
        block = (units[start : start + ROWS] @ turned).tocoo()
        is_counted = (block.col > block.row + start) & (block.data >= LEAST)
        steps = steps_of(block.data[is_counted].astype(np.float32))
        found += np.bincount(steps, minlength=STEPS + 1)
    return found, lambda left, right: np.asarray(
        units[left].multiply(units[right]).sum(axis=1), np.float32
    ).ravel()


def histogram_of_signatures(signatures: simdb.Signatures) -> I64:
    """Count the pairs by estimated similarity, in steps; pairs below LEAST are not counted.

    Minima agree only if their lowest bytes agree, so the lowest bytes alone rule out most pairs.
    """
    minima = signatures.minima[~signatures.is_empty]
    bytes_of, permutations = minima.astype(np.uint8), minima.shape[1]
    counts = np.zeros(permutations + 1, np.int64)
    tile = TILE_BYTES // permutations
    for start in range(0, len(minima), tile):
        stop = min(start + tile, len(minima))
        for left in range(stop - 1):
            first = max(left + 1, start)
            agreeing = kernel.agreements(bytes_of[left : left + 1], bytes_of[first:stop])
            near = np.flatnonzero(agreeing >= int(LEAST * permutations))
            if len(near):
                agreeing = kernel.agreements(minima[left : left + 1], minima[near + first])
                counts += np.bincount(agreeing, minlength=permutations + 1)
    steps = steps_of(estimates(np.arange(permutations + 1), signatures.sketch))
    return np.bincount(steps, counts, STEPS + 1).astype(np.int64)


def agreements(signatures: simdb.Signatures, left: I64, right: I64) -> F32:
    """Estimate the similarities of pairs; 0 for a document without features."""
    minima, parts = signatures.minima, [np.empty(0, np.uint16)]
    for start in range(0, len(left), GATHERED):
        part = slice(start, start + GATHERED)
        parts.append(kernel.agreements(minima[left[part]], minima[right[part]]))
    scores = estimates(np.concatenate(parts), signatures.sketch)
    scores[signatures.is_empty[left] | signatures.is_empty[right]] = 0
    return scores


def add_errors(record: Record, corpus: Corpus, sketch: simdb.Minhash, seeds: int) -> None:
    """Compare estimates with the Jaccard similarity, and their deviation with the expected one.

    The standard error is that of the mean over seeds: pairs of one seed are not independent.
    """
    jaccard = corpus.known["jaccard"]
    every = (simdb.signatures(corpus.texts, replace(sketch, seed=seed)) for seed in range(seeds))
    errors = np.array([agreements(each, *corpus.pairs) - jaccard for each in every])
    chance = CHANCE if sketch.stored_bits == 8 else 0
    for low, high in JACCARD_BANDS:
        within = (jaccard >= low) & (jaccard < high)
        if within.sum() < FEWEST:
            continue
        chosen = errors[:, within]
        means = chosen.mean(axis=1)
        share = chance + (1 - chance) * jaccard[within]
        variance = share * (1 - share) / sketch.permutations / (1 - chance) ** 2
        note = f"{within.sum()} pairs, mean error {means.mean():+.5f} within"
        note += f" {means.std(ddof=1) / np.sqrt(seeds):.5f}, deviation expected"
        note += f" {np.sqrt(variance.mean()):.4f}"
        what = f"{corpus.name}: {size_of(sketch)}, deviation where Jaccard is {low} to {high}"
        record.add(what, float(np.sqrt((chosen**2).mean())), "", note=note)


def rightly_ordered(scores: F32, is_related: npt.NDArray[np.bool_]) -> float:
    """Return the share of couples in which the related pair scores higher; a tie counts half."""
    related, ordered = scores[is_related], np.sort(scores[~is_related])
    below = np.searchsorted(ordered, related, "left") + np.searchsorted(ordered, related, "right")
    return float(below.mean() / 2 / len(ordered))


def steps_of(scores: F32) -> npt.NDArray[np.int32]:
    """Return the highest threshold, in steps, that each score reaches."""
    return np.clip((scores * STEPS + 0.001).astype(np.int32), 0, STEPS)


def print_tables(rows: list[dict[str, Any]]) -> None:
    """Print means over corpora, each corpus at the usual threshold, and judged pairs."""
    for truth, (_, least) in MEASURES.items():
        measured = [row for row in rows if row.get("truth") == truth and row["pairs"]]
        counted = [row for row in measured if row["pairs"] >= FEWEST_PAIRS]
        corpora = sorted({row["corpus"] for row in counted})
        lines = []
        for setting in dict.fromkeys(row["setting"] for row in counted):
            chosen = [row for row in counted if row["setting"] == setting]
            if len(chosen) < len(corpora):
                setting += f" ({len(chosen)} corpora)"
            curve, usual = np.mean([row["curve"] for row in chosen], axis=0), chosen[0]["usual"]
            best = np.mean([row["figure"] for row in chosen])
            cells = (f"{curve.max():.3f} at {curve.argmax() / 100:.2f}",
                     f"{curve[round(usual * 100)]:.3f} at {usual:.2f}", f"{best:.3f}")  # fmt: skip
            lines.append([setting, str(chosen[0]["bytes"]), *cells])
        print(f"\n### {LABELS[truth]} >= {least}: mean of {len(corpora)} corpora\n")
        print(markdown(["setting", "bytes", "one_for_all", "usual", "best_of_each"], lines))
        print(f"\n### {LABELS[truth]} >= {least}: F1 (precision, recall) at the usual threshold\n")
        print_matrix(measured, at_usual, "documents", "pairs")
    judged = [row for row in rows if "judged" in row]
    print("\n### Pairs that people have judged\n")
    print_matrix(judged, lambda row: f"{row['figure']:.3f}", "judged")


def at_usual(row: dict[str, Any]) -> str:
    at = round(row["usual"] * 100)
    return f"{row['curve'][at]:.3f} ({row['precisions'][at]:.3f}, {row['recalls'][at]:.3f})"


def print_matrix(
    rows: list[dict[str, Any]], shown: Callable[[dict[str, Any]], str], *counts: str
) -> None:
    """Print a table of settings by corpora."""
    cells = {(row["setting"], row["corpus"]): shown(row) for row in rows}
    corpora = {row["corpus"]: row for row in sorted(rows, key=lambda row: str(row["corpus"]))}
    lines = [[count, *(f"{row[count]:,}" for row in corpora.values())] for count in counts]
    lines += [
        [setting, *(cells.get((setting, corpus), "") for corpus in corpora)]
        for setting in dict.fromkeys(setting for setting, _ in cells)
    ]
    print(markdown(["", *corpora], lines))


if __name__ == "__main__":
    main()
