"""Docstrings and comments keep the rules of English that a program can check (CONTRIBUTING.md)."""

import pytest
from prose import Prose, faults, prose_of
from source_trees import ROOT, name_of

GENERATED = {"unicode_table.h", "_arrange.c", "_search.c", "_sketch.c"}
SOURCES = sorted(
    path
    for folder in ("simdb", "simdb_ext")
    for suffix in ("py", "pyi", "pyx", "pxi", "c", "h")
    for path in (ROOT / folder).rglob(f"*.{suffix}")
    if path.name not in GENERATED
)


def test_docstrings_and_comments_are_read_once():
    wrong = [
        f"{name_of(path)}:{prose.line}: {fault}"
        for path in SOURCES
        for prose in prose_of(path)
        for fault in faults(prose)
    ]

    assert wrong == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Batch size: rows read together.", None),
        ("So many rows at a time.", "So many"),
        ("Return those that match.", "those that"),
        ("How many rows there are.", "How"),
        ("One; two; three.", "two semicolons: One; two; three."),
        ("Return " + "very " * 30 + "much.", "32 words: Return very very"),
    ],
)
def test_what_is_read_twice_is_found(text, fault):
    found = faults(Prose(1, text))

    assert (found == []) if fault is None else found and found[-1].startswith(fault)
