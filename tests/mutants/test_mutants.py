"""Mutants fit every tree with their lines, and tests that notice one are told to have killed it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from changes import c_changes, python_changes
from drawing import drawn, mutated
from killing import Suite

TOOL = Path(__file__).parents[2] / "tools" / "mutants" / "mutants.py"
TEXT = "def larger(a, b):\n    # a > b\n    return a if a > b else b\n"
TEST = """from simdb.larger import larger

def test_larger():
    assert larger(1, 2) == 2
"""
MUTANT = {
    "path": "simdb/larger.py",
    "line": 3,
    "operator": "AddNot",
    "lines": TEXT.split("\n")[1:4],
    "changed": "    return a if not a > b else b",
}


def tree_of(place, text):
    """Make a tree of one module with one test."""
    files = {"simdb/__init__.py": "", "simdb/larger.py": text, "tests/test_larger.py": TEST}
    for path, content in files.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(content)
    return place


def test_a_change_of_c_is_one_of_its_code_and_of_no_comment():
    changes = c_changes('if (a < 3) /* a < 4 */\n    say("a < 5"); // a < 6\n#define B 7')

    changed = {line: {change() for each in found.values() for change in each}
               for line, found in changes.items()}  # fmt: skip
    assert changed == {
        1: {
            "if (a <= 3) /* a < 4 */", "if (a > 3) /* a < 4 */", "if (a < 4) /* a < 4 */",
            "if (a < 2) /* a < 4 */",
        }
    }  # fmt: skip


def test_a_change_of_python_is_one_of_its_code_and_of_no_annotation():
    pytest.importorskip("cosmic_ray.mutating")

    changes = python_changes('def f(a: "int | None") -> int:\n    return a + 1\n')

    assert set(changes) == {2}
    assert "    return a - 1" in {change() for change in changes[2]["ReplaceBinaryOperator"]}


def test_drawn_mutants_fit_every_tree(tmp_path):
    pytest.importorskip("cosmic_ray.mutating")
    trees = [tree_of(tmp_path / "a", TEXT), tree_of(tmp_path / "b", f"OTHER = 1\n\n\n{TEXT}")]

    [mutant] = drawn(trees[1], trees[:1], python_count=1, c_count=0, seed=1)

    for tree in trees:
        text = (tree / mutant["path"]).read_text()
        assert mutant["changed"] in mutated(text, mutant).split("\n")
        assert mutated(text, mutant).count("\n") == text.count("\n")


def test_without_coverage_the_tests_of_the_folder_run_and_then_a_cross_section():
    names = [
        "tests/model/test_a.py::test_a", "tests/engine/test_many.py::test_b",
        "tests/engine/search/test_many.py::test_c", "tests/index/test_d.py::test_d",
    ]  # fmt: skip
    reached = {"simdb/engine/write.py": {3: {names[3]}}}

    below, above, known = (
        Suite(names, reached, {}).chosen({"path": f"simdb/engine/{path}", "line": 3}, 10)
        for path in ("search/many.py", "search/lost/any.py", "write.py")
    )

    assert below == [names[2], names[0]]
    assert above == [names[2], names[0]]
    assert known == [names[3], names[2], names[1]]


def test_a_mutant_of_c_is_for_the_tests_of_its_module_and_those_with_its_name():
    names = [
        "tests/kernel/test_sketch_text.py::test_a", "tests/kernel/test_search_tables.py::test_b",
        "tests/decontamination/test_alignment.py::test_c", "tests/format/test_d.py::test_d",
    ]  # fmt: skip

    chosen = Suite(names, {}, {}).chosen({"path": "simdb_ext/sketch/ngrams/align.c", "line": 3}, 10)

    assert chosen == [names[2], names[0], names[3], names[1]]


@pytest.mark.slow
def test_a_mutant_is_killed_by_the_test_that_fails_and_survives_if_none_does(tmp_path):
    tree = tree_of(tmp_path / "tree", TEXT)
    mutants = [MUTANT, {**MUTANT, "changed": "    return a if a >= b else b"}]
    (tmp_path / "mutants.json").write_text(json.dumps(mutants))

    ended = subprocess.run(
        [sys.executable, TOOL, "run", tmp_path / "mutants.json", "--tree", tree],
        capture_output=True,
        text=True,
        check=True,
    )

    results = [json.loads(line)["killer"] for line in ended.stdout.splitlines()]
    assert results == ["tests/test_larger.py::test_larger", None]
    assert (tree / "simdb/larger.py").read_text() == TEXT
