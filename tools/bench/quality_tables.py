"""Print the results of `weighting.py` and `exact_cosine.py` as the tables of docs/QUALITY.md.

python tools/bench/quality_tables.py build/bench/weighting.json build/bench/exact_cosine.json
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from corpus import LABELS, MEASURES
from weighting import FILTERS

FEWEST_PAIRS = 20  # a corpus with fewer pairs says too little
DEFAULT = 0.88  # of `Options.similarity`
ONCE = 100  # thresholds in a curve, from 0 to 1
# Settings and thresholds for which precision and recall are printed, too.
POINTS = (("words 3, tf", 0.88), ("words 3, binary", 0.88), ("words 1, tf-idf", 0.9))

LOSSES = (("words 3, tf", "jaccard"), ("words 3, binary", "jaccard"), ("words 1, tf-idf", "tfidf"))

Row = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE.json")
    wholes = [json.loads(path.read_text()) for path in parser.parse_args().files]
    rows = [row for whole in wholes for row in whole["rows"]]
    for truth in MEASURES:
        measured = [row for row in rows if row.get("truth") == truth and row["pairs"]]
        counted = [row for row in measured if row["pairs"] >= FEWEST_PAIRS]
        filtered = [row for row in counted if is_filtered(row)]
        english = [
            row
            for row in counted
            if row["corpus"] in names(filtered) and bare(row) in map(bare, filtered)
        ]
        title = f"{LABELS[truth]} >= {MEASURES[truth][1]}"
        for chosen, what in (
            ([row for row in counted if not is_filtered(row)], "mean"),
            (english, "stop words and stems, mean"),
        ):
            print(f"### {title}: {what} of {len(names(chosen))} corpora\n\n{means(chosen)}\n")
        print(f"### {title}: precision and recall\n\n{points(measured)}\n")
        print(f"### {title}: each corpus, F1 at its best threshold\n\n{each(measured)}\n")
    judged = [row for row in rows if "judged" in row]
    print(f"### Pairs that people have judged\n\n{matrix(judged)}\n")
    print(f"### What the estimate loses\n\n{losses(rows)}\n")
    print(f"### Error of the estimate\n\n{errors(row for row in rows if 'band' in row)}\n")


def is_filtered(row: Row) -> bool:
    return any(name in row["setting"] for name in FILTERS)


def bare(row: Row) -> tuple[str, str]:
    """Return shingles and weights of a row, without its filter."""
    shingles, weighting = row["setting"].split(", ")
    return " ".join(shingles.split()[:2]), weighting


def means(rows: list[Row]) -> str:
    """Make a table of shingles by weightings.

    Each cell has the mean F1 over corpora, all with equal weight, at the best common threshold; in
    brackets at 0.88.
    """
    cells = {}
    for setting in in_order(row["setting"] for row in rows):
        curves = [row["curve"] for row in rows if row["setting"] == setting]
        if len(curves) < len(names(rows)):
            continue  # measured on some corpora only, so its mean cannot be compared
        curve = np.mean(curves, axis=0)
        common = int(np.argmax(curve))
        usual = curve[round(DEFAULT * ONCE)]
        shingles, weighting = setting.split(", ")
        cells[shingles, weighting] = f"{curve[common]:.3f} at {common / ONCE:.2f} ({usual:.3f})"
    weightings = in_order(weighting for _, weighting in cells)
    lines = [
        [shingles, *(cells.get((shingles, weighting), "") for weighting in weightings)]
        for shingles in in_order(shingles for shingles, _ in cells)
    ]
    return markdown(["", *weightings], lines)


def points(rows: list[Row]) -> str:
    """Make a table of F1, precision and recall of each corpus, at POINTS."""
    lines = []
    for corpus in names(rows):
        line = [corpus]
        for setting, threshold in POINTS:
            at = round(threshold * ONCE)
            row = next(row for row in rows if row["corpus"] == corpus and row["setting"] == setting)
            line.append(
                f"{row['curve'][at]:.3f} ({row['precisions'][at]:.3f}, {row['recalls'][at]:.3f})"
            )
        lines.append([*line[:1], f"{row['documents']:,}", f"{row['pairs']:,}", *line[1:]])
    heads = [f"{setting}, at {threshold}" for setting, threshold in POINTS]
    return markdown(["corpus", "documents", "true pairs", *heads], lines)


def each(rows: list[Row]) -> str:
    pairs = {row["corpus"]: row["pairs"] for row in rows}
    table = matrix(rows)
    counts = ["true pairs", *(f"{pairs[name]:,}" for name in names(rows))]
    head, line, *rest = table.splitlines()
    return "\n".join([head, line, f"| {' | '.join(counts)} |", *rest])


def matrix(rows: list[Row]) -> str:
    """Make a table of settings by corpora."""
    corpora = names(rows)
    figures = {(row["setting"], row["corpus"]): row["figure"] for row in rows}
    lines = [
        [setting, *(shown(figures.get((setting, corpus))) for corpus in corpora)]
        for setting in in_order(row["setting"] for row in rows)
    ]
    return markdown(["setting", *corpora], lines, bold=range(1, len(corpora) + 1))


def losses(rows: list[Row]) -> str:
    """Make a table of the best F1 by exact cosines and by stored weights."""
    exact = {
        (row["corpus"], row["setting"], row["exact"]): row["figure"]
        for row in rows
        if "exact" in row
    }
    stored = {
        (row["corpus"], row["setting"], row["truth"]): row["figure"]
        for row in rows
        if "truth" in row
    }
    lines = []
    for corpus in sorted({corpus for corpus, _, _ in exact}):
        line = [corpus]
        for setting, truth in LOSSES:
            key = (corpus, setting, truth)
            line.append(f"{exact[key]:.3f}, {stored[key]:.3f}")
        lines.append(line)
    heads = [f"{setting}: {LABELS[truth]}" for setting, truth in LOSSES]
    return markdown(["corpus", *heads], lines)


def errors(rows: Any) -> str:
    lines = [
        [
            row["corpus"],
            row["setting"],
            f"{row['band'][0]} to {row['band'][1]}",
            f"{row['pairs']:,}",
            f"{row['mean']:+.4f}",
            f"{row['figure']:.4f}",
        ]
        for row in rows
    ]
    return markdown(["corpus", "setting", "cosine", "pairs", "mean error", "deviation"], lines)


def markdown(head: list[str], lines: list[list[str]], *, bold: Any = ()) -> str:
    """Make a table; the highest figure of each column in `bold` is bold."""
    for column in bold:
        highest = max((line[column] for line in lines), default="")
        for line in lines:
            if line[column] == highest:
                line[column] = f"**{line[column]}**"
    ruled = ["---", *("--:" for _ in head[1:])]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ruled, *lines])


def shown(figure: float | None) -> str:
    return "" if figure is None else f"{figure:.3f}"


def names(rows: list[Row]) -> list[str]:
    return sorted({row["corpus"] for row in rows})


def in_order(values: Any) -> list[str]:
    """Return the distinct values, in the order in which they first come."""
    return list(dict.fromkeys(values))


if __name__ == "__main__":
    main()
