"""Every constant that may decide which code runs is crossed from both sides.

A constant is a whole number above 1, or a tuple of sizes, with a name in capitals.  Either sizes.py
of tools/fuzz has a tiny value, so that databases of sessions cross it, or a test names it, or
no_sizes.txt says that it decides no size: it bounds what is accepted, belongs to a byte layout or a
formula, times something, or decides only what advice says.
"""

import ast
import re
from pathlib import Path

from sizes import TINY

ROOT = Path(__file__).parents[2]
PLACES = ("jobs/deduplication", "spark/distributed", "database", "sketch", "storage")
FILES = ("plan/compaction.py", "plan/banding.py", "plan/vosh.py", "core/threads.py")
# C and Cython constants cannot be patched; tests of real sizes cross these.
KERNEL = {
    "_search.pyx": {
        "LOOKUP_QUERIES_MAX": "1 << 17", "SCAN_QUERIES_MAX": "1024",
        "GATHERED_QUERIES_MIN": "1024", "BEST_ROOM": "1 << 22",
    },
    "search/found.c": {"ROOM_MAX": "1 << 21"},
    "arrange/sort.c": {"SORT_CACHED": "1 << 16", "MERGE_FEW": "32"},
    "arrange/lines.h": {"ARRANGE_GAP": "32768"},
    "arrange/lines.c": {"PARTS": "1024"},
    "arrange/bins.c": {"BINS_BLOCK": "512"},
}  # fmt: skip
# Tests cross these at their real sizes.
REAL = {
    "database.search.judge.REMEMBERED_MOST", "storage.layout.MEMBER_ORDINALS",
    "database.state.kinds.KEYED_DOCUMENTS", "storage.layout.CHUNK_ORDINALS",
    "sketch.markup.QUOTED_BYTES_FEW", "sketch.markup.SMALL_TAGS",
}  # fmt: skip
TINY_VALUES = {f"{module}.{name}": TINY[module][name] for module in TINY for name in TINY[module]}


def constants():
    """Return {module.NAME: value} of the whole numbers above 1, and tuples of such numbers."""
    simdb = ROOT / "simdb"
    paths = [
        path
        for place in PLACES
        for path in (simdb / place).rglob("*.py")
        if "tuning" not in path.parts and path.stem != "functions"
    ]
    found = {}
    for path in [*paths, *(simdb / name for name in FILES)]:
        module = ".".join(path.relative_to(simdb).with_suffix("").parts)
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                value = number_of(node.value)
                if node.targets[0].id.isupper() and value is not None:
                    found[f"{module}.{node.targets[0].id}"] = value
    return found


def number_of(node):
    """Return the value of an expression of numbers alone; None for anything else, and below 2."""
    try:
        value = eval(compile(ast.Expression(node), "", "eval"), {"__builtins__": {}})
    except (NameError, TypeError, AttributeError):
        return None
    if isinstance(value, tuple):
        is_size = len(value) > 2 and all(type(each) is int and each >= 1000 for each in value)
        return value if is_size else None
    return value if type(value) is int and value >= 2 else None


def no_sizes():
    lines = (Path(__file__).parent / "no_sizes.txt").read_text(encoding="ascii").splitlines()
    rows = [line.split(":") for line in lines]
    return {f"{module}.{name}" for module, names in rows for name in names.split()}


def named_by_tests():
    """Return every word in capitals that a test names."""
    tests = [path for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__)]
    return {
        word
        for path in tests
        for word in re.findall(r"\b[A-Z][A-Z_]+\b", path.read_text(encoding="utf-8"))
    }


def test_every_constant_is_tiny_in_a_session_named_by_a_test_or_no_size():
    known, exempt, words = set(constants()), no_sizes(), named_by_tests()
    named = {name for name in known if name.rpartition(".")[2] in words}

    assert sorted(known - set(TINY_VALUES) - named - exempt - REAL) == []
    assert sorted((exempt | set(TINY_VALUES)) - known) == []
    assert sorted(exempt & set(TINY_VALUES)) == []


def test_every_tiny_value_is_less_than_the_real_one():
    known = constants()

    assert [name for name, tiny in TINY_VALUES.items() if tiny >= known[name]] == []


def test_the_kernels_constants_have_the_values_that_tests_cross():
    wrong = []
    for path, names in KERNEL.items():
        source = (ROOT / "simdb_ext" / path).read_text(encoding="ascii")
        for name, value in names.items():
            if not re.search(rf"\b{name}\b[ =(]+{re.escape(value)}", source):
                wrong.append((path, name))

    assert wrong == []
