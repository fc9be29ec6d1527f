"""docs/SIZES.md lists every constant that may decide which code runs, and what crosses it."""

import ast
import re
from pathlib import Path

from sizes import TINY

ROOT = Path(__file__).parents[2]
PLACES = ("jobs/deduplication", "spark/distributed", "database", "sketch", "storage")
FILES = ("plan/compaction.py", "plan/banding.py", "plan/vosh.py", "core/threads.py")
PAGE = (ROOT / "docs" / "SIZES.md").read_text(encoding="utf-8")


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


def listed():
    """Return {module.NAME: (value, what crosses it)} of the table of Python's constants."""
    rows = re.findall(r"^\| ([a-z_.]+) \| ([A-Z_]+ \d.+) \|$", PAGE, re.MULTILINE)
    return {
        f"{module}.{name}": (value, by)
        for module, cell in rows
        for name, value, by in re.findall(r"([A-Z_]+) (\d[\d, ]*) \(([^;)]+)", cell)
    }


def shown(value):
    return ", ".join(f"{each:,}" for each in (value if isinstance(value, tuple) else [value]))


def test_every_constant_is_listed_with_its_value():
    others = PAGE.split("## No sizes")[1]
    named = re.findall(r"^\* ([a-z_.]+): ((?:[A-Z_]+(?:,\s+)?)+)", others, re.MULTILINE)
    no_sizes = {f"{module}.{name}" for module, names in named for name in re.split(r",\s+", names)}
    no_sizes = {name.strip() for name in no_sizes}
    known, sizes = constants(), listed()

    assert set(known) - set(sizes) - no_sizes == set()
    assert (set(sizes) | no_sizes) - set(known) == set()
    assert {name: value for name, (value, _) in sizes.items()} == {
        name: shown(known[name]) for name in sizes
    }


def test_what_is_said_to_cross_a_constant_names_it():
    tiny = {f"{module}.{name}" for module, names in TINY.items() for name in names}
    said = {name: by for name, (_, by) in listed().items() if by not in ("nothing", "real size")}
    untrue = [
        name
        for name, by in said.items()
        if by != "tiny"
        and not re.search(
            rf"\b({name.split('.')[-1]}|Remembered)\b",
            (ROOT / "tests" / f"{by}.py").read_text(encoding="utf-8"),
        )
    ]

    assert untrue == []
    assert {name for name, by in said.items() if by == "tiny"} == tiny


def test_every_tiny_value_is_less_than_the_real_one():
    known = constants()

    not_less = [
        f"{module}.{name}"
        for module, names in TINY.items()
        for name, value in names.items()
        if value >= known[f"{module}.{name}"]
    ]

    assert not_less == []


def test_the_kernels_constants_have_the_listed_values():
    rows = re.findall(r"^\| (\S+\.\S+) ([A-Z_]+) \| (.+?) \| (\S+) \|", PAGE, re.MULTILINE)
    sources = [(ROOT / "simdb_ext" / path).read_text(encoding="ascii") for path, *_ in rows]

    wrong = [
        row
        for row, source in zip(rows, sources, strict=True)
        if not re.search(rf"\b{row[1]}\b[ =(]+{re.escape(row[2])}", source)
    ]

    assert len(rows) > 5
    assert wrong == []
