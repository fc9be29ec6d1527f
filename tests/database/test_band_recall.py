"""Bands of MinHash give the recall asked, for each kind of documents, whatever else is stored.

Documents are sets of tokens in pairs.  A hard pair is just as similar as asked, an easy one nearly
equal.  The recall must hold for the hard ones alone; the truth is an exhaustive search.

A test fails only if fewer matches are found than by chance once in 1e6 searches of exactly this
recall.
"""

import random
from itertools import count

from binomial import chance_of

import simdb

HARD, EASY = 600, 900
SHARED = 120
CHANCE = 1e-6


def pair_of(similarity, tokens):
    """Return two sets of new tokens with this Jaccard similarity, or hardly more."""
    own = int(SHARED * (1 / similarity - 1) / 2)
    shared, left, right = ([next(tokens) for _ in range(size)] for size in (SHARED, own, own))
    return [shared + left, shared + right]


def documents(similarity):
    """Return hard and easy documents in turns, and the number of each hard pair."""
    tokens = map(str, count())
    made = {}
    for at in range(max(HARD, EASY)):
        kinds = [(HARD, "hard", similarity), (EASY, "easy", 0.99)]
        for size, kind, similar in kinds:
            if at < size:
                left, right = pair_of(similar, tokens)
                made |= {f"{kind} {at} left": left, f"{kind} {at} right": right}
    return made


def hard_pairs(found):
    return {(pair.left, pair.right) for pair in found if pair.left.startswith("hard")}


def test_pairs_just_as_similar_as_asked_are_found_among_easy_ones():
    texts = documents(0.6)
    options = simdb.Options(sketch=simdb.Minhash(shingle=1), similarity=0.8)
    with simdb.open(None, options=options) as database:
        database.insert_many(texts.keys(), list(texts.values()))

        found = hard_pairs(database.find_all(similarity=0.6, recall=0.99))

        wanted = hard_pairs(database.find_all(similarity=0.6, recall=1.0, search="exhaustive"))
    assert found <= wanted
    assert len(wanted) > HARD / 3
    assert chance_of(len(found), len(wanted), 0.99) >= CHANCE


def test_bands_of_one_run_are_made_for_the_similarity_asked():
    texts = {name: " ".join(tokens) for name, tokens in documents(0.6).items()}
    sketch = simdb.Minhash(shingle=1, weighting="set")

    found = simdb.deduplicate(list(texts.values()), similarity=0.6, recall=0.9, sketch=sketch)

    hard = [name.startswith("hard") for name in texts]
    removed = sum(is_hard and not kept for is_hard, kept in zip(hard, found.kept, strict=True))
    assert chance_of(removed, HARD, 0.9) >= CHANCE


def test_a_plan_says_that_bands_were_made_for_something_else():
    with simdb.open(None, options=simdb.Options(sketch=simdb.Minhash())) as database:
        fitting, lower = database.plan(n=1e6), database.plan(n=1e6, similarity=0.7)

    assert fitting.method == "banding"
    assert "higher similarity=" not in fitting.choice
    assert lower.method == "exhaustive"
    assert "find 0.673 of documents just as similar as asked" in lower.choice
    assert "higher similarity=" in lower.choice


def test_a_match_behind_a_crowd_in_every_band_is_found_by_who_asks_for_a_few(open_database):
    """Whoever asks for a few candidates of a band asks for all if too few of them match."""
    chance, words = random.Random(1), [f"q{at}" for at in range(30)]
    own = [[f"z{number}{at}" for at in range(18)] for number in range(200)]
    crowd = [" ".join(chance.sample(words, 12) + each) for each in own]
    sketch = simdb.Minhash(shingle=1, permutations=16)
    database = open_database(options=simdb.Options(sketch=sketch, bands=2, rows=1))
    database.insert_many(range(200), crowd)
    database.insert(200, " ".join(words) + " more")

    with database._state() as state:
        asked = state.store.sketcher.sketch([" ".join(words)])
        found = [
            state.tables()
            .search(asked.vectors, state.vectors, similarity=0.8, first=first, sure=1, after=None)[
                1
            ]
            .tolist()
            for first in (0, 2, 10)
        ]

    assert found == [[200]] * 3
