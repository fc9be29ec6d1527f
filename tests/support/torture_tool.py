"""The tools of tools/torture, run as a user runs them."""

import json
from pathlib import Path

from forked import run

FOLDER = Path(__file__).parents[2] / "tools" / "torture"
TOOL = """
import runpy, sys
sys.path.insert(0, sys.argv[1])
sys.argv = sys.argv[2:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def report_of(tool, *arguments):
    """Run a tool in a process of its own; return the report that it prints as JSON."""
    _, printed, complained = run(TOOL, FOLDER, FOLDER / tool, "--json", *arguments)
    assert complained == ""
    return json.loads(printed)
