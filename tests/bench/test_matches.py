"""The index that judges the matches finds what comparing the shingles of every pair finds."""

from itertools import combinations
from random import Random


def test_the_index_finds_the_pairs_of_a_double_loop(matches):
    chance = Random(1)
    texts = matches.with_copies("short texts", 80, matches.zipf(1), chance)
    shingles = [matches.shingles_of(text) for text in texts]
    expected = {
        (left, right)
        for left, right in combinations(range(len(texts)), 2)
        if 5 * len(shingles[left] & shingles[right]) >= 4 * len(shingles[left] | shingles[right])
    }

    assert matches.similar_pairs(texts).keys() == expected
    assert 10 < len(expected) < 40


def test_a_copy_is_another_text_in_every_form(matches):
    texts = matches.take(matches.zipf(2), 400)

    for original, copied, _ in matches.FORMS.values():
        text = original(" ".join(texts))
        assert copied(text) != text
