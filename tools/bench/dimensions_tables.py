"""Print the results of `dimensions.py` as the tables of docs/QUALITY.md.

python tools/bench/dimensions_tables.py build/bench/dimensions.json
"""

import argparse
import json
from pathlib import Path

from corpus import LABELS, MEASURES
from minhash_tables import each, means
from quality_tables import DEFAULT, FEWEST_PAIRS, names
from simdb.columns.vector_form import width

TRUTH = "jaccard"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE.json")
    wholes = [json.loads(path.read_text()) for path in parser.parse_args().files]
    rows = [
        row | {"usual": DEFAULT, "bytes": width(int(row["setting"].split()[0]))}
        for whole in wholes
        for row in whole["rows"]
        if row.get("truth") == TRUTH and row["pairs"]
    ]
    counted = [row for row in rows if row["pairs"] >= FEWEST_PAIRS]
    title = f"{LABELS[TRUTH]} >= {MEASURES[TRUTH][1]}"
    print(f"### {title}: mean of {len(names(counted))} collections\n\n{means(counted)}\n")
    print(f"### {title}: each collection\n\n{each(rows)}")


if __name__ == "__main__":
    main()
