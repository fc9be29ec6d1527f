"""The deep check finds every flipped bit; no query on damaged data ends the interpreter."""

import os
import random

import numpy as np
import pytest

from flips import answer, check, flipped, living_bytes, make_database


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """Make a database with values of every kind; return its path and its right verdict."""
    path = tmp_path_factory.mktemp("source") / "db"
    make_database(path)
    assert check(path) == []
    return path, ("done", answer(path))


def living_bits(path, count, seed):
    """Draw distinct bits of bytes in which a flip can be found."""
    living = living_bytes((path / "data.mdb").read_bytes())
    chosen = random.Random(seed).sample(range(8 * len(living)), count)
    return [8 * int(living[bit // 8]) + bit % 8 for bit in chosen]


def tree_bits(path, count, seed):
    """Draw bits of page heads, which only LMDB reads and no checksum covers."""
    content = (path / "data.mdb").read_bytes()
    living = living_bytes(content)
    pages, sizes = np.unique(living // os.sysconf("SC_PAGE_SIZE"), return_counts=True)
    heads = living[living % os.sysconf("SC_PAGE_SIZE") < 16]
    assert len(pages) > 20
    assert sizes.sum() > 10_000
    chance = random.Random(seed)
    return [8 * int(chance.choice(heads)) + chance.randrange(8) for _ in range(count)]


def outcomes(source, directory, bits):
    """Return (bit, what the check said, what a reader got) of every wrong outcome.

    The check must find something, or opening must be refused.  A reader must get answers or an
    error of simdb; its answers may be wrong, which is why there is a check.
    """
    path, right = source
    wrong = []
    for bit, checked, answered in flipped(path, directory, bits):
        is_found = checked[0] == "refused" or (checked[0] == "done" and checked[1] != [])
        is_answer = answered == right or answered[0] in ("done", "refused")
        if not (is_found and is_answer):
            wrong.append((bit // 8, bit % 8, str(checked)[:200], str(answered)[:200]))
    return wrong


def assert_harmless(source, directory, bits):
    """Check that a flip which the check does not find changes no answer."""
    path, right = source
    for bit, checked, answered in flipped(path, directory, bits):
        is_found = checked[0] == "refused" or (checked[0] == "done" and checked[1] != [])
        assert is_found or answered == right, (bit // 8, bit % 8, checked, answered)
        assert answered[0] in ("done", "refused"), (bit // 8, bit % 8, answered)


def test_flipped_bits_of_what_is_stored_are_found(source, tmp_path):
    assert outcomes(source, tmp_path, living_bits(source[0], 8, seed=1)) == []


def test_flipped_bits_in_the_heads_of_pages_are_found(source, tmp_path):
    assert outcomes(source, tmp_path, tree_bits(source[0], 4, seed=2)) == []


@pytest.mark.slow
def test_a_thousand_flipped_bits_of_what_is_stored_are_found(source, tmp_path):
    assert outcomes(source, tmp_path, living_bits(source[0], 1200, seed=3)) == []


@pytest.mark.slow
def test_hundreds_of_flipped_bits_in_the_heads_of_pages_are_found(source, tmp_path):
    assert outcomes(source, tmp_path, tree_bits(source[0], 400, seed=4)) == []


@pytest.mark.slow
def test_flipped_bits_that_are_not_found_change_no_answer(source, tmp_path):
    size = os.stat(source[0] / "data.mdb").st_size
    bits = random.Random(5).sample(range(8 * size), 400)

    assert_harmless(source, tmp_path, bits)
