"""Words are counted as the kernel cuts them, and near-duplicates may change some of them."""

import pytest

from simdb.tuning.lengths import SHORT_WORDS, changed_words, count_words

PAGE = 0.889


@pytest.mark.parametrize(
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


def test_a_page_may_change_as_many_words_as_leave_its_shingles_at_the_threshold():
    changed = changed_words(300, PAGE)

    assert (1 - changed / 300) ** 3 == pytest.approx(PAGE)


def test_a_longer_text_may_change_the_same_share():
    assert changed_words(3000, PAGE) == pytest.approx(10 * changed_words(300, PAGE))


def test_a_shorter_text_may_change_fewer_words_but_a_larger_share():
    numbers = [changed_words(words, PAGE) for words in (300, 100, 30, 10, 3)]

    assert numbers == sorted(numbers, reverse=True)
    assert numbers[3] / 10 > numbers[2] / 30 > numbers[0] / 300
    assert numbers[2] == pytest.approx((numbers[0] * numbers[0] / 10) ** 0.5)


def test_no_text_may_change_more_words_than_it_has():
    assert changed_words(1, 0.1) == 1
    assert changed_words(0, PAGE) == 0
