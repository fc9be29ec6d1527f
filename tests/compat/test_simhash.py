"""The results of simhash-py, some of them from its own tests."""

import pytest
from over import over

import simdb
from simdb.compat import simhash

NIBBLES = [0x000000FF, 0x000000EF, 0x000000EE, 0x000000CE, 0x00000033]
SPREAD = [value << shift for shift in (0, 8, 16, 24) for value in NIBBLES]
NEAR = [(0xEF, 0xFF), (0xEE, 0xEF), (0xEE, 0xFF), (0xCE, 0xEE), (0xCE, 0xEF), (0xCE, 0xFF)]


def test_differing_bits_are_counted():
    assert simhash.num_differing_bits(0xDEADBEEF, 0xDEADBEAD) == 2
    assert simhash.num_differing_bits(0, 2**64 - 1) == 64


def test_a_bit_is_set_if_most_hashes_have_it():
    assert simhash.compute([]) == 0
    assert simhash.compute([0xDEADBEEF] * 100) == 0xDEADBEEF
    assert simhash.compute([0xDEADBEEFDEADBEEF, 0x2152411021524110]) == 0
    assert simhash.compute([0xABCD, 0xBCDE, 0xCDEF]) == 0xADCF
    assert simhash.compute(iter([2**64 - 1])) == 2**64 - 1


def test_many_hashes_are_counted_in_parts():
    hashes = [5] * 70_000 + [6] * 70_001

    assert simhash.compute(hashes) == 6


@over("blocks", range(4, 10))
def test_pairs_are_those_of_simhash_py(blocks):
    expected = [(low << shift, high << shift) for shift in (0, 8, 16, 24) for low, high in NEAR]

    assert simhash.find_all(SPREAD, blocks, 3) == sorted(expected)


def test_a_repeated_value_is_not_a_pair():
    assert simhash.find_all([7, 7, 5, 7], 4, 3) == [(5, 7)]
    assert simhash.find_all([], 4, 3) == []


def test_shingles_are_lists_of_consecutive_tokens():
    assert list(simhash.shingle(list(range(6)), 4)) == [[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5]]
    assert list(simhash.shingle(range(5))) == [[0, 1, 2, 3], [1, 2, 3, 4]]
    assert list(simhash.shingle("ab", 1)) == [["a"], ["b"]]
    assert list(simhash.shingle(iter(range(3)), 2)) == [[0, 1], [1, 2]]
    assert list(simhash.shingle(range(3), 4)) == []


def test_the_hash_is_the_head_of_the_md5_digest():
    assert simhash.unsigned_hash(b"") == 0xD41D8CD98F00B204
    assert simhash.unsigned_hash(b"abc") == 0x900150983CD24FB0
    with pytest.raises(TypeError):
        simhash.unsigned_hash("abc")


def test_arguments_undefined_in_simhash_py_are_refused():
    with pytest.raises(simdb.OptionError, match="greater than distance"):
        simhash.find_all([1, 2], 3, 3)
    with pytest.raises(ValueError, match="1 or more"):
        list(simhash.shingle(range(10), 0))
    with pytest.raises(simdb.InputError, match="fingerprint 0"):
        simhash.find_all([-1], 4, 3)
    with pytest.raises(simdb.InputError):
        simhash.compute([2**64])
