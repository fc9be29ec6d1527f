"""Run every experiment, write docs/RESULTS.md, and draw its pictures in build/figures/.

    python tools/figures/evaluation.py
    python tools/figures/evaluation.py --documents 100k --fingerprints 64M --only flips threshold

Each module of `experiments/` has a claim of a source, what counts as agreement, and the check.
The corpus is made first, if the cache has none; see `corpus.py`.  `--only` runs some experiments
and writes the page to `build/figures/`, too.
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
OPENING = """# Results

The evaluation of [Sood & Loguinov 2011](https://doi.org/10.1145/2063576.2063737), and the
experiments of the other sources of this program, repeated on real text. `make figures` makes this
page anew, and draws its pictures in `build/figures/`, where the site finds them.
Each claim, and the rule by which it agrees, is in the code of its experiment
(`tools/figures/experiments/`); the verdict follows from that rule alone. Where a claim does not
hold here, the table says so. Rules were written before the first run, but some were changed after
early figures had been seen: stored weights are also judged at 50 %; equal bits against 1 - angle /
pi leaves out pairs that were chosen by their bits (with them the difference was .056, and the
claim failed); and the sizes of the batches, of Figure 7 and of the blog were changed. Those on
Table 2 and Figure 9 were made stricter, nearly to the paper's own numbers. The claims on
equation (20), on batches against single queries and on evenly spaced permutations were added later,
when the other figures were known.

Both of the paper's programs have the same means against waiting for memory: all look-ups of a query
overlap (`tools/figures/paper.c`). In earlier figures only PSM had them, and it was 3.6 to 12 times
as fast as BPHS in Table 2.
"""
CLOSING = """
## What these figures do not show

* The documents are technical documentation, not a sample of the web. Pages without links and pages
  in other languages than English are not left out, as they are in the paper.
* Searches of millions are searches of generated fingerprints. Stored ones are uniform but for the
  planted near-duplicates, whose differences are those of pairs of the collection.
* `--fingerprints 60M` makes the paper's sizes, 60 million stored fingerprints and batches of 10
  million; ten tables alone are 5 GB then.
* How many of the paper's queries have a match, it does not say; here half of them have, and the
  rates for the first match depend on that.
* Threads: how the time falls with the number of threads is not shown. All searches run on one core.
* For 8 x 10^9 pages nothing was run: these are the equations with our delays.
* All fingerprints are in memory. Reading a file, equation (16), was not measured; in the paper it
  takes a twentieth of the time.
* Not repeated: extrapolation instead of binary search, which the paper tried and left out, and the
  seconds of Biswas' Java programs.
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
    target = drawn if arguments.only and not arguments.renew else ROOT / "docs"
    world = World(collection, drawn, sizes)
    sections = run(world, arguments.only or EXPERIMENTS)
    words = setting(world, len(set(corpus.sources)))
    target.mkdir(parents=True, exist_ok=True)
    results = target / "RESULTS.md"
    is_renewed = arguments.only and arguments.renew
    made = renewed(results.read_text(), sections, words) if is_renewed else page(sections, words)
    results.write_text(made)
    print(f"{results}: {time.time() - started:.0f} s in all")


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
    """Return in words of what these results are."""
    flags = kernel.CHOSEN or kernel.variants()[-1]
    return (
        f"{len(world.collection):,} documents of {sources} packages ({world.collection.origin});"
        f" {world.sizes.fingerprints:,} generated fingerprints at most. simdb {simdb.__version__},"
        f" commit {commit()}, kernel {flags}, Python {platform.python_version()}, one"
        f" core of {processor().get('model name', platform.machine())}. Times are processor time."
    )


def page(sections: Sequence[Section], words: str) -> str:
    """Return the page: the table of all verdicts, then each section."""
    head = "where", "claim", "agrees if", "theirs", "ours", "verdict", "why"
    lines = [OPENING, words, "", "", "", _row(head), "|" + "---|" * len(head)]
    lines += [_verdict_row(each) for section in sections for each in section.verdicts]
    lines += [line for section in sections for line in _section_lines(section)]
    return _counted("\n".join(lines) + "\n" + CLOSING)


def renewed(whole: str, sections: Sequence[Section], words: str) -> str:
    """Return a page with some of its sections run again; these say when, and with which sizes."""
    for section in sections:
        for each in section.verdicts:
            start = _row((each.claim.where, each.claim.says))[:-1]
            row = f"{_verdict_row(each)[:-2]}; run later: see its section |"
            whole = re.sub(f"^{re.escape(start)}.*$", lambda _, row=row: row, whole, flags=re.M)
        own = "\n".join([*_section_lines(section), "", f"Run later than the others: {words}"])
        old = rf"\n## {re.escape(section.title)}\n.*?(?=\n## )"
        whole = re.sub(old, lambda _, own=own: own + "\n", whole, flags=re.S)
    return _counted(whole)


def _counted(whole: str) -> str:
    """Say before the table how many of its verdicts agree."""
    counts = {name: whole.count(f"| **{name}** |") for name in (AGREES, PARTLY, DIFFERS)}
    told = (
        f"Of {sum(counts.values())} claims, {counts[AGREES]} agree, {counts[PARTLY]} agree in part"
        f" and {counts[DIFFERS]} do not."
    )
    return re.sub(r"\n\n(Of [^\n]* do not\.)?\n\n(?=\| where )", f"\n\n{told}\n\n", whole)


def _verdict_row(each: Verdict) -> str:
    return _row((
        each.claim.where, each.claim.says, each.claim.agrees, each.theirs, each.ours,
        f"**{each.verdict}**", each.why,
    ))  # fmt: skip


def _section_lines(section: Section) -> list[str]:
    lines = ["", f"## {section.title}", "", section.setting]
    for name, description in section.pictures:
        lines += ["", f"Picture `{name}`: {description}."]
    for head, rows in section.tables:
        lines += ["", _row(head), "|" + "---|" * len(head), *map(_row, rows)]
    return lines


def _row(columns: Sequence[str]) -> str:
    cells = (str(each).replace("|", "\\|") or " " for each in columns)
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    main()
