"""Queries by containment: what they find is what double loops over words find."""

import random

import pyarrow
import pytest
from hypothesis import given, strategies as st
from over import over
from passage_oracle import (
    OPTIONS,
    WORDS,
    containment,
    drawn,
    expected,
    has_passage,
    mixed,
    texts_of,
)

import simdb
from simdb.database.search import contained
from simdb.sketch import winnowing
from simdb.storage import passages


@over("least", [1e-9, 0.3, 0.8, 1.0])
def test_texts_find_exactly_what_a_double_loop_finds(least):
    stored = mixed(1)
    texts = texts_of(stored)
    with simdb.open(None, options=OPTIONS) as database:
        database.insert_many(texts)
        for query in [*mixed(2, 12).values(), *list(stored.values())[:8]]:
            if len(query) < 15:
                continue

            found = database.query(" ".join(query), contained=least, texts=texts)

            wanted = expected(query, stored, least)
            assert [(match.id, match.containment) for match in found] == wanted


@given(
    around=st.tuples(*[st.lists(st.sampled_from(WORDS), max_size=40)] * 4),
    run=st.lists(st.sampled_from(WORDS), min_size=15, max_size=15),
)
def test_every_shared_run_of_15_words_is_found(around, run):
    text, other = (" ".join([*around[at], *run, *around[at + 1]]) for at in (0, 2))
    with simdb.open(None, options=OPTIONS) as database:
        database.insert("stored", text)

        for texts in (None, {"stored": text}):
            found = database.query(other, contained=1e-9, texts=texts)
            assert [match.id for match in found] == ["stored"]
        assert has_passage(other.split(), text.split())


@given(
    query=st.lists(st.sampled_from("abc"), min_size=15, max_size=60),
    document=st.lists(st.sampled_from("abc"), max_size=60),
)
def test_texts_that_repeat_themselves_are_measured_exactly(query, document):
    text = " ".join(document)
    with simdb.open(None, options=OPTIONS) as database:
        database.insert("stored", text)

        found = database.query(" ".join(query), contained=1e-9, texts={"stored": text})

        wanted = containment(query, document)
        assert [match.containment for match in found] == ([wanted] if wanted else [])


def test_a_text_inside_another_is_certain_to_be_estimated_as_whole():
    chance = random.Random(4)
    with simdb.open(None, options=OPTIONS) as database:
        for number in range(50):
            part = drawn(chance, chance.randrange(15, 100))
            whole = [*drawn(chance, 50), *part, *drawn(chance, 50)]
            database.insert(number, " ".join(whole))

            match = database.first(" ".join(part), contained=1.0)

            assert match.id == number
            assert match.containment == 1.0
            assert match.spans is None


def test_spans_are_the_same_words_in_both_texts():
    chance = random.Random(5)
    shared, also = " ".join(drawn(chance, 20)), " ".join(drawn(chance, 30))
    query = f"begin {shared}, then {' '.join(drawn(chance, 10))} {also} end"
    text = f"{' '.join(drawn(chance, 12))} {also.upper()}. In between. {shared} and more"
    with simdb.open(None, options=OPTIONS) as database:
        database.insert("a", text)

        match = database.first(query, contained=0.5, texts={"a": text})

        found = [
            (query[span.start : span.stop], text[span.document_start : span.document_stop])
            for span in match.spans
        ]
        assert found == [(shared, shared), (also, also.upper())]
        assert match.containment == containment(
            query.replace(",", "").split(), text.replace(".", "").lower().split()
        )


def test_spans_of_a_text_that_repeats_a_run_cover_its_first_places(monkeypatch):
    """So a run that both texts repeat a thousand times makes no million pairs of places."""
    monkeypatch.setattr(winnowing, "PLACES_MOST", 3)
    run = drawn(random.Random(14), 15)
    query = " x ".join([" ".join(run)] * 9)
    with simdb.open(None, options=OPTIONS) as database:
        database.insert("a", " ".join(run))

        match = database.first(query, contained=0.1, texts={"a": " ".join(run)})

        places = [query.index(run[0], at) for at in (0, *(s.start + 1 for s in match.spans))]
        assert [span.start for span in match.spans] == places[:3]
        assert match.containment == containment(query.split(), run)


