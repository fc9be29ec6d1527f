"""Prose of the source: every docstring and comment, and what CONTRIBUTING.md, English, forbids."""

import ast
import re
import tokenize
from collections.abc import Iterator
from io import StringIO
from typing import NamedTuple

from source_trees import FUNCTIONS, nodes_of, text_of

UNCLEAR = re.compile(
    r"\b(so many|so much|as many|as much|but for|alike|beside|whatever|what else|comes? first"
    r"|by hand|given twice|those (?:that|of|who)|one that|that which|leaves? out)\b",
    re.IGNORECASE,
)
OPENING = re.compile(r"(So (many|much|long|often)|What|How|Which|Those|Whether|The same|Whose?)\b")
MARKS = re.compile(r"#!|#\s*(noqa|type:|cython|mypy|pragma|fmt|ruff|distutils)")
C_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
WORDS_PUBLIC, WORDS_MOST = 25, 30


class Prose(NamedTuple):
    """One docstring or comment: its first line, its text, and what kind of text it is."""

    line: int
    text: str
    is_property: bool = False
    is_public: bool = False


def faults(prose: Prose) -> list[str]:
    """Return what is forbidden in a docstring or comment."""
    found = [each[0] for each in UNCLEAR.finditer(prose.text)]
    opening = OPENING.match(prose.text)
    if opening and not (prose.is_property and opening[0] == "Whether"):
        found.append(opening[0])
    for sentence in sentences(prose.text):
        if len(sentence.split()) > (WORDS_PUBLIC if prose.is_public else WORDS_MOST):
            found.append(f"{len(sentence.split())} words: {sentence[:60]}")
        if sentence.count(";") > 1:
            found.append(f"two semicolons: {sentence[:60]}")
    return found


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text; code is one word, headings and parameters end a sentence."""
    text = re.sub(r"(?m)^([\w*, ]+ : .*|.*\n-{3,})$", "\n\n", re.sub(r"`[^`]*`", "X", text))
    for block in re.split(r"\n\s*\n|\n\s*\* ", text):
        if " | " not in block:  # no table
            yield from re.split(r"(?<=[.!?:])\s+(?=[A-Z\"])", " ".join(block.split()))


def prose_of(path) -> Iterator[Prose]:
    """Yield the docstrings and comments of a file of Python, Cython or C."""
    if path.suffix in (".c", ".h"):
        for each in C_COMMENT.finditer(text_of(path)):
            text = re.sub(r"\n\s*\*? ?", "\n", each[0].strip("/*").strip())
            yield Prose(text_of(path).count("\n", 0, each.start()) + 1, text)
        return
    if path.suffix in (".py", ".pyi"):
        yield from docstrings_of(path)
        tokens = tokenize.generate_tokens(StringIO(text_of(path)).readline)
        comments = {at.start[0]: at.string for at in tokens if at.type == tokenize.COMMENT}
    else:
        for each in re.finditer(r'"""(.*?)"""', text_of(path), re.DOTALL):
            yield Prose(text_of(path).count("\n", 0, each.start()) + 1, each[1].strip())
        lines = enumerate(text_of(path).splitlines(), 1)
        comments = {number: line.strip() for number, line in lines if line.lstrip()[:1] == "#"}
    whole = text_of(path).splitlines()
    alone = {number for number in comments if whole[number - 1].lstrip()[:1] == "#"}
    block: list[str] = []
    for number, comment in sorted(comments.items()):
        if not MARKS.match(comment):
            block.append(comment.lstrip("# "))
            if not {number, number + 1} <= alone:
                yield Prose(number + 1 - len(block), "\n".join(block))
                block = []


def docstrings_of(path) -> Iterator[Prose]:
    """Yield the docstrings of a module, without their examples."""
    for node in nodes_of(path):
        if isinstance(node, ast.Module | ast.ClassDef | FUNCTIONS) and ast.get_docstring(node):
            text = ast.get_docstring(node).partition("Examples\n---")[0]
            if isinstance(node, ast.Module):
                noun, _, said = text.partition(": ")
                text = said[:1].upper() + said[1:] if said and "\n" not in noun else text
            marks = map(ast.unparse, getattr(node, "decorator_list", []))
            yield Prose(
                node.body[0].lineno, text, any("property" in mark for mark in marks), "----" in text
            )
