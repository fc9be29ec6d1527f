"""How well do MinHash signatures tell near-duplicates, beside the vectors of the default?

Sketches every corpus of a folder (see `weighting.py`) with every setting and compares all pairs, so
that the measure is judged and not a search.  Gives F1 at the best threshold; the JSON file has the
curve of F1 over all thresholds, which `tables.py` prints.

Then compares estimates with the exact Jaccard similarities of the table of truth, with many seeds:
the mean error of a seed, and how much it differs from seed to seed.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

import simdb
from corpus import MEASURES
from record import Record, options
from simdb.running import kernel
from simdb.values.signatures import CHANCE, estimates
from weighting import (
    FEWEST,
    FLOOR,
    MANY_PAIRS,
    STEPS,
    Corpus,
    add_curves,
    between,
    histogram_of_all,
    read_corpora,
    sketched,
    steps_of,
)

SIZES = ((64, 8), (128, 8), (128, 32))  # minima and bits of each
TILE_BYTES = 1 << 18  # of signatures, which stay in the cache for many comparisons
GATHERED = 1 << 14  # pairs compared at a time
BANDS = ((0.5, 0.7), (0.7, 0.8), (0.8, 0.9), (0.9, 1.0))

I64 = npt.NDArray[np.int64]
F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("folder", type=Path, help="folder of NAME.jsonl.gz and NAME.truth.tsv.gz")
    parser.add_argument("--only", nargs="*", default=[], help="names of corpora; default: all")
    parser.add_argument(
        "--seeds", type=int, default=3, help="seeds for a corpus with fewer than 1,000 pairs"
    )
    parser.add_argument(
        "--error-seeds", type=int, default=20, help="seeds for the errors of estimates"
    )
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    for corpus in read_corpora(arguments.folder, arguments.only):
        few = min((corpus.known[name] >= least).sum() for name, (_, least) in MEASURES.items())
        seeds = arguments.seeds if few < MANY_PAIRS else 1
        for label, settings in variants():
            judge(record, corpus, label, settings, seeds)
        for permutations, bits in SIZES:
            settings = simdb.Minhash(permutations=permutations, stored_bits=bits)
            add_errors(record, corpus, settings, arguments.error_seeds)
    record.finish()


def variants() -> list[tuple[str, simdb.Minhash | simdb.Simhash]]:
    """Return every setting and its name."""
    found: list[tuple[str, simdb.Minhash | simdb.Simhash]] = []
    for shingle, minhash, simhash in ((3, "set", "binary"), (1, "tf-idf", "tf-idf")):
        found.append(
            (
                f"simhash words {shingle}, {simhash}",
                simdb.Simhash(shingle=shingle, weighting=simhash),
            )
        )
        for permutations, bits in SIZES:
            settings = simdb.Minhash(
                shingle=shingle, weighting=minhash, permutations=permutations, stored_bits=bits
            )
            found.append((f"{size_of(settings)}, words {shingle}, {minhash}", settings))
    return found


def size_of(settings: simdb.Minhash) -> str:
    return f"MinHash {settings.permutations} x {settings.stored_bits} bits"


def judge(
    record: Record,
    corpus: Corpus,
    label: str,
    settings: simdb.Minhash | simdb.Simhash,
    seeds: int,
) -> None:
    """Add the rows of one corpus with one setting; the pairs of all seeds are counted together."""
    found = np.zeros(STEPS + 1, np.int64)
    scores = []
    for seed in range(seeds):
        seeded = replace(settings, seed=seed)
        if isinstance(seeded, simdb.Simhash):
            vectors, is_known = sketched(corpus.texts, seeded)
            found += histogram_of_all(vectors[is_known])
            scores.append(between(vectors, is_known, corpus.left, corpus.right))
        else:
            signatures = signatures_of(corpus.texts, seeded)
            found += histogram_of_signatures(signatures)
            scores.append(estimated(signatures, corpus.left, corpus.right))
    for measure, (_, least) in MEASURES.items():
        is_true = np.tile(corpus.known[measure] >= least, seeds)
        add_curves(record, f"{corpus.name}: {label}, {measure}", found,
            np.concatenate(scores)[is_true], {
            "corpus": corpus.name, "setting": label, "truth": measure, "seeds": seeds,
            "pairs": int(is_true.sum()) // seeds, "bytes": settings.vector_bytes,
        })  # fmt: skip


def signatures_of(texts: list[str], settings: simdb.Minhash) -> simdb.Signatures:
    """Make signatures of the texts; an IDF table is fitted on these texts."""
    if settings.uses_idf:
        settings = replace(settings, idf=simdb.fit_idf(texts, settings))
    return simdb.signatures(texts, settings)


def histogram_of_signatures(signatures: simdb.Signatures) -> I64:
    """Count the pairs by estimated similarity, in steps; pairs below FLOOR are not counted.

    Minima agree only if their lowest bytes agree, so the lowest bytes alone rule out most pairs.
    """
    minima = signatures.minima[~signatures.is_empty]
    bytes_of = minima.astype(np.uint8)
    permutations = minima.shape[1]
    least = int(FLOOR * permutations)
    counts = np.zeros(permutations + 1, np.int64)
    tile = TILE_BYTES // permutations
    for start in range(0, len(minima), tile):
        stop = min(start + tile, len(minima))
        for left in range(stop - 1):
            first = max(left + 1, start)
            agreeing = kernel.agreements(bytes_of[left : left + 1], bytes_of[first:stop])
            near = np.flatnonzero(agreeing >= least)
            if len(near):
                agreeing = kernel.agreements(minima[left : left + 1], minima[near + first])
                counts += np.bincount(agreeing, minlength=permutations + 1)
    steps = steps_of(estimates(np.arange(permutations + 1), signatures.sketch))
    return np.bincount(steps, counts, STEPS + 1).astype(np.int64)


def estimated(signatures: simdb.Signatures, left: I64, right: I64) -> F32:
    """Estimate the similarities of pairs; 0 for a document without features."""
    minima = signatures.minima
    parts = [np.empty(0, np.uint16)]
    for start in range(0, len(left), GATHERED):
        part = slice(start, start + GATHERED)
        parts.append(kernel.agreements(minima[left[part]], minima[right[part]]))
    scores = estimates(np.concatenate(parts), signatures.sketch)
    scores[signatures.is_empty[left] | signatures.is_empty[right]] = 0
    return scores


def add_errors(record: Record, corpus: Corpus, settings: simdb.Minhash, seeds: int) -> None:
    """Compare estimates with the Jaccard similarity, and their deviation with the expected one.

    The standard error is that of the mean over seeds: pairs of one seed are not independent.
    """
    jaccard = corpus.known["jaccard"]
    sketches = (signatures_of(corpus.texts, replace(settings, seed=seed)) for seed in range(seeds))
    errors = np.array([estimated(each, corpus.left, corpus.right) - jaccard for each in sketches])
    for low, high in BANDS:
        within = (jaccard >= low) & (jaccard < high)
        if within.sum() < FEWEST:
            continue
        chosen = errors[:, within]
        means = chosen.mean(axis=1)
        figures = {
            "mean": float(means.mean()),
            "standard_error": float(means.std(ddof=1) / np.sqrt(seeds)),
            "expected": float(np.sqrt(variance(jaccard[within], settings).mean())),
        }
        label = size_of(settings)
        record.add(
            f"{corpus.name}: {label}, deviation where Jaccard is {low} to {high}",
            float(np.sqrt((chosen**2).mean())),
            "",
            note=f"{within.sum()} pairs, mean error {figures['mean']:+.5f} within"
            f" {figures['standard_error']:.5f}, deviation expected {figures['expected']:.4f}",
            facts={
                "corpus": corpus.name, "setting": label, "band": [low, high],
                "pairs": int(within.sum()), **figures,
            },
        )  # fmt: skip


def variance(jaccard: F64, settings: simdb.Minhash) -> F64:
    """Return the variance of an estimate by independent minima: that of a share of random draws."""
    chance = CHANCE if settings.stored_bits == 8 else 0
    share = chance + (1 - chance) * jaccard
    return share * (1 - share) / settings.permutations / (1 - chance) ** 2


if __name__ == "__main__":
    main()
