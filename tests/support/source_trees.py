"""The files of the package, parsed once for all checks of the source."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "simdb"
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


def name_of(path):
    """Return a path inside the project."""
    return str(path.relative_to(ROOT))


@cache
def text_of(path):
    """Return the text of a file."""
    return path.read_text(encoding="utf-8")


@cache
def tree_of(path):
    """Return the syntax tree of a module."""
    return ast.parse(text_of(path))


@cache
def nodes_of(path):
    """Return all nodes of the syntax tree of a module."""
    return list(ast.walk(tree_of(path)))
