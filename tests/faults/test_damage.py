"""Random damage before and after opening, every verb: an answer or an error of simdb."""

import pytest

from damage import campaign, failures_of

SEED = 5
TRIALS = 10
MANY_TRIALS = 2000


def test_damaged_pages_end_in_an_answer_or_an_error_of_simdb(tmp_path):
    assert failures_of(campaign(TRIALS, SEED, directory=tmp_path)) == []


@pytest.mark.slow
def test_thousands_of_damaged_pages_end_in_an_answer_or_an_error_of_simdb(tmp_path):
    assert failures_of(campaign(MANY_TRIALS, SEED + 1, directory=tmp_path)) == []
