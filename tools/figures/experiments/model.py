"""The paper's cost model, equations (9), (14), (17), (19), (21) and (23), over the measurements.

The delays are fitted to the times of Figure 7 without the largest size, which the model then
predicts.  For 8 x 10^9 pages, it predicts the costs of each method, with the delays that
`simdb plan` uses without a calibration and with the fitted ones.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

import cost_model as cost
import pictures
import simdb
from claim import Claim, Section
from scene import World
from simdb.database.search.planning import plan_without_database
from simdb.database.search.question import Question
from simdb.plan.calibration import USUAL_DELAYS, Delays

PREDICTED = Claim(
    "Sood & Loguinov, equations (9), (14), (19), (21)",
    "The model gives the latency of BPHS and PSM.",
    "With delays fitted to the other sizes, the times of all four series at the largest size are"
    " within a factor of 2 of the prediction.",
)
BATCHED = Claim(
    "Sood & Loguinov, equation (23)",
    "The model gives the time of a batch.",
    "With the delays of single queries, each rate of PSM in Figure 9(a) is within a factor of 2.",
)
LARGE = Claim(
    "Sood & Loguinov, sections 4 and 5",
    "At the size of the web PSM is faster and smaller than BPHS with fixed tables.",
    "For 8 x 10^9 pages the model, both with the delays of the plan and with the fitted ones, gives"
    " PSM less time and less memory than BPHS with 4 and with 10 tables.",
)
F64 = npt.NDArray[np.float64]
PAGES = 8e9
BATCH = 1e7  # documents of a batch, as in Figure 9
DISK = 5e8  # bytes a second
ENOUGH = 1e15  # bytes of memory: a search waits for no page of the disk, as in the paper
FACTOR = 2.0
LAYOUTS = {"BPHS, T = 4": (4, 1), "BPHS, T = 10": (5, 2)}


def run(world: World) -> Section:
    """Fit, predict and extrapolate."""
    facts: Mapping[str, Any] = world.section("growth").facts
    depths, seconds = facts["depths"], facts["seconds"]
    attempts = {name: facts["attempts"][is_first] for name, is_first in PSM.items()}
    delays = fitted(depths[:-1], {k: v[:-1] for k, v in seconds.items()}, attempts)
    every = {
        **{f"{name}, all": [bphs_seconds(d, name, delays) for d in depths] for name in LAYOUTS},
        **{
            name: [psm_seconds(d, d, k, delays) for d, k in zip(depths, counts, strict=True)]
            for name, counts in attempts.items()
        },
    }
    section = Section(
        "The cost model over the measurements",
        f"Delays fitted to Figure 7 up to n = {2.0 ** depths[-2]:,.0f}: {in_words(delays)}.",
    )
    off = {name: seconds[name][-1] / values[-1] for name, values in every.items()}
    section.judge(
        PREDICTED, theirs="-",
        ours="measured / model: "
        + ", ".join(f"{name} {value:.2f}" for name, value in off.items()),
        holds=[1 / FACTOR <= value <= FACTOR for value in off.values()],
        why="one delay of memory stands for every cache",
    )  # fmt: skip
    rates = world.section("batches").facts
    batched = batch_rates(rates, attempts["PSM, T' = 2, all"], depths, delays)
    measured, model = batched["PSM, all"]
    ratios = [m / p for m, p in zip(measured, model, strict=True)]
    section.judge(
        BATCHED, theirs="-",
        ours=f"measured / model {min(ratios):.2f} to {max(ratios):.2f}; the fastest batch"
        f" {ratios[-1]:.2f}",
        holds=[1 / FACTOR <= value <= FACTOR for value in ratios],
        why="(23) finds the flip sets anew for each chunk, here they are found once; and chunks"
        " stay in the caches",
    )  # fmt: skip
    fives = world.section("header_bits").facts
    ways, holds = at_web_size(fives, USUAL_DELAYS)
    fitted_ways, fitted_holds = at_web_size(fives, delays)
    rows = [
        [name, f"{size:,.0f}", f"{spent * 1e6:,.1f}", f"{fitted_ways[name][1] * 1e6:,.1f}"]
        for name, (size, spent) in ways.items()
    ]
    section.judge(
        LARGE, theirs="O(n log^h n log log n) against n^2", ours=at_web_size_in_words(ways),
        holds=[*holds, *fitted_holds],
        why="k is extrapolated from Figure 5(a) by its growth with t",
    )  # fmt: skip
    head = ["8 x 10^9 pages", "memory, GB", "a query, delays of the plan, us", "fitted delays, us"]
    section.table(head, rows)
    picture = draw(world, depths, seconds, every, (fives, batched, rates, ways), delays)
    section.pictures.append((picture, "Model and measurements"))
    return section


PSM = {"PSM, T' = 2, all": False, "PSM, T' = 2, first": True}


def in_words(delays: Delays) -> str:
    """Return the delays of the model."""
    return (
        f"memory {delays.memory * 1e9:.1f} ns, comparing {delays.compare * 1e9:.2f} ns, permuting"
        f" {delays.permute * 1e9:.1f} ns, a flip {delays.flip * 1e9:.1f} ns"
    )


def at_web_size_in_words(ways: Mapping[str, tuple[float, float]]) -> str:
    """Return how much faster and smaller PSM with T' = 2 is than both BPHS."""
    size, seconds = next(way for name, way in ways.items() if name.startswith("PSM, T' = 2"))
    return ", ".join(
        f"x {ways[name][1] / seconds:,.3g} faster and x {ways[name][0] / size:,.2g} smaller than"
        f" {name}"
        for name in LAYOUTS
    )


