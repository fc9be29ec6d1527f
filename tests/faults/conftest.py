"""The library that is loaded between a process and the disk."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent / "shim.c"


@pytest.fixture(scope="session")
def shim(tmp_path_factory):
    """Build the library of shim.c; return its path."""
    compiler = shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("faults are injected by a library built with cc and preloaded on Linux")
    path = tmp_path_factory.mktemp("shim") / "shim.so"
    command = [compiler, "-O1", "-shared", "-fPIC", "-o", path, SOURCE, "-ldl", "-lpthread"]
    subprocess.run(list(map(str, command)), check=True)
    return path
