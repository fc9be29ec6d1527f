"""Ctrl-C at any place loses no commit, and the database goes on and closes at once."""

import os
import sys

import pytest
from torture_tool import report_of

CHEAP = ["insert", "query", "write", "close"]
# Files in which transactions and locks are acquired and released.
WITHIN = ["storage/environment", "storage/gate", "database/transaction", "database/writing"]

pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 11) or not os.path.isdir("/proc/self/fd"),
    reason="places are found by the instructions of CPython 3.11, open files by /proc",
)


@pytest.mark.few(1)
@pytest.mark.parametrize("verb", CHEAP)
def test_an_interrupted_verb_leaves_a_sound_database_that_closes_at_once(verb):
    report = report_of("interrupts.py", "--verbs", verb, "--points", 8, "--within", *WITHIN)

    assert report[verb]["tried"] > 5
    assert report[verb]["bad"] == []


@pytest.mark.slow
def test_every_verb_interrupted_at_many_lines_leaves_a_sound_database():
    report = report_of("interrupts.py", "--points", 100)

    assert len(report) == 21
    assert [each for verb in report.values() for each in verb["bad"]] == []
