"""What builds and publishes the package agrees with what pyproject.toml declares."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import simdb

ROOT = Path(__file__).parents[2]
WORKFLOW = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
PROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_every_task_of_the_workflow_is_one_of_the_makefile():
    tasks = re.findall(r"run: make ([a-z-]+)$", WORKFLOW, re.MULTILINE)

    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert set(tasks) == {"lint", "test", "docs", "build"}
    assert all(re.search(rf"^{task}:", makefile, re.MULTILINE) for task in tasks)


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
@pytest.mark.parametrize("task", ["decoders", "mutants"])
def test_make_installs_nothing_into_the_environment_of_another_checkout(tmp_path, task):
    """`make sanitize` in a checkout with a linked .venv changed the packages of the other one."""
    (tmp_path / "other" / "bin").mkdir(parents=True)
    python = tmp_path / "other" / "bin" / "python"
    python.write_text(f"#!/bin/sh\necho called >{tmp_path}/called\n")
    python.chmod(0o755)
    made = tmp_path / "other" / ".developed"
    made.touch()
    os.utime(made, (2**32, 2**32))  # all that it is made of is older
    (tmp_path / "venv").symlink_to("other")

    ran = subprocess.run(
        ["make", f"VENV={tmp_path}/venv", task], cwd=ROOT, capture_output=True, text=True
    )

    assert ran.returncode == 2
    assert f"give one of your own: make VENV=build/venv {task}" in ran.stdout
    assert not (tmp_path / "called").exists()


def test_the_matrix_has_the_versions_of_the_classifiers_and_of_the_wheels():
    declared = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', PROJECT)

    matrix = re.search(r"python: \[(.*)\]", WORKFLOW)[1]
    assert re.findall(r"3\.\d+", matrix) == declared
    built = re.search(r'^build = \["cp.*$', PROJECT, re.MULTILINE)[0]
    assert re.findall(r"cp3(\d+)-", built) == [version[2:] for version in declared]


def test_the_recipe_of_conda_has_the_version_the_dependencies_and_the_programs():
    recipe = (ROOT / "tools" / "wheels" / "recipe.yaml").read_text(encoding="utf-8")

    run = recipe.partition("\n  run:\n")[2].partition("\n\n")[0]
    there = {
        re.sub(r"^python-|-python$", "", name): bound
        for name, bound in re.findall(r"- (\S+) (\S+)$", run, re.MULTILINE)
    }
    block = re.search(r"^dependencies = \[\n(.*?)^\]", PROJECT, re.MULTILINE | re.DOTALL)[1]
    assert there == dict(re.findall(r'"([a-z]+)(>=[^"]+)"', block))
    programs = re.search(r"^\[project.scripts\]\n(.*?)\n\n", PROJECT, re.M | re.DOTALL)[1]
    assert all(f"- {line}" in recipe for line in programs.replace('"', "").splitlines())
    assert f'\n  version: "{simdb.__version__}"\n' in recipe


def test_the_recipe_of_conda_is_read_by_its_builder():
    builder = pytest.importorskip("rattler_build", reason="needs py-rattler-build")

    recipe = builder.Stage0Recipe.from_file(str(ROOT / "tools" / "wheels" / "recipe.yaml"))

    assert recipe.as_single_output().package.name == "simdb"


def test_the_package_and_the_project_have_one_version():
    assert f'\nversion = "{simdb.__version__}"\n' in PROJECT
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## {re.escape(simdb.__version__)} - \d{{4}}-\d\d-\d\d$", changes, re.M)