def bphs_seconds(depth: float, name: str, delays: Delays) -> float:
    """Return (9)."""
    blocks, leading = LAYOUTS[name]
    return cost.bphs(2.0**depth, blocks=blocks, leading=leading, delays=delays).seconds


def psm_seconds(depth: float, header_bits: float, attempts: float, delays: Delays) -> float:
    """Return (19), which is (21) for header_bits = depth."""
    k = max(attempts, 1) + 1
    return cost.psm(2.0**depth, header_bits=header_bits, attempts=k, delays=delays).seconds


def fitted(
    depths: Sequence[int],
    seconds: Mapping[str, Sequence[float]],
    attempts: Mapping[str, Sequence[int]],
) -> Delays:
    """Return the delays that fit the times best, by least squares of relative errors."""
    rows: list[list[float]] = []
    for name, (blocks, leading) in LAYOUTS.items():
        for depth, measured in zip(depths, seconds[f"{name}, all"], strict=True):
            tables = math.comb(blocks, leading)
            bits = min(leading * 64 / blocks, depth)
            parts = [tables, tables * bits, tables * 2.0 ** (depth - bits), 0.0]
            rows.append([part / measured for part in parts])
    for name, counts in attempts.items():
        for _, k, measured in zip(depths, counts, seconds[name], strict=False):
            k = max(k, 1) + 1
            parts = [0.0, k, k, k * math.log2(k)]
            rows.append([part / measured for part in parts])
    permute, memory, compare, flip = cost.nonnegative(np.array(rows), np.ones(len(rows)))
    return Delays(memory=memory, compare=compare, permute=permute, flip=flip)


def batch_rates(
    facts: Mapping[str, Any], counts: Sequence[int], depths: Sequence[int], delays: Delays
) -> dict[str, tuple[list[float], list[float]]]:
    """Return the measured rates of each batch of Figure 9(a), and the rates by (17) and (23)."""
    rows = facts["by batch"]
    measured: dict[str, list[float]] = {name: [row[name] for row in rows.values()]
                                        for name in ("PSM, all", "BPHS")}  # fmt: skip
    model: dict[str, list[float]] = {name: [] for name in measured}
    for size in rows:
        k = max(float(np.interp(math.log2(size), depths, counts)), 1) + 1
        given: Any = {"batch": float(size), "bytes_per_second": 1e15, "delays": delays}
        count = float(facts["file"])
        model["PSM, all"].append(1 / cost.psm_batch(count, attempts=k, **given).seconds)
        model["BPHS"].append(1 / cost.bphs_batch(count, blocks=4, leading=1, **given).seconds)
    return {name: (measured[name], model[name]) for name in measured}


