"""The index that judges the matches finds what comparing the shingles of every pair finds."""

from itertools import combinations
from random import Random


def test_the_index_finds_the_pairs_of_a_double_loop(tool):
    matches = tool("matches")
    texts = matches.with_copies("short texts", 160, Random(1))
    shingles = [matches.shingles_of(text) for text in texts]
    expected = {
        (left, right)
        for left, right in combinations(range(len(texts)), 2)
        if 5 * len(shingles[left] & shingles[right]) >= 4 * len(shingles[left] | shingles[right])
    }

    assert matches.similar_pairs(texts).keys() == expected
    assert 10 < len(expected) < 80
