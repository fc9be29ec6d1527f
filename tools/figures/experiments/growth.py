"""Figures 7 and 8: the time of a query and the recall of a fixed k against the number stored."""

import math
from typing import Any

import numpy as np

import pictures
from arena import Arena, arena, counts
from claim import Claim, Section
from experiments import tables
from scene import World

STEEP = Claim(
    "Sood & Loguinov, Figure 7(a)",
    "With T = 4, BPHS in the end grows like n; PSM with T' = 2 almost linearly with d.",
    "Over the last two doublings or more, BPHS grows by an exponent of n of .6 or more for all"
    " matches, and PSM by one of .4 or less.",
)
FLAT = Claim(
    "Sood & Loguinov, Figure 7(b)",
    "With T = 10, BPHS grows little until d exceeds 25.6.",
    "Over all sizes, it grows by an exponent of n of .4 or less.",
)
FIVE = Claim(
    "Sood & Loguinov, Figure 8",
    "With k = 5, 90 % of the first matches are found at all sizes.",
    "The recall is 85 % or more at all sizes.",
)
TEN = Claim(
    "Sood & Loguinov, Figure 8",
    "With k = 10, 93 % of all matches are found at all sizes.",
    "The recall is 88 % or more at all sizes.",
)
SLOWER = Claim(
    "Sood & Loguinov, Figure 8",
    "The recall of the first match falls more slowly than that of all.",
    "For k = 5 and 10 the recall of the first match loses no more from the least size to the"
    " largest than that of all matches, up to .5 %.",
)
METHODS = {"BPHS, T = 4": "BPHS, 4 tables", "BPHS, T = 10": "BPHS, 10 tables",
           "PSM, T' = 2": "PSM, t = d"}  # fmt: skip
ATTEMPTS = (1, 5, 10, 20)
KINDS = {False: "all", True: "first"}
Curves = dict[Any, list[float]]


def run(world: World) -> Section:
    """Time each method and read the recall of each k at each size."""
    sizes = counts(world)
    depths = [math.log2(count) for count in sizes]
    spent: Curves = {(name, first): [] for name in METHODS for first in KINDS}
    found: Curves = {(first, attempts): [] for first in KINDS for attempts in ATTEMPTS}
    needed: dict[bool, list[int]] = {first: [] for first in KINDS}
    for count in sizes:
        place = arena(world, count)
        for name, seconds in timed(world, place).items():
            spent[name].append(seconds)
        psm = place.psm(place.depth)
        for first, known in needed.items():
            known.append(place.attempts(psm, first=first))
            curve = place.curve(psm, first=first, most=max(ATTEMPTS))
            for attempts in ATTEMPTS:
                found[first, attempts].append(float(curve[attempts]))
    section = Section(
        "Figures 7 and 8: growth with n",
        f"Generated fingerprints, n = {sizes[0]:,} to {sizes[-1]:,}; half of the queries have a"
        " near fingerprint. The paper's programs; recall at t = d.",
    )
    judge_times(section, sizes, spent)
    judge_recall(section, found)
    section.facts = {
        "depths": depths, "attempts": needed,
        "seconds": {f"{name}, {KINDS[first]}": each for (name, first), each in spent.items()},
    }  # fmt: skip
    section.table(
        ["microseconds a query, n =", *(f"{each:,}" for each in sizes)],
        [[name, *(f"{s * 1e6:,.2f}" for s in each)]
         for name, each in section.facts["seconds"].items()],
    )  # fmt: skip
    section.pictures += [
        (draw_times(world, depths, spent), "Time of a query against n"),
        (draw_recall(world, depths, found), "Recall against n for a fixed k"),
    ]
    return section


def timed(world: World, place: Arena) -> dict[tuple[str, bool], float]:
    """Return the seconds of a query by each method; Table 2 has measured the largest sizes."""
    rates = world.section("tables").facts.get(len(place.bits))
    if rates is None:
        rates, _ = tables.measured(world, place, fewer_bits=(0,))
    return {
        (name, first): 1 / rates[chosen, first] for name, chosen in METHODS.items()
        for first in KINDS
    }  # fmt: skip


