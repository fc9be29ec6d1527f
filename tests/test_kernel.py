import os
import shutil
import subprocess
import sys
import sysconfig
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

import simdb_ext
from simdb import kernel
from simdb.errors import OptionError
from simdb.kernel_absence import why_missing

SCRIPT = """
import simdb
from simdb import kernel
print(kernel.IS_COMPILED, simdb.fingerprint("some text of several words").bits)
"""


def run(**environment):
    return subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", SCRIPT],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "SIMDB_KERNEL": "", **environment},
    )


@pytest.fixture
def chosen():
    """Select the fastest variant again after the test."""
    yield
    kernel.select(kernel.variants()[-1])


def test_variants_are_listed_slowest_first():
    variants = kernel.variants()

    assert variants == sorted(variants, key=kernel.ORDER.index)
    assert len(set(variants)) == len(variants)


@pytest.mark.usefixtures("chosen")
def test_every_variant_can_be_selected():
    for variant in kernel.variants():
        kernel.select(variant)


def test_an_unknown_variant_is_refused_by_name():
    with pytest.raises(OptionError, match="'sse9'"):
        kernel.select("sse9")


def test_numpy_can_be_chosen_without_a_warning_and_answers_alike():
    by_numpy = run(SIMDB_KERNEL="numpy")

    assert by_numpy.stderr == ""
    assert by_numpy.stdout.split()[0] == "False"
    assert by_numpy.stdout.split()[1] == run(SIMDB_KERNEL="numpy").stdout.split()[1]


@pytest.mark.skipif(not kernel.IS_COMPILED, reason="the kernel is not compiled")
def test_every_choice_answers_alike():
    answers = {run(SIMDB_KERNEL=variant).stdout for variant in kernel.variants()}

    assert len(answers) == 1
    assert answers.pop().split()[1] == run(SIMDB_KERNEL="numpy").stdout.split()[1]


def test_a_choice_that_cannot_be_is_refused_at_once():
    refused = run(SIMDB_KERNEL="sse9")

    assert refused.returncode != 0
    assert "sse9" in refused.stderr


def made(folder, *names):
    """Make empty files in a folder, and return it as text."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return str(folder)


SOURCES = ("setup.py", "pyproject.toml", "simdb_ext/_search.pyx")
BUILT = "simdb_ext/_search" + EXTENSION_SUFFIXES[0]
ERROR = ImportError("cannot import name '_search'")


@pytest.mark.parametrize(
    ("here", "elsewhere", "expected"),
    [
        (SOURCES, [BUILT], ["source folder {here}", "not from {elsewhere}", "another folder"]),
        (SOURCES, [], ["source folder {here}", "pip install -e {here}"]),
        (["simdb_ext/__init__.py"], [], ["C compiler"]),
        (["simdb_ext/_search.cpython-34m.so"], [], ["another Python", "_search.cpython-34m.so"]),
        ([BUILT], [], ["{here}/" + BUILT, "cannot import name '_search'", "install simdb again"]),
        ([*SOURCES, BUILT], [BUILT], ["{here}/" + BUILT, "cannot import name"]),
    ],
)
def test_the_cause_of_a_missing_kernel_is_named(tmp_path, here, elsewhere, expected):
    folders = {
        "here": made(tmp_path / "here", "x", *here),
        "elsewhere": made(tmp_path / "elsewhere", "x", *elsewhere),
    }

    cause = why_missing(ERROR, folders["here"], [folders["here"], folders["elsewhere"]])

    for part in expected:
        assert part.format(**folders) in cause
    if not elsewhere:
        assert folders["elsewhere"] not in cause


@pytest.mark.skipif(not kernel.IS_COMPILED, reason="the kernel is not compiled")
def test_a_checkout_in_the_working_folder_is_named_beside_the_installed_package(tmp_path):
    built = Path(simdb_ext.__file__).parent
    made(tmp_path / "checkout", *SOURCES, "simdb_ext/__init__.py")
    (tmp_path / "checkout" / "simdb").symlink_to(built.parent / "simdb")
    (tmp_path / "installed").mkdir()
    shutil.copytree(built, tmp_path / "installed" / "simdb_ext")
    (tmp_path / "installed" / "simdb").symlink_to(built.parent / "simdb")
    # Without -S, an editable installation of simdb would find its own kernel.
    script = "import simdb; print(simdb.fingerprint('some text').bits)"
    command = [sys.executable, "-S", "-c", script]
    packages = os.pathsep.join([str(tmp_path / "installed"), sysconfig.get_path("platlib")])
    environment = {**os.environ, "SIMDB_KERNEL": "", "PYTHONPATH": packages}

    trapped, free = (
        subprocess.run(
            command, capture_output=True, text=True, check=True, cwd=folder, env=environment
        )
        for folder in (tmp_path / "checkout", tmp_path)
    )

    assert free.stderr == ""
    assert trapped.stdout == free.stdout
    assert f"source folder {tmp_path}/checkout" in trapped.stderr
    assert f"not from {tmp_path}/installed" in trapped.stderr
    assert "start Python in another folder" in trapped.stderr
