"""Measure the power of the quick tests: change one line at a time and see whether a test fails.

    pip install '.[mutants]'
    python tools/mutants/mutants.py draw --python 300 --c 100 --seed 1 >mutants.json
    python tools/mutants/mutants.py run mutants.json --reached reached.jsonl >killed.jsonl
    python tools/mutants/mutants.py table killed.jsonl

`run` works in a copy of the checkout --tree.  First all quick tests run once, and tell which of
them reach which mutants; the file --reached keeps that.  Then the tests that reach a mutant run
against it, the cheapest first, and the mutant is written with the test that killed it, or null.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from choosing import Choice

ROOT = Path(__file__).resolve().parents[2]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    draw = verbs.add_parser("draw", help="draw mutants")
    draw.add_argument("--python", type=int, default=300, help="number of mutants of Python")
    draw.add_argument("--c", type=int, default=100, help="number of mutants of C")
    draw.add_argument("--seed", type=int, default=1)
    draw.add_argument("--tree", type=Path, default=ROOT, help="a checkout")
    run = verbs.add_parser("run", help="run the tests that reach each mutant")
    run.add_argument("mutants", type=Path, help="what draw wrote")
    run.add_argument("--reached", type=Path, required=True, help="kept: which tests reach what")
    run.add_argument("--tree", type=Path, default=ROOT, help="a checkout with compiled kernels")
    run.add_argument("--budget", type=float, default=20, help="processor seconds for a mutant")
    run.add_argument(
        "--only", type=int, nargs="+", metavar="NUMBER", help="these mutants alone, counted from 0"
    )
    table = verbs.add_parser("table", help="show the shares that were killed")
    table.add_argument("results", type=Path, nargs="+", help="what run wrote")
    given = parser.parse_args()
    return {"draw": draw_mutants, "run": run_mutants, "table": show_table}[given.verb](given)


def draw_mutants(given):
    from drawing import drawn  # noqa: PLC0415

    mutants = drawn(given.tree, python_count=given.python, c_count=given.c, seed=given.seed)
    print(json.dumps(mutants, indent=1))


def run_mutants(given):
    from killing import kill  # noqa: PLC0415
    from trees import Tree  # noqa: PLC0415

    mutants = json.loads(given.mutants.read_text(encoding="utf-8"))
    mutants = [{"number": at, **mutant} for at, mutant in enumerate(mutants)]
    # The output of pytest goes to standard error.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    with tempfile.TemporaryDirectory() as place:
        tree = Tree(given.tree, place)
        if not given.reached.exists():
            reach(tree, mutants, given.reached)
        kill(
            tree,
            [mutants[at] for at in given.only or range(len(mutants))],
            Choice(given.reached, budget=given.budget).of,
            lambda result: print(json.dumps(result), file=out, flush=True),
        )


def reach(tree, mutants, file):
    """Run the quick tests in a tree that tells which of them reach which mutants."""
    from reached import marked  # noqa: PLC0415

    numbers = {}
    for mutant in mutants:
        if mutant["path"].endswith(".py"):
            numbers.setdefault(mutant["path"], []).append((mutant["line"], mutant["number"]))
    with ExitStack() as stack:
        for path, these in numbers.items():
            stack.enter_context(tree.text(path, marked((tree.root / path).read_text(), these)))
        tools = str(tree.root / "tools" / "mutants")
        partial_file = file.with_suffix(".partial").absolute()
        ended = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "reached", "-m", "not slow", "--tb=no"],
            cwd=tree.root,
            env={
                **os.environ, "PYTHONPATH": f"{tree.root}{os.pathsep}{tools}",
                "REACHED": str(partial_file),
            },
            check=False,
        )  # fmt: skip
    if ended.returncode not in (0, 1):
        raise SystemExit(f"pytest ended with {ended.returncode}; were all tests collected?")
    partial_file.rename(file)


def results_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def show_table(given):
    """Show the number of killed mutants of each result, then the survivors of the last one."""
    for path in given.results:
        for kind, suffixes in (("Python", (".py",)), ("C", (".c", ".h"))):
            every = [each for each in results_of(path) if each["path"].endswith(suffixes)]
            ran = [each for each in every if each["killer"] not in ("not built", "not run")]
            count = sum(bool(each["killer"]) for each in ran)
            print(
                f"{path.name}: {kind}: {count} of {len(ran)} killed, {100 * count / len(ran):.1f} %"
            )
    for each in results_of(given.results[-1]):
        if each["killer"] is None:
            print(f"survived: {each['path']}:{each['line']}: {each['operator']}")
            print(f"  - {each['lines'][1].strip()}\n  + {each['changed'].strip()}")


if __name__ == "__main__":
    sys.exit(main())
