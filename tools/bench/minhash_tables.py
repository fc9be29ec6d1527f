"""Print the results of `minhash_quality.py` as the tables of docs/QUALITY.md.

python tools/bench/minhash_tables.py build/bench/minhash_quality.json
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from corpus import LABELS, MEASURES
from quality_tables import FEWEST_PAIRS, ONCE, in_order, markdown, names

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
    wholes = [json.loads(path.read_text()) for path in parser.parse_args().files]
    rows = [row for whole in wholes for row in whole["rows"]]
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
        print(f"### {title}: mean of {len(names(counted))} collections\n\n{means(counted)}\n")
        print(f"### {title}: each collection\n\n{each(measured)}\n")
    print(f"### Error of the estimate\n\n{errors([row for row in rows if 'band' in row])}")


def means(rows: list[Row]) -> str:
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
    heads = ["bytes", "one threshold for all", "the default threshold", "the best of each"]
    return markdown(["setting", *heads], lines)


def each(rows: list[Row]) -> str:
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


def errors(rows: list[Row]) -> str:
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


if __name__ == "__main__":
    main()
