"""Which 8 magnitudes should the 4 bits of a stored weight stand for?

Rounds the exact weights of every corpus of a folder (see `weighting.py`) by several quantisers, and
by none.  A quantiser has the edges of its magnitudes in root mean squares; the uniform one is what
databases store.  A magnitude stands for the mean of a normal variable between its edges, as a whole
number up to 31 (uniform: the middle).  Gives, for each quantiser:

* F1 at the best threshold, Jaccard >= .8, every pair compared, for 64, 128 and 256 weights;
* the flip sets that a stored document as a query tries in the order of VOSH until a near-duplicate
  within 3 bits is found, with headers of 20 bits, for some shares of the pairs;
* the share of the true pairs whose cross-polytope keys agree in one table, for three probes.
"""

import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np
import numpy.typing as npt

import simdb
from corpus import MEASURES
from edits import edited
from record import Record, options
from simdb.settings.options import DIMENSIONS
from simdb.sketch.sketcher import Sketcher
from weighting import MANY_PAIRS, Corpus, read_corpora

EDGES = {
    "exact": None,
    "uniform (stored)": np.arange(1, 8) * 0.335,
    "Lloyd-Max": np.array([0.2582, 0.5224, 0.7996, 1.099, 1.437, 1.844, 2.401]),
    "fine near 0": np.array([0.1, 0.3, 0.57, 0.86, 1.2, 1.6, 2.15]),
    "equally frequent": np.array([0.157, 0.319, 0.489, 0.674, 0.887, 1.150, 1.534]),
    "geometric, x 1.6": 0.1 * 1.6 ** np.arange(7),
    "geometric, x 2": 0.02 * 2.0 ** np.arange(7),
}
SCORES = np.linspace(0.5, 1.0001, 4001)
ROWS = 2048  # documents compared with all others at a time
HEADER_BITS, DISTANCE = 20, 3
SHARES = (0.5, 0.9, 0.95, 0.99)
EDITED, ASKED = 12_000, 3_000
PROBES, WIDTH = 3, 128

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Edges = F64 | None


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("folder", type=Path, help="folder of NAME.jsonl.gz and NAME.truth.tsv.gz")
    parser.add_argument("--only", nargs="*", default=[], help="names of corpora; default: all")
    parser.add_argument("--seeds", type=int, default=4, help="seeds of the hash")
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    for corpus in read_corpora(arguments.folder, arguments.only):
        is_true = corpus.known["jaccard"] >= MEASURES["jaccard"][1]
        pairs = np.stack([corpus.left[is_true], corpus.right[is_true]])
        judge_estimates(record, corpus, pairs, arguments.seeds)
        for weighting, shingle in (("binary", 3), ("tf", 1)):
            settings = simdb.Simhash(weighting=weighting, shingle=shingle)
            judge_flips(record, corpus, settings, f"{weighting}, {shingle} words")
    record.finish()


def judge_estimates(record: Record, corpus: Corpus, pairs: I64, seeds: int) -> None:
    """Add F1 by each quantiser and number of weights, and how often keys agree."""
    seeds = seeds if pairs.shape[1] < 10 * MANY_PAIRS else 1
    for dimensions in DIMENSIONS:
        scores: dict[str, list[float]] = {name: [] for name in EDGES}
        agreed: dict[str, list[float]] = {name: [] for name in EDGES}
        for seed in range(1, seeds + 1):
            weights = weights_of(corpus.texts, simdb.Simhash(dimensions=dimensions, seed=seed))
            for name, edges in EDGES.items():
                vectors = rounded(weights[:, :dimensions], edges)
                scores[name].append(best_f1(vectors, pairs))
                if dimensions == WIDTH:
                    agreed[name].append(share_of_keys(vectors, pairs, seed))
        for name, values in scores.items():
            what = f"{corpus.name}, {dimensions} weights, {name}"
            record.add(f"{what}: F1", float(np.mean(values)), "", note=f"{seeds} seeds")
            if agreed[name]:
                record.add(f"{what}: keys agree", float(np.mean(agreed[name])), "")


def judge_flips(record: Record, corpus: Corpus, settings: simdb.Simhash, label: str) -> None:
    """Add the flip sets until an edited text finds its original; the half of the pairs teaches."""
    texts = [text for text in corpus.texts if len(text.split()) > 30][:EDITED]
    chance, words = Random(1), [word for text in texts[:500] for word in text.split()]
    changed = [edited(text, words, chance.uniform(0.9, 1.0), chance) for text in texts]
    left, right = weights_of(texts, settings), weights_of(changed, settings)
    differing = (left[:, :64] >= 0) != (right[:, :64] >= 0)
    near = np.flatnonzero((differing.sum(axis=1) > 0) & (differing.sum(axis=1) <= DISTANCE))
    if len(near) < 200:
        return
    left, differing = left[near, :64], differing[near]
    half = len(near) // 2
    asked = slice(half, half + ASKED)
    for name, edges in EDGES.items():
        prices = prices_of(left[:half], differing[:half], edges)
        costs = prices[steps_of(left[asked], edges)]
        found = ranks(costs[:, -HEADER_BITS:], differing[asked, -HEADER_BITS:])
        for share in SHARES:
            attempts = float(np.quantile(found, share, method="inverted_cdf"))
            record.add(f"{corpus.name}, {label}, {name}: attempts for {share:g}", attempts, "")


