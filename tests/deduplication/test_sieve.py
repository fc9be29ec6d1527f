"""What a sieve drops is what a set and a loop drop, and what runs before it kept."""

import random

import numpy as np
import pytest
from hypothesis import given, strategies as st

import simdb
from simdb.core.errors import InputError
from simdb.core.options import Simhash
from simdb.jobs.deduplication import sieve
from simdb.jobs.deduplication.question import DedupQuestion
from simdb.jobs.deduplication.sieve import Sieve, UnitKeys

WORDS = ("one", "Two", "b\u00e9", "\u4e2d\u6587", "\u0646\u0639\u0645", "\u0939\u093e\u0901")
LINES = st.lists(st.sampled_from(WORDS), max_size=3).map(" ".join)
TEXTS = st.lists(st.lists(LINES, max_size=5).map("\n".join), max_size=8)
WORDWISE = Simhash()
# A character that is a word by itself, by which a text of these words is cut.
COUNTS = {"\u4e2d\u6587": 2}


def sieved(texts, *, size=3, threads=1, min_words=2, sketch=WORDWISE, similarity=None):
    """Return what is left of each text, None of those that are dropped."""
    sieve = Sieve(sketch, simdb.Unit("line", min_words), DedupQuestion(similarity, threads=threads))
    batches = (texts[start : start + size] for start in range(0, len(texts), size))
    assert sum(1 for _ in sieve.read(batches)) == -(-len(texts) // size)
    dropped = sieve.decide()
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


CHANCE = random.Random(11)
NAMES = [f"w{number}" for number in range(400)]
BASES = [CHANCE.sample(NAMES, 24) for _ in range(12)]


def variant():
    """Return a line: some base line of 24 words, in which up to three words are others."""
    words = list(CHANCE.choice(BASES))
    for _ in range(CHANCE.randrange(4)):
        words[CHANCE.randrange(len(words))] = CHANCE.choice(NAMES)
    return " ".join(words)


VARIANTS = ["\n".join(variant() for _ in range(4)) for _ in range(30)]


def left_by_a_double_loop(texts, similarity):
    """Return what is left of texts if a line leaves that is alike an earlier one that stays."""
    staying, found = [], []
    for text in texts:
        left = []
        for line in text.split("\n"):
            words = line.split()
            shingles = set(zip(words, words[1:], words[2:], strict=False))
            if any(len(shingles & each) >= similarity * len(shingles | each) for each in staying):
                continue
            staying.append(shingles)
            left.append(line)
        found.append("\n".join(left) if left else None)
    return found


@pytest.mark.parametrize("similarity", [0.4, 0.8, 1.0])
def test_parts_that_are_alike_leave_as_in_a_double_loop(similarity):
    expected = left_by_a_double_loop(VARIANTS, similarity)
    sketch = Simhash(shingle=3)

    kept = [
        sieved(VARIANTS, size=size, threads=threads, sketch=sketch, similarity=similarity)
        for size, threads in ((7, 1), (30, 3))
    ]

    assert kept == [expected, expected]
    assert 12 <= sum(len(each.split("\n")) for each in expected if each) < 120


def test_short_parts_are_not_compared():
    texts = ["one two three four five six", "one two three four five seven", "one two three four"]

    assert sieved(texts, min_words=5, sketch=Simhash(shingle=1), similarity=0.5) == [
        texts[0], None, texts[2],
    ]  # fmt: skip


def test_a_document_without_a_word_left_is_dropped():
    texts = ["one two three\n***", "one two three\n***\n", "***", ""]

    assert sieved(texts) == ["one two three\n***", None, "***", ""]


def test_a_message_names_the_document():
    sieve = Sieve(Simhash(), simdb.Unit("line", 2), DedupQuestion())

    with pytest.raises(InputError, match="document 3 "):
        list(sieve.read([["a\nb\nc", "d"], ["e\nf", "g\n\ud800"]]))


def test_invalid_bytes_are_replaced_if_that_is_asked_for():
    sieve = Sieve(Simhash(), simdb.Unit("line", 1), DedupQuestion(errors="replace"))

    list(sieve.read([[b"one \xff two\n", "one \ufffd two\nthree"]]))

    assert sieve.rest("one \ufffd two\nthree", sieve.decide().of(1)) == "three"


def test_a_text_that_was_changed_is_refused():
    sieve = Sieve(Simhash(), simdb.Unit("line", 1), DedupQuestion())
    list(sieve.read([["one\ntwo\none"]]))

    with pytest.raises(InputError, match="has changed since it was first read"):
        sieve.rest("one\ntwo", sieve.decide().of(0))


class Notes:
    """Notes in a dict."""

    def __init__(self):
        self.notes = {}

    def note(self, name):
        return self.notes.get(name)

    def set_note(self, name, content):
        self.notes[name] = content


def settle(notes, keys, run):
    return UnitKeys(notes, "line", run).settle(np.array(sorted(keys), np.uint64))


RUNS = st.lists(
    st.tuples(st.sampled_from(["", "a", "b"]), st.sets(st.integers(0, 12) | st.just(2**64 - 1))),
    max_size=8,
)


@pytest.mark.parametrize("size", [1, 3, 1000])
@given(RUNS)
def test_keys_of_other_runs_are_old(size, runs):
    notes, owners = Notes(), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sieve, "PIECE_KEYS", size)
        for run, keys in runs:
            expected = [key in owners and (owners[key] != run or not run) for key in sorted(keys)]

            assert settle(notes, keys, run).tolist() == expected

            for key in keys:
                owners.setdefault(key, run)


def test_units_do_not_share_keys_and_a_database_keeps_them(tmp_path):
    with simdb.open(tmp_path / "db") as database, database.write() as transaction:
        UnitKeys(transaction, "line", "first").settle(np.array([7, 9], np.uint64))

    with simdb.open(tmp_path / "db") as database, database.write() as transaction:
        lines = UnitKeys(transaction, "line", "second").settle(np.array([8, 9], np.uint64))
        sentences = UnitKeys(transaction, "sentence", "second").settle(np.array([8, 9], np.uint64))

    assert lines.tolist() == [False, True]
    assert sentences.tolist() == [False, False]


def test_a_call_that_was_interrupted_while_it_made_the_database_can_be_repeated(
    tmp_path, monkeypatch
):
    """It was refused for good: the path is an empty LMDB directory, no simdb database."""
    texts = ["one two three four", "one two three four", "five six seven eight"]

    def interrupt(*given):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("simdb.storage.contents.create", interrupt)
        with pytest.raises(KeyboardInterrupt):
            simdb.deduplicate(texts, db=tmp_path / "db")

    assert simdb.deduplicate(texts, db=tmp_path / "db").data == [texts[0], texts[2]]
    with simdb.open(tmp_path / "db", "r") as database:
        assert database.options.keep_times == "seen"
