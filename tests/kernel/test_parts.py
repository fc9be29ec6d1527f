"""Parts of texts: where they are cut, and that their keys follow from their words alone."""

import numpy as np
import parts_oracle as oracle
import pytest
from hypothesis import given, strategies as st

from simdb.core import kernel
from simdb.core.decoding import text_column
from simdb.core.errors import InputError
from simdb.core.options import LINE, PARAGRAPH, SENTENCE, Simhash
from simdb.sketch.winnowing import WordOrder

UNITS = (PARAGRAPH, LINE, SENTENCE)
# Every kind of character that cutting knows, and some letters of several scripts.
KNOWN = (
    'aBc1 \t\n\r\u2028\x85\x1c.!?\u2026\u3002\uff0e\uff15\u061f\u0964")\u300d\u4e2d\u0627\U00010428'
)
TEXTS = st.text(KNOWN)
ASCII = st.text('aB1 \t\n\r\v.!?")')
# Longer than what is looked at together.
LONG = st.lists(st.just("x" * 33) | TEXTS | ASCII, max_size=6).map("".join)
ORDER = WordOrder(Simhash())


def parts(text, unit):
    return [text[start:stop] for start, stop, _ in kernel.part_bounds(text, unit).tolist()]


def keys(texts):
    return kernel.part_keys(*ORDER.words(texts, errors="strict")).tolist()


@pytest.mark.parametrize("unit", UNITS)
@given(TEXTS | ASCII | LONG)
def test_parts_lie_where_regular_expressions_find_them(unit, text):
    assert list(map(tuple, kernel.part_bounds(text, unit).tolist())) == oracle.bounds_of(text, unit)


def test_every_character_of_unicode_cuts_as_in_regular_expressions():
    codes = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    # A mark behind a letter, and a character behind a mark.
    first = "".join(f"a{chr(code)} B" for code in codes if code < 0x10000)
    second = "".join(f"a. {chr(code)}" for code in codes if code < 0x20000)
    blank = "".join(f"a\n{chr(code)}\n" for code in codes if code < 0x3100)

    for text, unit in ((first, SENTENCE), (second, SENTENCE), (first, LINE), (blank, PARAGRAPH)):
        found = kernel.part_bounds(text, unit)

        assert found.tolist() == [[*each] for each in oracle.bounds_of(text, unit)]


@pytest.mark.parametrize(
    "sketch", [Simhash(), Simhash(normalisation="nfkc"), Simhash(marks="drop")]
)
@given(st.lists(TEXTS | LONG, max_size=5), st.sampled_from(UNITS), st.booleans())
def test_texts_are_cut_and_hashed_as_by_python(sketch, texts, unit, is_column):
    order = WordOrder(sketch)
    pieces = [[t[a:b] for a, b, _ in oracle.bounds_of(t, unit)] for t in texts]
    offsets, words = order.words([each for own in pieces for each in own], errors="strict")

    given_texts = texts
    if is_column:  # a wheel is also tested where pyarrow has none
        pyarrow = pytest.importorskip("pyarrow")
        given_texts = text_column(pyarrow.array(texts, "string"))
    counts, found, sizes = order.parts(given_texts, unit, errors="strict")

    assert counts.tolist() == [len(own) for own in pieces]
    assert found.tolist() == oracle.keys_of(offsets, words).tolist()
    assert sizes.tolist() == np.diff(offsets).tolist()


def test_texts_of_many_parts_go_on_from_one_batch_to_the_next():
    texts = ["\n".join(f"w{at} a" for at in range(size)) for size in (1023, 1, 1025, 0, 3000)]
    texts.append("long " * 70_000 + "\nlast")

    counts, found, sizes = ORDER.parts(texts, LINE, errors="strict")

    lines = [line for text in texts for line in text.split("\n") if text]
    assert counts.tolist() == [1023, 1, 1025, 0, 3000, 2]
    assert found.tolist() == keys(lines)
    assert sizes.tolist() == [len(line.split()) for line in lines]


@pytest.mark.parametrize(
    ("texts", "message"),
    [(["a", "b\nc\ud800"], "document 8 has a lone surrogate"),
     (["a", b"b\nc\xff"], "document 8 is not valid UTF-8"),
     ([*["a\nb"] * 2000, None], "document 2007 is NoneType")],
)  # fmt: skip
def test_an_error_names_the_text(texts, message):
    with pytest.raises(InputError, match=message):
        ORDER.parts(texts, LINE, errors="strict", start=7)


@pytest.mark.parametrize("unit", UNITS)
@given(TEXTS | ASCII | LONG, st.data())
def test_what_is_left_is_what_slices_leave(unit, text, data):
    bounds = oracle.bounds_of(text, unit)
    flags = data.draw(st.lists(st.booleans(), min_size=len(bounds), max_size=len(bounds)))

    left = kernel.part_rest(text, unit, np.array(flags, np.bool_))

    assert left == oracle.without(text, bounds, flags)


def test_a_text_with_other_parts_leaves_nothing():
    flags = np.ones(2, np.bool_)

    assert [kernel.part_rest(text, LINE, flags) for text in ("a", "", "a\nb\nc")] == [None] * 3
    assert kernel.part_rest("a\n" * 200, LINE, np.zeros(64, np.bool_)) is None


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=4), max_size=12))
def test_keys_are_equal_where_words_are_and_nowhere_else(sequences):
    found = keys([" ".join(each) for each in sequences])

    same = [[a == b for b in sequences] for a in sequences]
    assert [[a == b for b in found] for a in found] == same


def test_a_long_row_of_marks_takes_time_in_proportion():
    texts = ["." * 300_000, "." + '"' * 300_000, ". " + " " * 300_000 + "a", "\n \r" * 100_000]

    counts = [len(kernel.part_bounds(text, unit)) for text in texts for unit in UNITS]

    assert np.min(counts) == 1
