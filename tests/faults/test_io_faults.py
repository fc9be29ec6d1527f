"""If any write or sync fails, simdb raises an error and loses no committed document."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent
FAULTS = ["EIO", "ENOSPC", "short", "EDQUOT"]
FAULTS += ["EIO for ever", "ENOSPC for ever", "EDQUOT for ever"]


def outcomes(shim, path, fault, durability, numbers):
    """Run the workload once for each failing call; return what happened, see faulted.py."""
    environment = {
        **os.environ,
        "LD_PRELOAD": str(shim),
        "FAULT_DIRECTORY": str(path),
        "PYTHONPATH": os.pathsep.join(
            map(str, [TESTS.parent, TESTS / "support", TESTS / "faults"])
        ),
    }
    arguments = [path, fault, durability, *numbers]
    command = [sys.executable, "-W", "ignore", TESTS / "faults" / "faulted.py", *arguments]
    ended = subprocess.run(
        list(map(str, command)), env=environment, capture_output=True, text=True, check=False
    )
    assert ended.stderr == ""
    found = [json.loads(line) for line in ended.stdout.splitlines()]
    assert len(found) == len(numbers)
    return found


def assert_survived(outcome):
    """Check that the process lived, the error was right, and the database went on."""
    assert "died" not in outcome, outcome
    assert outcome["is_ours"], outcome
    assert outcome["after"] in ("before", "done"), outcome
    assert outcome["after"] == "before" or "nothing was changed" not in outcome["said"], outcome
    assert outcome.get("goes on", True) is True, outcome
    assert outcome["error"] in ("", "FullError"), outcome
    assert outcome["error"] or outcome["verb"] == "close", outcome
    assert outcome["sound after"], outcome


def sweep(shim, directory, fault, durability, chosen):
    """Fail the calls of the workload that `chosen` picks, one a run; return how many failed."""
    (directory / "count").mkdir()
    (whole,) = outcomes(shim, directory / "count", "", durability, [0])
    assert_survived(whole)
    assert whole["error"] == ""
    numbers = range(1, whole["count"] + 1)[chosen]
    results = outcomes(shim, directory, fault, durability, numbers)
    for outcome in results:
        assert_survived(outcome)
    return sum(outcome["error"] != "" for outcome in results)


def test_a_write_that_fails_is_told_and_loses_nothing(shim, tmp_path):
    assert sweep(shim, tmp_path, "EIO", "full", slice(2, None, 90)) > 1


@pytest.mark.slow
def test_a_quota_that_is_used_up_is_told_as_a_full_disk(shim, tmp_path):
    assert sweep(shim, tmp_path, "EDQUOT for ever", "process", slice(5, None, 30)) > 1


@pytest.mark.slow
@pytest.mark.parametrize("durability", ["full", "process", "none"])
@pytest.mark.parametrize("fault", FAULTS)
def test_whichever_write_fails_is_told_and_loses_nothing(shim, tmp_path, fault, durability):
    assert sweep(shim, tmp_path, fault, durability, slice(None)) > 20
