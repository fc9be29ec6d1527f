"""Choosing: selects and orders tests for a mutant, within a budget of processor time."""

import json
from collections import Counter, defaultdict
from pathlib import Path

KERNEL = ("tests/kernel/", "tests/database/test_exactness.py", "tests/format/")
USUAL_SECONDS = 0.1


class Choice:
    """The known facts about tests: the mutants that they reach, and their costs."""

    def __init__(self, file, *, budget):
        self.budget = budget
        self.reached = defaultdict(set)  # {number of a mutant: quick tests}
        self.seconds = {}
        failed = set()
        for line in Path(file).read_text(encoding="utf-8").splitlines():
            told = json.loads(line)
            if len(told) == 2:
                self.reached[told[0]].add(told[1])
            else:
                self.seconds[told[0]] = told[1]
                failed |= {told[0]} - {told[0] if told[2] else None}
        for tests in self.reached.values():
            tests -= failed | {""}
        self.failed = failed
        self.of_function = {}
        for name, seconds in self.seconds.items():
            self.of_function.setdefault(function_of(name), seconds)

    def of(self, mutant, tests):
        """Return the names of the tests to run against a mutant, of all names of quick tests."""
        if mutant["path"].startswith("simdb_ext/"):
            return self.of_kernel(mutant, tests)
        reaching = self.reached[mutant["number"]] & tests
        near = near_by(mutant["path"])
        if not reaching:
            reaching = {name for name in tests - self.failed if name.startswith(near)}
        return self.within(reaching, lambda name: (not name.startswith(near),))

    def of_kernel(self, mutant, tests):
        """Return tests of a mutant of C: first those whose file is named after most of its path."""
        _, module, *_, name = parts = mutant["path"].rsplit(".", 1)[0].split("/")
        words = {word for part in parts[1:] for word in part.split("_")}
        return self.within(
            tests - self.failed,
            lambda test: (
                not (test.startswith(KERNEL) or name in test),
                f"test_{module}" not in test and name not in test,
                -sum(word.rstrip("s") in test.split("::")[0] for word in words),
            ),
        )

    def within(self, tests, rank):
        """Return tests in order, cheap ones first, one case of each function in turn."""
        cases = Counter()
        order = []
        for name in sorted(tests, key=lambda name: (self.cost(name), name)):
            order.append((*rank(name), cases[function_of(name)], self.cost(name), name))
            cases[function_of(name)] += 1
        chosen, total = [], 0.0
        for *_, cost, name in sorted(order):
            if total + cost <= self.budget:
                chosen.append(name)
                total += cost
        return chosen

    def cost(self, name):
        usual = self.of_function.get(function_of(name), USUAL_SECONDS)
        return self.seconds.get(name, usual)


def function_of(name):
    return name.split("[")[0]


def near_by(path):
    """Return the beginning of the names of the tests of a Python module."""
    _, *folders, name = path.rsplit(".", 1)[0].split("/")
    return "/".join(["tests", *folders, f"test_{name}.py"])
