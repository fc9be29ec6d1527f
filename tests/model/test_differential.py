"""All verbs in random order, against brute force: see tools/torture/differential.py."""

import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "torture" / "differential.py"


def run(*arguments):
    """Run the tool in a process of its own; returns its exit code and its output."""
    command = [sys.executable, str(TOOL), *map(str, arguments)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    return ended.returncode, ended.stdout + ended.stderr


def test_every_verb_answers_as_the_loops_do():
    code, told = run("--seeds", 3, "--steps", 40)

    assert code == 0, told


def test_every_verb_answers_as_the_loops_do_if_all_sizes_are_tiny():
    code, told = run("--seed", 300, "--seeds", 1, "--steps", 40, "--tiny", 1)

    assert code == 0, told


def test_a_wrong_answer_is_told_with_the_command_that_repeats_it(tmp_path):
    broken = tmp_path / "sitecustomize.py"
    broken.write_text("import simdb.database.state.view as v\nv.View.live = lambda self: []\n")

    ended = subprocess.run(
        [sys.executable, str(TOOL), "--seed", "3", "--steps", "40"],
        env={"PYTHONPATH": f"{tmp_path}:{TOOL.parents[2]}", "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 1
    assert "--seed 3 --steps 40" in ended.stdout
    assert "with --kernel " in ended.stdout
    assert "last steps:" in ended.stdout
    assert "options: Options(" in ended.stdout


@pytest.mark.slow
def test_every_verb_answers_as_the_loops_do_for_long():
    code, told = run("--seed", 10_000, "--seeds", 100, "--steps", 200, "--jobs", 2)

    assert code == 0, told
