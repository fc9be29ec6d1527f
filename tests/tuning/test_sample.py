"""What a sample shows: scripts, mark-up, lengths, how texts are written, and noise.

Words are counted as the kernel cuts them, and near-duplicates may change some of them.  The number
of features is estimated from what a database stores of a document.  Seeds are fixed.  Each estimate
is a mean over 500 documents; the number of levels of one has a standard deviation of about 1, so
that of the mean is 0.05, which is 0.2 features at 10 features and 1 at 28.  The limits below are 4
standard deviations away or more, a chance of failing below 1e-4.
"""

import random

import numpy as np
import pytest
from over import over

import simdb
from simdb.core import kernel
from simdb.sketch.tuning.sample import (
    SHORT_WORDS,
    TAG,
    changed_words,
    count_words,
    drawn,
    features_by_levels,
    features_by_minima,
    is_telling,
    writing_of,
)

CHINESE = "\u8fd9\u662f\u4e00\u4e2a\u6587\u672c"
THAI = "\u0e02\u0e2d\u0e1a\u0e04\u0e38\u0e13\u0e21\u0e32\u0e01"


def sample_of(texts):
    return drawn(texts, len(texts), np.random.default_rng(0))


def test_shares_of_scripts_count_texts_that_are_mostly_in_them():
    sample = sample_of(["only English", CHINESE, f"{CHINESE} API", THAI, f"{THAI} a long English"])

    assert sample.spaceless == 3 / 5


def test_tags_are_found_and_other_signs_are_none():
    tags = ["<p>", "</p>", '<a href="x">', "<br/>", "<br />", "<H1 id=x>"]
    others = ["a < b", "x <y", "<3", "<>", "< p >", "List<", "<a@b.org>"]

    assert all(map(TAG.fullmatch, tags))
    assert not any(map(TAG.search, others))


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


LETTERS = "abcdefghijklmnopqrstuvwxyz"
ARABIC = "\u0643\u064f\u0644\u064f\u0651 \u0627\u0644\u0646\u0651\u064e\u0627\u0633\u0650"
WIDE = "\uff36\uff2f\uff2c\uff0e\uff11\uff12"


def texts(count, seed, *, wrong=0.0):
    """Return texts of frequent words, of which a share of the letters is wrong."""
    chance = random.Random(seed)
    words = ["".join(chance.choice(LETTERS) for _ in range(7)) for _ in range(400)]

    def shown(word):
        return "".join(chance.choice(LETTERS) if chance.random() < wrong else each for each in word)

    return [" ".join(shown(chance.choice(words)) for _ in range(60)) for _ in range(count)]


@pytest.mark.parametrize(
    ("added", "share", "options"),
    [
        ("plain words", 1.0, {}),
        ("\u4e2d\u6587\uff0c\u3002\uff01", 1.0, {}),  # full width punctuation is in no word
        (WIDE, 0.05, {"normalisation": "nfkc"}),
        (ARABIC, 0.05, {"marks": "drop"}),
        ("\u0131\u015f\u0131k", 0.9, {"turkic_case": True}),
        ("\u0131\u015f\u0131k", 0.1, {}),
    ],
    ids=ascii,
)
def test_options_follow_from_characters(added, share, options):
    some = texts(100, 1)
    written = [f"{each} {added}" if at < share * 100 else each for at, each in enumerate(some)]

    assert writing_of(written).options == options


@pytest.mark.parametrize(("wrong", "is_noisy"), [(0.0, False), (0.01, True), (0.05, True)])
def test_wrong_letters_are_seen(wrong, is_noisy):
    assert writing_of(texts(200, 2, wrong=wrong)).is_noisy == is_noisy


def test_advice_has_the_options_and_says_why():
    written = [f"{each} {WIDE} {ARABIC}" for each in texts(60, 3, wrong=0.03)]

    advice = simdb.tune(written)

    sketch = advice.options.sketch
    assert (sketch.normalisation, sketch.marks) == ("nfkc", "drop")
    assert "--normalisation nfkc --marks drop" in advice.flags
    assert "forms of characters" in advice.reason
    assert "points or a tatweel" in advice.reason
    assert "--unit characters --shingle 5" in advice.flags
    assert "shingles of 5 characters, so copies with wrong letters" in advice.reason
    assert simdb.fingerprint(written[0], sketch).bits


