"""Word order: hashes of the words of texts, in order, and where each word is in its text."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from over import over

import simdb
from simdb.sketch.winnowing import WordOrder

ORDER = WordOrder(simdb.Simhash())
# Words of several scripts: some have the form that cleaning gives, and some have another.
WORDS = (
    "one", "Two", "\u00fcber", "u\u0308ber", "stra\u00dfe", "STRASSE", "\ufb01nd", "ca\u00adke",
    "\u03c3\u03bf\u03c6\u03cc\u03c2", "\u039f\u0394\u039f\u03a3", "\u6570\u636e\u5e93",
    "\u0e20\u0e32\u0e29\u0e32", "\u0643\u062a\u0627\u0628", "\ud55c\uad6d\uc5b4", "x1",
)  # fmt: skip
BETWEEN = (" ", "\n", ", ", " - ", "  \t", "-\n", ".")
SEQUENCE_FIRST = 1 << 16  # words for which the kernel makes room at first


@st.composite
def texts(draw):
    pieces = st.tuples(st.sampled_from(WORDS), st.sampled_from(BETWEEN))
    return "".join(part for piece in draw(st.lists(pieces, max_size=12)) for part in piece)


def hashes_of(text, order=ORDER):
    offsets, words = order.words([text], errors="strict")
    assert offsets.tolist() == [0, len(words)]
    return words.tolist()


@given(texts())
def test_every_word_has_a_place_in_its_text(text):
    places = ORDER.places(text).tolist()

    assert len(places) == len(hashes_of(text))
    assert all(0 <= start < stop <= len(text) for start, stop in places)
    assert places == sorted(places)


@over("word", WORDS)
def test_the_place_of_a_word_is_the_word(word):
    text = f"before, {word}. after"

    places = [text[start:stop] for start, stop in ORDER.places(text).tolist()]

    assert "".join(places[1:-1]) == word
    assert hashes_of(" ".join(places)) == hashes_of(text)


def test_a_word_that_is_cut_at_a_line_end_has_the_place_of_both_parts():
    text = "a data-\nbase here"

    places = [text[start:stop] for start, stop in ORDER.places(text).tolist()]

    assert places == ["a", "data-\nbase", "here"]


def test_texts_of_more_words_than_there_is_room_for_are_whole():
    short, long = "one two", "word " * (SEQUENCE_FIRST + 9)

    offsets, words = ORDER.words([short, long, short], errors="strict")

    assert offsets.tolist() == [0, 2, SEQUENCE_FIRST + 11, SEQUENCE_FIRST + 13]
    assert words[:2].tolist() == words[-2:].tolist() == hashes_of(short)
    assert set(words[2:-2].tolist()) == set(hashes_of("word"))


@pytest.mark.parametrize("sketch", [
    simdb.Simhash(unit="characters"), simdb.Simhash(markup="html"),
    simdb.Simhash(tokeniser="tests.any:cut"),
])  # fmt: skip
def test_texts_without_places_of_words_are_refused(sketch):
    with pytest.raises(simdb.OptionError):
        WordOrder(sketch)


def test_invalid_unicode_is_refused_by_its_number():
    with pytest.raises(simdb.InputError, match="12"):
        ORDER.words([b"fine", b"\xff"], errors="strict", start=11)
    assert len(ORDER.words([b"fine \xff"], errors="replace")[1])


def test_a_text_has_as_many_places_as_words():
    texts = [
        "", "two words", "cut-\nting a-\n b", "\ufb01ne \xdf \u200b a\xadb",
        "e\u0301 <b>1,234</b> c", "\u6570\u5b57 \u0e01\u0e32", "\u0301 -", "lower",
        "ends with a hyphen-", "goes on",
    ]  # fmt: skip
    for marked in (False, True):
        order = WordOrder(simdb.Simhash(), marked=marked)

        places = [order.places(text) for text in texts]

        sizes = np.diff(order.words(texts, errors="strict")[0])
        assert list(map(len, places)) == sizes.tolist()
