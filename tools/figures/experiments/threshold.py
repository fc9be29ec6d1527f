"""Figure 6(a): precision and recall of the Hamming distance against the exact cosine.

Pairs of documents are drawn at random, as in the paper.  P(h) is the share of the pairs within
distance h whose exact cosine is .9 or more.  R(h) is the share of the pairs of cosine .9 or more
that are within distance h.  The same curves are drawn for the similarity that a database estimates
from stored weights, with the threshold s instead of the distance h.
"""

import numpy as np
import numpy.typing as npt

import pictures
from claim import Claim, Section
from scene import World
from simdb.core import kernel
from simdb.core.vector_form import corrected

COSINE = 0.9
PART = 1_000_000
CROSSING = Claim(
    "Sood & Loguinov, Figure 6(a)",
    "Precision and recall against cosine .9 cross at h = 3.",
    "The curves cross between h = 2 and h = 4.",
)
TRADE = Claim(
    "Sood & Loguinov, Figure 6(a)",
    "Small h gives high precision and low recall, large h the opposite.",
    "From h = 0 to h = 10, precision never rises by more than .01 and recall never falls; precision"
    " at 0 is .9 or more, and recall at 10 is .9 or more.",
)
BETTER = Claim(
    "Beyond the paper",
    "Stored weights decide better than the distance of 64 bits.",
    "The best F1 over thresholds of similarity is above the best F1 over distances.",
)
F64 = npt.NDArray[np.float64]
LEAST = np.arange(0.7, 1.0001, 0.01)


def run(world: World) -> Section:
    """Count pairs by distance, by estimated similarity and by exact cosine."""
    collection, generator = world.collection, world.generator("threshold")
    _, vectors = kernel.quantise(collection.weights)
    stored = kernel.Vectors(vectors.shape[1], [(0, vectors)])
    distances = np.zeros((2, 65), np.int64)
    estimates = np.zeros((2, len(LEAST) + 1), np.int64)
    for at in range(0, world.sizes.random_pairs, PART):
        count = min(PART, world.sizes.random_pairs - at)
        left, right = generator.integers(0, len(collection), (2, count)).astype(np.int64)
        differ = left != right
        left, right = left[differ], right[differ]
        apart = np.bitwise_count(collection.bits[left] ^ collection.bits[right])
        similar = corrected(stored.between(left.astype(np.uint32), right.astype(np.uint32)))
        # A pair whose weights have a cosine below .4 cannot have an exact cosine of .9.
        near = np.flatnonzero((similar >= 0.4) | (apart <= 10))
        is_similar = np.zeros(len(left), np.int64)
        is_similar[near] = collection.cosines(left[near], right[near]) >= COSINE
        for truth in (0, 1):
            chosen = is_similar == truth
            distances[truth] += np.bincount(apart[chosen], minlength=65)
            places = np.searchsorted(LEAST, similar[chosen] + 1e-7, side="right")
            estimates[truth] += np.bincount(places, minlength=len(LEAST) + 1)
    return judged(world, curves(distances), curves(estimates[:, ::-1]), int(distances[1].sum()))


def curves(counts: npt.NDArray[np.int64]) -> tuple[F64, F64]:
    """Return precision and recall of all pairs up to each place: two float64[k]."""
    wrong, right = np.cumsum(counts, axis=1)
    precision = right / np.maximum(wrong + right, 1)
    return precision, right / max(right[-1], 1)


def best_f1(precision: F64, recall: F64) -> tuple[int, float]:
    """Return the place of the largest F1, and F1."""
    f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-12)
    return int(f1.argmax()), float(f1.max())


def judged(
    world: World, by_distance: tuple[F64, F64], by_similarity: tuple[F64, F64], pairs: int
) -> Section:
    """Return the verdicts, a table and the picture."""
    precision, recall = by_distance
    section = Section(
        "Figure 6(a): which distance",
        f"{world.sizes.random_pairs:,} random pairs of {len(world.collection):,} documents, of"
        f" which {pairs:,} have an exact cosine of {COSINE} or more.",
    )
    crossing = int(np.argmax(recall >= precision))
    section.judge(
        CROSSING, theirs="h = 3",
        ours=f"h = {crossing}: P({crossing}) = {precision[crossing]:.3f},"
        f" R({crossing}) = {recall[crossing]:.3f}",
        holds=2 <= crossing <= 4,
        why=f"at h = 3 we have P = {precision[3]:.3f} and R = {recall[3]:.3f}; it depends on how"
        " many pairs lie just below cosine .9",
    )  # fmt: skip
    section.judge(
        TRADE, theirs="false negatives for small h, false positives for large h",
        ours=f"P falls from {precision[0]:.3f} to {precision[10]:.3f}, R rises from"
        f" {recall[0]:.3f} to {recall[10]:.3f}",
        holds=[bool((np.diff(precision[:11]) <= 0.01).all()), precision[0] >= 0.9,
               recall[10] >= 0.9],
        why="the distance estimates the angle",
    )  # fmt: skip
    place, f1 = best_f1(*by_distance)
    other, best = best_f1(*by_similarity)
    least = LEAST[len(LEAST) - 1 - other] if other < len(LEAST) else LEAST[0]
    section.judge(
        BETTER, theirs="-",
        ours=f"F1 {best:.3f} at similarity {least:.2f}; {f1:.3f} at distance {place}",
        holds=best > f1, why="128 weights of 4 bits say more than 64 signs",
    )  # fmt: skip
    rows = [[str(h), f"{precision[h]:.3f}", f"{recall[h]:.3f}"] for h in range(11)]
    section.table(["h", "P(h)", "R(h)"], rows, is_detail=True)
    section.pictures.append((draw(world, by_distance, by_similarity), "Precision and recall"))
    return section


def draw(world: World, by_distance: tuple[F64, F64], by_similarity: tuple[F64, F64]) -> str:
    """Draw both pairs of curves."""
    figure, panels = pictures.begun("(a) within distance h", "(b) by stored similarity")
    for values, name, colour in zip(
        by_distance, ("precision", "recall"), (pictures.OURS, pictures.OTHER), strict=True
    ):
        panels[0].plot(range(13), values[:13], "o-", color=colour, label=name)
    panels[0].axvline(3, color=pictures.THEIRS, linestyle="--", label="paper: cross at 3")
    for values, name, colour in zip(
        by_similarity, ("precision", "recall"), (pictures.OURS, pictures.OTHER), strict=True
    ):
        panels[1].plot(LEAST[::-1], values[: len(LEAST)], "-", color=colour, label=name)
    panels[1].invert_xaxis()
    pictures.label(panels[0], "h", "share")
    pictures.label(panels[1], "least similarity", "share")
    for axes in panels:
        axes.set_ylim(0, 1.02)
    return pictures.write(figure, world.folder, "figure-6", panels)
