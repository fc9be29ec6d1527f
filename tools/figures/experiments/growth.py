"""Figure 7: the time of a query against the number of fingerprints, for fixed numbers of tables."""

import math

import numpy as np

import pictures
from arena import Arena, arena, counts
from claim import Claim, Section
from experiments import tables
from scene import World

STEEP = Claim(
    "Sood & Loguinov, Figure 7(a)",
    "With T = 4, the time of BPHS grows exponentially with d, in the end in proportion to n; that"
    " of PSM with T' = 2 almost linearly with d.",
    "Over the last two doublings or more, BPHS grows by an exponent of n of .6 or more for all"
    " matches, and PSM by one of .4 or less.",
)
FLAT = Claim(
    "Sood & Loguinov, Figure 7(b)",
    "With T = 10, BPHS grows little until d exceeds 25.6, because its binary search is most of it.",
    "Over all sizes, it grows by an exponent of n of .4 or less.",
)
METHODS = {"BPHS, T = 4": "BPHS, 4 tables", "BPHS, T = 10": "BPHS, 10 tables",
           "PSM, T' = 2": "PSM, t = d"}  # fmt: skip


def run(world: World) -> Section:
    """Time each method at each size, for all matches and for the first."""
    sizes = counts(world)
    depths = [math.log2(count) for count in sizes]
    spent: dict[tuple[str, bool], list[float]] = {}
    needed: dict[bool, list[int]] = {True: [], False: []}
    for count in sizes:
        place = arena(world, count)
        for name, seconds in timed(world, place).items():
            spent.setdefault(name, []).append(seconds)
        psm = place.psm(place.depth)
        for first in (False, True):
            needed[first].append(place.attempts(psm, first=first))
    section = Section(
        "Figure 7: growth with n",
        f"Generated fingerprints, n = {sizes[0]:,} to {sizes[-1]:,}, the paper's programs on one"
        " core, processor time.",
    )
    last = slice(-2, None)
    bphs = exponent(depths[last], spent["BPHS, T = 4", False][last])
    psm = exponent(depths[last], spent["PSM, T' = 2", False][last])
    ten = exponent(depths, spent["BPHS, T = 10", False])
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
    section.facts = {
        "depths": depths, "attempts": needed,
        "seconds": {f"{name}, {'first' if f else 'all'}": s for (name, f), s in spent.items()},
    }  # fmt: skip
    section.tables.append(
        (
            ["microseconds a query", *(f"n = {each:,}" for each in sizes)],
            [
                [f"{name}, {'first' if first else 'all'}", *(f"{s * 1e6:,.2f}" for s in seconds)]
                for (name, first), seconds in spent.items()
            ],
        )
    )
    section.pictures.append((draw(world, depths, spent), "Time of a query against n"))
    return section


def timed(world: World, place: Arena) -> dict[tuple[str, bool], float]:
    """Return the seconds of a query by each method; Table 2 has measured the largest sizes."""
    facts = world.facts.get("tables") or tables.run(world).facts
    rates = facts["rates"].get(str(len(place.bits)))
    if rates is None:
        found, _ = tables.measured(world, place, fewer_bits=(0,))
        rates = {f"{name}, {first}": rate for (name, first), rate in found.items()}
    return {
        (name, first): 1 / rates[f"{chosen}, {first}"]
        for name, chosen in METHODS.items()
        for first in (False, True)
    }


def exponent(depths: list[float], seconds: list[float]) -> float:
    """Return the exponent of n with which a time grows."""
    return float(np.polyfit(depths, np.log2(seconds), 1)[0])


def draw(world: World, depths: list[float], spent: dict[tuple[str, bool], list[float]]) -> str:
    """Draw all curves."""
    figure, panels = pictures.begun("(a) T = 4", "(b) T = 10")
    for axes, chosen in zip(panels, list(METHODS)[:2], strict=True):
        for name, colour in ((chosen, pictures.THEIRS), ("PSM, T' = 2", pictures.OURS)):
            for first in (False, True):
                axes.plot(
                    depths, [s * 1e6 for s in spent[name, first]], "o--" if first else "o-",
                    color=colour, label=f"{name.split(',')[0]}, {'first' if first else 'all'}",
                )  # fmt: skip
        pictures.label(axes, "d = log2 n", "microseconds a query", logs="y")
    return pictures.write(figure, world.folder, "figure-7", panels)
