"""Figure 2: the heaps of flip sets for one, two and three bits."""

import pictures
from claim import Claim, Section
from scene import World
from simdb.core.kernel import flip_set_children as children

LEVELS = 5
Node = tuple[int, ...]
SAME = Claim(
    "Sood & Loguinov, Figure 2",
    "The top five levels of the heaps for h = 1, 2, 3 have these 5, 9 and 11 sets.",
    "`kernel.flip_set_children` makes the same sets, no others, and none twice.",
)
THEIRS = {
    1: "1 2 3 4 5",
    2: "12 13 14 23 15 24 16 25 34",
    3: "123 124 125 134 126 135 234 127 136 145 235",
}


def run(world: World) -> Section:
    """Grow the three heaps and compare them with the figure."""
    heaps = {bits: grown(bits) for bits in THEIRS}
    made = {bits: [node for level in heap for node in level] for bits, heap in heaps.items()}
    same = [
        {"".join(map(str, node)) for node in made[bits]} == set(THEIRS[bits].split())
        and len(made[bits]) == len(set(made[bits]))
        for bits in THEIRS
    ]
    section = Section("Figure 2: heaps of flip sets", "Ranks of bits, the most volatile is 1.")
    section.judge(
        SAME, theirs=", ".join(str(len(sets.split())) for sets in THEIRS.values()) + " sets",
        ours=", ".join(str(len(sets)) for sets in made.values()) + " sets",
        holds=same, why="Algorithm 2 is followed to the letter",
    )  # fmt: skip
    section.pictures.append((draw(world, heaps), "Heaps of flip sets"))
    return section


def grown(bits: int) -> list[list[Node]]:
    """Return the levels of the heap of sets of `bits` bits, as ranks from 1 on."""
    levels = [[tuple(range(1, bits + 1))]]
    while len(levels) < LEVELS:
        levels.append([child for node in levels[-1] for child in _children(node)])
    return levels


def _children(node: Node) -> list[Node]:
    """Return the sets that Algorithm 2 makes from a set, as ranks from 1 on."""
    made = children(tuple(rank - 1 for rank in node), 64)
    return [tuple(rank + 1 for rank in child) for child in made]


def draw(world: World, heaps: dict[int, list[list[Node]]]) -> str:
    """Draw each heap as a tree."""
    figure, panels = pictures.begun(*(f"h = {bits}" for bits in heaps), width=2.8)
    for axes, levels in zip(panels, heaps.values(), strict=True):
        axes.set_axis_off()
        places = {}
        for depth, level in enumerate(levels):
            for column, node in enumerate(level):
                places[node] = ((column + 0.5) / len(level), -depth)
        for node, (x, y) in places.items():
            for child in filter(places.__contains__, _children(node)):
                axes.plot([x, places[child][0]], [y, places[child][1]], color=pictures.GREY,
                          linewidth=0.8)  # fmt: skip
        for node, (x, y) in places.items():
            axes.text(
                x, y, ",".join(map(str, node)), ha="center", va="center", fontsize=8,
                bbox={"facecolor": "white", "edgecolor": pictures.OURS, "pad": 2},
            )  # fmt: skip
        axes.set_xlim(0, 1)
    return pictures.write(figure, world.folder, "figure-2", panels)
