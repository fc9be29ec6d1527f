"""Threads that use, end and close the objects of other threads get answers or errors of simdb."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "torture" / "threads.py"
LONG_SECONDS = os.environ.get("SIMDB_TORTURE_SECONDS", "60")


def report_of(*arguments):
    """What the tool has found."""
    command = [sys.executable, "-W", "ignore", TOOL, "--json", *arguments]
    ended = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=False, timeout=3600
    )
    assert ended.stderr == ""
    return json.loads(ended.stdout)


@pytest.mark.parametrize(
    "actors",
    [("ask", "stream", "snapshot", "insert", "close"), ("transact", "meddle", "callback", "ask")],
    ids=" ".join,
)
def test_threads_that_end_each_others_things_get_answers_or_errors(actors):
    report = report_of("--trials", 1, "--actors", *actors)

    assert report["bad"] == []
    assert any(said.endswith(": done") for said in report["done"])


@pytest.mark.slow
def test_threads_of_all_kinds_get_answers_or_errors_for_minutes():
    report = report_of("--seconds", LONG_SECONDS)

    assert report["bad"] == []
    assert report["trials"] > 0
