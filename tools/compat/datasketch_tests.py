"""Run datasketch's own tests against `simdb.compat.datasketch`.

    python tools/compat/datasketch_tests.py CHECKOUT/test
    python tools/compat/datasketch_tests.py CHECKOUT/test --installed

CHECKOUT is a checkout of https://github.com/ekzhu/datasketch.  The test files are not changed: the
modules that they import are replaced.  `--installed` runs them against the installed datasketch, to
compare.  A test that fails is shown with the reason, if it is known here; the exit code is 1 if a
failure has no known reason.  Tests of a Redis server fail, since simdb stores indexes itself.
"""

import argparse
import importlib
import sys
import unittest
from fnmatch import fnmatch
from pathlib import Path
from types import ModuleType
from typing import Any

FILES = ("test_minhash", "test_lsh")
# The modules of datasketch, whose names are all in one module here.
MODULES = ("minhash", "lsh", "hashfunc")
# Names that the files import and simdb does not have.
MISSING = {"b_bit_minhash": "bBitMinHash", "weighted_minhash": "WeightedMinHashGenerator"}
REDIS = "storage in Redis is not part of simdb"
OLDER = "written for datasketch 1.x, whose scheme is legacy; fails with datasketch 2.0, too"
KNOWN = {
    "*redis*": REDIS,
    "*.TestbBitMinHash.*": "bBitMinHash is not part of simdb",
    "*.TestWeightedMinHashLSH.*": "WeightedMinHashGenerator is not part of simdb",
    "*.TestMinHash.test_union": "reads the private attribute _gpu_mode; simdb has no GPU mode",
    "*.TestMinHash.test_byte_tokens": OLDER,
}


def main() -> int:
    """Run the tests and print their results."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tests", type=Path, help="the folder test/ of a checkout of datasketch")
    parser.add_argument("--installed", action="store_true", help="test the installed datasketch")
    arguments = parser.parse_args()
    folder = arguments.tests.resolve()
    if not (folder / f"{FILES[0]}.py").exists():
        parser.error(f"{folder} has no {FILES[0]}.py; give the folder test/ of datasketch")
    # The files import `test.utils`.
    sys.path.insert(0, str(folder.parent))
    if not arguments.installed:
        replace_imports()
    add_placeholder("mockredis", "mock_redis_client")
    add_placeholder("redis", "Redis")
    suite = unittest.TestSuite(
        unittest.defaultTestLoader.loadTestsFromName(f"{folder.name}.{name}") for name in FILES
    )
    result = unittest.TestResult()
    suite.run(result)
    return report(result, {} if arguments.installed else KNOWN)


def replace_imports() -> None:
    """Make `import datasketch` and its modules mean simdb's module."""
    ours = importlib.import_module("simdb.compat.datasketch")
    package = ModuleType("datasketch")
    package.__dict__.update({name: getattr(ours, name) for name in ours.__all__})
    sys.modules["datasketch"] = package
    for name in MODULES:
        sys.modules[f"datasketch.{name}"] = ours
        setattr(package, name, ours)
    for name, missing in MISSING.items():
        add_placeholder(f"datasketch.{name}", missing)


def add_placeholder(module: str, name: str) -> None:
    """Make a module whose one name fails when it is called, unless the module is installed."""
    try:
        importlib.import_module(module)
    except ImportError:
        made = ModuleType(module)
        setattr(made, name, refuse)
        sys.modules[module] = made


def refuse(*arguments: Any, **options: Any) -> None:
    """Fail like a test that uses a missing name."""
    raise NotImplementedError("not part of simdb")


def report(result: unittest.TestResult, reasons: dict[str, str]) -> int:
    """Print how many tests passed, and why the others failed."""
    failed = [*result.failures, *result.errors]
    unknown = 0
    for test, trace in sorted(failed, key=lambda each: each[0].id()):
        reason = next((why for known, why in reasons.items() if fnmatch(test.id(), known)), None)
        unknown += reason is None
        last = trace.strip().splitlines()[-1]
        print(f"failed  {test.id()}\n        {'no known reason' if reason is None else reason}")
        print(f"        {last}")
    passed = result.testsRun - len(failed) - len(result.skipped)
    print(
        f"{passed} passed, {len(failed) - unknown} failed for a known reason, {unknown} failed"
        f" without one, {len(result.skipped)} skipped"
    )
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
