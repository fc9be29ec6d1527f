"""The blog on Manku, Jain & Das Sarma 2007: 4 tables of 16 bits against 16 tables of 28 bits."""

from arena import arena
from claim import Claim, Section
from paper import Bphs, by_blocks, nested
from scene import World

TRADE = Claim(
    "Blog (Manku, Jain & Das Sarma)",
    "4 tables leave 2^(d - 16) fingerprints to compare in each, 16 tables 2^(d - 28).",
    "Both find every match within 3 bits, and 16 tables are faster wherever 4 n / 2^16 comparisons"
    " cost more than 12 more binary searches: at n = 2^24 by a factor of 1.2 or more.",
)
DEPTH = 24  # of the claim
LAYOUTS = {"4 tables, 16 bits": by_blocks(4, 1), "16 tables, 28 bits": nested(4)}


def run(world: World) -> Section:
    """Time both layouts, and count their matches."""
    depth = min(world.sizes.fingerprints.bit_length() - 1, DEPTH)
    section = Section("Blog: 4 against 16 tables", "The paper's BPHS, all matches, one core.")
    rows, times, matches = [], {}, {}
    sizes = [depth - 4, depth - 2, depth]
    for each in sizes:
        place = arena(world, 1 << each)
        for name, layout in LAYOUTS.items():
            tables = Bphs(place.bits, layout)
            found = place.fastest(place.by_bphs(world.sizes.bphs_queries, tables, first=False))
            times[name, each], matches[name, each] = found.seconds, found.matches
            scanned = len(layout) * 2.0 ** (each - tables.header_bits)
            cost = f"{found.seconds * 1e6:,.2f}", f"{len(layout) * 8} bytes"
            rows.append([f"2^{each}", name, f"{scanned:,.3g}", *cost])
    names = list(LAYOUTS)
    factor = times[names[0], depth] / times[names[1], depth]
    section.judge(
        TRADE, theirs=f"{2.0 ** (depth - 16):,.0f} against {2.0 ** (depth - 28):.2g} a table",
        ours=f"16 tables are x {factor:.2f} as fast as 4 at n = 2^{depth}",
        holds=[matches[names[0], each] == matches[names[1], each] for each in sizes]
        + [factor >= 1.2],
        why="a binary search outside the cache costs as much as a scan of some hundred neighbours",
    )  # fmt: skip
    head = ["n", "tables", "scanned for a query", "microseconds", "memory a document"]
    section.table(head, rows, is_detail=True)
    return section
