"""Numbers of texts against regular expressions and counters, and words against the kernel."""

import random
import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, strategies as st
from over import over

import simdb
from simdb.core import kernel
from simdb.core.stored_options import Resources
from simdb.sketch.cutting import bounds_of_words, code_points, numbers_in
from simdb.sketch.sketcher import Sketcher

DIGITS = "0123456789\u0660\u0669\u0966\uff17\U0001d7d8"


def numbers_of(text):
    """Return how often each number stands in a text, as the values of its digits."""
    return Counter(tuple(map(int, run)) for run in re.findall(r"\d+", text))


@given(st.lists(st.text(st.sampled_from(DIGITS + "a .-\u00b2\u4e00\n"), max_size=12), max_size=8))
def test_hashes_are_equal_where_the_numbers_are(texts):
    found = numbers_in(texts)

    assert found.dtype == np.uint64
    assert len(found) == len(texts)
    counted = [numbers_of(text) for text in texts]
    for one, left in zip(found, counted, strict=True):
        assert (one == 0) == (not left)
        for other, right in zip(found, counted, strict=True):
            assert (one == other) == (left == right)


def test_a_number_may_be_long_and_have_leading_zeros():
    texts = ["1" * 100_000, "1" * 99_999, "0" + "1" * 99_999, "7", "07", "7 7", "77", "7", ""]

    assert len(set(numbers_in(texts).tolist())) == len(texts) - 1


@over(
    ("one", "other", "options", "is_same"),
    [
        ("model 7", b"model 7", {}, True),
        ("model 7", ["model", "7"], {}, True),
        ("model 7", ["model", b"8"], {}, False),
        ("total 1\u200b234", "total 1234", {}, True),
        ("total 1\u00ad234 \u00e9", "total 1 234 \u00e9", {}, False),
        ("\uff17 \u00e9", "7 e", {"normalisation": "nfkc"}, True),
        (b"7 \xff", "7", {}, True),
        ("7 \ud800", "7", {}, True),
        ("", "no number", {}, True),
    ],
)
def test_numbers_are_those_of_the_text_as_it_is_cut(one, other, options, is_same):
    found = Sketcher(simdb.Simhash(**options), Resources()).numbers([one, other])

    assert (found[0] == found[1]) == is_same


def test_numbers_in_tags_do_not_count():
    pytest.importorskip("selectolax")
    pages = ["<p id='a1'>page 3</p>", "<p id='a2'>page 3</p>", "<p id='a2'>page 4</p>"]

    found = Sketcher(simdb.Simhash(markup="html"), Resources()).numbers(pages)

    assert found[0] == found[1] != found[2]


@over("unit", ["words", "spaceless", "whitespace"])
def test_the_kernel_finds_the_same_words(unit):
    chance = random.Random(7)
    letters = "ab_7 -\n\xe9\u0301\u0e01\u0e31\u6570\u30a2\U00020000\U0001f600\x1f\ud800"
    texts = ["", *("".join(chance.choices(letters, k=40)) for _ in range(100))]
    texts += [text[:5] for text in texts] + ["ab c1", "caf\xe9 \xe9", "\u0e01 \u6570a"]
    for text in texts:
        places = np.stack(bounds_of_words(code_points(text, "replace"), unit), axis=1)

        assert kernel.word_places(text, unit=unit).tolist() == places.tolist()