def test_scripts_without_spaces_have_words_of_characters():
    text = "".join(chr(0x4E00 + number) for number in range(0, 600, 7))
    with simdb.open(None, options=OPTIONS) as database:
        database.insert("a", f"x{text}y")

        match = database.first(text[10:40], contained=1.0, texts={"a": f"x{text}y"})

        assert match.containment == 1.0
        assert match.spans == ((0, 30, 11, 41),)


def test_a_short_text_is_found_in_its_equals_and_one_without_words_in_none():
    stored = {"same": "Three short words", "other": "three short words more", "void": ".."}
    with simdb.open(None, options=OPTIONS) as database:
        database.insert_many(stored)

        for texts in (None, stored):
            found = database.query("three, SHORT words!", contained=1.0, texts=texts)
            assert [match.id for match in found] == ["same"]
            for text in ("", " \n", "..., !"):
                assert database.query(text, contained=1e-9, texts=texts) == []
                assert database.first(text, contained=1e-9, texts=texts) is None


def test_limit_where_and_accept_choose_among_the_matches():
    stored = mixed(6, 100)
    texts = texts_of(stored)
    query = max(stored.values(), key=len)
    every = expected(query, stored, 0.1)
    even = [each for each in every if int(each[0][1:]) % 2 == 0]
    assert len(even) > 2
    with simdb.open(None, options=OPTIONS) as database:
        metadata = [{"even": int(id[1:]) % 2 == 0} for id in texts]
        database.insert_many(list(texts), list(texts.values()), metadata)

        def ask(**how):
            found = database.query(" ".join(query), contained=0.1, texts=texts, **how)
            return [(match.id, match.containment) for match in found]

        assert ask(limit=2) == every[:2]
        assert ask(where=lambda metadata: metadata["even"]) == even
        assert ask(where=lambda metadata: metadata["even"], limit=1) == even[:1]
        assert ask(accept=lambda id: id in dict(even), limit=2) == even[:2]
        assert ask(accept=lambda id: 0.05) == []
        assert {value for _, value in ask(accept=lambda id: 0.5)} == {0.5}


def test_a_stored_document_is_asked_about_by_its_id_and_many_have_the_matches_of_each():
    stored = mixed(7)
    texts = texts_of(stored)
    with simdb.open(None, options=OPTIONS) as database:
        database.insert_many(texts)
        for id, words in stored.items():
            if len(words) < 15:
                continue

            exact = database.query(id=id, contained=0.2, texts=texts)
            estimated = database.query(id=id, contained=0.2)

            others = {other: each for other, each in stored.items() if other != id}
            found = [(match.id, match.containment) for match in exact]
            assert found == expected(words, others, 0.2)
            by_text = database.query(texts[id], contained=0.2)
            assert estimated == [match for match in by_text if match.id != id]
        many = database.query_many(ids=list(texts), contained=0.1)
        singly = [database.query(id=id, contained=0.1) for id in texts]
        assert [*many] == singly
        assert many.containments.tolist() == [m.containment for each in singly for m in each]
        first = database.query_many(list(texts.values()), contained=0.1, match="first")
        assert [*first] == [database.query(each, contained=0.1, limit=1) for each in texts.values()]


def test_texts_can_come_from_a_column_of_arrow():
    stored = texts_of(mixed(15))
    query = max(stored.values(), key=len)
    with simdb.open(None, options=OPTIONS) as database:
        database.insert_many(pyarrow.array(list(stored)), pyarrow.array(list(stored.values())))

        found = database.query(
            query, contained=0.1, texts=lambda ids: pyarrow.array([stored[id] for id in ids])
        )

        assert found == database.query(query, contained=0.1, texts=stored)
        assert database.query_many(pyarrow.array([query]), contained=0.1, texts=stored)[0] == found
        with pytest.raises(simdb.InputError, match="must return a str for"):
            database.query(query, contained=0.1, texts=lambda ids: [["tokens"]] * len(ids))


