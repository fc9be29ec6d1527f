"""Contained: applies the rule "contained" by a double loop over sets of word 3-grams."""

import numpy as np


def grams(text):
    words = text.split()
    if len(words) < 3:
        return {tuple(words)} if words else set()
    return {tuple(words[at : at + 3]) for at in range(len(words) - 2)}


def jaccard(one, other):
    return np.float32(len(one & other) / len(one | other)) if one and other else np.float32(0)


def expected(texts, similarity, lose, order, leading=()):
    """Return the possible containers of each removed document, by a double loop over sets.

    Larger documents precede smaller ones, and documents of one size are in `order`.  `leading`
    texts are kept.
    """
    sets = [grams(text) for text in texts]
    stay = [(-1 - at, grams(text)) for at, text in enumerate(leading)]
    gone = {}
    for place in sorted(order, key=lambda at: -len(sets[at])):
        leaders = []
        for leader, held in stay:
            lost = len(sets[place] - held)
            measured = jaccard(sets[place], held)
            is_longer = len(held) >= len(sets[place])
            if is_longer and lost <= lose and measured >= np.float32(similarity):
                leaders.append((leader, measured, lost))
        if leaders:
            gone[place] = leaders
        else:
            stay.append((place, sets[place]))
    return gone
