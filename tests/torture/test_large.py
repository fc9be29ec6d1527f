"""Databases that are too large for double loops, against a sample of brute force."""

import subprocess
import sys

import pytest
from torture_tool import FOLDER

ROOT = FOLDER.parents[1]


def run(*arguments, **settings):
    """Run the campaign in a process of its own; return its exit code and its output."""
    command = [sys.executable, FOLDER / "differential.py", *arguments]
    ended = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=False, **settings
    )
    return ended.returncode, ended.stdout + ended.stderr


# Only a database with a table of more than 2,000 entries is damaged by this rebuild.
BROKEN = """
import simdb.storage.rewriting as rewriting
made = rewriting.make_table
def make_table(keys, ordinals, bits, **rest):
    if len(keys) > 2000:
        keys[1500] ^= type(keys[0])(1)
    return made(keys, ordinals, bits, **rest)
rewriting.make_table = make_table
"""


@pytest.mark.slow
def test_a_rebuild_that_is_wrong_from_some_size_on_is_found_with_the_command_that_repeats_it(
    tmp_path,
):
    (tmp_path / "sitecustomize.py").write_text(BROKEN)
    environment = {"PYTHONPATH": f"{tmp_path}:{ROOT}", "PATH": ""}

    small, _ = run("--documents", 500, "--seed", 3, env=environment)
    large, told = run("--documents", 3000, "--seed", 3, env=environment)

    assert (small, large) == (0, 1)
    assert "--documents 3000 --seed 3" in told
    assert "last steps:" in told


@pytest.mark.slow
def test_every_verb_answers_as_brute_force_does_for_twenty_thousand_documents():
    code, told = run("--documents", 20_000, "--seed", 100, "--seeds", 5)

    assert code == 0, told
