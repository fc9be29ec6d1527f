"""Sizes, names and docstrings that CONTRIBUTING.md asks for."""

import ast
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
GENERATED = {"unicode_table.py", "unicode_table.h", "normalisation_table.py"}
BUILT = {"_arrange.c", "_search.c", "_sketch.c"}
FORBIDDEN = {"utils", "common", "helpers", "base", "misc", "manager"}
SOURCES = sorted(
    path
    for folder in ("simdb", "simdb_ext")
    for suffix in ("py", "pyx", "pxd", "pxi", "pyi", "c", "h")
    for path in (ROOT / folder).rglob(f"*.{suffix}")
    if path.name not in GENERATED | BUILT
)
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
MODULES = [path for path in SOURCES if path.suffix == ".py" and path.parts[-2] != "simdb_ext"]


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_a_file_is_short_narrow_and_ascii(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()

    assert len(lines) <= 500
    assert max(map(len, lines), default=0) <= 100
    assert all(line.isascii() for line in lines)
    assert not any("TODO" in line or "FIXME" in line for line in lines)
    assert path.stem not in FORBIDDEN


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_function_is_short(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))

    long = [
        f"{node.name}: {(node.end_lineno or node.lineno) - node.lineno + 1} lines"
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno + 1 > 60
    ]

    assert long == []


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_every_module_and_public_name_says_what_it_is(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    public = [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
    ]

    silent = [node.name for node in public if ast.get_docstring(node) is None]

    assert ast.get_docstring(tree)
    assert silent == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_a_chapter_of_a_document_is_whole(path: Path) -> None:
    """No chapter begins within a block of code, or without a blank line before its title."""
    lines = ["", *path.read_text(encoding="utf-8").splitlines()]

    is_code, torn = False, []
    for number, (before, line) in enumerate(pairwise(lines), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif line.startswith(("## ", "### ")) and (is_code or before):
            torn.append(f"{number}: {line}")

    assert (torn, is_code) == ([], False)
