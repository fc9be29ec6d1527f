"""Measure the power of the quick tests: change one line at a time and see whether a test fails.

    pip install '.[mutants]'
    python tools/mutants/mutants.py draw --python 200 --c 100 --seed 1 >mutants.json
    python -m pytest -q -m "not slow" -n 2 --cov=simdb --cov-context=test --junitxml=times.xml
    python tools/mutants/mutants.py run mutants.json --reached .coverage --times times.xml >now.json
    python tools/mutants/mutants.py table before.json now.json

`draw` takes only lines that every tree of --also has, too, so that two versions of the tests can be
compared.  `run` works in a copy of the checkout --tree, runs the tests that reach the line, and
writes each mutant with the test that killed it, or null.  With several --marks, the tests of the
next mark run if those of the marks before find nothing: `--marks "not slow" more` says what the
quick tests lose.  With --like FILE, the result of another suite, the test that killed a mutant
there is tried first.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from itertools import chain
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[2]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    draw = verbs.add_parser("draw", help="draw mutants")
    draw.add_argument("--python", type=int, default=200, help="number of mutants of Python")
    draw.add_argument("--c", type=int, default=100, help="number of mutants of C")
    draw.add_argument("--seed", type=int, default=1)
    draw.add_argument("--tree", type=Path, default=ROOT, help="a checkout")
    draw.add_argument("--also", type=Path, nargs="*", default=[], help="other checkouts")
    run = verbs.add_parser("run", help="run the tests that reach each mutant")
    run.add_argument("mutants", type=Path, help="what draw wrote")
    run.add_argument("--marks", nargs="+", default=["not slow"], help="tests that run, in turn")
    run.add_argument("--reached", type=Path, help="data of coverage with a context for each test")
    run.add_argument("--times", type=Path, nargs="*", default=[], help="what --junitxml wrote")
    run.add_argument("--tree", type=Path, default=ROOT, help="a checkout with compiled kernels")
    run.add_argument("--budget", type=float, default=60, help="processor seconds for a mutant")
    run.add_argument("--like", type=Path, help="what run wrote for another suite")
    run.add_argument("--share", default="0/1", help="1/2: the second half of the mutants")
    table = verbs.add_parser("table", help="show the shares that were killed")
    table.add_argument("results", type=Path, nargs="+", help="what run wrote")
    given = parser.parse_args()
    return {"draw": draw_mutants, "run": run_mutants, "table": show_table}[given.verb](given)


def draw_mutants(given):
    from drawing import drawn  # noqa: PLC0415

    mutants = drawn(
        given.tree, given.also, python_count=given.python, c_count=given.c, seed=given.seed
    )
    print(json.dumps(mutants, indent=1))


def run_mutants(given):
    from killing import Suite  # noqa: PLC0415
    from trees import Tree  # noqa: PLC0415

    mutants = json.loads(given.mutants.read_text(encoding="utf-8"))
    at, shares = map(int, given.share.split("/"))
    like = killers(given.like)
    with tempfile.TemporaryDirectory() as place:
        tree = Tree(given.tree, place)
        reached, seconds = lines_of(given.reached), seconds_of(given.times)
        suites = {mark: Suite(cases_of(tree.root, mark), reached, seconds) for mark in given.marks}
        for mutant in mutants[at::shares]:
            begun = time.monotonic()
            first = like.get(name_of(mutant), "").split("[")[0]
            told = killed(tree, mutant, suites, first, given.budget)
            taken = round(time.monotonic() - begun, 1)
            print(json.dumps({**mutant, **told, "seconds": taken}), flush=True)


def killed(tree, mutant, suites, first, budget):
    """Return which test kills a mutant, of which mark, and how many tests of each mark ran."""
    from killing import NOT_BUILT, killer  # noqa: PLC0415

    told = {"killer": None, "mark": None, "tests": []}
    with tree.changed(mutant) as is_built:
        if not is_built:
            return {**told, "killer": NOT_BUILT}
        for mark, suite in suites.items():
            tests = suite.chosen(mutant, budget)
            tests = [*([first] if first in suite.names else []), *tests]
            told["tests"].append(len(tests))
            told["killer"] = killer(tree.root, tests, suite.cases)
            if told["killer"] is not None:
                return {**told, "mark": mark}
    return told


def cases_of(root, mark):
    """Return the cases of a tree that have a mark."""
    command = ["-m", "pytest", "-q", "--collect-only", "-m", mark, "-p", "no:cacheprovider"]
    listed = subprocess.run(
        [sys.executable, *command],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return [line for line in listed.split("\n") if "::" in line]


def lines_of(reached):
    """Return {path: {line: names of tests}} of a file of coverage."""
    if reached is None:
        return {}
    if not reached.exists():
        raise SystemExit(f"{reached} does not exist: run pytest with --cov-context=test")
    from coverage import CoverageData  # noqa: PLC0415

    data = CoverageData(str(reached))
    data.read()
    return {
        path[path.index("simdb/") :]: {
            line: {name.split("|")[0].split("[")[0] for name in names if name}
            for line, names in data.contexts_by_lineno(path).items()
        }
        for path in data.measured_files()
    }


def seconds_of(times):
    """Return {name of a test: seconds of all its cases} of reports of pytest."""
    seconds = Counter()
    for case in chain(*(ElementTree.parse(each).iter("testcase") for each in times)):
        *place, owner = case.get("classname").split(".")
        place += [f"{owner}.py"] if owner.islower() else []
        path = "/".join(place) if owner.islower() else f"{'/'.join(place)}.py::{owner}"
        seconds[f"{path}::{case.get('name').split('[')[0]}"] += float(case.get("time"))
    return seconds


def killers(path):
    """Return {mutant: the test that killed it} of what run wrote."""
    return {name_of(each): each["killer"] or "" for each in results_of(path)} if path else {}


def results_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def name_of(mutant):
    return f"{mutant['path']}: {mutant['lines'][1]} -> {mutant['changed']}"


def show_table(given):
    """Show, for each result, how many mutants were killed; then those that survived the last."""
    for path in given.results:
        for kind, suffixes in (("Python", (".py",)), ("C", (".c", ".h"))):
            every = [each for each in results_of(path) if each["path"].endswith(suffixes)]
            ran = [each for each in every if each["killer"] not in ("not built", "not run")]
            total = 0
            for mark, count in Counter(each.get("mark") for each in ran if each["killer"]).items():
                total += count
                share = 100 * total / len(ran)
                print(f"{path.name}: {kind}: {total} of {len(ran)} killed, {share:.1f} %, {mark}")
    for each in results_of(given.results[-1]):
        if each["killer"] is None:
            print(f"survived: {each['path']}:{each['line']}: {each['operator']}")
            print(f"  - {each['lines'][1].strip()}\n  + {each['changed'].strip()}")


if __name__ == "__main__":
    sys.exit(main())
