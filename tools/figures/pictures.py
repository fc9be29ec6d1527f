"""Pictures: draws axes in one style, and writes the same SVG for the same data."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

mpl.rcParams |= {
    "svg.hashsalt": "simdb", "svg.fonttype": "none", "font.size": 9,
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True,
    "grid.color": "#e4e4e4", "grid.linewidth": 0.8, "legend.frameon": False,
    "lines.linewidth": 1.6, "lines.markersize": 4,
}  # fmt: skip
METADATA = {"Date": None, "Creator": None}
OURS, THEIRS, OTHER, FOURTH, GREY = "#1f6fb4", "#d9820f", "#1c8a4c", "#9a4fb5", "#888888"
RED = "#b23a48"


def begun(*titles: str, height: float = 3.4, width: float = 3.8) -> tuple[Figure, list[Axes]]:
    """Return a figure with one panel for each title: four in two rows, fewer side by side."""
    columns = 2 if len(titles) == 4 else len(titles)
    rows = len(titles) // columns
    size = max(width * columns, 5.2), height * rows
    figure = Figure(figsize=size, layout="constrained")
    panels: list[Axes] = list(figure.subplots(rows, columns, squeeze=False).ravel())
    for axes, title in zip(panels, titles, strict=True):
        axes.set_title(title, loc="left", fontsize=9)
        axes.set_axisbelow(True)
    return figure, panels


def label(axes: Axes, across: str, up: str, *, logs: str = "") -> None:
    """Name both axes; `logs`: "x", "y" or "xy" are logarithmic."""
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.set(**{f"{letter}scale": "log" for letter in logs})


def write(figure: Figure, folder: Path, name: str, panels: Sequence[Axes]) -> str:
    """Write `name`.svg, with a legend in each panel with labelled lines; return its file name."""
    folder.mkdir(parents=True, exist_ok=True)
    for axes in panels:
        if axes.get_legend() is None and axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize=8)
    path = folder / f"{name}.svg"
    figure.savefig(path, metadata=METADATA)
    # matplotlib ends some lines with a blank.
    lines = path.read_text().splitlines()
    path.write_text("\n".join(line.rstrip() for line in lines) + "\n")
    return path.name