@over(
    ("how", "word"),
    [
        ({"similarity": 0.8}, "similarity="),
        ({"distance": 3}, "distance="),
        ({"search": "bphs"}, "search="),
        ({"recall": 0.9}, "recall="),
        ({"texts": 3}, "texts must be"),
        ({"contained": 1.5}, "contained"),
        ({"contained": None, "texts": {}}, "give contained="),
    ],
)
def test_arguments_without_meaning_are_refused(how, word):
    with simdb.open(None, options=OPTIONS) as database:
        ask = {"contained": 0.8, **how}
        for verb in (database.query, database.first, lambda text, **ask: database.query_many(
            [text], **ask
        )):  # fmt: skip
            with pytest.raises(simdb.OptionError, match=word):
                verb("some text", **ask)


def test_only_texts_in_a_database_with_passages_are_asked_about():
    with simdb.open(None) as plain, pytest.raises(simdb.OptionError, match="passages=True"):
        plain.query("some text", contained=0.8)
    for sketch in (simdb.Minhash(unit="characters"), simdb.Minhash(markup="html")):
        with pytest.raises(simdb.OptionError, match="passages=True"):
            simdb.Options(passages=True, sketch=sketch)
    with simdb.open(None, options=OPTIONS) as database:
        for document in (7, ["some", "tokens"], simdb.Fingerprint(5)):
            with pytest.raises(simdb.InputError, match="passages need texts"):
                database.insert("a", document)
            with pytest.raises(simdb.InputError, match="passages need texts"):
                database.query(document, contained=0.5)


def test_a_query_that_shares_nothing_finds_nothing_in_runs_of_several_parts(monkeypatch):
    # In a run of more than two million entries, which has parts, it ended with ValueError.
    monkeypatch.setattr(passages, "WINDOW_ENTRIES", 16)
    texts = texts_of(mixed(7))
    strange = " ".join(f"strange{number}" for number in range(30))
    with simdb.open(None, options=OPTIONS) as database:
        database.insert_many({**texts, "void": ""})
        with database._state() as state:
            assert max(len(row.counts) for row in state.counts.passages) > 1

        for query in ("", strange):
            assert database.query(query, contained=0.5) == []
            assert database.query(query, contained=0.5, texts=texts) == []
        assert database.query(id="void", contained=0.5) == []
        pairs = database.find_all(contained=0.5, texts={**texts, "void": ""})
        assert "void" not in {pair.left for pair in pairs}


@over(("least", "limit"), [(0.05, 1), (0.3, 4), (0.8, 2)])
def test_a_limit_gives_the_first_of_all_matches(monkeypatch, least, limit):
    monkeypatch.setattr(contained, "BATCH_TEXTS", 3)
    monkeypatch.setattr(contained, "COMMON_LEAST", 2)
    monkeypatch.setattr(contained, "BATCH_GRAMS", 9)
    texts = texts_of(mixed(8))
    known = {id: text for at, (id, text) in enumerate(texts.items()) if at % 5}
    with simdb.open(None, options=OPTIONS) as database:
        database.insert_many(texts)
        for query in list(texts.values())[::3]:
            for own in (texts, known):
                every = database.query(query, contained=least, texts=own)

                some = database.query(query, contained=least, texts=own, limit=limit)
                assert some == every[:limit]


def test_what_all_documents_have_is_asked_without_reading_all_texts(monkeypatch):
    # A part of a licence, asked of a million texts that all end with it, took 460 seconds.
    monkeypatch.setattr(contained, "BATCH_TEXTS", 4)
    chance = random.Random(9)
    licence = drawn(chance, 60)
    texts = {at: " ".join([*drawn(chance, 20), *licence]) for at in range(200)}
    asked = []
    with simdb.open(None, options=OPTIONS) as database:
        database.insert_many(texts)

        found = database.query(
            " ".join(licence), contained=0.8, limit=3,
            texts=lambda ids: asked.extend(ids) or [texts[id] for id in ids],
        )  # fmt: skip

        assert [(match.id, match.containment) for match in found] == [(0, 1), (1, 1), (2, 1)]
        assert len(asked) < 20
