"""Without a compiler the build ends at once, with what to install."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SETUP = Path(__file__).parents[2] / "setup.py"
MODULES = ("arrange", "search", "sketch")


@pytest.fixture
def source(tmp_path):
    """Return a folder with the build and one empty Cython file for each module of the kernel."""
    pytest.importorskip("Cython")
    pytest.importorskip("setuptools", minversion="77")
    shutil.copy(SETUP, tmp_path)
    (tmp_path / "simdb_ext").mkdir()
    for name in MODULES:
        (tmp_path / "simdb_ext" / f"_{name}.pyx").write_text("VALUE = 1\n", encoding="ascii")
    return tmp_path


def test_without_a_working_compiler_the_build_ends_with_what_to_install(source, monkeypatch):
    monkeypatch.setenv("CC", "false")

    build = [sys.executable, SETUP.name, "-q", "build_ext", "--inplace"]
    ended = subprocess.run(build, cwd=source, capture_output=True, text=True, check=False)

    assert ended.returncode == 1
    [sentence] = ended.stderr.splitlines()
    assert sentence.startswith("simdb needs a C compiler and the headers of Python")
    assert "false" in sentence
    assert "apt-get install gcc python3-dev" in sentence
    # Nothing was translated or compiled before.
    assert sorted(path.name for path in source.rglob("*.*") if path.is_file()) == [
        *(f"_{name}.pyx" for name in MODULES), "setup.py",
    ]  # fmt: skip