def judge_times(section: Section, sizes: list[int], spent: Curves) -> None:
    """Judge Figure 7 by the exponents of n with which times grow."""

    def grown(name: str, start: int = 0) -> float:
        return float(np.polyfit(np.log2(sizes[start:]), np.log2(spent[name, False][start:]), 1)[0])

    bphs, psm, ten = grown("BPHS, T = 4", -2), grown("PSM, T' = 2", -2), grown("BPHS, T = 10")
    section.judge(
        STEEP, theirs="Theta(n) and O(log^h n log log n)",
        ours=f"n^{bphs:.2f} and n^{psm:.2f} from {sizes[-2]:,} to {sizes[-1]:,}",
        holds=[bphs >= 0.6, psm <= 0.4],
        why="a header of 16 bits leaves n / 2^16 fingerprints to scan; what grows for PSM is k and"
        " the share of look-ups that miss the cache",
    )  # fmt: skip
    section.judge(
        FLAT, theirs="binary search until d = 25.6", ours=f"n^{ten:.2f}",
        holds=ten <= 0.4, why="headers of 24 bits leave one fingerprint or none to scan",
    )  # fmt: skip


def judge_recall(section: Section, found: Curves) -> None:
    """Judge Figure 8."""
    for claim, key, least, theirs in (
        (FIVE, (True, 5), 0.85, "90 %"), (TEN, (False, 10), 0.88, "93 %"),
    ):  # fmt: skip
        values = found[key]
        section.judge(
            claim, theirs=theirs, ours=f"{min(values):.1%} to {max(values):.1%}",
            holds=min(values) >= least,
            why="how many flip sets a recall takes is a matter of Y, which our pairs decide",
        )  # fmt: skip
    lost = {key: values[0] - values[-1] for key, values in found.items()}
    section.judge(
        SLOWER, theirs="first match slower", ours=", ".join(
            f"k = {k}: {lost[True, k]:.1%} against {lost[False, k]:.1%}" for k in (5, 10)
        ),
        holds=[lost[True, k] <= lost[False, k] + 0.005 for k in (5, 10)],
        why="a query with several matches is answered by the most probable of them",
    )  # fmt: skip


def draw_times(world: World, depths: list[float], spent: Curves) -> str:
    """Draw Figure 7."""
    figure, panels = pictures.begun("(a) T = 4", "(b) T = 10")
    for axes, chosen in zip(panels, METHODS, strict=False):
        for name, colour in ((chosen, pictures.THEIRS), ("PSM, T' = 2", pictures.OURS)):
            for first, kind in KINDS.items():
                axes.plot(
                    depths, [s * 1e6 for s in spent[name, first]], "o--" if first else "o-",
                    color=colour, label=f"{name.split(',')[0]}, {kind}",
                )  # fmt: skip
        pictures.label(axes, "d = log2 n", "microseconds a query", logs="y")
    return pictures.write(figure, world.folder, "figure-7", panels)


def draw_recall(world: World, depths: list[float], found: Curves) -> str:
    """Draw Figure 8."""
    figure, panels = pictures.begun("(a) all matches", "(b) first match")
    colours = (pictures.GREY, pictures.OURS, pictures.OTHER, pictures.FOURTH)
    for axes, first in zip(panels, KINDS, strict=True):
        for attempts, colour in zip(ATTEMPTS, colours, strict=True):
            axes.plot(depths, found[first, attempts], "o-", color=colour, label=f"k = {attempts}")
        k, stated = (5, 0.90) if first else (10, 0.93)
        axes.axhline(stated, color=pictures.THEIRS, linestyle="--", label=f"paper, k = {k}")
        pictures.label(axes, "d = log2 n", "relative recall")
        axes.set_ylim(top=1.005)
    return pictures.write(figure, world.folder, "figure-8", panels)
