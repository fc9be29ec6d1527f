"""Lengths: how many words a text has, and how many of them a near-duplicate may have changed.

In scripts without spaces each character counts as a word.
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from simdb.running import kernel
from simdb.settings.text_sketch import SPACELESS

# With fewer words than this, one changed word makes 3-shingles less similar than the default
# threshold: of 28 shingles, 25 are left.
SHORT_WORDS = 30
# The page from which the amount of editing is taken.
PAGE_WORDS = 300
PAGE_SHINGLE = 3


def count_words(texts: Sequence[str]) -> npt.NDArray[np.int64]:
    """Return the number of words in each text, as the kernel cuts it, int64[n]."""
    offsets, _, counts = kernel.count_texts(
        texts, unit=SPACELESS, lowercase=False, shingle=1, seed=0, vocabulary=None, replace=True,
        start=0,
    )  # fmt: skip
    sums = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    found: npt.NDArray[np.int64] = np.diff(sums[offsets])
    return found


def changed_words(words: int, similarity: float) -> float:
    """Return how many of `words` words a near-duplicate may have changed.

    `similarity`: the threshold that suits a page of 300 words.  There as many words may change as
    leave its 3-shingles at `similarity`.  A longer text may change the same share of its words.  In
    a short text the same share would be less than one word, and the same number would be all words,
    so a shorter text may change the geometric mean of both.
    """
    share = float(1 - similarity ** (1 / PAGE_SHINGLE))
    if words >= PAGE_WORDS:
        return share * words
    return min(share * math.sqrt(words * PAGE_WORDS), words)
