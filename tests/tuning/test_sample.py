"""What a sample shows: scripts, mark-up, lengths."""

import numpy as np
import pytest

from simdb.tuning.sample import TAG, drawn

CHINESE = "\u8fd9\u662f\u4e00\u4e2a\u6587\u672c"
THAI = "\u0e02\u0e2d\u0e1a\u0e04\u0e38\u0e13\u0e21\u0e32\u0e01"


def sample_of(texts):
    return drawn(texts, len(texts), np.random.default_rng(0))


def test_shares_of_scripts_count_texts_that_are_mostly_in_them():
    sample = sample_of(["only English", CHINESE, f"{CHINESE} API", THAI, f"{THAI} a long English"])

    assert sample.spaceless == 3 / 5


@pytest.mark.parametrize("text", ["<p>", "</p>", '<a href="x">', "<br/>", "<br />", "<H1 id=x>"])
def test_a_tag_is_found(text):
    assert TAG.fullmatch(text)


@pytest.mark.parametrize("text", ["a < b", "x <y", "<3", "<>", "< p >", "List<", "<a@b.org>"])
def test_other_signs_are_no_tags(text):
    assert TAG.search(text) is None


def test_the_median_is_of_texts_with_words():
    assert sample_of(["", "...", "one two three", "one two three four five"]).words == 4


def test_a_sample_is_a_part_of_many_texts():
    sample = sample_of([f"text number {at}" for at in range(5000)])

    assert len(sample.texts) == len(set(sample.texts)) == 2000
    assert sample.total == 5000


def test_tags_are_no_words():
    sample = sample_of(
        ["<p class='one'>two words</p>", '<a href="x y z">two words</a>', "two words"]
    )

    assert sample.words == 2
    assert sample.marked == 2 / 3
