"""The share of matches within a distance that was asked is found, without any calibration.

Collections of every kind are made here, and searched by every method of one table or several.  Of
`pairs` matches of as many documents, so few are found by chance less than once in 1e6 searches, if
the share is just as asked; see `CHANCE`.
"""

import math

import numpy as np
from binomial import chance_of
from over import over
from weighted import fingerprints, found_pairs

import simdb

CHANCE = 1e-6
OPTIONS = simdb.Options(blocks=1, leading=1, header_offset=0)
WORDS = [f"word{at}" for at in range(5000)]
SHARES = 1.0 / np.arange(1, len(WORDS) + 1)
SKETCHES = {
    "binary": simdb.Simhash(shingle=2),
    "tf": simdb.Simhash(shingle=1, weighting="tf"),
    "tf-idf": simdb.Simhash(shingle=1, weighting="tf-idf"),
}


def checked(database, questions, recall, method="auto", distance=3):
    """Assert that queries find the share of their matches that differ; return how many have some.

    Matches of one query are found or missed together, so each query counts once.
    """
    asked = {"distance": distance}
    every = database.query_many(questions, recall=1.0, search="exhaustive", **asked)
    found = found_pairs(database.query_many(questions, recall=recall, search=method, **asked))
    queries = np.repeat(np.arange(len(every)), np.diff(every.offsets))
    each = list(zip(queries.tolist(), every.ids.tolist(), strict=True))
    is_found = np.array([pair in found for pair in each], np.bool_)
    differ = every.distances > 0
    wanted = np.bincount(queries[differ], minlength=len(every))
    reached = np.bincount(queries[differ], is_found[differ], minlength=len(every))
    shares = reached[wanted > 0] / wanted[wanted > 0]
    count = len(shares)
    assert found <= set(each)
    assert count < 30 or chance_of(math.floor(shares.sum()), count, recall) >= CHANCE
    return count


@over("noise", [0.05, 0.08, 0.12, 0.2])
def test_noisy_copies_are_found_and_a_third_of_the_collection_is_clustered(noise):
    generator = np.random.default_rng(int(noise * 100))
    weights = generator.standard_normal((6000, 128))
    weights[4000:] = weights[:2000] + noise * generator.standard_normal((2000, 128))
    asked = weights[2000:4000] + noise * generator.standard_normal((2000, 128))
    with simdb.open(None, options=OPTIONS) as database:
        database.insert_many(range(len(weights)), fingerprints(weights))

        counts = [
            checked(database, fingerprints(asked), recall, method)
            for recall in (0.9, 0.95, 0.99)
            for method in ("psm", "auto")
        ]

    assert min(counts) > 500


def words(generator, count):
    chosen = generator.choice(len(WORDS), count, p=SHARES / SHARES.sum())
    return [WORDS[at] for at in chosen]


def edited(generator, text, share):
    """Return the words of a text, of which about a share is exchanged."""
    others = words(generator, len(text))
    kept = generator.random(len(text)) >= share
    return [old if is_kept else new for old, new, is_kept in zip(text, others, kept, strict=True)]


@over("weighting", SKETCHES)
@over("length", [12, 150])
def test_edited_texts_of_words_with_few_frequent_ones_are_found(weighting, length):
    generator = np.random.default_rng(length)
    texts = [words(generator, length) for _ in range(1500)]
    texts += [edited(generator, text, 0.05) for text in texts[:700]]
    # A third are near by accident, as they share one of a few frames.
    frames = [words(generator, length) for _ in range(20)]
    texts += [edited(generator, frames[at % 20], 0.25) for at in range(700)]
    asked = [edited(generator, text, 0.04) for text in texts[:1500]]
    asked += [edited(generator, frames[at % 20], 0.25) for at in range(200)]
    stored, questions = ([" ".join(text) for text in each] for each in (texts, asked))
    sketch = SKETCHES[weighting]
    if weighting == "tf-idf":
        sketch = simdb.Simhash(
            shingle=1, weighting="tf-idf", idf=simdb.fit_idf(stored, SKETCHES["tf"])
        )
    with simdb.open(None, options=simdb.Options(sketch=sketch)) as database:
        database.insert_many(range(len(stored)), stored)
        database.rebuild(polytopes=0)

        counts = [
            checked(database, questions, recall, method, distance)
            for recall in (0.9, 0.95, 0.99)
            for method in ("psm", "multiprobe")
            for distance in (3, 5)
        ]

    assert max(counts) >= 30
