"""Figure 3: the number of flip sets that are tried until one finds a near-duplicate.

The pairs of fingerprints differ in exactly h bits.  The number of attempts is the rank of the
differing bits among all sets of h bits, in the order of VOSH.  Weights are exact, or in 4 bits as a
database stores them.  At random, without repetition, a share r of the pairs is found after
r C(64, h) attempts.
"""

import itertools
import math

import numpy as np
import numpy.typing as npt

import generated
import pictures
from claim import Claim, Section
from scene import World
from simdb.plan import volatility
from simdb.plan.recall import stored_weights

I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]
SHARES = (0.5, 0.8, 1.0)
# For 80 % at h = 1: four flips of Figure 3(a), where random ones need 52.
THEIRS = {1: (16, 13, 3.7), 2: (37, None, 13), 3: (347, 151, 61)}
THEIRS_ALL = {1: 17, 2: 152, 3: 675}
ONE = Claim(
    "Sood & Loguinov, Figure 3(a)",
    "At h = 1 one flip finds over 30 % of the pairs, 4 flips 80 %, 17 all.",
    "One flip finds 25 % or more, four flips 75 % or more; 17 flips find 99 % or more.",
)
ALL = Claim(
    "Sood & Loguinov, Figure 3(b), (c)",
    "152 attempts at h = 2 and 675 at h = 3 find all pairs.",
    "152 and 675 attempts find 99 % or more of the pairs.",
)
HALF = Claim(
    "Sood & Loguinov, Figure 3(d)",
    "For half of the pairs VOSH needs 16, 37, 347 times fewer attempts than random flips.",
    "Our factors are half of theirs or more.",
)
COMPLETE = Claim(
    "Sood & Loguinov, Figure 3(d)",
    "For all pairs it needs 3.7, 13, 61 times fewer.",
    "Our factors are half of theirs or more.",
)
STORED = Claim(
    "Beyond the paper",
    "Weights stored in 4 bits need not many more attempts than exact ones.",
    "For 50 % and for 95 % of the pairs, stored weights need at most three times the attempts at"
    " each h.",
)
SIMILAR = 0.9
PARTS = (0.5, 0.8, 0.95, 1.0)
EXACT, FOUR_BITS = "exact weights", "stored 4-bit weights"


def run(world: World) -> Section:
    """Count attempts for pairs at each distance, by both kinds of weights."""
    collection, near = world.collection, world.asked
    chosen = {h: near[near[:, 2] == h][: world.sizes.flip_pairs] for h in (1, 2, 3)}
    counted: dict[tuple[str, int], I64] = {}
    similar: dict[int, I64] = {}
    for name, price in prices(world).items():
        for h, pairs in chosen.items():
            weights = collection.weights[pairs[:, 0]]
            shown = weights if name == EXACT else stored_weights(weights)
            levels = volatility.levels(np.asarray(shown, np.float32))
            differing = collection.bits[pairs[:, 0]] ^ collection.bits[pairs[:, 1]]
            found = ranks(price[levels], differing, h)
            counted[name, h] = np.sort(found)
            if name == EXACT:
                cosines = collection.cosines(pairs[:, 0], pairs[:, 1])
                similar[h] = np.sort(found[cosines >= SIMILAR])
    section = Section(
        "Figure 3: attempts of VOSH",
        ", ".join(f"{len(pairs):,} pairs at distance {h}" for h, pairs in chosen.items())
        + "; the other half of the pairs taught the volatility.",
    )
    judge(section, counted)
    section.table(
        [f"pairs of exact cosine {SIMILAR} or more", "50 %", "80 %", "95 %", "all"],
        [[f"h = {h}, {len(each):,} pairs", *(f"{at(each, s):,}" for s in PARTS)]
         for h, each in similar.items()],
        is_detail=True,
    )  # fmt: skip
    section.table(
        ["h", "found", "theirs", EXACT, FOUR_BITS, "at random"],
        [
            [str(h), f"{share:.0%}",
             "" if THEIRS[h][place] is None else f"x {THEIRS[h][place]}",
             *(in_words(counted[name, h], share, h) for name in (EXACT, FOUR_BITS)),
             f"{math.ceil(share * math.comb(64, h)):,}"]
            for h in chosen for place, share in enumerate(SHARES)
        ],
        is_detail=True,
    )  # fmt: skip
    section.pictures.append((draw(world, counted), "Attempts until a pair is found"))
    return section


def prices(world: World) -> dict[str, F64]:
    """Return the prices of flips at each level, by exact and by stored weights."""
    weights, learnt = world.collection.weights, world.learnt
    sides = [np.asarray(stored_weights(weights[learnt[:, side]]), np.float32) for side in (0, 1)]
    stored = volatility.fit(*sides, documents=len(weights), distance=3, step=volatility.STORED_STEP)
    return {EXACT: world.prices, FOUR_BITS: generated.prices_of(stored)}


