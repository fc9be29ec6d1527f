"""Killing: runs the tests that reach a mutant, and reports whether one of them fails.

All tests are collected once, in one process.  A mutant in a function becomes, in a child that is
forked, the code of that function; the file is changed too, for the processes that tests start.
So only the tests themselves cost time, and most mutants die in less than a second.  A mutant in C,
or in code that runs at import, needs its own process.  Cheap tests run first.  A test
that takes many times its usual processor time, or memory without end, kills its mutant too.
"""

import contextlib
import gc
import os
import resource
import signal
import sys
import tempfile
import time
import types

import pytest

TEST_SECONDS = 20  # processor time of one test, at most
PATIENCE_SECONDS = 300  # time of all tests of a mutant
MEMORY_BYTES = 5 << 30
POLL_SECONDS = 0.02
NOT_BUILT, NOT_RUN = "not built", "not run"
IN_PROCESS = ["-q", "-x", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-p", "killing"]


class Killing:
    """A plugin of pytest that runs tests against mutants, in place of the tests themselves."""

    def __init__(self, tree, mutants, choice, write):
        self.tree = tree
        self.mutants = mutants
        self.choice = choice  # a function of a mutant and the names of all quick tests
        self.write = write

    def pytest_runtestloop(self, session):
        gc.unfreeze()  # `functions_of` looks at all objects
        items = {item.nodeid: item for item in session.items}
        for mutant in self.mutants:
            begun, before = time.monotonic(), os.times()
            with self.tree.changed(mutant) as is_built:
                told = {"killer": NOT_BUILT, "tests": 0}
                if is_built:
                    names = self.choice(mutant, items.keys())
                    killer = self.killer(mutant, [items[name] for name in names])
                    told = {"killer": killer, "tests": len(names)}
            taken = [after - from_ for after, from_ in zip(os.times()[:4], before[:4], strict=True)]
            self.write({
                **mutant, **told, "seconds": round(time.monotonic() - begun, 1),
                "cpu": round(sum(taken), 1),
            })  # fmt: skip
        return True

    def killer(self, mutant, items):
        """Return the case that fails, another cause of the end, or None if all pass."""
        if not items:
            return None
        codes = codes_of(self.tree.root / mutant["path"])
        # A file, not a pipe: nobody reads before the child has ended.
        with tempfile.TemporaryFile() as told:
            child = os.fork()
            if child == 0:
                os.setpgid(0, 0)
                test_here(self.tree.root, items, codes, told.fileno())
            ended = waited_for(child)
            told.seek(0)
            lines = told.read().decode().split("\n")
        begun = [line[1:] for line in lines if line.startswith(">")]
        failed = [line[1:] for line in lines if line.startswith("!")]
        if failed:
            return failed[0]
        if ended in (0, 5, None):
            return None if ended is not None else NOT_RUN
        return f"{begun[-1] if begun else 'importing'} ended the process with {ended}"


def codes_of(path):
    """Return [(function, its code in the changed file)], or None if that takes a new process."""
    if path.suffix != ".py":
        return None
    if str(path) not in {getattr(each, "__file__", None) for each in [*sys.modules.values()]}:
        return []  # the children import the changed file
    changed = {}
    module = compile(path.read_text(encoding="utf-8"), str(path), "exec", dont_inherit=True)
    for code in inside(module):
        changed[code.co_qualname, code.co_firstlineno] = code
    found = []
    for function in functions_of(str(path)):
        code = changed.get((function.__code__.co_qualname, function.__code__.co_firstlineno))
        if code is None or code.co_freevars != function.__code__.co_freevars:
            return None
        if code != function.__code__:
            found.append((function, code))
    return found or None


def functions_of(path):
    return [
        each
        for each in gc.get_objects()
        if isinstance(each, types.FunctionType) and each.__code__.co_filename == path
    ]


def inside(code):
    """Return the codes inside a code, of functions in functions too."""
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield each
            yield from inside(each)


def test_here(root, items, codes, told):
    """Run tests in this process, which ends with them."""
    silent = os.open(os.devnull, os.O_RDWR)
    for each in range(3):
        os.dup2(silent, each)
    code = 70
    try:
        if codes is None:
            os.environ["KILLING"] = str(told)
            names = [item.nodeid for item in items]
            os.set_inheritable(told, True)
            command = [sys.executable, "-m", "pytest", *IN_PROCESS, *names]
            os.execve(sys.executable, command, {**os.environ, "PYTHONPATH": python_path(root)})
        for function, changed in codes:
            function.__code__ = changed
        plugin = Told(told)
        items[0].config.pluginmanager.register(plugin)
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        code = 0
    finally:
        os._exit(code)


def python_path(root):
    return f"{root}{os.pathsep}{root / 'tools' / 'mutants'}"


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
    """End the processes that a child has left."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)


def memory_of(child):
    try:
        with open(f"/proc/{child}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        return 0


class Told:
    """A plugin of pytest that tells which cases begin and fail, and ends endless ones."""

    def __init__(self, write):
        self.write = write

    def pytest_runtest_logstart(self, nodeid):
        os.write(self.write, f">{nodeid}\n".encode())
        signal.setitimer(signal.ITIMER_PROF, TEST_SECONDS)  # its signal ends the process

    def pytest_runtest_logreport(self, report):
        self.tell(report)

    def pytest_collectreport(self, report):
        self.tell(report)

    def tell(self, report):
        if report.failed:
            os.write(self.write, f"!{report.nodeid}\n".encode())
            os._exit(1)


if "KILLING" in os.environ:

    def pytest_configure(config):
        """Make a process of its own tell which cases begin and fail."""
        config.pluginmanager.register(Told(int(os.environ.pop("KILLING"))))


def kill(tree, mutants, choice, write):
    """Run tests against mutants; `write` gets a dict for each."""
    os.chdir(tree.root)
    os.environ["PYTHONPATH"] = python_path(tree.root)
    sys.path.insert(0, str(tree.root))
    options = ["-q", "--no-header", "-p", "no:cacheprovider", "-m", "not slow"]
    pytest.main(options, plugins=[Killing(tree, mutants, choice, write)])
