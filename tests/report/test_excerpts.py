"""Excerpts show the beginning of a text, and every difference is marked or counted."""

import random

from over import over

from simdb.jobs.report import excerpts
from simdb.jobs.report.excerpts import (
    ADDED,
    GAP,
    REMOVED,
    SAME,
    TextPiece,
    beginning,
    beside,
    compared,
    visible,
)


def text_of(pieces, *kinds):
    return "".join(piece.text for piece in pieces if piece.kind in kinds)


def test_a_difference_far_behind_the_beginning_is_shown_after_a_gap():
    words = [f"w{at}" for at in range(300)]
    other = [*words[:250], "changed", *words[251:]]

    pieces, _ = compared(" ".join(words), " ".join(other))

    assert [piece.kind for piece in pieces] == [SAME, GAP, SAME, REMOVED, ADDED, SAME, GAP]
    assert pieces[2].text == "w244 w245 w246 w247 w248 w249 "
    assert text_of(pieces, ADDED) == "changed "


def test_the_words_of_an_excerpt_are_those_of_the_texts():
    generator = random.Random(1)
    for _ in range(200):
        left = [generator.choice("abcdef") for _ in range(generator.randrange(12))]
        right = [generator.choice("abcdef") for _ in range(generator.randrange(12))]

        pieces, note = compared(" ".join(left), " ".join(right))

        assert text_of(pieces, SAME, ADDED).split() == right
        if left != right:
            assert text_of(pieces, SAME, REMOVED).split() == left
            added = len(text_of(pieces, ADDED).split())
            removed = len(text_of(pieces, REMOVED).split())
            assert note.split()[::3][:2] == [str(added), str(removed)]
        else:
            assert note == "no word differs"


def test_the_excerpt_of_a_text_that_differs_everywhere_is_bounded():
    left = " ".join(f"a{at} same" for at in range(400))
    right = " ".join(f"b{at} same" for at in range(400))

    pieces, note = compared(left, right)

    shown = sum(len(piece.text.split()) for piece in pieces)
    assert shown <= excerpts.SHOWN_WORDS + 2 * excerpts.AROUND_WORDS + 1
    added, removed = (int(word) for word in note.split() if word.isdigit())
    assert added == removed >= 400


def test_the_beginning_of_a_long_text_ends_with_a_gap():
    assert beginning("a b c") == (TextPiece("a b c", SAME),)
    assert beginning("a " * 100)[-1] == TextPiece("", GAP)
    assert beginning("") == ()


def test_code_keeps_its_lines_and_their_indentation():
    code = "def double(x):\r\n    return  2 * x\n\n\n\n\tprint(double(2))\n"

    (piece,) = beginning(code)
    left, right, _ = beside(code, code.replace("2)", "3)"))

    assert piece.text == "def double(x):\n    return 2 * x\n\n\tprint(double(2))"
    assert text_of(left, SAME, REMOVED) == piece.text
    assert text_of(right, SAME, ADDED) == piece.text.replace("2)", "3)")


def test_what_a_page_cannot_show_becomes_a_replacement_character_and_all_else_stays():
    text = "na\u00efve \u0e44\u0e17\u0e22 \u0645\u200c\u0646 \U0001f468\u200d\U0001f469"

    assert visible(text) == text
    for character in ("\0", "\x1b", "\u202e", "\ud800", "\ufeff"):
        assert visible(f"a{character}b") == "a\ufffdb"


def test_words_that_occur_often_do_not_take_long(monkeypatch):
    """Exact alignment takes the cube of 1,000 words in the worst case, which is minutes."""
    left = " ".join(["same", "word"] * 500)
    right = " ".join(["word", "word", "same"] * 333)
    called = []
    matcher = excerpts.SequenceMatcher
    monkeypatch.setattr(
        excerpts, "SequenceMatcher",
        lambda *sides, autojunk: called.append(autojunk) or matcher(*sides, autojunk=autojunk),
    )  # fmt: skip

    compared(left, right)
    compared("a b", "c d")

    assert called == [True, False]


def test_excerpts_beside_each_other_show_the_same_places():
    words = [f"w{at}" for at in range(400)]
    other = [*words[:250], "x1", "x2", *words[251:]]

    left, right, _ = excerpts.beside(" ".join(words), " ".join(other))

    assert text_of(left, SAME) == text_of(right, SAME)
    assert [each.kind for each in left].count(GAP) == [each.kind for each in right].count(GAP)
    assert text_of(left, REMOVED).split() == ["w250"]
    assert text_of(right, ADDED).split() == ["x1", "x2"]


def test_case_and_punctuation_make_no_difference_and_each_side_shows_its_own_words():
    left, right, note = beside("WHICH OF THEM, SAID SHE", "Which of those said she?")

    assert left == (
        TextPiece("WHICH OF ", SAME), TextPiece("THEM, ", REMOVED), TextPiece("SAID SHE", SAME),
    )  # fmt: skip
    assert right == (
        TextPiece("Which of ", SAME), TextPiece("those ", ADDED), TextPiece("said she?", SAME),
    )  # fmt: skip
    assert note == "1 word only on the left, 1 only on the right"


URL = "https://example.org/shop/a-very-long-path/of-a-page/with?parameters=that&never=end"


@over(
    ("left", "right"),
    [
        (URL + "&a=1", URL + "&a=2"),
        ("0123456789abcdef" * 8, "fedcba9876543210" * 8),
        ("/usr/lib/python3/dist-packages/" + "x" * 60, "QUJDRA" * 3000),
    ],
)
def test_a_long_word_counts_as_one_word(left, right):
    first, second = f"one {left} two", f"one {right} two other"

    left_pieces, right_pieces, note = beside(first, second)
    _, added = compared(first, second)

    assert note == "1 word only on the left, 2 only on the right"
    assert added == "2 words added, 1 removed"
    shown = text_of(left_pieces, REMOVED).rstrip(), text_of(right_pieces, ADDED)
    assert shown[0][:400] == left[:400]
    assert len(shown[1]) < 420


def test_a_long_run_of_a_script_without_spaces_is_compared_by_character():
    text = "".join(chr(0x4E00 + at) for at in range(100))
    other = text[:50] + "\u6f22" + text[51:] + URL

    pieces, note = compared(text, other)

    assert note == "2 words added, 1 removed"
    assert text_of(pieces, ADDED) == "\u6f22" + URL
