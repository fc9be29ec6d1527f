"""What builds and publishes the package agrees with what pyproject.toml declares."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from source_trees import tree_of

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


def test_every_file_that_is_read_at_run_time_is_in_the_wheel():
    tools = pytest.importorskip("tomllib").loads(PROJECT)["tool"]["setuptools"]

    assert tools["include-package-data"] is False  # so no source of the kernel is
    for package, patterns in tools["package-data"].items():
        folder = ROOT / package
        packed = {path for pattern in patterns for path in folder.glob(pattern)}
        read = {
            path
            for path in folder.rglob("*.*")
            if path.suffix not in {".py", ".pyc", ".so", ".c", ".h", ".pyx", ".pxd", ".pxi"}
        }
        assert len(packed) > 2
        assert packed == read


def test_the_tests_of_a_wheel_import_only_packages_that_are_installed_for_them():
    """A test of the kernel imported pyarrow, which has no wheels for musl and free threads."""
    project = pytest.importorskip("tomllib").loads(PROJECT)
    usual, [override] = (
        project["tool"]["cibuildwheel"],
        project["tool"]["cibuildwheel"]["overrides"],
    )

    for tested in (usual, override):
        installed = requirements_of(project["project"], tested.get("test-extras", []))
        installed |= names_of(tested.get("test-requires", []))
        folders = re.findall(r"\{project\}/(tests/\w+)", tested["test-command"][1])
        assert {"tests/kernel", "tests/format"} <= set(folders)
        paths = [path for each in folders for path in (ROOT / each).glob("*.py")]
        needed = imported(paths, project["tool"]["pytest"]["ini_options"]["pythonpath"])
        assert {"pytest", "numpy"} <= needed <= installed


def requirements_of(project, extras):
    """Return the names of the modules of the dependencies and of these extras."""
    groups = [project["dependencies"], *(project["optional-dependencies"][each] for each in extras)]
    return names_of([each for group in groups for each in group])


def names_of(requirements):
    return {re.match(r"[\w-]+", each)[0].replace("-", "_") for each in requirements}


def imported(paths, folders):
    """Return the packages that pytest needs to collect these tests, and modules of `folders`."""
    support = {path.stem: path for each in folders for path in (ROOT / each).glob("*.py")}
    waiting, seen, found = [ROOT / "tests" / "conftest.py", *paths], set(), set()
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        for node in tree_of(path).body:
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                first = name.partition(".")[0]
                if first in support:
                    waiting.append(support[first])
                elif first not in {*sys.stdlib_module_names, "simdb", "simdb_ext"}:
                    found.add(first)
    return found


def test_the_recipe_of_conda_has_the_version_the_dependencies_and_the_programs():
    recipe = (ROOT / "tools" / "wheels" / "recipe.yaml").read_text(encoding="utf-8")

    run = recipe.partition("\n  run:\n")[2].partition("\n\n")[0]
    there = {
        re.sub(r"^python-|-python$", "", name): bound
        for name, bound in re.findall(r"- (\S+) (\S+)$", run, re.MULTILINE)
    }
    block = re.search(r"^dependencies = \[\n(.*?)^\]", PROJECT, re.MULTILINE | re.DOTALL)[1]
    assert there == dict(re.findall(r'"([a-z0-9]+)(>=[^"]+)"', block))
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
