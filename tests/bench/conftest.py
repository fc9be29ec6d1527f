"""The tools of the benchmarks, on files made here."""

import importlib
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools" / "bench"


def imported(name):
    """Import a tool; other tools have modules of the same names, so these are forgotten again."""
    names = {path.stem for path in TOOLS.glob("*.py")}
    others = {each: sys.modules.pop(each) for each in names & set(sys.modules)}
    sys.path.insert(0, str(TOOLS))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(TOOLS))
        for each in names & set(sys.modules):
            del sys.modules[each]
        sys.modules.update(others)


@pytest.fixture(scope="session")
def tool():
    """Return the function that imports a tool."""
    return imported
