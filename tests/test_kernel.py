import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import simdb
from simdb.core import kernel
from simdb.core.errors import OptionError

PACKAGE = Path(simdb.__file__).parent
SCRIPT = """
import simdb
print(simdb.fingerprint("some text of several words").bits)
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


@pytest.mark.usefixtures("chosen")
def test_every_variant_can_be_selected():
    for variant in kernel.variants():
        kernel.select(variant)


def test_an_unknown_variant_is_refused_by_name():
    with pytest.raises(OptionError, match="'sse9'"):
        kernel.select("sse9")


def test_a_choice_that_cannot_be_is_refused_at_once():
    refused = run(SIMDB_KERNEL="numpy")

    assert refused.returncode != 0
    assert refused.stderr.splitlines()[-1].endswith(
        "got 'numpy'; numpy is gone, and scalar runs everywhere"
    )


@pytest.fixture
def unbuilt(tmp_path):
    """Return a folder with the package and no compiled kernel."""
    for name in ("simdb", "simdb_ext"):
        (tmp_path / "folder" / name).mkdir(parents=True)
    for path in PACKAGE.iterdir():
        (tmp_path / "folder" / "simdb" / path.name).symlink_to(path)
    # A link would be followed to the place of the package that is tested.
    (tmp_path / "folder" / "simdb" / "core").unlink()
    shutil.copytree(PACKAGE / "core", tmp_path / "folder" / "simdb" / "core")
    (tmp_path / "folder" / "simdb_ext" / "__init__.py").touch()
    return tmp_path / "folder"


def ended_in(folder, *packages):
    """Run the script in a folder, and return how it ended; an editable simdb is not found."""
    paths = os.pathsep.join([*packages, sysconfig.get_path("platlib")])
    return subprocess.run(
        [sys.executable, "-S", "-c", SCRIPT],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "SIMDB_KERNEL": "", "PYTHONPATH": paths},
    )


def test_a_missing_kernel_is_one_sentence_that_says_what_to_do(unbuilt):
    ended = ended_in(unbuilt)

    assert ended.returncode != 0
    last = ended.stderr.splitlines()[-1]
    assert last.startswith("ImportError: the compiled kernel of simdb cannot be loaded (cannot ")
    assert last.endswith("): install simdb again with this Python")
