"""Worked examples: figures that others have published, computed again.

Two examples: a blog entry on simhash of 2012 (Huang Yanzhi, on blog.sina.com.cn/netreview), which
projects five features to three bits; and a report by S. Biswas ("Near Duplicate Detection Using
Simhash", 2017), which looks for near pairs among eight fingerprints.
"""

from itertools import pairwise

import numpy as np
import pytest
from over import over

import simdb
from simdb.core.bits import set_bits

# The three bits of each feature of the blog, the first bit first.
FEATURES = {
    "w1": (1, -1, 1),
    "w2": (-1, 1, 1),
    "w3": (1, -1, -1),
    "w4": (-1, -1, 1),
    "w5": (1, 1, -1),
}
FREQUENCIES = {"w1": 1, "w2": 2, "w3": 0, "w4": 3, "w5": 0}

# The report's fingerprints by their numbers there: as the report writes them, and as bits.
REPORT = {
    1: (37586, "1001001011010010"),
    2: (50086, "1100001110100110"),
    3: (2648, "0000101001011000"),
    4: (934, "0000001110100110"),
    5: (40957, "1001111111111101"),
    6: (2650, "0000101001011010"),
    7: (64475, "1111101111011011"),
    8: (40955, "1001111111111011"),
}


def hash_of(signs):
    """Return a 64-bit hash with these lowest bits, the least significant first."""
    return sum(1 << place for place, sign in enumerate(signs) if sign > 0) | 0xABCDEF << 40


def blog_features(frequencies):
    hashes = np.array([hash_of(FEATURES[name]) for name in frequencies], np.uint64)
    return simdb.Features(hashes, np.array(list(frequencies.values()), np.float32))


def neighbour_distances(fingerprints):
    return [simdb.distance(left, right) for left, right in pairwise(fingerprints)]


def rotated(fingerprint):
    """Rotate the 16 bits to the left by two."""
    return (fingerprint << 2 | fingerprint >> 14) & 0xFFFF


@pytest.fixture
def report(database):
    """Return a database of the report's fingerprints under their numbers."""
    numbers = list(REPORT)
    bits = np.array([REPORT[number][0] for number in numbers], np.uint64)
    database.insert_many(numbers, bits)
    return database


def test_the_blogs_document_has_the_bits_001():
    fingerprint = simdb.fingerprint(blog_features(FREQUENCIES))

    assert fingerprint.weights[:3].tolist() == [-4, -2, 6]
    assert [fingerprint.bits >> place & 1 for place in range(3)] == [0, 0, 1]


def test_the_blogs_document_is_the_same_without_the_features_of_frequency_0():
    present = {name: count for name, count in FREQUENCIES.items() if count}

    assert simdb.fingerprint(blog_features(present)) == simdb.fingerprint(
        blog_features(FREQUENCIES)
    )


def test_the_blogs_sum_is_that_of_random_hyperplanes():
    """Its second half: weight j is the product of the frequencies with the j-th bits."""
    planes = np.array(list(FEATURES.values())).T
    assert planes.tolist() == [[1, -1, 1, -1, 1], [-1, 1, -1, -1, 1], [1, 1, -1, 1, -1]]

    products = planes @ np.array(list(FREQUENCIES.values()))

    weights = simdb.fingerprint(blog_features(FREQUENCIES)).weights
    assert products.tolist() == weights[:3].tolist() == [-4, -2, 6]


def test_a_weight_of_0_sets_the_bit_as_in_the_reports_algorithm():
    """Algorithm 1 of the report, line 10; the blog would not set it."""
    fingerprint = simdb.fingerprint(blog_features({"w1": 1, "w2": 1}))

    assert fingerprint.weights[:3].tolist() == [0, 0, 2]
    assert [fingerprint.bits >> place & 1 for place in range(3)] == [1, 1, 1]


@over(("number", "digits"), REPORT.values())
def test_the_bits_of_the_reports_numbers_are_its_digits(number, digits):
    ones = [place for place, digit in enumerate(reversed(digits)) if digit == "1"]

    assert list(set_bits(number)) == ones
    assert simdb.distance(number, 0) == len(ones)


def test_the_reports_distances_as_given_sorted_and_rotated():
    """Figures 1 and 2; the order of the second is that of its bits, not of its numbers."""
    given = [number for number, _ in REPORT.values()]
    turned = sorted(map(rotated, given))

    assert neighbour_distances(given) == [7, 11, 9, 9, 9, 7, 4]
    assert neighbour_distances(sorted(given)) == [9, 1, 5, 6, 2, 9, 9]
    assert turned == [3736, 3739, 10592, 10600, 19274, 32750, 32758, 61295]
    assert neighbour_distances(turned) == [2, 11, 1, 5, 6, 2, 6]


@pytest.mark.parametrize("turn", [False, True])
def test_the_reports_near_pairs_are_found_wherever_their_bits_differ(database, turn):
    """H(3, 6) = 1, H(8, 5) = 2 and H(4, 2) = 2, which sorting alone does not bring together."""
    fingerprints = [rotated(number) if turn else number for number, _ in REPORT.values()]
    database.insert_many(list(REPORT), np.array(fingerprints, np.uint64))

    pairs = database.find_all(distance=3)

    found = sorted((pair.left, pair.right, pair.distance) for pair in pairs)
    assert found == [(2, 4, 2), (3, 6, 1), (5, 8, 2)]


def test_the_reports_near_pairs_are_clusters(report):
    clusters = report.find_clusters(distance=3)

    assert sorted(cluster.ids for cluster in clusters) == [[2, 4], [3, 6], [5, 8]]


def test_each_of_the_reports_fingerprints_finds_its_neighbour(report):
    found = {
        number: [match.id for match in report.query(None, id=number, distance=3)]
        for number in REPORT
    }

    assert found == {1: [], 2: [4], 3: [6], 4: [2], 5: [8], 6: [3], 7: [], 8: [5]}
