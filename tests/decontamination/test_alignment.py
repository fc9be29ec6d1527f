"""Alignment: seeds become passages, over a few changed words, and never beyond."""

from hypothesis import given
from hypothesis import strategies as st

from simdb.decontamination.alignment import CHANGED_WORDS, Seed, joined, passages

ITEM = list(range(40))


def seed_of(document, at, length=3):
    """Return the seed of a run of the item from `at` on, where it is in a document."""
    run = ITEM[at : at + length]
    starts = range(len(document) - length + 1)
    return Seed(next(x for x in starts if document[x : x + length] == run), at, length)


def only(document, *seeds):
    (passage,) = passages(document, ITEM, list(seeds))
    return passage


def test_a_passage_is_as_long_as_words_are_equal():
    document = [-1, -2, *ITEM[5:30], -3]

    found = only(document, seed_of(document, 10))

    assert (found.document_start, found.document_stop) == (2, 27)
    assert (found.item_start, found.item_stop) == (5, 30)
    assert found.equal == frozenset(range(5, 30))


def test_changed_words_are_passed_over():
    for count in range(1, CHANGED_WORDS + 1):
        document = [*ITEM[:10], *([-1] * count), *ITEM[10 + count :]]

        found = only(document, seed_of(document, 2))

        assert (found.item_start, found.item_stop) == (0, 40)
        assert found.equal == frozenset(ITEM) - set(range(10, 10 + count))


def test_words_put_in_and_left_out_are_passed_over():
    document = [*ITEM[:10], -1, -2, *ITEM[10:20], *ITEM[22:]]

    for at in (2, 14, 30):
        found = only(document, seed_of(document, at))

        assert (found.document_start, found.document_stop) == (0, len(document))
        assert found.equal == frozenset(ITEM) - {20, 21}


def test_more_changed_words_end_a_passage():
    document = [*ITEM[:10], *([-1] * (CHANGED_WORDS + 1)), *ITEM[10 + CHANGED_WORDS + 1 :]]

    found = passages(document, ITEM, [seed_of(document, 2), seed_of(document, 20)])

    assert [(each.item_start, each.item_stop) for each in found] == [(0, 10), (14, 40)]


def test_one_equal_word_behind_a_change_is_not_enough():
    document = [*ITEM[:10], -1, ITEM[11], -2, -3, -4, -5]

    assert only(document, seed_of(document, 2)).item_stop == 10


def test_a_document_that_has_an_item_twice_has_two_passages():
    document = [*ITEM, *([-1] * 9), *ITEM]
    seeds = [seed_of(document, 0), Seed(49, 0, 3)]

    found = passages(document, ITEM, seeds)

    assert [each.document_start for each in found] == [0, 49]


def test_seeds_on_one_line_are_one():
    seeds = [Seed(at, at, 3) for at in range(5)] + [Seed(9, 9, 3), Seed(3, 0, 3)]

    assert joined(seeds) == [Seed(0, 0, 7), Seed(3, 0, 3), Seed(9, 9, 3)]


@given(
    st.lists(st.integers(0, 3), max_size=25), st.lists(st.integers(0, 3), max_size=25),
    st.integers(1, 4),
)  # fmt: skip
def test_passages_hold_every_seed_and_name_equal_words(document, item, length):
    seeds = [
        Seed(x, y, length)
        for x in range(len(document) - length + 1)
        for y in range(len(item) - length + 1)
        if document[x : x + length] == item[y : y + length]
    ]

    found = passages(document, item, seeds)

    for seed in seeds:
        assert any(
            each.document_start <= seed.document < each.document_stop
            and each.item_start <= seed.item < each.item_stop
            for each in found
        )
    for each in found:
        assert 0 <= each.document_start < each.document_stop <= len(document)
        assert 0 <= each.item_start < each.item_stop <= len(item)
        assert document[each.document_start] == item[each.item_start]
        assert document[each.document_stop - 1] == item[each.item_stop - 1]
        assert {item[at] for at in each.equal} <= set(document)
