"""Made texts: makes collections of several kinds from random words, with changed copies.

Nothing of simdb was fitted to them.  Copies are changed by the edits of `texts.py`, at cosines
spread evenly around the default threshold.
"""

from collections.abc import Callable
from functools import cache
from itertools import accumulate
from random import Random

from texts import edited

COSINES = 0.80, 0.98  # of a copy with its text; a Jaccard similarity of .8 is a cosine of .889
VOCABULARY, TEMPLATES = 30_000, 5


@cache
def vocabulary(count: int = VOCABULARY) -> list[str]:
    return [f"word{at}" for at in range(count)]


@cache
def frequencies() -> list[float]:
    """Return the sums of the frequencies of the vocabulary, the most frequent word first."""
    return list(accumulate(1 / (at + 1) for at in range(VOCABULARY)))


def zipf(chance: Random, least: int, most: int) -> list[str]:
    """Draw words by Zipf's law, as in natural language."""
    size = chance.randint(least, most)
    return chance.choices(vocabulary(), cum_weights=frequencies(), k=size)


def page(chance: Random) -> list[str]:
    """Draw a page, a half of which is one of some templates."""
    frame = Random(chance.randrange(TEMPLATES)).choices(vocabulary(), k=100)
    own = chance.choices(vocabulary(), k=chance.randrange(60, 140))
    return [*frame[:60], *own, *frame[60:]]


def uniform(least: int, most: int, words: int = VOCABULARY) -> Callable[[Random], list[str]]:
    return lambda chance: chance.choices(vocabulary(words), k=chance.randrange(least, most))


KINDS: dict[str, Callable[[Random], list[str]]] = {
    "short texts": uniform(15, 50), "long texts": uniform(300, 1200),
    "Zipf words": lambda chance: zipf(chance, 60, 300), "few words": uniform(60, 300, 60),
    "templates": page, "versions": uniform(80, 400),
}  # fmt: skip


def changed(text: str, chance: Random) -> str:
    return edited(text, vocabulary(), chance.uniform(*COSINES), chance)


def with_copies(kind: str, count: int, chance: Random) -> list[str]:
    """Return `count` texts, a half of them (of versions, three quarters) changed copies, mixed."""
    texts: list[str] = []
    while len(texts) < count:
        text = " ".join(KINDS[kind](chance))
        copies = 3 if kind == "versions" else 1
        texts += [text, *(changed(text, chance) for _ in range(copies))]
    chance.shuffle(texts)
    return texts
