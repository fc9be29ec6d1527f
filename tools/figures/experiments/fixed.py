"""Figure 8: recall against the number of fingerprints, for a fixed number of flip sets, t = d."""

import math

import pictures
from arena import arena, counts
from claim import Claim, Section
from scene import World

ATTEMPTS = (1, 5, 10, 20)
FIVE = Claim(
    "Sood & Loguinov, Figure 8",
    "With k = 5, the first match is found for 90 % of the queries at all sizes.",
    "The recall is 85 % or more at all sizes.",
)
TEN = Claim(
    "Sood & Loguinov, Figure 8",
    "With k = 10, 93 % of all matches are found at all sizes.",
    "The recall is 88 % or more at all sizes.",
)
SLOWER = Claim(
    "Sood & Loguinov, Figure 8",
    "The recall for the first match falls more slowly than that for all matches.",
    "For k = 5 and 10 the recall of the first match loses no more from the least size to the"
    " largest than that of all matches, up to .5 %.",
)


def run(world: World) -> Section:
    """Read recall for each k from one search at each size."""
    sizes = counts(world)
    found: dict[tuple[bool, int], list[float]] = {}
    for count in sizes:
        place = arena(world, count)
        psm = place.psm(place.depth)
        for first in (False, True):
            curve = place.curve(psm, first=first, most=max(ATTEMPTS))
            for attempts in ATTEMPTS:
                found.setdefault((first, attempts), []).append(float(curve[attempts]))
    section = Section(
        "Figure 8: recall for a fixed k",
        f"Generated fingerprints, n = {sizes[0]:,} to {sizes[-1]:,}, t = d; half of the queries"
        " have a near fingerprint.",
    )
    why = "how many flip sets a recall takes is a matter of Y, which our pairs decide"
    for claim, key, least, theirs in (
        (FIVE, (True, 5), 0.85, "90 %"),
        (TEN, (False, 10), 0.88, "93 %"),
    ):
        values = found[key]
        section.judge(
            claim, theirs=theirs, ours=f"{min(values):.1%} to {max(values):.1%}",
            holds=min(values) >= least, why=why,
        )  # fmt: skip
    lost = {key: values[0] - values[-1] for key, values in found.items()}
    section.judge(
        SLOWER, theirs="first match slower", ours=", ".join(
            f"k = {k}: {lost[True, k]:.1%} against {lost[False, k]:.1%}" for k in (5, 10)
        ),
        holds=[lost[True, k] <= lost[False, k] + 0.005 for k in (5, 10)],
        why="a query with several matches is answered by the most probable of them",
    )  # fmt: skip
    section.facts = {"sizes": sizes, "recall": {f"{key}": v for key, v in found.items()}}
    section.pictures.append((draw(world, sizes, found), "Recall against n for a fixed k"))
    return section


def draw(world: World, sizes: list[int], found: dict[tuple[bool, int], list[float]]) -> str:
    """Draw recall against d."""
    depths = [math.log2(each) for each in sizes]
    figure, panels = pictures.begun("(a) all matches", "(b) first match")
    colours = (pictures.GREY, pictures.OURS, pictures.OTHER, pictures.FOURTH)
    for axes, first in zip(panels, (False, True), strict=True):
        for attempts, colour in zip(ATTEMPTS, colours, strict=True):
            axes.plot(depths, found[first, attempts], "o-", color=colour, label=f"k = {attempts}")
        stated = (5, 0.90) if first else (10, 0.93)
        axes.axhline(stated[1], color=pictures.THEIRS, linestyle="--",
                     label=f"paper, k = {stated[0]}")  # fmt: skip
        pictures.label(axes, "d = log2 n", "relative recall")
        axes.set_ylim(top=1.005)
    return pictures.write(figure, world.folder, "figure-8", panels)
