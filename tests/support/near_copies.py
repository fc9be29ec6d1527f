"""Copies of one text, most pairs of which are just too far apart to match."""

import random


def near_copies(count, seed=3):
    """Return copies of one text in which two words differ, so that most pairs are just too far."""
    chance = random.Random(seed)
    base = [f"w{at}" for at in range(60)]
    texts = []
    for _ in range(count):
        words = list(base)
        for _ in range(2):
            words[chance.randrange(60)] = f"n{chance.randrange(40)}"
        texts.append(" ".join(words))
    return texts
