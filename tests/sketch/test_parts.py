"""Parts of texts: where they are cut, and that their keys follow from their words alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simdb.settings.options import Simhash
from simdb.sketch.parts import LINE, PARAGRAPH, SENTENCE, bounds_of, keys_of, without
from simdb.sketch.word_order import WordOrder

UNITS = (PARAGRAPH, LINE, SENTENCE)
# Every kind of character that cutting knows, and some letters of several scripts.
TEXTS = st.text('aBc1 \t\n\r\u2028\x85.!?\u2026\u3002\uff0e\uff15\u061f\u0964")\u300d\u4e2d\u0627')


def parts(text, unit):
    return [text[start:stop] for start, stop, _ in bounds_of(text, unit)]


def keys(texts):
    offsets, words = WordOrder(Simhash()).words(texts, errors="strict")
    return keys_of(offsets, words).tolist()


def test_paragraphs_are_separated_by_blank_lines():
    text = "One\nline.\n\nTwo\r\n \t\r\n  three\n"

    assert parts(text, PARAGRAPH) == ["One\nline.", "Two", "  three\n"]


def test_lines_end_at_every_line_end_of_unicode():
    text = "a\nb\r\nc\rd\ve\ff\x85g\u2028h\u2029\u0020i"

    assert parts(text, LINE) == ["a", "b", "c", "d", "e", "f", "g", "h", " i"]


def test_a_blank_line_is_a_line_without_words():
    assert parts("a\n\nb", LINE) == ["a", "", "b"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ('He said "Go." Then (left.) Now', ['He said "Go."', "Then (left.)", "Now"]),
        ("See e.g. this, at 3.14 or v1.2.", ["See e.g. this, at 3.14 or v1.2."]),
        ("a.example?x=1!y b", ["a.example?x=1!y b"]),
        ("What?! No... Yes", ["What?!", "No...", "Yes"]),
        ("A title\nThen text", ["A title", "Then text"]),
        ("他走了。我来。", ["他走了。", "我来。"]),
        ("\u300c\u884c\u304f\u3002\u300d\u3068", ["\u300c\u884c\u304f\u3002\u300d", "\u3068"]),
        ("\uff13\uff0e\uff11\u3060\uff0e\u6b21", ["\uff13\uff0e\uff11\u3060\uff0e", "\u6b21"]),
        ("هل؟ نعم. لا", ["هل؟", "نعم.", "لا"]),
        ("\u092f\u0939\u0964 \u0935\u0939\u0965", ["\u092f\u0939\u0964", "\u0935\u0939\u0965"]),
        ("\u12a5\u1362\u1290\u1367", ["\u12a5\u1362", "\u1290\u1367"]),
    ],
)  # fmt: skip
def test_sentences_end_by_the_rule(text, expected):
    assert parts(text, SENTENCE) == expected


@pytest.mark.parametrize("unit", UNITS)
@given(TEXTS)
def test_parts_and_separators_are_the_text(unit, text):
    bounds = bounds_of(text, unit)

    assert [start for start, _, _ in bounds] == [0, *(after for _, _, after in bounds)][:-1]
    assert all(start <= stop <= after for start, stop, after in bounds)
    assert (bounds[-1][2] if bounds else 0) == len(text)


@pytest.mark.parametrize("unit", UNITS)
@given(TEXTS)
def test_what_separates_has_no_words(unit, text):
    gaps = [text[stop:after] for _, stop, after in bounds_of(text, unit)]

    assert "".join(gaps).strip() == ""


@pytest.mark.parametrize(
    ("text", "flags", "expected"),
    [
        ("a\nb\nc\n", [0, 1, 0], "a\nc\n"),
        ("a\nb\nc\n", [1, 0, 0], "b\nc\n"),
        ("a\nb\nc", [0, 0, 1], "a\nb"),
        ("a\nb\r\nc", [0, 1, 1], "a"),
        ("a\r\nb\n", [0, 1], "a\n"),
        ("a\nb", [1, 1], ""),
        ("a\nb", [0, 0], "a\nb"),
    ],
)
def test_a_part_goes_with_its_separator_and_the_text_ends_as_before(text, flags, expected):
    assert without(text, bounds_of(text, LINE), flags) == expected


def test_a_key_follows_from_the_words_in_order():
    same = ["The quick  brown FOX", "the quick, brown fox!", "\u201cThe\u201d quick\nbrown fox"]
    others = ["the brown quick fox", "the quick brown", "the quick brown fox fox", "", "quick"]

    found = keys([*same, *others])

    assert len(set(found[:3])) == 1
    assert len(set(found)) == 1 + len(others)


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=4), max_size=12))
def test_keys_are_equal_where_words_are_and_nowhere_else(sequences):
    found = keys([" ".join(each) for each in sequences])

    same = [[a == b for b in sequences] for a in sequences]
    assert [[a == b for b in found] for a in found] == same


def test_a_long_row_of_marks_takes_time_in_proportion():
    texts = ["." * 300_000, "." + '"' * 300_000, ". " + " " * 300_000 + "a", "\n \r" * 100_000]

    counts = [len(bounds_of(text, unit)) for text in texts for unit in UNITS]

    assert np.min(counts) == 1
