"""The tools of tools/torture, run as a user runs them."""

import json
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "tools" / "torture"


def report_of(tool, *arguments):
    """Run a tool in a process of its own; return the report that it prints as JSON."""
    command = [sys.executable, "-W", "ignore", FOLDER / tool, "--json", *arguments]
    ended = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=False, timeout=7200
    )
    assert ended.stderr == ""
    return json.loads(ended.stdout)
