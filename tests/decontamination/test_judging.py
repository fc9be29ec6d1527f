"""Judging: which items a document has, by what is common in the data and in the items."""

import random

import pytest

import simdb
from simdb.jobs.decontamination.items import COMMON_LEAST

GENERATOR = random.Random(5)
VOCABULARY = [f"word{at}" for at in range(5000)]


def words(count):
    return " ".join(GENERATOR.choices(VOCABULARY, k=count))


@pytest.fixture
def unrelated():
    return [words(100) for _ in range(30)]


def found_in(documents, items, **settings):
    found = simdb.decontaminate(documents, against=items, **settings)
    return {(leak.id, leak.item) for leak in found.found}


def test_half_of_an_item_is_enough_and_less_is_not(unrelated):
    item = words(60)
    half, less = (" ".join(item.split()[:count]) for count in (32, 26))

    found = found_in([*unrelated, f"{words(40)} {half}", f"{words(40)} {less} {words(40)}"], [item])

    assert found == {(30, 0)}
    assert (31, 0) in found_in([*unrelated, half, less], [item], coverage=0.4)


def test_a_document_needs_as_many_n_grams_as_asked(unrelated):
    item = words(30)
    part = " ".join(item.split()[:22])  # 10 n-grams of 18

    assert found_in([part], [item], min_hits=10) == {(0, 0)}
    assert found_in([part], [item], min_hits=11) == set()
    assert found_in([item], [item], min_hits=1000) == {(0, 0)}


def test_what_many_items_begin_with_is_no_leak(unrelated):
    instruction = words(40)
    items = [f"{instruction} {words(30)}" for _ in range(COMMON_LEAST + 5)]
    documents = [*unrelated, f"{words(20)} {instruction} {words(20)}", items[3]]

    assert found_in(documents, items) == {(31, 3)}


def test_what_many_documents_have_is_no_leak(unrelated):
    licence = words(80)
    item = f"{words(40)} {licence}"
    documents = [f"{text} {licence}" for text in unrelated]

    assert found_in([*documents, item], [item]) == {(30, 0)}


def test_an_item_that_is_common_as_a_whole_must_be_there_whole():
    licence = words(60)
    documents = [licence] * (COMMON_LEAST + 1) + [" ".join(licence.split()[:40]), words(50)]

    assert found_in(documents, [licence]) == {(at, 0) for at in range(COMMON_LEAST + 1)}


def test_an_item_shorter_than_n_words_is_looked_for_as_a_whole(unrelated):
    item = words(6)
    documents = [*unrelated, f"{words(20)} {item} {words(5)}", " ".join(item.split()[:5])]

    found = simdb.decontaminate(documents, against=[item, "one two three four"])

    assert [(leak.id, leak.item, leak.rarest) for leak in found.found] == [(30, 0, item)]
    assert (found.short, found.items, found.leaked) == (1, 2, [0])


def test_the_rarest_n_gram_is_named_with_its_count(unrelated):
    item = words(30)
    start = " ".join(item.split()[:14])
    documents = [*unrelated, f"{start} {words(9)}", f"{words(5)} {item}"]

    (leak,) = simdb.decontaminate(documents, against=[item]).found

    assert (leak.id, leak.count) == (31, 1)
    assert leak.rarest in item
    assert leak.rarest not in start
