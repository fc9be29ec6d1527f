"""Ranges of a file are read as slices of its bytes."""

import os
import random

import numpy as np
import pytest
from over import over

GAP = 1 << 15


@pytest.fixture
def opened(tmp_path):
    """A file of random bytes; returns its descriptor and the bytes."""
    content = random.Random(7).randbytes(9 * GAP)
    (tmp_path / "a").write_bytes(content)
    descriptor = os.open(tmp_path / "a", os.O_RDONLY)
    yield descriptor, content
    os.close(descriptor)


def ranges(*pairs):
    return tuple(np.array(column, np.int64) for column in zip(*pairs, strict=True))


@over("seed", range(6))
def test_ranges_are_slices(arrange, opened, seed):
    descriptor, content = opened
    generator = random.Random(seed)
    # Many near each other, or few with gaps around those that are still read.
    count = [3000, 40, 12, 7, 2, 1][seed]
    cuts = sorted(generator.sample(range(len(content) + 1), 2 * count))
    pairs = list(zip(cuts[::2], cuts[1::2], strict=True))

    found = arrange.read_ranges(descriptor, *ranges(*pairs))

    assert found == b"".join(content[start:stop] for start, stop in pairs)


@over("beyond", [1, 100])
def test_a_range_beyond_the_end_of_the_file_is_cut(arrange, opened, beyond):
    descriptor, content = opened
    end = len(content)
    pairs = ranges((3, 8), (end - 4, end + beyond), (end + 200, end + 300))

    assert arrange.read_ranges(descriptor, *pairs) == content[3:8] + content[-4:]


@over("pairs", [[(4, 4)], [(-1, 3)], [(0, 5), (4, 6)], [(5, 3)]])
def test_ranges_that_do_not_ascend_are_refused(arrange, opened, pairs):
    with pytest.raises(ValueError, match="is empty, or begins before the one before it ends"):
        arrange.read_ranges(opened[0], *ranges(*pairs))


def test_a_file_that_cannot_be_read_is_an_error_of_the_system(arrange):
    with pytest.raises(OSError, match="Bad file descriptor"):
        arrange.read_ranges(1 << 20, *ranges((0, 1)))
