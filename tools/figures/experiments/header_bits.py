"""Figure 5: flip sets and time against the bits of the header, at 95 % relative recall."""

import itertools

import numpy as np

import pictures
from arena import RECALL, arena
from claim import Claim, Section
from cost_model import attempts_max
from paper import Asked, Bphs, Psm, Searched, by_blocks
from scene import World

GROWS = Claim(
    "Sood & Loguinov, Figure 5(a)",
    "k for 95 % recall grows from 6 to 23 (first match: 3 to 15) from t = 16 to 26.",
    "k never falls as t grows; per 10 bits it grows by a factor of 2 to 8; and at the largest t the"
    " first match needs no more flip sets than all matches.",
)
FASTEST = Claim(
    "Sood & Loguinov, Figure 5(b)",
    "The time is least at t = d.",
    "The time at t = d is at most 1.1 times the least time, and at the least t it is larger.",
)
SPEED = Claim(
    "Sood & Loguinov, Figure 5(b)",
    "At t = d = 26, 765 thousand queries a second (first match: 1,600).",
    "The rate for the first match is larger than for all matches, by a factor of 1.2 to 4.",
)
BOUND = Claim(
    "Sood & Loguinov, equation (20)",
    "k(t) is at most the number of sets of 1 to 3 of t bits, and grows faster than t.",
    "k is at most (20) at each t, and from the least t to the largest k + 1 grows by an exponent of"
    " t of 1 to 3, for all matches and for the first.",
)
DISTANCE = 3
REAL_QUERIES, REAL_MOST = 2_000, 4_096
THEIRS = {False: {16: 6, 26: 23}, True: {16: 3, 26: 15}}


def run(world: World) -> Section:
    """Find k and the time for each t."""
    place = arena(world, world.sizes.fingerprints)
    widths = list(range(max(place.depth - 10, 6), place.depth + 1, 2))
    counts: dict[bool, list[int]] = {True: [], False: []}
    times: dict[bool, list[Searched]] = {True: [], False: []}
    for width in widths:
        psm = place.psm(width)
        for first in (False, True):
            attempts = place.attempts(psm, first=first)
            counts[first].append(attempts)
            times[first].append(place.fastest(place.by_psm(psm, attempts=attempts, first=first)))
    section = Section(
        "Figure 5: bits of the header",
        f"{len(place.bits):,} generated fingerprints, {len(place.queries.bits):,} queries, the"
        " paper's PSM.",
    )
    span = 10 / (widths[-1] - widths[0])
    growth = {f: ((c[-1] + 1) / (c[0] + 1)) ** span for f, c in counts.items()}
    section.judge(
        GROWS, theirs="6 to 23, 3 to 15",
        ours=", ".join(f"{c[0]} to {c[-1]}" for c in (counts[False], counts[True]))
        + f" for t = {widths[0]} to {widths[-1]}",
        holds=[all(a <= b for c in counts.values() for a, b in itertools.pairwise(c)),
               all(2 <= value <= 8 for value in growth.values()),
               counts[True][-1] <= counts[False][-1]],
        why="a longer header holds more volatile bits; how many flip sets that costs depends on Y",
    )  # fmt: skip
    most = [attempts_max(width, DISTANCE) for width in widths]
    powers = [float(np.polyfit(np.log(widths), np.log(np.add(c, 1)), 1)[0])
              for c in (counts[False], counts[True])]  # fmt: skip
    section.judge(
        BOUND, theirs=f"t^3; {most[-1]:,} at t = {widths[-1]}",
        ours=f"t^{powers[0]:.2f} and t^{powers[1]:.2f}; {counts[False][-1]} and"
        f" {counts[True][-1]} at t = {widths[-1]}",
        holds=[all(k <= bound for c in counts.values() for k, bound in zip(c, most, strict=True)),
               all(1 <= power <= 3 for power in powers)],
        why="(20) counts every set of 3 bits; 95 % of the matches are reached by the most volatile"
        " ones",
    )  # fmt: skip
    spent = {f: [each.seconds for each in t] for f, t in times.items()}
    section.judge(
        FASTEST, theirs="t = d", ours=", ".join(
            f"least at t = {widths[s.index(min(s))]}, at t = d x {s[-1] / min(s):.2f}"
            for s in (spent[False], spent[True])
        ),
        holds=[all(s[-1] <= 1.1 * min(s) for s in spent.values()),
               all(s[0] > s[-1] for s in spent.values())],
        why="a scan of a few fingerprints costs less than a look-up of one more header that misses"
        " the cache, so headers a few bits shorter than d are as good",
    )  # fmt: skip
    rates = {f: 1 / s[-1] for f, s in spent.items()}
    section.judge(
        SPEED, theirs="765 and 1,600 thousand/s (x 2.1)",
        ours=f"{rates[False] / 1e3:,.0f} and {rates[True] / 1e3:,.0f} thousand/s"
        f" (x {rates[True] / rates[False]:.2f}) at t = {widths[-1]}",
        holds=1.2 <= rates[True] / rates[False] <= 4,
        why="half of our queries have no match at all, and these try every flip set either way",
    )  # fmt: skip
    real = real_counts(world)
    section.table(
        ["t", *map(str, sorted({*widths, *real}))],
        [
            [name, *(str(known.get(t, "")) for t in sorted({*widths, *real}))]
            for name, known in (
                ("k, all, generated", dict(zip(widths, counts[False], strict=True))),
                ("k, first, generated", dict(zip(widths, counts[True], strict=True))),
                ("k, all, the documents themselves", real),
                ("every set, (20)", dict(zip(widths, most, strict=True))),
            )
        ],
        is_detail=True,
    )
    section.facts = {"widths": widths, "attempts": counts, "seconds": spent}
    section.pictures.append((draw(world, widths, counts, spent, real), "k and time against t"))
    return section


