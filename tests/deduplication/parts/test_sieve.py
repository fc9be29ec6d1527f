"""What a sieve drops is what a set and a loop drop, whatever the threads and the batches."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simdb.deduplication.parts.sieve import Sieve
from simdb.ground.errors import InputError, OptionError
from simdb.settings.options import Simhash

WORDS = ("one", "Two", "b\u00e9", "\u4e2d\u6587", "\u0646\u0639\u0645", "\u0939\u093e\u0901")
LINES = st.lists(st.sampled_from(WORDS), max_size=3).map(" ".join)
TEXTS = st.lists(st.lists(LINES, max_size=5).map("\n".join), max_size=8)
# A character that is a word by itself, by which a text of these words is cut.
COUNTS = {"\u4e2d\u6587": 2}


def sieved(texts, *, size=3, threads=1, min_words=2):
    """Return what is left of each text, None of those that are dropped."""
    sieve = Sieve(Simhash(), "line", min_words, errors="strict", threads=threads, is_stored=False)
    batches = (texts[start : start + size] for start in range(0, len(texts), size))
    assert sum(1 for _ in sieve.read(batches)) == -(-len(texts) // size)
    dropped = sieve.dropped()
    kept = enumerate(dropped.kept.tolist())
    return [sieve.rest(texts[at], dropped.of(at)) if has else None for at, has in kept]


def looped(texts, *, min_words=2):
    """Return the same by a set and a loop; line ends are those that are left between lines."""
    seen, found = set(), []
    for text in texts:
        left, has_dropped, has_words = [], False, False
        for line in text.split("\n"):
            words = line.lower().split()
            key = tuple(words)
            count = sum(COUNTS.get(word, 1) for word in words)
            if count >= min_words and key in seen:
                has_dropped = True
                continue
            seen.add(key)
            left.append(line)
            has_words = has_words or bool(words)
        found.append(None if has_dropped and not has_words else "\n".join(left))
    return found


@given(TEXTS, st.integers(1, 4), st.sampled_from([1, 3]), st.integers(1, 3))
def test_a_sieve_drops_what_a_loop_drops(texts, size, threads, min_words):
    # A text that ends with a line end ends with one afterwards, too, which a loop does not see.
    texts = [text + "\nx" for text in texts]

    found = sieved(texts, size=size, threads=threads, min_words=min_words + 1)

    assert found == looped(texts, min_words=min_words + 1)


def test_a_document_without_a_word_left_is_dropped():
    texts = ["one two three\n***", "one two three\n***\n", "***", ""]

    assert sieved(texts) == ["one two three\n***", None, "***", ""]


def test_a_part_that_occurs_again_in_its_own_document_is_dropped_there():
    assert sieved(["one two\nshort\nONE, two!\nshort"]) == ["one two\nshort\nshort"]


def test_a_message_names_the_document():
    sieve = Sieve(Simhash(), "line", 2, errors="strict", threads=1, is_stored=False)

    with pytest.raises(InputError, match="document 3 "):
        list(sieve.read([["a\nb\nc", "d"], ["e\nf", "g\n\ud800"]]))


def test_invalid_bytes_are_replaced_if_that_is_asked_for():
    sieve = Sieve(Simhash(), "line", 1, errors="replace", threads=1, is_stored=False)

    list(sieve.read([[b"one \xff two\n", "one \ufffd two\nthree"]]))

    assert sieve.rest("one \ufffd two\nthree", sieve.dropped().of(1)) == "three"


def test_a_text_that_was_changed_is_refused():
    sieve = Sieve(Simhash(), "line", 1, errors="strict", threads=1, is_stored=False)
    list(sieve.read([["one\ntwo\none"]]))

    with pytest.raises(InputError, match="not what it was"):
        sieve.rest("one\ntwo", sieve.dropped().of(0))


def test_a_sketch_without_words_is_refused():
    with pytest.raises(OptionError, match="no words"):
        Sieve(Simhash(unit="characters"), "line", 1, errors="strict", threads=1, is_stored=False)