def weights_of(texts: list[str], settings: simdb.Simhash) -> F32:
    """Return exact weights in root mean squares; those of a text without features stay 0."""
    weights = Sketcher(settings).fingerprints(texts).weights
    assert weights is not None
    used = weights[:, : settings.dimensions].astype(np.float64)
    scale = np.sqrt((used**2).mean(axis=1, keepdims=True))
    found: F32 = np.divide(used, scale, out=np.zeros_like(used), where=scale > 0).astype(np.float32)
    return found


def steps_of(weights: F32, edges: Edges) -> I64:
    """Return the step of each magnitude; of exact weights, 64ths as the search has them."""
    magnitudes = np.abs(weights)
    if edges is None:
        return np.minimum((magnitudes * 64).astype(np.int64), 255)
    return np.searchsorted(edges, magnitudes, side="right")


def rounded(weights: F32, edges: Edges) -> F32:
    """Return weights as a quantiser keeps them, and rows of length 1."""
    kept = weights
    if edges is not None:
        kept = np.where(weights >= 0, 1, -1) * values_of(edges)[steps_of(weights, edges)]
    lengths = np.linalg.norm(weights, axis=1, keepdims=True)
    kept = np.where(lengths > 0, kept, 0).astype(np.float32)
    found: F32 = kept / np.maximum(np.linalg.norm(kept, axis=1, keepdims=True), 1e-9)
    return found


def values_of(edges: F64) -> F64:
    """Return what each magnitude stands for, in whole numbers up to 31."""
    if np.allclose(edges, EDGES["uniform (stored)"]):
        return 2.0 * np.arange(8) + 1
    bounds = [0.0, *edges, 30.0]
    means = [
        (density(low) - density(high)) / (below(high) - below(low))
        for low, high in itertools.pairwise(bounds)
    ]
    return np.rint(np.array(means) * 31 / means[-1])


def density(x: float) -> float:
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def below(x: float) -> float:
    return (1 + math.erf(x / math.sqrt(2))) / 2


def best_f1(vectors: F32, pairs: I64) -> float:
    """Return F1 at the best of all thresholds."""
    every = np.zeros(len(SCORES) - 1)
    for scores in blocks_of(vectors):
        every += np.histogram(scores, SCORES)[0]
    true = np.histogram((vectors[pairs[0]] * vectors[pairs[1]]).sum(axis=1), SCORES)[0]
    taken, right = every[::-1].cumsum(), true[::-1].cumsum()
    return float((2 * right / np.maximum(taken + pairs.shape[1], 1)).max())


def blocks_of(vectors: F32) -> Iterator[F32]:
    """Yield the cosines of every pair, each once, if they count."""
    for start in range(0, len(vectors), ROWS):
        cosines = vectors[start : start + ROWS] @ vectors[start:].T
        own = min(ROWS, len(vectors) - start)
        cosines[:, :own][np.tril_indices(own)] = 0
        yield cosines[cosines >= SCORES[0]]


def share_of_keys(vectors: F32, pairs: I64, seed: int) -> float:
    """Return how often one of the nearest vertices of one side is the nearest of the other."""
    generator = np.random.default_rng(seed)
    turn = np.linalg.qr(generator.normal(size=(WIDTH, WIDTH)))[0].astype(np.float32)
    turned = [np.concatenate([side, -side], axis=1) for side in (vectors[pairs] @ turn)]
    probed = np.argsort(-turned[0], axis=1)[:, :PROBES]
    return float((probed == turned[1].argmax(axis=1)[:, None]).any(axis=1).mean())


def prices_of(weights: F32, differing: npt.NDArray[np.bool_], edges: Edges) -> F64:
    """Return log((1 - p) / p) of a flip at each step, learnt from pairs; never falling."""
    steps = steps_of(weights, edges)
    if edges is None:
        steps = steps // 8 * 8  # a finer table would have too few flips
    every = np.bincount(steps.ravel(), minlength=256)
    chance = (np.bincount(steps[differing], minlength=256) + 0.5) / (every + 1)
    prices = np.where(every > 0, np.log((1 - chance) / chance), 0.0)
    found: F64 = np.maximum.accumulate(prices)
    return found + np.arange(256) * 1e-6 * (edges is None)


def ranks(costs: F64, differing: npt.NDArray[np.bool_]) -> F64:
    """Return the rank of each set of differing header bits; 0 for none, the mean of equal ones."""
    sets = np.array(
        [
            (*chosen, *[HEADER_BITS] * (DISTANCE - size))
            for size in range(1, DISTANCE + 1)
            for chosen in itertools.combinations(range(HEADER_BITS), size)
        ]
    )
    padded = np.concatenate([costs, np.zeros((len(costs), 1))], axis=1)
    own = np.where(differing, costs, 0.0).sum(axis=1)
    found = np.zeros(len(costs))
    for place in np.flatnonzero(differing.any(axis=1)):
        every = padded[place][sets].sum(axis=1)
        less = np.count_nonzero(every < own[place] - 1e-9)
        found[place] = less + (np.count_nonzero(np.abs(every - own[place]) <= 1e-9) + 1) / 2
    return found


if __name__ == "__main__":
    main()
