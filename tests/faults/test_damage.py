"""Random damage before and after opening, every verb: an answer or an error of simdb."""

import pytest

from damage import campaign
from trials import collected

SEED = 5
TRIALS = 10
MANY_TRIALS = 2000


def test_damaged_pages_end_in_an_answer_or_an_error_of_simdb(tmp_path):
    told = collected(campaign(TRIALS, SEED, directory=tmp_path), is_quiet=True)

    assert (told["tried"], told["bad"]) == (TRIALS, [])


@pytest.mark.slow
def test_thousands_of_damaged_pages_end_in_an_answer_or_an_error_of_simdb(tmp_path):
    told = collected(campaign(MANY_TRIALS, SEED + 1, directory=tmp_path), is_quiet=True)

    assert (told["tried"], told["bad"]) == (MANY_TRIALS, [])
