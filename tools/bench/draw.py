"""Draw records of `speed.py` as SVG, one picture for each task; needs matplotlib.

    python tools/bench/draw.py build/bench/speed.json docs/growth --growth build/bench/growth.json

A picture claims how the time of each method grows: a straight line has a constant exponent, and the
grey lines show time in proportion to n.  `--growth` takes records of `growth.py` and draws the rate
of insertion, the longest commit and the memory of every million.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, NullFormatter

# Equal input makes equal files: no date, and the same names of parts.
mpl.rcParams |= {"svg.hashsalt": "simdb", "svg.fonttype": "none", "font.size": 9}
METADATA = {"Date": None, "Creator": None}
INCHES = 7.0, 4.2
COLOURS = {
    "exhaustive": "#888888", "bphs": "#1f6fb4", "psm": "#d9820f", "multiprobe": "#9a4fb5",
    "polytope": "#1c8a4c", "rotation": "#b23a48", "banding": "#7a5a2b", "insert": "#1f6fb4",
    "signatures, exhaustive": "#bbbbbb", "signatures, insert": "#7a5a2b",
}  # fmt: skip
TASKS = {
    "one query": "one query",
    "batch": "one query of a batch of 10,000",
    "all pairs": "all pairs",
    "one document": "inserting one document of a batch of 100,000",
}
GROWTH = {
    "rate": "documents inserted a second",
    "longest": "longest commit, seconds",
    "anonymous_bytes": "anonymous memory, bytes",
}

Points = list[tuple[float, float]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("curves", type=Path, help="speed.json")
    parser.add_argument("target", type=Path, help="folder of the pictures")
    parser.add_argument("--processor", action="store_true", help="draw processor time if known")
    parser.add_argument("--growth", type=Path, nargs="*", default=[], help="growth.json")
    arguments = parser.parse_args()
    arguments.target.mkdir(parents=True, exist_ok=True)
    rows = rows_of(arguments.curves)
    for task, label in TASKS.items():
        lines = lines_of(rows, task, is_processor=arguments.processor)
        if lines:
            draw(lines, label, arguments.target / f"growth-{task.replace(' ', '-')}.svg")
    grown = [row for path in arguments.growth for row in rows_of(path) if "millions" in row]
    for name, label in GROWTH.items():
        lines = {
            row["label"]: millions(row["millions"], name, is_processor=arguments.processor)
            for row in grown
        }
        if lines:
            draw_linear(lines, label, arguments.target / f"insertion-{name.split('_')[0]}.svg")


def rows_of(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(path.read_text())["rows"]
    return rows


def lines_of(
    rows: Iterable[Mapping[str, Any]], task: str, *, is_processor: bool
) -> dict[str, Points]:
    """Return the points (documents, seconds) of each method for one task."""
    lines = defaultdict(list)
    for row in rows:
        if row.get("task") == task:
            name = row["method"]
            if row["kind"] == "signatures" and name != "banding":
                name = f"signatures, {name}"
            lines[name].append(
                (row["count"], row["each_processor" if is_processor else "each_seconds"])
            )
    return dict(lines)


def millions(rows: Iterable[Mapping[str, Any]], name: str, *, is_processor: bool) -> Points:
    """Return the points (documents, figure) of one record of growth."""
    seconds, longest = (
        ("processor", "longest_processor") if is_processor else ("seconds", "longest")
    )
    points, stored = [], 0
    for row in rows:
        stored += row["documents"]
        if row["documents"]:
            figures = {
                "rate": row["documents"] / row[seconds],
                "longest": row[longest],
                "anonymous_bytes": row["anonymous_bytes"],
            }
            points.append((stored, figures[name]))
    return points


def draw(lines: Mapping[str, Points], label: str, path: Path) -> None:
    """Draw lines on two logarithmic axes."""
    figure, axes = begun(label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    values = [seconds for points in lines.values() for _, seconds in points]
    counts = [count for points in lines.values() for count, _ in points]
    low, high = min(values) / 1.6, max(values) * 1.6
    reach = np.array([min(counts), max(counts)], float)
    exponents = range(int(np.log10(low / reach[1])) - 1, int(np.log10(high / reach[0])) + 2)
    for exponent in exponents:
        axes.plot(reach, reach * 10.0**exponent, color="#e4e4e4", linewidth=0.8, zorder=0)
    for name, points in lines.items():
        axes.plot(
            *zip(*points, strict=True), color=COLOURS.get(name, "#333333"), marker="o", markersize=3
        )
    axes.yaxis.set_major_formatter(EngFormatter("s"))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.set_ylim(low, high)
    axes.set_xlim(reach[0] / 1.1, reach[1] * 1.1)
    name_lines(axes, lines, np.log10(high / low))
    finish(figure, path)


def draw_linear(lines: Mapping[str, Points], label: str, path: Path) -> None:
    """Draw lines from zero."""
    figure, axes = begun(label)
    for name, points in lines.items():
        axes.plot(*zip(*points, strict=True), label=name)
    axes.yaxis.set_major_formatter(EngFormatter())
    axes.set_ylim(0)
    axes.set_xlim(0)
    axes.legend(frameon=False)
    finish(figure, path)


def begun(label: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=INCHES, layout="constrained")
    axes = figure.add_subplot()
    axes.set_xlabel("documents stored")
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.set_title(label, loc="left", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def name_lines(axes: Axes, lines: Mapping[str, Points], decades: float) -> None:
    """Write the name of each line beside its last point, names apart from each other."""
    gap = decades / 20
    ends = sorted((np.log10(points[-1][1]), name) for name, points in lines.items())
    taken: dict[float, float] = {}  # the height of the last name beside each number of documents
    for end, name in ends:
        count = lines[name][-1][0]
        height = taken[count] = max(end, taken.get(count, -np.inf) + gap)
        axes.annotate(
            name,
            (count, 10**height),
            xytext=(6, 0),
            textcoords="offset points",
            color=COLOURS.get(name, "#333333"),
            va="center",
            annotation_clip=False,
        )


def finish(figure: Figure, path: Path) -> None:
    figure.savefig(path, metadata=METADATA)
    print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
