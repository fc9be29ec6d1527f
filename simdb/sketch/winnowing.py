"""Winnowing: the words of texts in order, and some n-grams of them that tell shared passages.

Schleimer, Wilkerson and Aiken 2003, section 3: of every window of consecutive n-grams the least
hash is chosen.  Two texts with the same window choose the same, and 2 of 9 n-grams are chosen.  So
texts that share a passage share an n-gram.  The words are those that a sketch is made of: cut,
cleaned and hashed by the same kernel.
"""

import re
from collections.abc import Sequence
from itertools import chain, repeat

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import Grains, Ragged, describe, offsets_of, sorted_unique
from simdb.core.arrow import TextColumn, Texts
from simdb.core.dtypes import I64, U32, U64, Bools
from simdb.core.errors import InputError, OptionError
from simdb.core.stored_options import Resources
from simdb.core.text_sketch import TextSketch
from simdb.sketch.cutting import bounds_of_words, code_points
from simdb.sketch.normalisation import cleaned, spelled
from simdb.sketch.pipeline import Parts, Pipeline, Words

# What lies between white space; what a hyphen cuts at the end of a line is one piece.
PIECES = re.compile(r"\S+(?:(?<=[-\u00ad\u2010\u2011])\s*\n\s*\S+)*")
GRAM_WORDS = 8
WINDOW_GRAMS = 8
# Every run of so many words has a whole window.
PASSAGE_WORDS = GRAM_WORDS + WINDOW_GRAMS - 1

# The order in which a window chooses is that of the products, so that hashes that are chosen are as
# evenly distributed as all others.
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_INVERSE = np.uint64(pow(int(_MULTIPLIER), -1, 1 << 64))


class WordOrder:
    """The words of texts as one sketch cuts them, without stop words or stems."""

    def __init__(self, sketch: TextSketch) -> None:
        """Cut texts as `sketch` says; OptionError if it does not cut words."""
        if sketch.unit not in ("words", "whitespace"):
            raise OptionError(f"unit={sketch.unit!r} has no words; take unit='words'")
        if sketch.tokeniser or sketch.markup != "none":
            what = "tokeniser" if sketch.tokeniser else "markup"
            raise OptionError(
                f"{what}={getattr(sketch, what)!r}: what it makes of a text has no place in it;"
                " apply it to the texts first"
            )
        self._sketch = sketch
        self._pipeline = Pipeline(sketch, Resources(), ())

    def words(self, texts: Texts, *, errors: str, start: int = 0) -> Words:
        """Return the offsets int64[n + 1] and the hashes uint64[k] of the words of texts.

        `errors`: "strict" raises InputError for invalid Unicode, "replace" puts U+FFFD in its
        place; messages number the texts from `start`.
        """
        return self._pipeline.words(texts, replace=errors == "replace", start=start)

    def parts(self, texts: Texts, unit: str, *, errors: str, start: int = 0) -> Parts:
        """Return how many parts of this unit each text has, and what the words of each part are.

        Int64[n]; a key that follows from the words in order, uint64[k]; their number, int64[k].
        The other arguments are those of `words`.
        """
        return self._pipeline.parts(texts, unit, replace=errors == "replace", start=start)

    def places(self, text: str) -> I64:
        """Return where each word begins and ends in the text, in characters: int64[n, 2].

        A word that cleaning changes in number (a ligature of two) has the place of what it is in.
        """
        if self._cleaned(text) == text:
            return self._bounds(text)
        found: list[list[tuple[int, int]]] = []
        for piece in PIECES.finditer(text):
            raw = [
                (piece.start() + a, piece.start() + b) for a, b in self._bounds(piece[0]).tolist()
            ]
            count = len(self._bounds(self._cleaned(piece[0])))
            whole_piece = (raw[0][0], raw[-1][1]) if raw else piece.span()
            found.append(raw if count == len(raw) else list(repeat(whole_piece, count)))
        places = list(chain.from_iterable(found))
        count = len(self._bounds(self._cleaned(text)))
        # Pieces are cleaned as the whole text is, but for rare letters that compose across them.
        known = places if len(places) == count else list(repeat((0, len(text)), count))
        return np.array(known, np.int64).reshape(-1, 2)

    def _cleaned(self, text: str) -> str:
        if self._sketch.is_normalised_in_python:
            text = spelled(text, self._sketch)
        return cleaned(text, self._sketch)

    def _bounds(self, text: str) -> I64:
        codes = code_points(text, "replace")
        starts, stops = bounds_of_words(codes, self._sketch.cutting)
        return np.stack([starts, stops], axis=1).astype(np.int64)


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
                if not isinstance(document, str):
                    raise InputError(
                        f"document {position} is no text but {describe(document)}, and passages"
                        " are of words: give str or bytes, or use a database without"
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
    rest = Ragged(bounds, order).taken(few)
    lowest = np.minimum.reduceat(rest.values, rest.offsets[:-1]) if len(few) else rest.values
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
    return Ragged(offsets_of(sizes), chosen[is_new])


def _differs(hashes: U64, owners: U32) -> Bools:
    """Return whether each hash, or its owner, is another one than before it."""
    is_new = np.ones(len(hashes), np.bool_)
    is_new[1:] = (hashes[1:] != hashes[:-1]) | (owners[1:] != owners[:-1])
    return is_new
