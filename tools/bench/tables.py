"""Print the results of benchmarks as Markdown tables.

python tools/bench/tables.py build/bench/*.json

Those of `weighting.py` and `exact_cosine.py`, of `minhash_quality.py` and of `dimensions.py` become
the tables of docs/QUALITY.md, several files of one kind together; any other becomes a table of
docs/BENCHMARKS.md.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from corpus import LABELS, MEASURES
from record import DISTURBED, amount
from simdb.columns.vector_form import width
from weighting import FILTERS

PATHS = ("directory", "corpus", "truth", "folder", "english", "html", "other")

FEWEST_PAIRS = 20  # a corpus with fewer pairs says too little
DEFAULT = 0.88  # of `Options.similarity`
ONCE = 100  # thresholds in a curve, from 0 to 1
# Settings and thresholds for which precision and recall are printed, too.
POINTS = (("words 3, tf", 0.88), ("words 3, binary", 0.88), ("words 1, tf-idf", 0.9))

LOSSES = (
    ("words 3, tf", "jaccard"),
    ("words 3, binary", "jaccard"),
    ("words 1, tf-idf", "tfidf"),
)

# Settings for each truth: shingles of signatures, and the simhash setting beside them.
TASKS = (
    ("jaccard", ", words 3, set", "simhash words 3, binary", 0.88),
    ("tfidf", ", words 1, tf-idf", "simhash words 1, tf-idf", 0.90),
)
USUAL = 0.8  # of `Minhash.usual_similarity`

Row = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE.json")
    kinds: dict[Any, list[Row]] = {}
    for path in parser.parse_args().files:
        whole = json.loads(path.read_text())
        kind = PRINTED.get(path.stem.split("-")[0])
        if kind is None:
            print(table(path.stem, whole))
        else:
            kinds.setdefault(kind, []).extend(whole["rows"])
    for kind, rows in kinds.items():
        kind(rows)


def table(name: str, whole: dict[str, Any]) -> str:
    """Make question, machine and rows of one benchmark."""
    machine, versions = whole["machine"], whole["versions"]
    settings = " ".join(
        f"{key}={value}" for key, value in whole["settings"].items() if is_told(key, value)
    )
    lines = [
        f"### {name}",
        "",
        whole["question"].splitlines()[0],
        "",
        f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gib']:g} GiB,"
        f" {', '.join(machine['instruction_sets'])}; {machine['system']};"
        f" load {machine['load_before'][0]:.1f} to {machine['load_after'][0]:.1f};"
        f" commit {whole['commit']}; {', '.join(f'{key} {versions[key]}' for key in versions)};"
        f" {settings}",
        "",
        "| | figure | unit | median s | best s | |",
        "|---|--:|---|--:|--:|---|",
    ]
    return "\n".join([*lines, *map(row_line, whole["rows"]), ""])


def row_line(row: dict[str, Any]) -> str:
    """Make one row; the share of the processor is given if it was low."""
    seconds = [
        f"{row[key]:.4f}" if key in row else "" for key in ("median_seconds", "best_seconds")
    ]
    share = row.get("processor_share", 1.0)
    notes = [row["note"], f"processor {share:.0%}" if share < DISTURBED else ""]
    cells = [
        row["what"],
        amount(row["figure"]),
        row["unit"],
        *seconds,
        "; ".join(filter(None, notes)),
    ]
    return f"| {' | '.join(cells)} |"


def is_told(key: str, value: Any) -> bool:
    """Return whether a setting says something to a stranger: paths do not."""
    return value is not None and key not in PATHS


def print_weighting(rows: list[Row]) -> None:
    """Print `weighting.py` and `exact_cosine.py` as tables of docs/QUALITY.md."""
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


def print_minhash(rows: list[Row]) -> None:
    """Print `minhash_quality.py` as tables of docs/QUALITY.md."""
    for truth, ending, simhash, usual in TASKS:
        measured = [
            row | {"usual": usual if row["setting"] == simhash else USUAL}
            for row in rows
            if row.get("truth") == truth
            and row["pairs"]
            and (row["setting"] == simhash or row["setting"].endswith(ending))
        ]
        counted = [row for row in measured if row["pairs"] >= FEWEST_PAIRS]
        title = f"{LABELS[truth]} >= {MEASURES[truth][1]}"
        count = len(names(counted))
        print(f"### {title}: mean of {count} collections\n\n{means_of_signatures(counted)}\n")
        print(f"### {title}: each collection\n\n{each_of_signatures(measured)}\n")
    banded = [row for row in rows if "band" in row]
    print(f"### Error of the estimate\n\n{errors_of_signatures(banded)}")


def means_of_signatures(rows: list[Row]) -> str:
    """Return F1 by one threshold for all collections, by the usual one, and by the best of each."""
    lines = []
    for setting in in_order(row["setting"] for row in rows):
        chosen = [row for row in rows if row["setting"] == setting]
        curve = np.mean([row["curve"] for row in chosen], axis=0)
        common = int(np.argmax(curve))
        usual = chosen[0]["usual"]
        lines.append(
            [
                setting,
                str(chosen[0]["bytes"]),
                f"{curve[common]:.3f} at {common / ONCE:.2f}",
                f"{curve[round(usual * ONCE)]:.3f} at {usual:.2f}",
                f"{np.mean([row['figure'] for row in chosen]):.3f}",
            ]
        )
    heads = [
        "bytes",
        "one threshold for all",
        "the default threshold",
        "the best of each",
    ]
    return markdown(["setting", *heads], lines)


def each_of_signatures(rows: list[Row]) -> str:
    """Return F1 of each collection at its best threshold, in brackets at the usual one."""
    lines = []
    settings = in_order(row["setting"] for row in rows)
    for corpus in names(rows):
        found = {row["setting"]: row for row in rows if row["corpus"] == corpus}
        cells = [
            f"{row['figure']:.3f} ({row['curve'][round(row['usual'] * ONCE)]:.3f})"
            for row in map(found.__getitem__, settings)
        ]
        lines.append([corpus, f"{found[settings[0]]['pairs']:,}", *cells])
    return markdown(["collection", "true pairs", *settings], lines)


def errors_of_signatures(rows: list[Row]) -> str:
    """Return mean errors; corpora have equal weight, and deviations are root mean squares."""
    lines = []
    for setting in in_order(row["setting"] for row in rows):
        for low, high in in_order(tuple(row["band"]) for row in rows):
            chosen = [
                row for row in rows if row["setting"] == setting and row["band"] == [low, high]
            ]
            of = {
                name: np.array([row[name] for row in chosen])
                for name in ("mean", "standard_error", "figure", "expected")
            }
            error = np.sqrt((of["standard_error"] ** 2).sum()) / len(chosen)
            beyond = (abs(of["mean"]) > 3 * of["standard_error"]).sum()
            lines.append(
                [
                    setting,
                    f"{low} to {high}",
                    str(len(chosen)),
                    f"{of['mean'].mean():+.4f} ({error:.4f})",
                    str(beyond),
                    f"{np.sqrt((of['figure'] ** 2).mean()):.4f}",
                    f"{np.sqrt((of['expected'] ** 2).mean()):.4f}",
                ]
            )
    heads = ["Jaccard", "collections", "mean error (its standard error)",
             "beyond three standard errors", "deviation", "of independent minima"]  # fmt: skip
    return markdown(["setting", *heads], lines)


def print_dimensions(rows: list[Row]) -> None:
    """Print `dimensions.py` as tables of docs/QUALITY.md."""
    measured = [
        row | {"usual": DEFAULT, "bytes": width(int(row["setting"].split()[0]))}
        for row in rows
        if row.get("truth") == "jaccard" and row["pairs"]
    ]
    counted = [row for row in measured if row["pairs"] >= FEWEST_PAIRS]
    title = f"{LABELS['jaccard']} >= {MEASURES['jaccard'][1]}"
    print(
        f"### {title}: mean of {len(names(counted))} collections\n\n"
        f"{means_of_signatures(counted)}\n"
    )
    print(f"### {title}: each collection\n\n{each_of_signatures(measured)}")


PRINTED = {
    "weighting": print_weighting,
    "exact_cosine": print_weighting,
    "minhash_quality": print_minhash,
    "dimensions": print_dimensions,
}


if __name__ == "__main__":
    main()
