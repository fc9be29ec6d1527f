"""Sizes: gives constants that decide which code runs tiny values for tests.

Most constants are far larger than a database that can be compared with double loops.  `shrunk`
replaces some of them by tiny values, so that every part, group and merge of many occurs.  Constants
that are options are not here.  tests/fuzz/test_sizes.py asks what crosses each constant.
"""

import importlib
import pkgutil
import sys
from ast import literal_eval
from contextlib import contextmanager
from pathlib import Path

FOLDERS = ("database", "plan", "sketch", "storage")


def read_tiny():
    """Return {module without "simdb.": {constant: tiny value}} of sizes.txt."""
    found = {}
    for line in Path(__file__).with_suffix(".txt").read_text(encoding="ascii").splitlines():
        module, *rest = line.split()
        found[module] = {name: literal_eval(value) for name, value in (x.split("=") for x in rest)}
    return found


TINY = read_tiny()
# Databases have all, none or some of them: a tiny constant can hide what another one decides.
SHARES = (0.0, 0.0, 0.2, 0.5, 1.0)


@contextmanager
def shrunk(chance, share):
    """Make the constants of this share of the modules tiny, drawn by `chance`; yield names."""
    names, before = [], []
    load_all()
    # Constants of one module stay together: some must be larger than others.
    for module_name in [each for each in TINY if chance.random() < share]:
        owner = importlib.import_module(f"simdb.{module_name}")
        for name, tiny in TINY[module_name].items():
            names.append(f"{module_name}.{name}")
            for module in users_of(owner, name):
                before.append((module, name, getattr(module, name)))
                setattr(module, name, tiny)
    try:
        yield names
    finally:
        for module, name, value in before:
            setattr(module, name, value)


def load_all():
    """Import all modules that may use the constants: later they would keep a tiny value."""
    for folder in FOLDERS:
        package = importlib.import_module(f"simdb.{folder}")
        for found in pkgutil.walk_packages(package.__path__, f"simdb.{folder}."):
            importlib.import_module(found.name)


def users_of(owner, name):
    """Return the module of a constant and the modules that have imported it by name."""
    value = getattr(owner, name)
    others = [
        module
        for path, module in sys.modules.items()
        if path.startswith("simdb.") and vars(module).get(name) is value and module is not owner
    ]
    return [owner, *others]
