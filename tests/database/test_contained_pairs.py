"""Pairs by containment: those of a double loop, in both directions, at the cost of what is rare."""

import random
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from over import over
from passage_oracle import OPTIONS, containment, drawn, mixed, texts_of

import simdb
from simdb.database.search import contained
from simdb.sketch import winnowing
from simdb.storage import passages


@pytest.fixture(params=["usual", "tiny"])
def sizes(request, monkeypatch):
    """The constants as they are, and so small that there are many blocks and portions."""
    if request.param == "tiny":
        monkeypatch.setattr(passages, "BLOCK_ENTRIES", 64)
        monkeypatch.setattr(contained, "BATCH_FOUND", 8)
        monkeypatch.setattr(contained, "BATCH_COMPARED", 3)
        monkeypatch.setattr(contained, "BATCH_MEASURED", 5)
        monkeypatch.setattr(contained, "COMMON_LEAST", 2)
        monkeypatch.setattr(contained, "BATCH_TEXTS", 3)
        monkeypatch.setattr(winnowing, "MARKED", 50)


def estimates(grains, least):
    """The pairs of a dict of sets of grains, by a double loop."""
    every = {
        (left, right): len(own & other) / len(own)
        for left, own in grains.items()
        for right, other in grains.items()
        if left != right and own
    }
    return {pair: value for pair, value in every.items() if value >= least and value > 0}


def grains_of(database, texts):
    found = database._store.winnower.grains(list(texts.values()), errors="strict")
    return {id: set(found.taken([at]).values.tolist()) for at, id in enumerate(texts)}


@pytest.mark.parametrize("least", [1e-9, 0.3, 0.8, 1.0])
def test_without_texts_all_pairs_of_a_double_loop_over_grains_are_found(sizes, least):
    texts = texts_of(mixed(1, 60)) | {"empty": "", "short": "two words", "shorter": "Two words."}
    with simdb.open(None, options=OPTIONS) as database:
        database.insert_many({"void": "", "dots": "..."})
        assert list(database.find_all(contained=least)) == []
        database.insert_many(texts)
        database.delete_many(["d3", "d4"])
        left = {id: text for id, text in texts.items() if id not in ("d3", "d4")}

        found = list(database.find_all(contained=least))

        assert {(each.left, each.right): each.containment for each in found} == estimates(
            grains_of(database, left), least
        )
        assert len({(each.left, each.right) for each in found}) == len(found)


@pytest.mark.parametrize("least", [1e-9, 0.3, 0.8])
def test_with_texts_all_pairs_of_a_double_loop_over_words_are_found(sizes, least):
    stored = {id: words for id, words in mixed(2, 60).items() if len(words) >= 15}
    with simdb.open(None, options=OPTIONS) as database:
        database.insert_many(texts_of(stored))

        pairs = database.find_all(contained=least, texts=texts_of(stored))

        every = {
            (left, right): containment(stored[left], stored[right])
            for left in stored
            for right in stored
            if left != right
        }
        found = {(pair.left, pair.right): pair.containment for pair in pairs}
        assert found == {pair: v for pair, v in every.items() if v >= least and v > 0}


def test_a_footer_of_all_documents_makes_no_candidates_and_loses_no_match(monkeypatch):
    """The grains that a document may lack do not look for matches, the most common ones first."""
    chance = random.Random(4)
    footer = drawn(chance, 30)
    stored = {number: [*drawn(chance, 100), *footer] for number in range(300)}
    stored["copy"] = [*stored[5][:90], *drawn(chance, 10), *footer]
    compared = []
    shares = contained._shares

    def counted(left, first, right, second):
        compared.append(len(first))
        return shares(left, first, right, second)

    monkeypatch.setattr(contained, "_shares", counted)
    monkeypatch.setattr(contained, "COMMON_LEAST", 8)
    texts, read = texts_of(stored), []
    with simdb.open(None, options=OPTIONS) as database:
        database.insert_many(texts)

        estimated = list(database.find_all(contained=0.8))
        exact = database.find_all(
            contained=0.8, texts=lambda ids: read.extend(ids) or [texts[id] for id in ids]
        )

        assert {(pair.left, pair.right) for pair in exact} == {(5, "copy"), ("copy", 5)}
        assert {(pair.left, pair.right): pair.containment for pair in estimated} == estimates(
            {id: grains for id, grains in grains_of(database, texts).items() if id in (5, "copy")},
            0.8,
        )
    assert len(estimated) == 2
    assert sum(compared) < 10
    assert len(read) < 310


@given(count=st.integers(0, 500), least=st.floats(1e-6, 1))
def test_so_many_things_reach_a_share_and_one_fewer_do_not(count, least):
    (most,) = contained.needed(np.array([count]), least).tolist()

    if count:
        assert most / count >= least
        assert most == 1 or (most - 1) / count < least


def test_where_leaves_out_documents_on_both_sides():
    text = " ".join(drawn(random.Random(5), 60))
    with simdb.open(None, options=OPTIONS) as database:
        database.insert_many(range(6), [text] * 6, [{"n": n} for n in range(6)])

        for texts in (None, dict.fromkeys(range(6), text)):
            found = database.find_all(
                contained=1, texts=texts, where=lambda metadata: metadata["n"] < 3
            )

            assert {(pair.left, pair.right) for pair in found} == {*permutations(range(3), 2)}


def test_arrays_and_tables_have_the_containment():
    words = drawn(random.Random(7), 60)
    with simdb.open(None, options=OPTIONS) as database:
        database.insert_many({"a": " ".join(words), "b": " ".join(words[:30])})
        found = database.find_all(contained=0.9)

        assert "containment >= 0.9" in repr(database.find_all(contained=0.9))
        table = database.find_all(contained=0.9).to_arrow()
        assert found.containment.tolist() == [1.0]
        assert table.column_names == ["left", "right", "distance", "similarity", "containment"]
        assert table["containment"].to_pylist() == [1.0]
        assert database.find_all(contained=1e-9).to_arrow().num_rows == 2
        matches = database.query_many(["nothing"], contained=0.9).to_arrow()
        assert matches.column_names[-1] == "containment"


@over("how", [{"similarity": 0.5}, {"verify": "exact"}, {"contained": 0}])
def test_arguments_without_meaning_are_refused(how):
    with simdb.open(None, options=OPTIONS) as database, pytest.raises(simdb.OptionError):
        database.find_all(**{"contained": 0.8, **how})


def test_a_left_document_without_a_text_is_told():
    words = " ".join(drawn(random.Random(8), 60))
    with simdb.open(None, options=OPTIONS) as database:
        database.insert_many({"a": words, "b": words})

        with pytest.raises(simdb.InputError, match="no text of 'b'"):
            list(database.find_all(contained=0.5, texts={"a": words}))
