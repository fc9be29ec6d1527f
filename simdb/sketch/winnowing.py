"""Winnowing: chooses some n-grams of each text so that texts that share a passage share one.

Schleimer, Wilkerson and Aiken 2003, section 3: of every window of consecutive n-grams the least
hash is chosen.  Two texts with the same window choose the same, and 2 of 9 n-grams are chosen.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from simdb.columns.text_column import TextColumn
from simdb.ground.errors import InputError
from simdb.running import kernel
from simdb.settings.text_sketch import TextSketch
from simdb.sketch.word_order import WordOrder
from simdb.values.arrays import Grains, describe, offsets_of, sorted_unique

GRAM_WORDS = 8
WINDOW_GRAMS = 8
# Every run of so many words has a whole window.
PASSAGE_WORDS = GRAM_WORDS + WINDOW_GRAMS - 1

# The order in which a window chooses is that of the products, so that hashes that are chosen are as
# evenly distributed as all others.
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_INVERSE = np.uint64(pow(int(_MULTIPLIER), -1, 1 << 64))

I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]


class Winnower:
    """The grains and words of texts as the sketch of a database cuts them."""

    def __init__(self, sketch: TextSketch) -> None:
        """Cut texts as `sketch` says; OptionError if it does not cut words."""
        self.order = WordOrder(sketch)

    def grains(self, documents: Sequence[object], *, errors: str, start: int = 0) -> Grains:
        """Return the grains of texts; InputError for another document, numbered from `start`."""
        return winnow(*grams_of(*self.words(documents, errors=errors, start=start)))

    def words(self, documents: Sequence[object], *, errors: str, start: int = 0) -> tuple[I64, U64]:
        """Return offsets int64[n + 1] and hashes uint64[k] of the words of texts."""
        if not isinstance(documents, TextColumn):
            for position, document in enumerate(documents, start):
                if not isinstance(document, str | bytes):
                    raise InputError(
                        f"document {position} is no text but {describe(document)}, and passages"
                        " are of words: give str or UTF-8 bytes, or use a database without"
                        " Options(passages=True)"
                    )
        return self.order.words(documents, errors=errors, start=start)  # type: ignore[arg-type]


def grams_of(offsets: I64, words: U64) -> tuple[I64, U64]:
    """Return the n-grams of `GRAM_WORDS` words of texts; a shorter text is one n-gram by itself.

    Offsets int64[n + 1] and hashes uint64[k], in the order of the words.
    """
    sizes = np.diff(offsets)
    counts = np.where(sizes < GRAM_WORDS, np.minimum(sizes, 1), sizes - GRAM_WORDS + 1)
    bounds = offsets_of(counts)
    found: U64 = kernel.ngrams(offsets, words, GRAM_WORDS)[1]
    is_short = (sizes > 0) & (sizes < GRAM_WORDS)
    if not is_short.any():
        return bounds, found
    grams = np.empty(bounds[-1], np.uint64)
    grams[np.repeat(~is_short, counts)] = found
    for length in sorted_unique(sizes[is_short]).tolist():
        own = np.flatnonzero(sizes == length)
        inside = words[(offsets[own][:, None] + np.arange(length)).ravel()]
        grams[bounds[own]] = kernel.ngrams(np.arange(len(own) + 1) * length, inside, length)[1]
    return bounds, grams


def winnow(bounds: I64, grams: U64) -> Grains:
    """Return the least n-gram of each window, once a text; of fewer n-grams, the least of all."""
    order = grams * _MULTIPLIER
    counts = np.diff(bounds)
    least, step = order, 1
    while step < WINDOW_GRAMS:
        least, step = np.minimum(least[:-step], least[step:]), 2 * step
    texts = np.repeat(np.arange(len(counts), dtype=np.uint32), counts)
    starts = np.flatnonzero(np.arange(len(least)) + WINDOW_GRAMS <= bounds[1:][texts[: len(least)]])
    few = np.flatnonzero((counts > 0) & (counts < WINDOW_GRAMS))
    rest = Grains(bounds, order).taken(few)
    lowest = np.minimum.reduceat(rest.hashes, rest.offsets[:-1]) if len(few) else rest.hashes
    chosen, owners = least[starts], texts[starts]
    is_new = _differs(chosen, owners)  # neighbours have mostly the same least n-gram
    chosen = np.concatenate([chosen[is_new], lowest]) * _INVERSE
    owners = np.concatenate([owners[is_new], few.astype(np.uint32)])
    ascending = np.arange(len(chosen), dtype=np.uint32)
    kernel.sort(chosen.copy(), ascending)
    kernel.sort(owners[ascending].astype(np.uint64), ascending)  # stable
    chosen, owners = chosen[ascending], owners[ascending]
    is_new = _differs(chosen, owners)
    sizes = np.bincount(owners[is_new], minlength=len(counts))
    return Grains(offsets_of(sizes), chosen[is_new])


def _differs(hashes: U64, owners: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
    """Return whether each hash, or its owner, is another one than before it."""
    is_new = np.ones(len(hashes), np.bool_)
    is_new[1:] = (hashes[1:] != hashes[:-1]) | (owners[1:] != owners[:-1])
    return is_new
