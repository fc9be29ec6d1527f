"""Run every experiment, write docs/RESULTS.md, and the whole record and pictures in build/figures/.

    python tools/figures/evaluation.py
    python tools/figures/evaluation.py --documents 100k --fingerprints 64M --only flips threshold

Each module of `experiments/` has a claim of a source, what counts as agreement, and the check.
The corpus is made first, if the cache has none; see `corpus.py`.  With `--only`, which runs some
experiments, docs/RESULTS.md is not written.
"""

import argparse
import platform
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import simdb
from claim import AGREES, DIFFERS, PARTLY, Section, Verdict
from collection import collect
from corpus import cache_folder, read
from scene import FILE_BATCHES, Sizes, World
from simdb.core import kernel

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tools" / "bench"))

from record import commit, number, processor  # noqa: E402

EXPERIMENTS = (
    "weights", "brute", "heap", "flips", "header_bits", "threshold", "tables", "growth",
    "batches", "model", "bands", "rotations", "correlation", "blog",
)  # fmt: skip
PAPER = "Sood & Loguinov, "
OPENING = """# Results

The evaluation of [Sood & Loguinov 2011](https://doi.org/10.1145/2063576.2063737) (rows that name no
source) and the experiments of simdb's other sources, repeated on real text. `make figures` makes
this page and its pictures, and `build/figures/RESULTS.md` with every rule, reason and table.

The rules are in `tools/figures/experiments/`, written before the first run. Changed later: stored
weights are also judged at 50 %; equal bits against 1 - angle / pi excludes pairs chosen by their
bits (with them it failed); Table 2 and Figure 9 became stricter; the sizes of batches, of Figure 7
and of the blog are new. Equation (20), batches against single queries and evenly spaced
permutations were added when other figures were known.
"""
CLOSING = """
## What these figures do not show

* The documents are technical documentation, not a sample of the web.
* Searches of millions are of generated fingerprints, uniform except for planted near-duplicates.
  Half of the queries have a match; the paper does not say how many do.
* All searches run on one core and in memory. Reading a file, equation (16), was not measured.
* For 8 x 10^9 pages nothing was run: these are the equations with our delays.
"""


