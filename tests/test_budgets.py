"""The package has no more lines of code than CONTRIBUTING.md says; class names are unique."""

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


def code_lines(path):
    """Count the lines of a module that have code: no docstrings, comments or blank lines."""
    docs = set()
    for node in nodes_of(path):
        if isinstance(node, ast.Module | ast.ClassDef | FUNCTIONS) and ast.get_docstring(node):
            docs.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    with_code = set()
    for token in tokenize.generate_tokens(io.StringIO(text_of(path)).readline):
        if token.type not in LAYOUT:
            with_code.update(range(token.start[0], token.end[0] + 1))
    return len(with_code - docs)


def test_the_package_has_no_more_lines_of_code_than_its_budget():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    [budget] = re.findall(r"at most ([\d,]+)\s+lines\s+of\s+code", text)

    assert sum(map(code_lines, MODULES)) <= int(budget.replace(",", ""))


def test_every_class_has_a_name_of_its_own():
    places = {}
    for path in MODULES:
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(name_of(path))

    assert {name: each for name, each in places.items() if len(each) > 1} == {}