def test_advice_finds_copies_with_wrong_letters():
    originals = texts(100, 3, wrong=0.0)
    chance = random.Random(7)

    def misread(text):
        return "".join("x" if chance.random() < 0.05 else letter for letter in text)

    read = [misread(text) for text in originals for _ in range(2)]
    advice = simdb.tune(read)
    found = simdb.deduplicate(read, options=advice.options)

    pairs = list(zip(found.removed_ids.tolist(), found.representatives.tolist(), strict=True))
    assert len(simdb.deduplicate(read)) == 200
    assert len(pairs) >= 95
    assert [row - 1 for row, _ in pairs] == [kept for _, kept in pairs]


def test_advice_for_turkic_texts_folds_their_capitals():
    advice = simdb.tune([f"{each} \u0131\u015f\u0131k" for each in texts(60, 4)])

    assert advice.options.sketch.turkic_case
    assert "--turkic-case" in advice.create_flags


PAGE = 0.889


@over(
    ("text", "words"),
    [
        ("", 0),
        ("...", 0),
        ("three short words", 3),
        ("\u8fd9\u662f\u4e2d\u6587", 4),  # Chinese
        ("\u0e02\u0e2d\u0e1a\u0e04\u0e38\u0e13", 6),  # Thai: five letters, and a vowel sign
        ("\u0e02\u0e2d thank you", 4),
    ],
)
def test_words_are_counted_and_letters_of_scripts_without_spaces(text, words):
    assert count_words([text, "x y"]).tolist() == [words, 2]


def test_one_changed_word_of_fewer_than_30_takes_3_shingles_below_the_default():
    def left(words):
        return 1 - 3 / (words - 2)

    assert left(SHORT_WORDS) >= PAGE > left(SHORT_WORDS - 1)


def test_a_text_may_change_as_many_words_as_leave_its_shingles_at_the_threshold():
    pages, numbers = changed_words(300, PAGE), [changed_words(at, PAGE) for at in (100, 30, 10, 3)]

    assert (1 - pages / 300) ** 3 == pytest.approx(PAGE)
    assert changed_words(3000, PAGE) == pytest.approx(10 * pages)
    # A shorter text may change fewer words, but a larger share.
    assert [pages, *numbers] == sorted([pages, *numbers], reverse=True)
    assert numbers[2] / 10 > numbers[1] / 30 > pages / 300
    assert numbers[1] == pytest.approx((pages * pages / 10) ** 0.5)
    assert (changed_words(1, 0.1), changed_words(0, PAGE)) == (1, 0)


def vectors_of(count, dimensions):
    texts = [" ".join(f"w{at}x{each}" for each in range(count + 2)) for at in range(500)]
    weights = simdb.fingerprints(texts, simdb.Simhash(dimensions=dimensions)).weights
    return kernel.quantise(weights)[1]


@pytest.mark.few(1)
@pytest.mark.parametrize("dimensions", [64, 128])
@pytest.mark.parametrize(("count", "tolerance"), [(1, 0.1), (5, 1), (10, 2), (20, 3), (26, 5)])
def test_few_features_are_counted_by_levels(count, tolerance, dimensions):
    found = features_by_levels(vectors_of(count, dimensions))

    assert found == pytest.approx(count, abs=tolerance)


@pytest.mark.parametrize("count", [60, 300])
def test_many_features_cannot_be_counted_by_levels(count):
    found = features_by_levels(vectors_of(count, 128))

    assert found is None or found > 29


@over("count", [1, 10, 28, 300])
def test_features_are_counted_by_minima(count):
    texts = [" ".join(f"w{at}x{each}" for each in range(count + 2)) for at in range(500)]

    found = features_by_minima(simdb.signatures(texts).minima)

    # One estimate has an error of 1 / sqrt(128), their median of 0.5 %.
    assert found == pytest.approx(count, rel=0.05)


@over(
    ("sketch", "expected"),
    [
        (simdb.Simhash(), True),
        (simdb.Simhash(unit="whitespace", shingle=1), True),
        (simdb.Simhash(unit="characters"), False),
        (simdb.Simhash(weighting="tf"), False),
        (simdb.Simhash(store_volatility=False), False),
        (simdb.Simhash(tokeniser="a:b"), False),
        (simdb.Minhash(), True),
        (simdb.Minhash(stored_bits=8), False),
        (simdb.Minhash(family="one-permutation"), False),
        (simdb.Minhash(weighting="bag"), False),
    ],
)
def test_some_sketches_tell_the_number_of_words(sketch, expected):
    assert is_telling(sketch) is expected
