"""Biswas 2017, sections 3.2 and 4: pairs that sorting by rotations misses.

Fingerprints are sorted in k orders, each rotated by other bits, and neighbours are compared:
adjacent ones only, as Biswas describes it, or a few on either side.  The truth is every pair within
the distance.
"""

import numpy as np

import pictures
import simdb
from claim import Claim, Section
from scene import World
from simdb.database.search.methods.permuted import find_neighbours

MISSES = Claim(
    "Biswas, section 4.1",
    "25 permutations miss 11.26 % of the near-duplicate pairs of 1,000 documents.",
    "Adjacent fingerprints in 25 rotations miss 5 to 20 % of the pairs within 3 bits.",
)
ALMOST = Claim(
    "Biswas, section 3.2",
    "k permutations find almost all near-duplicates in O(k n).",
    "With 64 rotations and 8 neighbours on each side, 95 % or more of the pairs are found.",
)
ROTATIONS = (1, 2, 4, 8, 16, 25, 32, 64)
WINDOWS = (1, 2, 8)
SAMPLE = 1_000
DISTANCE = 3


def run(world: World) -> Section:
    """Count missed pairs for samples of 1,000 documents and for the collection."""
    bits = world.collection.bits
    generator = world.generator("rotations")
    count = min(20, len(bits) // SAMPLE + 1)
    start = generator.integers(0, max(len(bits) - SAMPLE, 1), count)
    samples = [bits[at : at + SAMPLE] for at in start]
    distinct = np.unique(bits)
    missed: dict[tuple[str, int], list[float]] = {}
    for window in WINDOWS:
        for rotations in ROTATIONS:
            many = [counted(each, rotations, window) for each in samples]
            found, every = (sum(each[side] for each in many) for side in (0, 1))
            missed.setdefault(("1,000 documents", window), []).append(1 - found / max(every, 1))
            found, every = counted(distinct, rotations, window)
            missed.setdefault(("collection", window), []).append(1 - found / max(every, 1))
    section = Section(
        "Biswas: rotations",
        f"Pairs within {DISTANCE} bits in {count} samples of {SAMPLE:,} neighbouring documents, and"
        f" among the {len(distinct):,} distinct fingerprints of the collection.",
    )
    at = ROTATIONS.index(25)
    small = missed["1,000 documents", 1][at]
    section.judge(
        MISSES, theirs="11.26 %",
        ours=f"{small:.2%} of 1,000 documents, {missed['collection', 1][at]:.2%} of the collection",
        holds=0.05 <= small <= 0.20,
        why="of m copies only m - 1 pairs are adjacent, so documents with many copies lose most of"
        " their pairs",
    )  # fmt: skip
    best = missed["collection", 8][-1]
    section.judge(
        ALMOST, theirs="almost all", ours=f"{1 - best:.1%}", holds=best <= 0.05,
        why="a pair is near in some rotation if its differing bits leave a long run of equal ones",
    )  # fmt: skip
    section.table(
        ["collection, neighbours on a side", *(f"k = {k}" for k in ROTATIONS)],
        [
            [f"{name}, {window}", *(f"{share:.1%}" for share in shares)]
            for (name, window), shares in missed.items()
        ],
        is_detail=True,
    )
    section.pictures.append((draw(world, missed), "Missed pairs"))
    return section


def counted(bits: np.ndarray, rotations: int, window: int) -> tuple[int, int]:
    """Return the pairs that rotations find, and all pairs."""
    found = sum(
        len(part[0])
        for part in find_neighbours(bits, rotations=rotations, window=window, distance=DISTANCE)
    )
    return found, len(simdb.find_all(bits, 5, DISTANCE).left)


def draw(world: World, missed: dict[tuple[str, int], list[float]]) -> str:
    """Draw the share missed against the number of rotations."""
    figure, panels = pictures.begun("(a) 1,000 documents", "(b) distinct fingerprints")
    colours = dict(zip(WINDOWS, (pictures.OURS, pictures.OTHER, pictures.FOURTH), strict=True))
    for axes, name in zip(panels, ("1,000 documents", "collection"), strict=True):
        for window, colour in colours.items():
            axes.plot(ROTATIONS, missed[name, window], "o-", color=colour,
                      label="adjacent" if window == 1 else f"{window} neighbours")  # fmt: skip
        axes.plot(25, 0.1126, "s", color=pictures.THEIRS, label="Biswas, k = 25")
        pictures.label(axes, "k, rotations", "share of pairs missed", logs="x")
        axes.set_ylim(bottom=0)
        axes.set_xticks((1, 4, 16, 64), labels=("1", "4", "16", "64"))
        axes.minorticks_off()
        axes.set_ylim(top=1)
        axes.legend(fontsize=8, loc="upper right")
    return pictures.write(figure, world.folder, "rotations", panels)
