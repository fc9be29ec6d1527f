"""A process killed at any place of any verb leaves a committed state, and nothing half made."""

import os
import sys

import pytest
from torture_tool import report_of

LONG_KILLS = os.environ.get("SIMDB_TORTURE_KILLS", "600")

pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="places are found by the instructions of CPython 3.11"
)


def test_a_kill_in_any_verb_leaves_a_committed_state_and_nothing_half_made():
    verbs = ["compact", "load", "import", "create"]
    report = report_of("kills.py", "--kills", 4, "--verbs", *verbs)

    assert [each["bad"] for each in report.values()] == [[]] * len(verbs)
    assert sum(each["tried"] for each in report.values()) == 4


@pytest.mark.slow
def test_writers_and_readers_go_on_when_others_are_killed():
    report = report_of("kills.py", "--kills", 3, "--verbs", "crowd", "--seed", 1)

    assert report["crowd"]["bad"] == []
    assert report["crowd"]["found"]["transactions"] > 0


@pytest.mark.slow
def test_hundreds_of_kills_leave_committed_states():
    report = report_of("kills.py", "--kills", LONG_KILLS)

    assert [each["bad"] for each in report.values()] == [[]] * len(report)
