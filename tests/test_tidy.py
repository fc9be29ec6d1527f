"""Sizes, names and docstrings that CONTRIBUTING.md asks for."""

import ast
from itertools import pairwise

from source_trees import FUNCTIONS, ROOT, name_of, nodes_of, text_of, tree_of

GENERATED = {"unicode_table.h"}
BUILT = {"_arrange.c", "_search.c", "_sketch.c"}
LINES_MOST = 1200
# The verbs of one noun stand in one file, with all that their docstrings promise.
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
# Functions of numpy that make numbers distinct by hashing them.
SETS = ("np.unique", "np.union1d", "np.intersect1d", "np.setdiff1d", "np.setxor1d")


def test_files_are_short_narrow_and_ascii():
    wrong = []
    for path in SOURCES:
        lines = text_of(path).splitlines()
        size = len(lines) - (docstrings_of(path) if path in MODULES else 0)
        if size > LINES_MOST:
            wrong.append(f"{name_of(path)} has {size} lines without its docstrings")
        if path.stem in FORBIDDEN:
            wrong.append(f"{name_of(path)} has a name that says nothing")
        for number, line in enumerate(lines, 1):
            if len(line) > 100 or not line.isascii() or "TODO" in line or "FIXME" in line:
                wrong.append(f"{name_of(path)}:{number}: {line}")

    assert wrong == []


def lines_of(node):
    return node.end_lineno - node.lineno + 1


def docstring_lines(node):
    return 0 if ast.get_docstring(node, clean=False) is None else lines_of(node.body[0])


def docstrings_of(path):
    """Count the lines of the docstrings of a module: public ones name each parameter."""
    documented = ast.Module | ast.ClassDef | FUNCTIONS
    nodes = (node for node in nodes_of(path) if isinstance(node, documented))
    return sum(map(docstring_lines, nodes))


def test_functions_are_short():
    long = [
        f"{name_of(path)}: {node.name} has {lines_of(node) - docstring_lines(node)} lines"
        for path in MODULES
        for node in nodes_of(path)
        if isinstance(node, FUNCTIONS) and lines_of(node) - docstring_lines(node) > 60
    ]

    assert long == []


def test_every_module_and_public_name_says_what_it_is():
    silent = [
        f"{name_of(path)}: {getattr(node, 'name', 'the module')}"
        for path in MODULES
        for node in [tree_of(path), *tree_of(path).body]
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)
        and not getattr(node, "name", "").startswith("_")
        and ast.get_docstring(node) is None
    ]

    assert silent == []


def test_distinct_numbers_are_found_by_sorting():
    """numpy.unique, and what calls it, hashes numbers unless asked for positions or told of sets.

    See `sorted_unique`; boolean marks are often faster than either.
    """
    hashing = [
        f"{name_of(path)}:{node.lineno}"
        for path in MODULES
        for node in nodes_of(path)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in SETS
        and not any(
            each.arg.startswith("return_") or each.arg in ("axis", "assume_unique")
            for each in node.keywords
        )
    ]

    assert hashing == []


def test_chapters_of_documents_are_whole():
    """No chapter begins within a block of code, or without a blank line before its title."""
    torn = []
    for path in DOCUMENTS:
        is_code = False
        for number, (before, line) in enumerate(pairwise(["", *text_of(path).splitlines()]), 1):
            if line.lstrip().startswith("```"):
                is_code = not is_code
            elif line.startswith(("## ", "### ")) and (is_code or before):
                torn.append(f"{name_of(path)}:{number}: {line}")
        if is_code:
            torn.append(f"{name_of(path)} ends within a block of code")

    assert torn == []
