"""Options and values of MinHash, and the similarities of signatures."""

import numpy as np
import pytest

import simdb

TEXTS = ["the cat sat on the mat today", "the cat sat on the mat", "quite other words than those"]


@pytest.mark.parametrize("stored_bits", [8, 32])
def test_similarities_are_those_of_pairs(stored_bits):
    sketch = simdb.Minhash(stored_bits=stored_bits)
    signatures = simdb.signatures([*TEXTS, ""], sketch)

    to_one = simdb.similarities(signatures[0], signatures)
    pairwise = simdb.similarities(signatures, signatures)

    assert to_one.dtype == np.float32
    expected = [np.float32(simdb.similarity(signatures[0], each)) for each in signatures]
    assert to_one.tolist() == expected
    assert to_one[0] == 1
    assert 0.5 < to_one[1] < 1
    assert to_one[2] < 0.05
    assert pairwise.tolist() == [1, 1, 1, 0]


def test_eight_bits_allow_for_chance():
    sketch = simdb.Minhash(permutations=256, stored_bits=8)
    minima = np.zeros((4, 256), np.uint8)
    for row, agreeing in enumerate([256, 129, 1, 0]):
        minima[row, agreeing:] = 1
    signatures = simdb.Signatures(minima, sketch, np.zeros(4, np.bool_))

    found = simdb.similarities(signatures[0], signatures)

    # Chance alone makes 1 of 256 agree; fewer count as similarity 0.
    assert found.tolist() == [1, np.float32(128 / 255), 0, 0]


def test_signatures_of_different_options_do_not_compare():
    one, other = (simdb.signature("a b c", simdb.Minhash(seed=seed)) for seed in (1, 2))

    with pytest.raises(simdb.OptionError, match=r"seed=1.*seed=2"):
        simdb.similarity(one, other)
    with pytest.raises(simdb.InputError, match="two signatures"):
        simdb.similarity(one, simdb.fingerprint("a b c"))


def test_unequal_numbers_of_signatures_do_not_pair():
    signatures = simdb.signatures(TEXTS)

    with pytest.raises(simdb.InputError, match="left has 2 signatures and right 3"):
        simdb.similarities(simdb.signatures(TEXTS[:2]), signatures)


def test_values_of_another_shape_are_refused():
    sketch = simdb.Minhash(permutations=16)

    for minima in (np.zeros(16, np.uint8), np.zeros(8, np.uint32), [0] * 16):
        with pytest.raises(simdb.InputError, match=r"minima must be uint32\[16\]"):
            simdb.Signature(minima, sketch)
    with pytest.raises(simdb.InputError, match=r"is_empty must be bool\[2\]"):
        simdb.Signatures(np.zeros((2, 16), np.uint32), sketch, np.zeros(3, np.bool_))


def test_signatures_are_equal_by_minima_and_options():
    one, same, other = simdb.signatures(["a b", "A, b.", "b a"])

    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert one != simdb.signature("a b", simdb.Minhash(seed=1))
    assert one != "a b"
