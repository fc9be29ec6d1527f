"""The package keeps the budgets of CONTRIBUTING.md: modules, lines of code, imports, names."""

import ast
import io
import re
import tokenize
from collections import Counter

from source_trees import FUNCTIONS, PACKAGE, ROOT, name_of, nodes_of, text_of, tree_of

MODULES = sorted(PACKAGE.rglob("*.py"))
LAYOUT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER,
}  # fmt: skip
MANY_PARAMETERS = 7


def budgets():
    """Return {what: numbers} of the tables in the section on budgets."""
    section = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("## Budgets")[1]
    rows = re.findall(r"^\| `?([^|`]+?)`? \| ([\d,. |]+) \|$", section.split("\n## ")[0], re.M)
    return {what: [float(each.replace(",", "")) for each in row.split("|")] for what, row in rows}


def folder_of(path):
    """Return the folder of `simdb/` that a module is in, "simdb" for the four files beside them."""
    inside = path.relative_to(PACKAGE).parts
    return inside[0] if len(inside) > 1 else "simdb"


def code_lines(path):
    """Count the lines of a module that have code: no docstrings, comments or blank lines."""
    docs = set()
    for node in nodes_of(path):
        if isinstance(node, ast.Module | ast.ClassDef | FUNCTIONS) and ast.get_docstring(node):
            docs.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    tokens = tokenize.generate_tokens(io.StringIO(text_of(path)).readline)
    with_code = set()
    for token in tokens:
        if token.type not in LAYOUT:
            with_code.update(range(token.start[0], token.end[0] + 1))
    return len(with_code - docs)


def test_each_folder_has_no_more_modules_and_lines_of_code_than_its_budget():
    modules = Counter(map(folder_of, MODULES))
    lines = Counter()
    for path in MODULES:
        lines[folder_of(path)] += code_lines(path)
    allowed = budgets()

    over = {
        folder: (modules[folder], lines[folder])
        for folder in modules
        if modules[folder] > allowed[folder][0] or lines[folder] > allowed[folder][1]
    }

    assert over == {}, "raise a budget in CONTRIBUTING.md only with what it buys"
    assert {what for what in allowed if not what.count(" ")} == set(modules)


def test_the_modules_import_no_more_than_their_budget():
    imports = sum(
        isinstance(node, ast.Import | ast.ImportFrom) for path in MODULES for node in nodes_of(path)
    )

    assert imports <= budgets()["import statements"][0]


def test_no_more_functions_have_many_parameters_than_their_budget():
    many = [
        f"{name_of(path)}: {node.name}"
        for path in MODULES
        for node in nodes_of(path)
        if isinstance(node, FUNCTIONS) and len(parameters(node)) >= MANY_PARAMETERS
    ]

    allowed = budgets()[f"functions of {MANY_PARAMETERS} parameters or more"][0]
    assert len(many) <= allowed, many


def test_every_class_has_a_name_of_its_own():
    places = {}
    for path in MODULES:
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(name_of(path))

    assert {name: each for name, each in places.items() if len(each) > 1} == {}


def parameters(node):
    """Return the names of a function's parameters, without self and cls."""
    every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return [each.arg for each in every if each.arg not in ("self", "cls")]
