"""Draw records of `speed.py` as SVG, one picture for each task; needs matplotlib.

    python tools/bench/draw.py speed.json docs/growth --growth 60M/speed.json

A picture claims how the time of each method grows: a straight line has a constant exponent, and the
grey lines show time in proportion to n.  `--growth` takes records of insertions and draws the
rate, the longest commit and the memory of every million.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

# Equal input makes equal files: no date, and the same names of parts.
mpl.rcParams |= {
    "svg.hashsalt": "simdb", "svg.fonttype": "none", "font.size": 9, "axes.spines.top": False,
    "axes.spines.right": False, "axes.titlelocation": "left", "legend.frameon": False,
}  # fmt: skip
METADATA = {"Date": None, "Creator": None}
TASKS = {
    "one query": "one query",
    "batch": "one query of a batch of 10,000",
    "all pairs": "all pairs",
    "one document": "inserting one document of a batch of 100,000",
}
GROWTH = {
    "rate": "documents inserted a second",
    "longest": "longest commit, seconds",
    "anonymous": "anonymous memory, bytes",
}

Points = list[tuple[float, float]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("curves", type=Path, help="speed.json")
    parser.add_argument("target", type=Path, help="folder of the pictures")
    parser.add_argument("--processor", action="store_true", help="draw processor time if known")
    parser.add_argument("--growth", type=Path, nargs="*", default=[], help="more of speed.json")
    arguments = parser.parse_args()
    arguments.target.mkdir(parents=True, exist_ok=True)
    rows, is_processor = rows_of(arguments.curves), arguments.processor
    for task, label in TASKS.items():
        path = arguments.target / f"growth-{task.replace(' ', '-')}.svg"
        draw(lines_of(rows, task, is_processor), label, path, is_log=True)
    grown = [row for path in arguments.growth for row in rows_of(path) if "millions" in row]
    for name, label in GROWTH.items():
        lines = {row["label"]: millions(row["millions"], name, is_processor) for row in grown}
        draw(lines, label, arguments.target / f"insertion-{name}.svg")


def rows_of(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(path.read_text())["rows"]
    return rows


def lines_of(rows: list[dict[str, Any]], task: str, is_processor: bool) -> dict[str, Points]:
    """Return the points (documents, seconds) of each method for one task."""
    lines = defaultdict(list)
    for row in (row for row in rows if row.get("task") == task):
        is_other = row["kind"] == "signatures" and row["method"] != "banding"
        prefix = "signatures, " if is_other else ""
        seconds = row["each_processor" if is_processor else "each_seconds"]
        lines[prefix + row["method"]].append((row["count"], seconds))
    return dict(lines)


def millions(rows: list[dict[str, Any]], name: str, is_processor: bool) -> Points:
    """Return the points (documents, figure) of one record of growth."""
    kind = ("processor", "longest_processor") if is_processor else ("seconds", "longest")
    return [
        (row["stored"], {"rate": row["documents"] / row[kind[0]], "longest": row[kind[1]],
                         "anonymous": row["anonymous_bytes"]}[name])
        for row in rows if row["documents"]
    ]  # fmt: skip


def draw(lines: Mapping[str, Points], label: str, path: Path, *, is_log: bool = False) -> None:
    """Draw lines, on logarithmic axes or from zero; nothing if there are none."""
    if not lines:
        return
    figure = Figure(figsize=(7.0, 4.2), layout="constrained")
    axes = figure.add_subplot(title=label, xlabel="documents stored")
    for name, points in lines.items():
        axes.plot(*zip(*points, strict=True), marker="o" if is_log else None, ms=3, label=name)
    if is_log:
        axes.set(xscale="log", yscale="log")
        low, high = axes.get_ylim()
        reach = np.array(axes.get_xlim())
        for exponent in range(-15, 3):
            axes.plot(reach, reach * 10.0**exponent, color="#e4e4e4", linewidth=0.8, zorder=0)
        axes.set(xlim=reach, ylim=(low, high))
    else:
        axes.set(xlim=(0, None), ylim=(0, None))
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.yaxis.set_major_formatter(EngFormatter("s" if is_log else ""))
    axes.legend()
    figure.savefig(path, metadata=METADATA)
    print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
