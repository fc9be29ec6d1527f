"""Run the tests that python-threatexchange has for its indexes of PDQ against simdb's index.

    python tools/compat/threatexchange_tests.py CHECKOUT/python-threatexchange
    python tools/compat/threatexchange_tests.py CHECKOUT/python-threatexchange --installed

CHECKOUT is a checkout of https://github.com/facebook/ThreatExchange.  An unpacked wheel of version
1.2.6, the last one with tests, will also do.  The package itself is the installed one.  The test
files are not changed: the classes that they import are replaced by the index of simdb, each in a
directory of its own.  `--installed` runs them against the installed classes, to compare.  Needs
pytest; the exit code is that of pytest.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from threatexchange.signal_type.pdq import pdq_index, pdq_index2, signal

import simdb
from simdb.integrations.threatexchange import PDQDatabaseIndex

FILES = ("test_pdq_index", "test_pdq_index2", "test_index_updates")
# They read the index of faiss that the package's own classes hold.
KNOWN = "not test_supports_pickling and not test_serialize_deserialize_index"


class NewIndex(PDQDatabaseIndex):
    """An index with the arguments of the package's own classes, in a new directory."""

    def __init__(
        self,
        place: Any = None,
        entries: Iterable[tuple[str, Any]] = (),
        *,
        threshold: int | None = None,
    ) -> None:
        if place is None:
            options = simdb.Options(sketch=simdb.Bits(256), distance=threshold or 31)
            place = simdb.open(Path(tempfile.mkdtemp()) / "index", options=options)
        super().__init__(place, entries)


def main() -> int:
    """Run the tests and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkout", type=Path, help="the folder python-threatexchange")
    parser.add_argument("--installed", action="store_true", help="test the installed classes")
    arguments = parser.parse_args()
    found = [
        str(path)
        for name in FILES
        for path in arguments.checkout.resolve().glob(f"threatexchange/**/tests/{name}.py")
    ]
    if not found:
        parser.error(f"{arguments.checkout} has no threatexchange/**/tests/{FILES[0]}.py")
    if not arguments.installed:
        pdq_index.PDQIndex = pdq_index2.PDQIndex2 = signal.PDQIndex = NewIndex
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = folder
        chosen = [] if arguments.installed else ["-k", KNOWN]
        # The checkout must not precede the installed package.
        return int(
            pytest.main([*found, *chosen, "-q", "--import-mode=importlib", "-c", "/dev/null"])
        )


if __name__ == "__main__":
    sys.exit(main())
