import numpy as np
import pytest
from over import over

from simdb.core.errors import OptionError
from simdb.plan import pigeonhole
from simdb.plan.pigeonhole import check_arrangement, choose_tables

ALL = 2**64 - 1


def random_fingerprints(count: int) -> np.ndarray:
    return np.random.default_rng(5).integers(0, ALL, count, np.uint64, endpoint=True)


def test_few_fingerprints_are_compared_without_sorting():
    assert choose_tables(random_fingerprints(50), blocks=6, distance=3) == ([0], (0,))
    assert choose_tables(random_fingerprints(0), blocks=6, distance=3) == ([0], (0,))


def test_many_fingerprints_take_the_fewest_tables_that_separate_them():
    assert len(choose_tables(random_fingerprints(100_000), blocks=6, distance=3).masks) == 4
    found = choose_tables(random_fingerprints(100_000), blocks=9, distance=8)
    assert len(found.masks) < 9
    assert sum(flips + 1 for flips in found.flips) == 9


def test_where_short_headers_are_alike_longer_ones_are_chosen_if_blocks_allow(monkeypatch):
    skewed = random_fingerprints(100_000) & np.uint64(ALL >> 24)

    with_flips = choose_tables(skewed, blocks=4, distance=3)
    monkeypatch.setattr(pigeonhole, "WORTH_COMPARING", np.inf)

    assert with_flips.flips[0] == -1  # all are alike in the first block
    assert sum(flips + 1 for flips in with_flips.flips) == 4
    assert choose_tables(skewed, blocks=4, distance=3).masks == [0]
    assert len(choose_tables(skewed, blocks=8, distance=3).masks) > 4


def test_so_many_blocks_that_their_tables_cannot_be_counted_are_no_hindrance():
    assert choose_tables(random_fingerprints(2000), blocks=64, distance=32)


@over(
    ("blocks", "distance", "message"),
    [
        (3, 3, "greater than distance"),
        (65, 3, "from 1 to 64"),
        (0, 0, "from 1 to 64"),
        (4, -1, "distance must be a whole number from 0 to 63"),
        (4.0, 3, "whole number"),
        (4, True, "whole number"),
    ],
)
def test_an_arrangement_that_cannot_be_is_refused(blocks, distance, message):
    with pytest.raises(OptionError, match=message):
        check_arrangement(blocks, distance)
