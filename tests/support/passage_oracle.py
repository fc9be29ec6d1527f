"""Passage oracle: computes containment by loops, and makes documents that share passages."""

import random

import simdb

OPTIONS = simdb.Options(passages=True)
WORDS = [f"w{number}" for number in range(3000)]
GRAM_WORDS = 8
PASSAGE_WORDS = 15


def shared_runs(query, document, length):
    """Return the positions in the query of runs of `length` words that the document has."""
    runs = {tuple(document[j : j + length]) for j in range(len(document) - length + 1)}
    return [i for i in range(len(query) - length + 1) if tuple(query[i : i + length]) in runs]


def containment(query, document):
    """Return the share of the 8-grams of the query that lie in runs of 15 shared words."""
    if not query:
        return 0.0
    length = min(len(query), PASSAGE_WORDS)
    gram = min(len(query), GRAM_WORDS)
    is_in = [False] * (len(query) - gram + 1)
    for start in shared_runs(query, document, length):
        for at in range(start, start + length - gram + 1):
            is_in[at] = True
    return sum(is_in) / len(is_in)


def has_passage(query, document):
    """Return whether both share a run of 15 words."""
    return bool(shared_runs(query, document, PASSAGE_WORDS))


def expected(query, stored, least):
    """Return (id, containment) of the stored lists of words that contain enough, best first."""
    every = [(id, containment(query, words)) for id, words in stored.items()]
    return sorted(
        [(id, value) for id, value in every if value >= least and value > 0],
        key=lambda each: -each[1],
    )


def drawn(random, count):
    """Return different words, so that no run occurs twice by chance."""
    return [random.choice(WORDS) for _ in range(count)]


def mixed(seed, documents=30):
    """Return documents with pieces of each other, with lengths around that of a passage."""
    chance = random.Random(seed)
    pool = drawn(chance, 400)
    made = {}
    for number in range(documents):
        words = []
        while len(words) < chance.randrange(1, 120):
            start, length = chance.randrange(400), chance.choice([1, 5, 8, 14, 15, 16, 30, 60])
            words += pool[start : start + length]
            words += drawn(chance, chance.choice([0, 1, 3, 20]))
        made[f"d{number}"] = words
    return made


def texts_of(stored):
    return {id: " ".join(words) for id, words in stored.items()}
