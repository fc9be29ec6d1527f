"""Editing: copies of texts in which some words are replaced by words of other texts."""

import re
from collections.abc import Sequence

import numpy as np

from simdb.tuning.lengths import changed_words
from simdb.tuning.sample import SPACELESS

PIECE = re.compile(rf"[{SPACELESS}]|[^\s{SPACELESS}]+")
POOL_TEXT_CHARACTERS = 2000


def edited(
    texts: Sequence[str], similarity: float, generator: np.random.Generator
) -> tuple[list[str], float]:
    """Return a near-duplicate of each text, and the median number of words changed in it.

    `similarity`: the threshold for a page; see `changed_words`.
    """
    pool = [piece for text in texts for piece in PIECE.findall(text[:POOL_TEXT_CHARACTERS])]
    copies, numbers = [], []
    for text in texts:
        places = [found.span() for found in PIECE.finditer(text)]
        count = _whole(changed_words(len(places), similarity), generator)
        chosen = generator.choice(len(places), min(count, len(places)), replace=False)
        copies.append(_replaced(text, [places[at] for at in sorted(chosen)], pool, generator))
        numbers.append(len(chosen))
    return copies, float(np.median(numbers))


def _whole(number: float, generator: np.random.Generator) -> int:
    """Return a whole number, at least 1, whose mean is `number`."""
    return max(1, int(number) + int(generator.random() < number % 1))


def _replaced(
    text: str,
    places: Sequence[tuple[int, int]],
    pool: Sequence[str],
    generator: np.random.Generator,
) -> str:
    """Return the text with other words at some places."""
    parts, last = [], 0
    for start, stop in places:
        parts += [text[last:start], pool[int(generator.integers(len(pool)))]]
        last = stop
    return "".join([*parts, text[last:]])
