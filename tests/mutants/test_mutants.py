"""Mutants fit every tree with their lines, and tests that notice one are told to have killed it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from changes import c_changes, python_changes
from choosing import Choice
from drawing import drawn, mutated
from reached import marked

TOOL = Path(__file__).parents[2] / "tools" / "mutants" / "mutants.py"
TEXT = "def larger(a, b):\n    # a > b\n    return a if a > b else b\n"
TEST = """from simdb.larger import larger

def test_larger():
    assert larger(1, 2) == 2
"""
INI = "[pytest]\nmarkers =\n    slow\n"
MUTANT = {
    "path": "simdb/larger.py",
    "line": 3,
    "operator": "AddNot",
    "lines": TEXT.split("\n")[1:4],
    "changed": "    return a if not a > b else b",
}


def tree_of(place, text):
    """Make a tree of one module with one test."""
    tools = {f"tools/mutants/{each.name}": each.read_text() for each in TOOL.parent.glob("*.py")}
    files = {
        **tools,
        "simdb/__init__.py": "",
        "pytest.ini": INI,
        "simdb/larger.py": text,
        "tests/test_larger.py": TEST,
    }
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


def test_drawn_mutants_fit_their_tree(tmp_path):
    pytest.importorskip("cosmic_ray.mutating")
    tree = tree_of(tmp_path, TEXT)

    [mutant] = drawn(tree, python_count=1, c_count=0, seed=1)

    text = (tree / mutant["path"]).read_text()
    assert mutant["changed"] in mutated(text, mutant).split("\n")
    assert mutated(text, mutant).count("\n") == text.count("\n")


def test_a_mutant_is_reached_where_its_statement_runs_and_a_constant_by_every_function(tmp_path):
    text = (
        "A = 1\ndef f(a):\n    if a:\n        return 1\n    elif a is None:\n        return (\n"
        "            2\n        )\ndef g():\n    'Say.'\n    return A\n"
    )
    said = []

    names = {"__builtins__": {"__import__": lambda name: type("", (), {"at": said.append})}}
    exec(compile(marked(text, [(1, 0), (4, 1), (5, 2), (7, 3)]), "text", "exec"), names)

    assert names["f"](0) is None
    assert sorted(said) == [0, 2]
    said.clear()
    assert names["f"](None) == 2
    assert sorted(said) == [0, 2, 3]
    said.clear()
    assert names["g"]() == 1
    assert said == [0]
    assert names["g"].__doc__ == "Say."


def test_tests_that_reach_a_mutant_run_cheap_ones_first_within_the_budget(tmp_path):
    near, cheap, dear, failing, other = (
        "tests/database/test_write.py::test_a[1]", "tests/test_b.py::test_b",
        "tests/test_b.py::test_c", "tests/test_b.py::test_d", "tests/test_e.py::test_e",
    )  # fmt: skip
    told = [[7, near], [7, dear], [7, cheap], [7, failing], [7, ""], [8, other]]
    told += [[near, 1, True], [cheap, 0.1, True], [dear, 9.5, True], [failing, 0.1, False]]
    (tmp_path / "reached").write_text("\n".join(map(json.dumps, told)))

    chosen = Choice(tmp_path / "reached", budget=2).of(
        {"path": "simdb/database/write.py", "number": 7}, {near, cheap, dear, failing, other}
    )

    assert chosen == [near, cheap]


def test_a_mutant_of_c_is_for_the_tests_of_its_module_then_for_all_others(tmp_path):
    names = {
        "tests/kernel/test_sketch_text.py::test_a", "tests/kernel/test_search_tables.py::test_b",
        "tests/decontamination/test_align.py::test_c", "tests/format/test_d.py::test_d",
        "tests/database/test_many.py::test_e",
    }  # fmt: skip
    (tmp_path / "reached").write_text('["tests/format/test_f.py::test_f", 1, false]')

    chosen = Choice(tmp_path / "reached", budget=10).of(
        {"path": "simdb_ext/sketch/ngrams/align.c", "number": 3}, names
    )

    assert [name.split("::")[0].split("/")[-1] for name in chosen] == [
        "test_align.py", "test_sketch_text.py", "test_d.py", "test_search_tables.py",
        "test_many.py",
    ]  # fmt: skip


@pytest.mark.slow
def test_a_mutant_is_killed_by_the_test_that_fails_and_survives_if_none_does(tmp_path):
    tree = tree_of(tmp_path / "tree", TEXT)
    mutants = [MUTANT, {**MUTANT, "changed": "    return a if a >= b else b"}]
    (tmp_path / "mutants.json").write_text(json.dumps(mutants))

    run = [TOOL, "run", tmp_path / "mutants.json", "--tree", tree]
    ended = subprocess.run(
        [sys.executable, *run, "--reached", tmp_path / "reached"],
        capture_output=True,
        text=True,
        check=True,
    )

    results = [json.loads(line)["killer"] for line in ended.stdout.splitlines()]
    assert results == ["tests/test_larger.py::test_larger", None]
    assert (tree / "simdb/larger.py").read_text() == TEXT
