"""`make reference` writes a section for each public name, and an entry for each module."""

import importlib.util
import re
from pathlib import Path

import simdb

ROOT = Path(__file__).parent.parent


def generator(name):
    """Return a module of tools/generate/, which is no package."""
    path = ROOT / "tools" / "generate" / f"{name}.py"
    specification = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_the_reference_and_the_list_of_modules_leave_nothing_out():
    text, listing = generator("reference").reference(), generator("modules").listing()

    sections = re.findall(r"^## (\w+)$", text, re.M)
    described = re.findall(r"^### Database\.(\w+)\n\n```python\n\1\b", text, re.M)
    entries = re.findall(r"^\* `.*\.py`", listing, re.M)
    assert {*simdb.__all__} - {*sections} == {"__version__"}
    assert sorted(described) == [name for name in dir(simdb.Database) if name[0] != "_"]
    assert len(entries) == len([*(ROOT / "simdb").rglob("[!_]*.py")])