def main() -> None:
    """Parse the sizes, make the world, run, and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    usual = Sizes()
    for name in ("documents", "fingerprints", "queries", "random_pairs"):
        parser.add_argument(
            f"--{name.replace('_', '-')}", type=number, default=getattr(usual, name)
        )
    parser.add_argument("--offline", action="store_true", help="fetch no packages")
    parser.add_argument("--only", nargs="*", choices=EXPERIMENTS, default=[])
    parser.add_argument("--renew", action="store_true", help="put these into docs/RESULTS.md")
    arguments = parser.parse_args()
    chosen = {name: value for name, value in vars(arguments).items() if hasattr(usual, name)}
    sizes = replace(usual, batch=max(arguments.fingerprints // FILE_BATCHES, 1 << 10), **chosen)
    started = time.time()
    corpus = read(sizes.documents, cache_folder(), is_offline=arguments.offline)
    collection = collect(corpus)
    print(
        f"{len(collection):,} documents, {corpus.origin}: {time.time() - started:.0f} s", flush=True
    )
    drawn = ROOT / "build" / "figures"
    world = World(collection, drawn, sizes)
    sections = run(world, arguments.only or EXPERIMENTS)
    words = setting(world, len(set(corpus.sources)))
    drawn.mkdir(parents=True, exist_ok=True)
    record, results = drawn / "RESULTS.md", ROOT / "docs" / "RESULTS.md"
    record.write_text(page(sections, words, is_whole=True))
    if not arguments.only:
        results.write_text(page(sections, words))
    elif arguments.renew:
        results.write_text(renewed(results.read_text(), sections, machine()))
    print(f"{record}: {time.time() - started:.0f} s in all")


def run(world: World, names: Sequence[str]) -> list[Section]:
    """Run experiments in their order; each may use the facts of others."""
    sections = []
    for name in names:
        started = time.time()
        section = world.section(name)
        sections.append(section)
        verdicts = ", ".join(each.verdict for each in section.verdicts)
        print(f"{name}: {verdicts} ({time.time() - started:.0f} s)", flush=True)
    return sections


def setting(world: World, sources: int) -> str:
    """Return the documents, the sizes and the machine of these results, in words."""
    return (
        f"{len(world.collection):,} documents of {sources} packages ({world.collection.origin});"
        f" {world.sizes.fingerprints:,} generated fingerprints at most. simdb {simdb.__version__},"
        f" Python {platform.python_version()}, {machine()}. Times are processor time."
    )


def machine() -> str:
    """Return the commit and the machine, in words."""
    flags = kernel.CHOSEN or kernel.variants()[-1]
    name = processor().get("model name", platform.machine())
    return f"commit {commit()}, kernel {flags}, one core of {name}"


def page(sections: Sequence[Section], words: str, *, is_whole: bool = False) -> str:
    """Return the page: the table of all verdicts, then each section.

    The whole page has every rule, figure of theirs, reason and table; the short one has reasons
    where a claim does not hold, and no details of sections.
    """
    rule = ("agrees if", "theirs") if is_whole else ()
    head = ("where", "claim", *rule, "ours", "verdict", "why" if is_whole else "why not")
    lines = [OPENING, words, "", "", "", _row(head), "|" + "---|" * len(head)]
    lines += [_verdict_row(each, is_whole) for section in sections for each in section.verdicts]
    lines += [line for section in sections for line in _section_lines(section, is_whole)]
    return _counted("\n".join(lines) + "\n" + CLOSING)


def renewed(whole: str, sections: Sequence[Section], words: str) -> str:
    """Return a short page with some of its sections run again, each of which names its machine."""
    for section in sections:
        for each in section.verdicts:
            start = _row((_where(each), each.claim.says))[:-1]
            row = _verdict_row(each)
            whole = re.sub(f"^{re.escape(start)}.*$", lambda _, row=row: row, whole, flags=re.M)
        own = "\n".join([*_section_lines(section), "", f"Run later: {words}."])
        old = rf"\n## {re.escape(section.title)}\n.*?(?=\n## )"
        whole = re.sub(old, lambda _, own=own: own + "\n", whole, flags=re.S)
    return _counted(whole)


def _counted(whole: str) -> str:
    """Write the number of agreeing verdicts before the table."""
    counts = {name: whole.count(f"| **{name}** |") for name in (AGREES, PARTLY, DIFFERS)}
    told = (
        f"Of {sum(counts.values())} claims, {counts[AGREES]} agree, {counts[PARTLY]} agree in part"
        f" and {counts[DIFFERS]} do not."
    )
    return re.sub(r"\n\n(Of [^\n]* do not\.)?\n\n(?=\| where )", f"\n\n{told}\n\n", whole)


def _verdict_row(each: Verdict, is_whole: bool = False) -> str:
    rule = (each.claim.agrees, each.theirs) if is_whole else ()
    reason = each.why if is_whole or each.verdict != AGREES else ""
    return _row((_where(each), each.claim.says, *rule, each.ours, f"**{each.verdict}**", reason))


def _where(each: Verdict) -> str:
    return each.claim.where.removeprefix(PAPER)


def _section_lines(section: Section, is_whole: bool = False) -> list[str]:
    lines = ["", f"## {section.title}", "", section.setting]
    for name, description in section.pictures:
        lines += ["", f"Picture `{name}`: {description}."]
    for head, rows in [*section.tables, *(section.details if is_whole else [])]:
        lines += ["", _row(head), "|" + "---|" * len(head), *map(_row, rows)]
    return lines


def _row(columns: Sequence[str]) -> str:
    cells = (str(each).replace("|", "\\|") or " " for each in columns)
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    main()
