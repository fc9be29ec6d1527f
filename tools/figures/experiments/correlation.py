"""Biswas 2017, Figure 4: the share of equal bits against the exact cosine.

Pairs are drawn at random, and pairs of neighbouring pages are added, so that all cosines occur.  No
pair is chosen by its bits.
"""

import numpy as np
import numpy.typing as npt

import pictures
from claim import Claim, Section
from scene import World

HIGH = Claim(
    "Biswas, Figure 4",
    "Above a similarity of 85 % the share of equal bits is almost the cosine.",
    "For pairs of cosine .85 or more, the mean absolute difference is .05 or less.",
)
LOW = Claim(
    "Biswas, Figure 4",
    "At low similarity the two differ a lot.",
    "For pairs of cosine .5 or less, the mean absolute difference is at least three times that"
    " above .85.",
)
ANGLE = Claim(
    "Charikar 2002",
    "The mean share of equal bits is 1 - angle / pi.",
    "In each tenth of the cosine with 50 pairs or more, the mean is within .02 of it.",
)
FALSE = Claim(
    "Biswas, section 4.1",
    "Of the pairs of 1,000 documents .004 % are false positives.",
    "Of random pairs, fewer than .02 % have 95 % equal bits and a cosine below .85.",
)
F64 = npt.NDArray[np.float64]
EDGES = np.linspace(0, 1, 11)
SHOWN = 4_000


def run(world: World) -> Section:
    """Compare both similarities."""
    collection, generator = world.collection, world.generator("correlation")
    left, right = generator.integers(0, len(collection), (2, world.sizes.random_pairs // 40))
    drawn = len(left)
    # Neighbours in the corpus are pages of one package: cosines between far and near.
    steps = generator.integers(1, 30, drawn // 4)
    begin = generator.integers(0, max(len(collection) - 30, 1), drawn // 4)
    left = np.concatenate([left, begin]).astype(np.int64)
    right = np.concatenate([right, begin + steps]).astype(np.int64)
    right = np.minimum(right, len(collection) - 1)
    cosine = np.clip(collection.cosines(left, right), 0, 1)
    equal = 1 - np.bitwise_count(collection.bits[left] ^ collection.bits[right]) / 64
    off = np.abs(cosine - equal)
    high, low = float(off[cosine >= 0.85].mean()), float(off[cosine <= 0.5].mean())
    section = Section(
        "Biswas, Figure 4: equal bits and the cosine",
        f"{drawn:,} random pairs and {len(begin):,} pairs of neighbouring pages; exact cosines of"
        " TF-IDF weights.",
    )
    section.judge(
        HIGH, theirs="almost the same", ours=f"mean difference {high:.3f}", holds=high <= 0.05,
        why="the angle of cosine .85 is .18 pi, so .82 of the bits are equal",
    )  # fmt: skip
    section.judge(
        LOW, theirs="a lot of deviation", ours=f"mean difference {low:.3f}", holds=low >= 3 * high,
        why="documents without anything in common have half of their bits equal",
    )  # fmt: skip
    worst = mean_error(cosine, equal)
    section.judge(
        ANGLE, theirs="1 - angle / pi", ours=f"within {worst:.3f}", holds=worst <= 0.02,
        why="the bits of a feature are Bernoulli, not normal numbers; documents that a few heavy"
        " features dominate deviate",
    )  # fmt: skip
    false = float(((equal[:drawn] >= 0.95) & (cosine[:drawn] < 0.85)).mean())
    section.judge(
        FALSE, theirs="0.004 %", ours=f"{false:.4%}", holds=false < 0.0002,
        why="three of 64 bits allow angles of cosine .8 now and then",
    )  # fmt: skip
    section.pictures.append((draw(world, cosine, equal, drawn), "Equal bits against the cosine"))
    return section


def mean_error(cosine: F64, equal: F64) -> float:
    """Return the largest difference of a mean from 1 - angle / pi, over tenths of the cosine."""
    worst = 0.0
    places = np.minimum(np.digitize(cosine, EDGES) - 1, 9)
    for place in range(10):
        chosen = places == place
        if chosen.sum() >= 50:
            wanted = 1 - np.arccos(cosine[chosen]) / np.pi
            worst = max(worst, abs(float(equal[chosen].mean() - wanted.mean())))
    return worst


def draw(world: World, cosine: F64, equal: F64, drawn: int) -> str:
    """Draw equal numbers of pairs from each tenth of the cosine."""
    figure, panels = pictures.begun("Equal bits against the exact cosine", width=5.2)
    generator = world.generator("drawing")
    places = np.minimum(np.digitize(cosine, EDGES) - 1, 9)
    for place in range(10):
        chosen = np.flatnonzero(places == place)
        chosen = generator.permutation(chosen)[: SHOWN // 40]
        panels[0].plot(cosine[chosen], equal[chosen], ".", color=pictures.OURS, markersize=3,
                       label="pairs" if place == 0 else None)  # fmt: skip
    across = np.linspace(0, 1, 100)
    panels[0].plot(across, 1 - np.arccos(across) / np.pi, color=pictures.THEIRS,
                   label="1 - angle / pi")  # fmt: skip
    panels[0].plot(across, across, ":", color=pictures.GREY, label="equal")
    pictures.label(panels[0], "exact cosine", "share of equal bits")
    return pictures.write(figure, world.folder, "correlation", panels)
