"""Print the results of benchmarks as Markdown tables.

python tools/bench/tables.py build/bench/*.json
"""

import argparse
import json
from pathlib import Path
from typing import Any

from record import DISTURBED, amount

PATHS = ("directory", "corpus", "truth", "folder", "english", "html", "other")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE.json")
    for path in parser.parse_args().files:
        print(table(path.stem, json.loads(path.read_text())))


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


if __name__ == "__main__":
    main()
