"""Type checking: runs mypy on programs of users."""

import os
import subprocess
import sys

import pytest
from source_trees import ROOT

# The cache of mypy about the library serves the next programs and the next tests.
CACHE = ROOT / ".mypy_cache" / "programs"


def checked(tmp_path, code):
    """Return the lines of mypy about a program of a user; skip the test where mypy is missing."""
    pytest.importorskip("mypy", reason="mypy is in the extra 'lint'")
    program = tmp_path / "program.py"
    program.write_text(code, encoding="utf-8")
    command = [
        sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--follow-imports=silent",
        "--cache-dir", str(CACHE), "--config-file", "", str(program),
    ]  # fmt: skip
    environment = os.environ | {"MYPYPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    return done.stdout.splitlines()