def real_counts(world: World) -> dict[int, int]:
    """Return k for 95 % recall among the distinct fingerprints of the collection, by t."""
    collection = world.collection
    chosen = np.unique(world.asked[:, 0])[:REAL_QUERIES]
    bits, levels = collection.bits[chosen], collection.levels(chosen)
    stored = np.unique(collection.bits)
    # Every query finds itself, which does not count.
    total = Bphs(stored, by_blocks(4, 1)).search(bits).matches - len(bits)
    found = {}
    for width in range(6, len(stored).bit_length(), 2):
        curve = Psm(stored, header_bits=width).curve(
            Asked(bits, levels, world.prices), most=REAL_MOST
        )
        reached = np.flatnonzero(curve - len(bits) >= RECALL * total)
        if len(reached):
            found[width] = int(reached[0])
    return found


def draw(
    world: World,
    widths: list[int],
    counts: dict[bool, list[int]],
    spent: dict[bool, list[float]],
    real: dict[int, int],
) -> str:
    """Draw k and the time of a query."""
    figure, panels = pictures.begun("(a) flip sets for 95 % recall", "(b) time of a query")
    for first, name, colour in ((False, "all", pictures.OURS), (True, "first", pictures.OTHER)):
        panels[0].plot(widths, counts[first], "o-", color=colour, label=f"ours, {name}")
        known = THEIRS[first]
        panels[0].plot(known.keys(), known.values(), "s--", color=pictures.THEIRS,
                       label=f"paper, {name}", markerfacecolor="w" if first else None)  # fmt: skip
        panels[1].plot(widths, [s * 1e6 for s in spent[first]], "o-", color=colour, label=name)
    panels[0].plot(list(real), list(real.values()), "^:", color=pictures.FOURTH,
                   label="our documents, all")  # fmt: skip
    pictures.label(panels[0], "t, bits of the header", "k", logs="y")
    pictures.label(panels[1], "t, bits of the header", "microseconds", logs="y")
    return pictures.write(figure, world.folder, "figure-5", panels)
