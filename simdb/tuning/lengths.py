"""Lengths: how many words documents have, and how many of them a near-duplicate may have changed.

In scripts without spaces each character counts as a word.

Of stored documents there are no texts.  But each weight is a sum of as many signs as the document
has features.  With few features such sums have few values, so the rounded weights of a short
document have few levels: at most n + 1 of 16 for n features.  A minimum of n hashes is about
1 / (n + 1) of the largest hash.
"""

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from simdb.columns.vector_form import unpack, unpack_minima
from simdb.running import kernel
from simdb.settings.options import MULTIPLY_SHIFT, SET, STRATIFIED, Minhash, Simhash
from simdb.settings.text_sketch import SPACELESS

# With fewer words than this, one changed word makes 3-shingles less similar than the default
# threshold: of 28 shingles, 25 are left.
SHORT_WORDS = 30
# The page from which the amount of editing is taken.
PAGE_WORDS = 300
PAGE_SHINGLE = 3
# Documents with more features have nearly all levels.
NUMBERS = np.arange(1, 33)
SIMULATED = 1000
BINOMIAL_CHANCE = 0.5
MINIMUM_BITS = 32

U8 = npt.NDArray[np.uint8]


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


def is_telling(sketch: Simhash | Minhash) -> bool:
    """Return whether stored vectors tell the number of features, and that the number of words."""
    if sketch.tokeniser or sketch.stop_words or sketch.unit not in ("words", "whitespace"):
        return False
    if isinstance(sketch, Minhash):
        is_whole = sketch.stored_bits == MINIMUM_BITS
        is_even = sketch.family in (STRATIFIED, MULTIPLY_SHIFT)
        return is_whole and is_even and sketch.weighting == SET
    return sketch.weighting == "binary" and sketch.store_volatility


def median_features(sketch: Simhash | Minhash, vectors: U8) -> float | None:
    """Estimate the median number of features of documents; None for more than about 30.

    `vectors` uint8[n, w]: as a database with this sketch, which `is_telling`, stores them.
    """
    if isinstance(sketch, Minhash):
        return features_by_minima(unpack_minima(vectors, MINIMUM_BITS))
    return features_by_levels(vectors)


def features_by_levels(vectors: U8) -> float | None:
    """Estimate the median number of features, each of weight 1, from volatility vectors.

    Returns None for more than about 30 features.  `vectors` uint8[n, w], as stored.
    """
    found = _middle_mean(_level_counts(vectors))
    curve = _level_curve(2 * vectors.shape[1])
    if found >= curve[-1]:
        return None
    return float(np.interp(found, curve, NUMBERS))


def features_by_minima(minima: npt.NDArray[np.uint32]) -> float:
    """Estimate the median number of features from minima of 32 bits, uint32[n, permutations]."""
    means = (minima.astype(np.float64) + 0.5).mean(axis=1) / 2.0**MINIMUM_BITS
    return float(np.median(1 / means - 1))


@cache
def _level_curve(dimensions: int) -> npt.NDArray[np.float64]:
    """Return the mean number of levels for each of `NUMBERS`, by simulation."""
    generator = np.random.default_rng(0)
    means = []
    for number in NUMBERS:
        sums = generator.binomial(number, BINOMIAL_CHANCE, (SIMULATED, dimensions))
        _, vectors = kernel.quantise((2 * sums - number).astype(np.float32))
        means.append(_middle_mean(_level_counts(vectors)))
    return np.maximum.accumulate(means)


def _level_counts(vectors: U8) -> npt.NDArray[np.int64]:
    """Return the number of levels in each vector: int64[n]."""
    weights = np.sort(unpack(vectors), axis=1)
    return np.asarray((weights[:, 1:] != weights[:, :-1]).sum(axis=1) + 1, np.int64)


def _middle_mean(values: npt.NDArray[np.int64]) -> float:
    """Return the mean of the middle half of some values: a median, but not a whole number."""
    ordered = np.sort(values)
    quarter = len(ordered) // 4
    return float(ordered[quarter : len(ordered) - quarter].mean())