def at_web_size(
    facts: Mapping[str, Any], delays: Delays
) -> tuple[dict[str, tuple[float, float]], list[bool]]:
    """Return GB and seconds a page of each way to search 8 x 10^9 pages.

    Also return whether PSM needs less time and memory than BPHS with 4 and with 10 tables.
    """
    widths, counts = facts["widths"], facts["attempts"][False]
    slope, start = np.polyfit(np.log(widths), np.log(np.maximum(counts, 1)), 1)
    depth = math.log2(PAGES)
    k, k_short, k_batch = (
        float(np.exp(start + slope * np.log(each))) for each in (depth, depth - 4, math.log2(BATCH))
    )
    _, best = cost.best_bphs(PAGES, distance=3, delays=delays, tables_max=64)
    psm = cost.psm(PAGES, header_bits=depth, attempts=k, delays=delays)
    others = {
        name: cost.bphs(PAGES, blocks=blocks, leading=lead, delays=delays)
        for name, (blocks, lead) in LAYOUTS.items()
    }
    given: Any = {"batch": BATCH, "bytes_per_second": DISK, "delays": delays}
    every = {
        **others, "BPHS, fastest up to 64 tables": best,
        f"PSM, T' = 2, k = {k:.0f}": psm,
        f"PSM, T' = 1.06, k = {k_short:.0f}":
            cost.psm(PAGES, header_bits=depth - 4, attempts=k_short, delays=delays),
        "BPHS, T = 4, batches of 10M": cost.bphs_batch(PAGES, blocks=4, leading=1, **given),
        f"PSM, batches of 10M, k = {k_batch:.0f}":
            cost.psm_batch(PAGES, attempts=k_batch, **given),
    }  # fmt: skip
    ways = {name: (way.size_bytes / 1e9, way.seconds) for name, way in every.items()}
    plan = plan_without_database(
        simdb.Options(), PAGES, Question(distance=3, recall=0.95), has_weights=False, memory=ENOUGH
    )
    name = f"simdb's plan ({plan.method}, {plan.tables} tables)"
    ways[name] = (plan.bytes_per_document * PAGES / 1e9, plan.cost_seconds)
    holds = [
        psm.seconds < way.seconds and psm.size_bytes < way.size_bytes for way in others.values()
    ]
    return ways, holds


def draw(
    world: World, depths: Sequence[int], seconds: Mapping[str, Sequence[float]],
    every: Mapping[str, Sequence[float]], others: tuple[Any, Any, Any, Any], delays: Delays,
) -> str:  # fmt: skip
    """Draw the model as lines and the measurements as points, and what 8 x 10^9 pages need."""
    fives, batched, rates, ways = others
    figure, panels = pictures.begun(
        "(a) (9), (14), (21) over Figure 7", "(b) (19) over Figure 5(b)",
        "(c) (17), (23) over Figure 9(a)", "(d) a query of 8 x 10^9 pages",
    )  # fmt: skip
    colours = (pictures.THEIRS, pictures.RED, pictures.OURS, pictures.OTHER)
    for (name, values), colour in zip(every.items(), colours, strict=True):
        panels[0].plot(depths, [v * 1e6 for v in values], "-", color=colour, label=name)
        panels[0].plot(depths, [v * 1e6 for v in seconds[name]], "o", color=colour)
    pictures.label(panels[0], "d = log2 n (lines: model)", "microseconds a query", logs="y")
    widths = fives["widths"]
    for is_first, name, colour in ((False, "all", pictures.OURS), (True, "first", pictures.OTHER)):
        model = [
            psm_seconds(widths[-1], t, k, delays) * 1e6
            for t, k in zip(widths, fives["attempts"][is_first], strict=True)
        ]
        panels[1].plot(widths, model, "-", color=colour, label=f"PSM, {name}")
        panels[1].plot(widths, [s * 1e6 for s in fives["seconds"][is_first]], "o", color=colour)
    pictures.label(panels[1], "t, bits of the header (lines: model)", "microseconds", logs="y")
    sizes = list(rates["by batch"])
    for (name, (found, model)), colour in zip(
        batched.items(), (pictures.OURS, pictures.THEIRS), strict=True
    ):
        panels[2].plot(sizes, model, "-", color=colour, label=name)
        panels[2].plot(sizes, found, "o", color=colour)
    pictures.label(
        panels[2], "m, documents of a batch (lines: model)", "documents a second", logs="xy"
    )
    draw_sizes(panels[3], {name: way for name, way in ways.items() if "batch" not in name})
    return pictures.write(figure, world.folder, "cost-model", panels)


def draw_sizes(axes: Axes, ways: Mapping[str, tuple[float, float]]) -> None:
    """Draw time against memory, with the name of each way next to its point."""
    for name, (size, seconds) in ways.items():
        is_bphs, is_psm = name.startswith("BPHS"), name.startswith("PSM")
        colour = pictures.THEIRS if is_bphs else pictures.OURS if is_psm else pictures.OTHER
        axes.plot(size, seconds * 1e6, "o", color=colour)
        axes.annotate(
            name.split(" (")[0].removesuffix(" up to 64 tables"), (size, seconds * 1e6),
            textcoords="offset points", xytext=(6, 4), fontsize=8,
        )  # fmt: skip
    pictures.label(axes, "memory, GB", "microseconds a query", logs="xy")
    axes.set_xlim(50, 8_000)
    axes.margins(y=0.12)
