"""Near copies: makes copies of one text; with two changes, most pairs barely do not match."""

import random


def near_copies(count, seed=3, changes=2):
    """Return copies of one text of 60 words, each with some words changed."""
    chance = random.Random(seed)
    base = [f"w{at}" for at in range(60)]
    texts = []
    for _ in range(count):
        words = list(base)
        for _ in range(changes):
            words[chance.randrange(60)] = f"n{chance.randrange(40)}"
        texts.append(" ".join(words))
    return texts
