"""Exact clusters of shapes that connect by a thread: chains, stars, cliques with one bridge."""

import random
from functools import cache
from itertools import combinations

import pytest
from families import is_alike
from near_copies import near_copies
from oracle import components, stars
from over import over

import simdb
from simdb.database.clusters import find
from simdb.sketch import exact_pairs

CHANCE = random.Random(11)
WORDS = [f"word{CHANCE.randrange(10**6)}" for _ in range(400)]
BASE = WORDS[:60]


def changed(words, *places, tag=""):
    """Return the text of words of which those at some places are others."""
    return " ".join(f"{tag}x{at}" if at in places else word for at, word in enumerate(words))


SHAPES = {
    "a chain at the threshold": [" ".join(WORDS[at : at + 60]) for at in range(0, 300, 5)],
    "a chain backwards": [" ".join(WORDS[at : at + 60]) for at in range(300, 0, -5)],
    "a star whose leaves are too far apart": [
        changed(BASE),
        *(changed(BASE, at, at + 1, tag=f"leaf{at}") for at in range(0, 58, 3)),
    ],
    "a star whose centre comes last": [
        *(changed(BASE, at, at + 1, tag=f"leaf{at}") for at in range(0, 58, 3)),
        changed(BASE),
    ],
    "two cliques with one bridge": [
        *(changed(BASE) + f" own{at}" for at in range(25)),
        *(changed(BASE, 5, 20, 35, 50) + f" own{at}" for at in range(25)),
        changed(BASE, 5, 20),
    ],
    "two cliques without a bridge": [
        *(changed(BASE) + f" own{at}" for at in range(25)),
        *(changed(BASE, 5, 20, 35, 50) + f" own{at}" for at in range(25)),
    ],
    "near copies": near_copies(150),
    "nearer copies": near_copies(150, changes=1),
    "copies and others": [*near_copies(60), *(" ".join(WORDS[at : at + 30]) for at in range(90))],
}


@cache
def matching(shape):
    """Return the pairs of positions that match: a double loop."""
    texts = SHAPES[shape]
    return {
        (one, two)
        for one, two in combinations(range(len(texts)), 2)
        if is_alike(texts[one], texts[two])
    }


@over(
    ("shape", "has_features", "most"),
    [(shape, at % 2 == 0, 3 if at % 3 else 256) for at, shape in enumerate(SHAPES)],
)
def test_connected_clusters_and_stars_are_those_of_the_double_loop(shape, has_features, most):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("simdb.database.search.pairs.JUDGED_PAIRS_FIRST", 32)
        patch.setattr("simdb.database.search.pairs.JUDGED_PAIRS", 64)
        patch.setattr(exact_pairs, "COMMON_PAIRS", 2)
        patch.setattr(find, "COMPARED_MAX", most)
        patch.setattr(find, "BATCH_FIRST", 4)
        patch.setattr(find, "COMPARED_PAIRS", 40)
        patch.setattr(find, "CLAIMED_PAIRS", 300)
        texts = dict(enumerate(SHAPES[shape]))
        options = simdb.Options(features=has_features, delta_documents=50, growth=2)
        with simdb.open(None, options=options) as database:
            for start in range(0, len(texts), 40):
                some = range(start, min(start + 40, len(texts)))
                database.insert_many(some, [texts[at] for at in some])
            asked = {"verify": "exact", "recall": 1.0} | ({} if has_features else {"texts": texts})

            found = database.find_clusters(**asked)
            starred = database.find_clusters(**asked, policy="star")

            assert [cluster.ids for cluster in found] == components(texts, matching(shape))
            assert [cluster.ids for cluster in starred] == stars(texts, matching(shape))
