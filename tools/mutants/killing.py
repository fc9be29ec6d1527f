"""Killing: run the tests that reach a mutant, and say whether one of them fails.

The tests run in a forked child that has pytest and the large libraries loaded already.  They run in
two parts: first a few, since most mutants die at once, then the rest within a budget of processor
time, cheapest first, one of each file in turn.  A test that takes many times its usual processor
time, or memory without end, kills its mutant too.
"""

import contextlib
import os
import resource
import signal
import sys
import tempfile
import time
from itertools import chain, zip_longest

import pytest

FIRST = 12
TEST_SECONDS = 20  # processor time of one test, at most
PATIENCE_SECONDS = 600  # time of all tests
MEMORY_BYTES = 5 << 30
POLL_SECONDS = 0.05
NOT_BUILT, NOT_RUN = "not built", "not run"
KERNEL = ("tests/kernel/", "tests/engine/test_exactness.py", "tests/format/")
# Tests of many modules, for a mutant of a file of which coverage does not say who reaches it.
CROSS_SECTION = ("tests/doors/", "tests/model/", "tests/test_", "tests/cli/test_")


class Suite:
    """The tests of a tree with one mark: their names, and which of them reach a line."""

    def __init__(self, cases, reached, seconds):
        self.cases = {*cases}
        self.names = dict.fromkeys(case.split("[")[0] for case in cases)
        self.reached = reached  # {path: {line: names of functions}}
        self.seconds = seconds  # {name of a function: processor time of all its cases}

    def chosen(self, mutant, budget):
        """Return the tests for a mutant, in order: as many as `budget` seconds allow."""
        path, lines = mutant["path"], self.reached.get(mutant["path"], {})
        reaching = lines.get(mutant["line"]) or set(chain(*lines.values()))
        names = [name for name in reaching if name in self.names]
        place = path.rsplit(".", 1)[0].split("/")
        if place[0] == "simdb_ext":
            near_by, folders = f"tests/kernel/test_{place[1]}", KERNEL
        else:
            near_by = "/".join(["tests", *place[1:-1], f"test_{place[-1]}.py"])
            folders = (self.folder_of(place), *(() if lines else CROSS_SECTION))
        near = [name for name in self.names if name.startswith(near_by)]
        if place[0] == "simdb_ext":
            # What only Python calls has its tests there: align.c in test_alignment.py.
            near = [name for name in self.names if place[-1] in name.split("::")[0]] + near
        # Coverage sees neither C nor what a process of its own reaches.
        others = [name for name in self.names if name.startswith(folders)]
        order = [name for each in (near, names, others) for name in in_turn(each, self.seconds)]
        chosen, total = [], 0.0
        for name in dict.fromkeys(order):
            seconds = self.seconds.get(name, 0.1)
            if total + seconds <= budget:
                chosen.append(name)
                total += seconds
        return chosen

    def folder_of(self, place):
        """Return the folder of tests that mirrors a module, or the next one above that exists."""
        for depth in range(len(place) - 1, 1, -1):
            folder = "/".join(["tests", *place[1:depth], ""])
            if any(name.startswith(folder) for name in self.names):
                return folder
        return "tests/"


def in_turn(names, seconds):
    """Return tests, cheap ones first, one of each file in turn."""
    files = {}
    for name in sorted(names, key=lambda name: (seconds.get(name, 0.1), name)):
        files.setdefault(name.split("::")[0], []).append(name)
    return [name for each in zip_longest(*files.values()) for name in each if name]


def killer(root, names, cases):
    """Return the case that fails in a tree, what else ends the run, or None if all pass."""
    for part in (names[:FIRST], names[FIRST:]):
        if part:
            told = run(root, part, cases)
            if told:
                return told
    return None


def run(root, names, cases):
    """Run cases of tests in a child until one fails; return it, what else ended it, or None."""
    # A file, not a pipe: nobody reads before the child has ended.
    with tempfile.TemporaryFile() as told:
        child = os.fork()
        if child == 0:
            os.setpgid(0, 0)
            test_here(root, names, Told(told.fileno(), cases))
        ended = waited_for(child)
        told.seek(0)
        lines = told.read().decode().split("\n")
    begun = [line[1:] for line in lines if line.startswith(">")]
    failed = [line[1:] for line in lines if line.startswith("!")]
    if failed:
        return failed[0]
    if ended in (0, 5, None):
        return None if ended is not None else NOT_RUN
    return f"{begun[-1] if begun else 'collecting'} ended the process with {ended}"


def waited_for(child):
    """Wait for a child and return its exit status; end it, with its children, if it needs too much.

    Too much memory counts as a crash.  Too much time does not, since another program may have taken
    it: the answer is None.
    """
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            end_group(child)
            return os.waitstatus_to_exitcode(status)
        is_large = memory_of(child) > MEMORY_BYTES
        if is_large or time.monotonic() > until:
            end_group(child)
            os.waitpid(child, 0)
            return -signal.SIGKILL if is_large else None
        time.sleep(POLL_SECONDS)


def end_group(child):
    """End what a child has left."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)


def memory_of(child):
    try:
        with open(f"/proc/{child}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        return 0


class Told:
    """A plugin of pytest that keeps some cases, tells which begin and fail, and ends endless ones.

    The mark of a case can depend on what else is collected, so the cases are given.
    """

    def __init__(self, write, cases):
        self.write = write
        self.cases = cases

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        items[:] = [item for item in items if item.nodeid in self.cases]

    def pytest_runtest_logstart(self, nodeid):
        os.write(self.write, f">{nodeid}\n".encode())
        signal.setitimer(signal.ITIMER_PROF, TEST_SECONDS)  # its signal ends the process

    def pytest_runtest_logreport(self, report):
        if report.failed:
            os.write(self.write, f"!{report.nodeid}\n".encode())

    def pytest_collectreport(self, report):
        if report.failed:
            os.write(self.write, f"!{report.nodeid}\n".encode())


def test_here(root, names, plugin):
    """Run tests in this process, which ends with them."""
    silent = os.open(os.devnull, os.O_RDWR)
    for each in range(3):
        os.dup2(silent, each)
    os.chdir(root)
    os.environ["PYTHONPATH"] = str(root)
    sys.path.insert(0, str(root))
    options = ["-q", "-x", "--no-header", "--tb=no", "-p", "no:cacheprovider"]
    code = 70
    try:
        code = int(pytest.main([*options, *names], plugins=[plugin]))
    finally:
        os._exit(code)