def ranks(costs: F64, differing: npt.NDArray[np.uint64], bits: int) -> I64:
    """Return the rank from 1 on of each set of differing bits among all sets of `bits` bits.

    Sets of equal cost come in a fixed order, so that half of them are before a set in the mean.
    """
    sets = np.array(list(itertools.combinations(range(64), bits)))
    is_set = (differing[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1) == 1
    own = np.where(is_set, costs, 0.0).sum(axis=1)
    found = np.empty(len(costs), np.int64)
    for at_pair in range(len(costs)):
        every = costs[at_pair][sets].sum(axis=1)
        less = int((every < own[at_pair] - 1e-9).sum())
        equal = int((np.abs(every - own[at_pair]) <= 1e-9).sum())
        found[at_pair] = less + (equal + 1) // 2
    return found


def at(counted: I64, share: float) -> int:
    """Return the number of attempts that find a share of the pairs."""
    return int(counted[math.ceil(share * len(counted)) - 1]) if len(counted) else 0


def factor(counted: I64, share: float, bits: int) -> float:
    """Return the factor by which attempts are fewer than at random."""
    return math.ceil(share * math.comb(64, bits)) / max(at(counted, share), 1)


def in_words(counted: I64, share: float, bits: int) -> str:
    """Return the attempts, and the factor by which they are fewer than at random."""
    return f"{at(counted, share):,} (x {factor(counted, share, bits):.3g})"


def within(counted: I64, attempts: int) -> float:
    """Return the share of the pairs found by a number of attempts."""
    return float((counted <= attempts).mean()) if len(counted) else 0.0


def judge(section: Section, counted: dict[tuple[str, int], I64]) -> None:
    """Add the verdicts, by exact weights as in the paper."""
    one = [within(counted[EXACT, 1], attempts) for attempts in (1, 4, 17)]
    section.judge(
        ONE, theirs="30 %, 80 %, 100 %", ours=", ".join(f"{share:.1%}" for share in one),
        holds=[one[0] >= 0.25, one[1] >= 0.75, one[2] >= 0.99],
        why="the order of the weights says which bit flips",
    )  # fmt: skip
    every = [within(counted[EXACT, h], THEIRS_ALL[h]) for h in (2, 3)]
    section.judge(
        ALL, theirs="100 % and 100 %", ours=" and ".join(f"{share:.1%}" for share in every),
        holds=[share >= 0.99 for share in every],
        why="pairs near by accident flip bits of large weight, too",
    )  # fmt: skip
    for claim, share, why in (
        (HALF, 0.5, "most pairs differ in their most volatile bits"),
        (COMPLETE, 1.0, "one pair that is near by accident decides"),
    ):
        factors = {h: factor(counted[EXACT, h], share, h) for h in (1, 2, 3)}
        theirs = {h: THEIRS[h][SHARES.index(share)] for h in factors}
        section.judge(
            claim, theirs=", ".join(f"x {value}" for value in theirs.values()),
            ours=", ".join(f"x {value:.3g}" for value in factors.values()),
            holds=[factors[h] >= theirs[h] / 2 for h in factors], why=why,
        )  # fmt: skip
    costs = {
        share: [at(counted[FOUR_BITS, h], share) / max(at(counted[EXACT, h], share), 1)
                for h in (1, 2, 3)]
        for share in (0.5, 0.95)
    }  # fmt: skip
    section.judge(
        STORED, theirs="-", ours="; ".join(
            f"for {share:.0%}: " + ", ".join(f"x {value:.3g}" for value in values)
            for share, values in costs.items()
        ),
        holds=[value <= 3 for values in costs.values() for value in values],
        why="the bits that flip are in the first of 8 steps of magnitude, where the order is lost",
    )  # fmt: skip


def draw(world: World, counted: dict[tuple[str, int], I64]) -> str:
    """Draw the share of pairs found against attempts, and the factors over random flips."""
    figure, panels = pictures.begun(
        "(a) h = 1", "(b) h = 2", "(c) h = 3", "(d) times fewer than random", height=3.0
    )
    styles = {EXACT: pictures.OURS, FOUR_BITS: pictures.OTHER}
    for axes, h in zip(panels, (1, 2, 3), strict=False):
        every = math.comb(64, h)
        places = np.unique(np.geomspace(1, every, 200).astype(np.int64))
        for name, colour in styles.items():
            found = [within(counted[name, h], place) for place in places]
            axes.step(places, found, where="post", color=colour, label=name)
        axes.plot(places, places / every, ":", color=pictures.GREY, label="at random")
        axes.axvline(THEIRS_ALL[h], color=pictures.THEIRS, linestyle="--", linewidth=1,
                     label="paper: all found")  # fmt: skip
        pictures.label(axes, "attempts", "share of pairs found", logs="x")
        axes.set_ylim(0, 1.02)
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside lower left", ncols=4, fontsize=8,
        frameon=False,
    )  # fmt: skip
    axes = panels[3]
    for share, marker in zip(SHARES, "osv", strict=True):
        ours = [factor(counted[EXACT, h], share, h) for h in (1, 2, 3)]
        axes.plot((1, 2, 3), ours, marker=marker, color=pictures.OURS, label=f"ours, {share:.0%}")
        theirs = {h: THEIRS[h][SHARES.index(share)] for h in (1, 2, 3)}
        known = [h for h, value in theirs.items() if value is not None]
        axes.plot(known, [theirs[h] for h in known], "--", marker=marker,
                  color=pictures.THEIRS, label=f"paper, {share:.0%}")  # fmt: skip
    pictures.label(axes, "h", "", logs="y")
    axes.set_xticks((1, 2, 3))
    axes.set_ylim(top=20_000)
    axes.legend(fontsize=7, ncols=2, loc="upper left")
    return pictures.write(figure, world.folder, "figure-3", panels[3:])
