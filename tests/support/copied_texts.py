"""Copied texts: draws texts of which many are edited or equal copies of others."""

import numpy as np


def copied_texts(seed, count, *, words=800, length=200, edits=4):
    """Return texts of `length` words; two in five are copies with fewer than `edits` changes."""
    generator = np.random.default_rng(seed)
    texts = []
    for _ in range(count):
        if texts and generator.random() < 0.4:
            text = texts[generator.integers(0, len(texts))].split()
            for at in generator.integers(0, len(text), generator.integers(0, edits)):
                text[at] = f"word{generator.integers(0, words)}"
        else:
            text = [f"word{at}" for at in generator.integers(0, words, length)]
        texts.append(" ".join(text))
    return texts
