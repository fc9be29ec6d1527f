"""Drawn texts: makes unrelated texts of about 1 KB with known copies, very fast.

It makes hundreds of megabytes a second.  Words are drawn from a vocabulary of 2^17, log-uniform in
their rank, as in natural language (Zipf).  A tenth of the texts are copies of an earlier text, with
up to 8 % of the words replaced.  Half of the copies have their origin in the block before, half in
a block drawn at random.  A copy is never copied.  Block b depends only on the seed and on b.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

BLOCK = 1 << 12  # texts
VOCABULARY = 1 << 17
WORDS_MIN, WORDS_MAX = 150, 260
COPIES = 0.1
REPLACED_MOST = 0.08  # share of the words of a copy
CONSONANTS, VOWELS = "bdfghklmnprstvz", "aeiou"

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Words:
    """The words of a block before copies replace some: text i has words[starts[i]:starts[i + 1]].

    `is_copy` bool[BLOCK] tells which texts will be replaced.
    """

    words: I32
    starts: I64
    is_copy: npt.NDArray[np.bool_]


class Drawn:
    """All texts of one seed."""

    def __init__(self, seed: int) -> None:
        """Make the vocabulary."""
        self._seed = seed
        syllables = [consonant + vowel for consonant in CONSONANTS for vowel in VOWELS]
        names, size = list(syllables), len(syllables)
        while len(names) < VOCABULARY:
            names += [first + last for first in names[-size:] for last in syllables]
            size *= len(syllables)
        self._vocabulary = pa.array(names[:VOCABULARY])
        # The last blocks that were asked for; copies of the block before come from here.
        self._words = lru_cache(4)(self._drawn)
        self._block = lru_cache(2)(self._made)

    def blocks(self, count: int, first: int = 0) -> Iterator[tuple[pa.Array, I64]]:
        """Yield texts from number `first` on, and the number of the text each is a copy of.

        A text that is no copy has its own number.
        """
        while count > 0:
            number, skipped = divmod(first, BLOCK)
            texts, origins = self._block(number)
            part = slice(skipped, skipped + count)
            yield texts[part], origins[part]
            first, count = first + BLOCK - skipped, count - BLOCK + skipped

    def texts(self, first: int, count: int) -> pa.ChunkedArray:
        """Return some texts."""
        return pa.chunked_array([texts for texts, _ in self.blocks(count, first)])

    def with_origins(self, count: int) -> Iterator[tuple[str, int]]:
        """Yield the first texts, each with the number of the text that it is a copy of."""
        for texts, origins in self.blocks(count):
            yield from zip(texts.to_pylist(), origins.tolist(), strict=True)

    def _made(self, number: int) -> tuple[pa.Array, I64]:
        own = self._words(number)
        chance = np.random.default_rng([self._seed, number, 1])
        places = np.flatnonzero(own.is_copy)
        before = [max(number - 1, 0), int(chance.integers(0, max(number, 1)))]
        sources = [(each, self._words(each)) for each in before]
        parts = [own.words[own.starts[at] : own.starts[at + 1]] for at in range(BLOCK)]
        origins = np.arange(number * BLOCK, (number + 1) * BLOCK)
        which = chance.integers(0, 2, len(places)) if number else np.zeros(len(places), np.int64)
        shares = chance.random(len(places)) * REPLACED_MOST
        for place, source, share in zip(places.tolist(), which.tolist(), shares, strict=True):
            block, given = sources[source]
            at = int(chance.integers(0, BLOCK))
            if given.is_copy[at] or block == number:
                continue  # not made a copy
            words = given.words[given.starts[at] : given.starts[at + 1]].copy()
            changed = chance.integers(0, len(words), int(share * len(words)))
            words[changed] = _ranks(chance, len(changed))
            parts[place], origins[place] = words, block * BLOCK + at
        lengths = np.array([len(part) for part in parts])
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        named = self._vocabulary.take(pa.array(np.concatenate(parts)))
        return pc.binary_join(pa.ListArray.from_arrays(offsets, named), " "), origins

    def _drawn(self, number: int) -> Words:
        chance = np.random.default_rng([self._seed, number, 0])
        lengths = chance.integers(WORDS_MIN, WORDS_MAX + 1, BLOCK)
        starts = np.concatenate([[0], np.cumsum(lengths)])
        return Words(_ranks(chance, starts[-1]), starts, chance.random(BLOCK) < COPIES)


def _ranks(chance: np.random.Generator, count: int) -> I32:
    return (VOCABULARY ** chance.random(count, np.float32)).astype(np.int32) - 1
