"""IDF tables hold exactly what a Counter over sets of shingles says."""

import math
from collections import Counter

import mmh3
import numpy as np
import pytest
from hypothesis import given, strategies as st
from over import over
from strategies import WORDS

import simdb
from simdb.core.text_sketch import directory_bits, idf_weight
from simdb.sketch import fitting

documents_of_words = st.lists(st.lists(st.sampled_from(WORDS), max_size=9), min_size=1, max_size=20)
SINGLE = simdb.Simhash(shingle=1)


def hash_of(word, seed=0):
    return mmh3.hash64(word.encode(), seed, signed=False)[0]


def smooth(document_count, frequency):
    """Compute the formula of scikit-learn's TfidfTransformer(smooth_idf=True)."""
    return math.log((1 + document_count) / (1 + frequency)) + 1


def frequencies(token_lists):
    return Counter(token for tokens in token_lists for token in set(tokens))


def assert_weighs(table, counted, document_count):
    weights = table.weights(np.array([hash_of(word) for word in counted], np.uint64))
    exact = [smooth(document_count, frequency) for frequency in counted.values()]
    assert np.allclose(weights, exact, rtol=0, atol=0.5 / 1024 + 1e-9)


def assert_in_order(table):
    tags = [int(entry) >> 16 for entry in table.entries]
    bits = directory_bits(len(tags))
    assert tags == sorted(set(tags))
    assert table.directory.tolist() == [
        sum(tag >> (48 - bits) < slot for tag in tags) for slot in range(2**bits + 1)
    ]


@given(documents=documents_of_words)
def test_every_word_weighs_what_the_formula_says(documents):
    table = simdb.fit_idf(documents, SINGLE)

    counted = frequencies(documents)
    assert_weighs(table, counted, len(documents))
    assert_in_order(table)
    assert len(table) == sum(frequency > 1 for frequency in counted.values())
    assert table.document_count == len(documents)


@given(documents=documents_of_words)
def test_shingles_are_counted_as_such(documents):
    table = simdb.fit_idf(documents, simdb.Simhash(shingle=2))

    shingles = [
        {tuple(each[at : at + 2]) for at in range(max(1, len(each) - 1))} for each in documents
    ]
    counted = Counter(shingle for each in shingles for shingle in each if shingle)
    found = Counter(int(weight) for weight in table.entries & np.uint64(0xFFFF))
    assert found == Counter(
        idf_weight(len(documents), frequency) for frequency in counted.values() if frequency > 1
    )


@given(documents=documents_of_words, size=st.integers(1, 7), length=st.integers(1, 40))
def test_the_table_does_not_depend_on_the_batches(documents, size, length):
    texts = [" ".join(words) for words in documents]
    whole = simdb.fit_idf(texts)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "BATCH_DOCUMENTS", size)
        patch.setattr(fitting, "BATCH_LENGTH", length)
        patch.setattr(fitting, "SORTED_FEATURES", size)
        parts = simdb.fit_idf(iter(texts))

    assert parts == whole
    assert np.array_equal(parts.directory, whole.directory)


def test_of_too_many_features_the_most_frequent_stay():
    documents = [["a", "b", "c"], ["a", "b", "c"], ["a", "b"], ["a", "d"], ["d"], ["e"]]
    whole = simdb.fit_idf(documents, SINGLE)

    table = simdb.fit_idf(documents, SINGLE, features_max=2)

    assert (len(whole), len(table)) == (4, 2)
    assert_weighs(table, {"a": 4, "b": 3, "c": 1, "d": 1}, 6)
    assert_in_order(table)
    # Both have two documents; the smaller hash stays.
    smaller = min("cd", key=hash_of)
    assert_weighs(simdb.fit_idf(documents, SINGLE, features_max=3), {smaller: 2}, 6)
    assert simdb.fit_idf(documents, SINGLE, features_max=4) == whole


def test_progress_is_told_how_many_documents_were_read(monkeypatch):
    monkeypatch.setattr(fitting, "BATCH_DOCUMENTS", 4)
    told = []

    simdb.fit_idf(["red"] * 10, progress=told.append)

    assert told == [4, 8, 10]


def test_an_arrow_column_is_taken():
    pyarrow = pytest.importorskip("pyarrow")

    table = simdb.fit_idf(pyarrow.array(["red", "red"]), SINGLE)

    assert_weighs(table, {"red": 2}, 2)


@over("documents", ["one text", b"one text", 5, None, []])
def test_what_is_not_many_documents_is_refused(documents):
    with pytest.raises(simdb.InputError, match=r"no documents|documents must be a list"):
        simdb.fit_idf(documents)


@pytest.mark.parametrize("stranger", [7, None, simdb.Fingerprint(5), 1.5])
def test_what_has_no_features_to_count_is_named_by_its_place(monkeypatch, stranger):
    monkeypatch.setattr(fitting, "BATCH_DOCUMENTS", 2)

    with pytest.raises(simdb.InputError, match="document 3 "):
        simdb.fit_idf(["a", ["b"], "c", stranger])


def test_damaged_text_is_refused_by_its_place_or_replaced(monkeypatch):
    monkeypatch.setattr(fitting, "BATCH_DOCUMENTS", 2)
    documents = ["a", "b", ["c"], b"\xff d"]

    with pytest.raises(simdb.InputError, match="document 3 "):
        simdb.fit_idf(documents)
    assert simdb.fit_idf(documents, errors="replace").document_count == 4
    with pytest.raises(simdb.InputError, match="'strict' or 'replace'"):
        simdb.fit_idf(documents, errors="ignore")


@over("count", [0, -1, True, 2.5, "many", 2**32])
def test_an_impossible_number_of_features_is_refused(count):
    with pytest.raises(simdb.OptionError, match="features_max"):
        simdb.fit_idf(["a"], features_max=count)


def test_a_fingerprint_without_weights_of_features_has_no_table():
    with pytest.raises(simdb.OptionError, match="moz"):
        simdb.fit_idf(["a"], simdb.Simhash.moz())
