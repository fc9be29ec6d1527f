"""Random damage of one page: rebuilding leaves nothing to find, and counts what is lost."""

import pytest

from rescues import campaign
from trials import collected

SEED = 6
TRIALS = 12
MANY_TRIALS = 1000


def test_damage_of_one_page_is_mended_and_what_is_lost_is_counted(tmp_path):
    told = collected(campaign(TRIALS, SEED, directory=tmp_path), is_quiet=True)

    assert (told["tried"], told["bad"]) == (TRIALS, [])


@pytest.mark.slow
def test_a_thousand_damages_of_one_page_are_mended_and_what_is_lost_is_counted(tmp_path):
    told = collected(campaign(MANY_TRIALS, SEED + 1, directory=tmp_path), is_quiet=True)

    assert (told["tried"], told["bad"]) == (MANY_TRIALS, [])
