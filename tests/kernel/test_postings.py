"""Postings: which documents may have an item, and the seeds of both, compared with loops."""

import random

import numpy as np
import pytest
from over import over

from simdb.core import kernel

HIT = np.dtype([("document", np.int32), ("position", np.int32), ("entry", np.uint32)])
NO_HITS = np.empty(0, HIT)
LENGTH = 5


class Drawn:
    """Hits and postings drawn at random, and the answers of loops over them."""

    def __init__(self, seed, entries=6, items=4, documents=5):
        chance = random.Random(seed)
        self.items, self.documents = items, documents
        self.places = [
            sorted(
                {(chance.randrange(items), chance.randrange(9)) for _ in range(chance.randrange(5))}
            )
            for _ in range(entries)
        ]
        self.hits = [
            (document, position, chance.randrange(entries))
            for document in range(documents)
            for position in sorted(chance.sample(range(60), chance.randrange(20)))
        ]
        self.least = [chance.randint(1, 3) for _ in range(items)]
        self.spans = [chance.randrange(30) for _ in range(items)]
        self.is_counted = [chance.random() < 0.6 for _ in range(entries)]
        self.is_whole = [chance.random() < 0.3 for _ in range(items)]
        flat = [place for own in self.places for place in own]
        first = [
            at == 0 or own[at - 1][0] != own[at][0] for own in self.places for at in range(len(own))
        ]
        self.postings = kernel.Postings(
            np.cumsum([0, *map(len, self.places)]), np.array([item for item, _ in flat], np.int64),
            np.array([start for _, start in flat], np.int64), np.array(first, np.bool_), items,
        )  # fmt: skip

    @property
    def rule(self):
        return np.array(self.least, np.int32), np.array(self.spans, np.int64)

    @property
    def marks(self):
        return np.array(self.is_counted, np.bool_), np.array(self.is_whole, np.bool_)

    def is_near(self, document, item, is_counted):
        own = [
            (position, entry)
            for at, position, entry in self.hits
            if at == document and is_counted(entry) and item in dict(self.places[entry])
        ]
        return any(
            len({e for p, e in own if start <= p <= start + self.spans[item]}) >= self.least[item]
            for start, _ in own
        )

    def seeds(self):
        """Return each pair that may be, with its seeds."""
        return {
            (document, item): [
                (entry, [position, start, LENGTH])
                for at, position, entry in self.hits
                for own, start in self.places[entry]
                if at == document and own == item
            ]
            for document in range(self.documents)
            for item in range(self.items)
            if self.is_near(
                document, item, lambda e, i=item: self.is_counted[e] or self.is_whole[i]
            )
        }


@over("seed", range(200))
def test_documents_that_may_have_an_item_are_those_of_loops(seed):
    drawn = Drawn(seed)

    has_any, seen = drawn.postings.screen(np.array(drawn.hits, HIT), drawn.documents, *drawn.rule)

    everything = range(drawn.documents), range(drawn.items)
    assert has_any.tolist() == [
        any(drawn.is_near(document, item, lambda e: True) for item in everything[1])
        for document in everything[0]
    ]
    distinct = dict.fromkeys((document, entry) for document, _, entry in drawn.hits)
    assert seen.tolist() == [entry for _, entry in distinct]


@over("seed", range(200))
def test_seeds_are_those_of_loops(seed):
    drawn = Drawn(seed)

    pairs, bounds, entries, runs = drawn.postings.seeds(
        np.array(drawn.hits, HIT), LENGTH, *drawn.rule, *drawn.marks
    )

    wanted = drawn.seeds()
    assert list(map(tuple, pairs.tolist())) == list(wanted)
    assert np.diff(bounds).tolist() == [len(own) for own in wanted.values()]
    found = list(zip(entries.tolist(), runs.tolist(), strict=True))
    assert found == [seed for own in wanted.values() for seed in own]


def test_nothing_is_found_without_hits():
    drawn = Drawn(1)

    has_any, seen = drawn.postings.screen(NO_HITS, 2, *drawn.rule)
    pairs, bounds, entries, runs = drawn.postings.seeds(NO_HITS, LENGTH, *drawn.rule, *drawn.marks)

    assert has_any.tolist() == [False, False]
    assert seen.tolist() == entries.tolist() == pairs.tolist() == runs.tolist() == []
    assert bounds.tolist() == [0]


@over("hit", [(0, 0, 6), (5, 0, 0), (-1, 0, 0)])
def test_hits_of_nothing_are_refused(hit):
    drawn = Drawn(1)
    with pytest.raises(ValueError, match="a hit is of"):
        drawn.postings.screen(np.array([hit], HIT), 5, *drawn.rule)


@over(
    ("bounds", "owners", "starts"),
    [
        ([0, 1], [2], [0]), ([0, 1], [-1], [0]), ([0, 2], [0], [0]), ([0, 1], [0], [-1]),
        ([0, 1], [0], []),
    ],
)  # fmt: skip
def test_postings_of_nothing_are_refused(bounds, owners, starts):
    with pytest.raises(ValueError, match=r"item|start|offsets"):
        kernel.Postings(
            np.array(bounds), np.array(owners), np.array(starts, np.int64), np.array([True]), 2
        )


def test_a_rule_for_other_items_is_refused():
    drawn = Drawn(1)
    least, spans = drawn.rule
    for wrong in ((least[1:], spans[1:]), (least * 0, spans), (least * 0 + 4, spans)):
        with pytest.raises(ValueError, match="least"):
            drawn.postings.screen(NO_HITS, 1, *wrong)
    with pytest.raises(ValueError, match="one mark"):
        drawn.postings.seeds(NO_HITS, LENGTH, *drawn.rule, *drawn.marks[::-1])
