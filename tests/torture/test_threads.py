"""Threads that use, end and close the objects of other threads get answers or errors of simdb."""

import os

import pytest
from torture_tool import report_of

LONG_SECONDS = os.environ.get("SIMDB_TORTURE_SECONDS", "60")


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "actors",
    [("ask", "stream", "snapshot", "insert", "close"), ("transact", "meddle", "callback", "ask")],
    ids=" ".join,
)
def test_threads_that_end_each_others_things_get_answers_or_errors(actors):
    report = report_of("threads.py", "--trials", 1, "--actors", *actors)

    assert report["bad"] == []
    assert any(said.endswith(": done") for said in report["found"])


@pytest.mark.slow
def test_threads_of_all_kinds_get_answers_or_errors_for_minutes():
    report = report_of("threads.py", "--seconds", LONG_SECONDS)

    assert report["bad"] == []
    assert report["tried"] > 0
