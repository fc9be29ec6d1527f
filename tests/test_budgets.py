"""The package keeps the budgets of CONTRIBUTING.md, and no two classes have one name."""

import ast
import io
import re
import tokenize

from source_trees import FUNCTIONS, PACKAGE, ROOT, name_of, nodes_of, text_of, tree_of

MODULES = sorted(PACKAGE.rglob("*.py"))
LAYOUT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER,
}  # fmt: skip
MANY_PARAMETERS = 7


def budgets():
    """Return {what: number} of the table in the section on budgets."""
    section = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("## Budgets")[1]
    rows = re.findall(r"^\| ([^|`]+?) \| ([\d,]+) \|$", section.split("\n## ")[0], re.M)
    return {what: int(number.replace(",", "")) for what, number in rows}


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


def test_the_package_has_no_more_than_its_budgets():
    nodes = [node for path in MODULES for node in nodes_of(path)]
    counted = {
        "modules": len(MODULES),
        "lines of code": sum(map(code_lines, MODULES)),
        "import statements": sum(isinstance(each, ast.Import | ast.ImportFrom) for each in nodes),
        f"functions of {MANY_PARAMETERS} parameters or more": sum(
            isinstance(each, FUNCTIONS) and len(parameters(each)) >= MANY_PARAMETERS
            for each in nodes
        ),
    }
    allowed = budgets()

    assert {what: count for what, count in counted.items() if count > allowed[what]} == {}
    assert set(allowed) == set(counted)


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
