"""Repeated runs beside a database keep, report and store what a dict and a double loop say."""

import pytest
from torture_tool import report_of


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_repeated_runs_keep_and_store_what_a_double_loop_says(seed):
    report = report_of("repeats.py", "--worlds", 2, "--steps", 20, "--seed", 10 * seed)

    assert report["bad"] == []
    assert min(report["found"][kind] for kind in ("kept again", "seen before", "compared")) > 5
