"""Samples: texts drawn from a collection, with their writing system, noise and length.

In scripts without spaces, each character counts as a word.

Stored documents have no texts, but their vectors reveal short ones.  Each weight is a sum of signs,
one for each feature, so a document of n features has at most n + 1 of the 16 levels of rounded
weights.  In a signature, a minimum of n hashes is about 1 / (n + 1) of the largest hash.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import check_many, describe, random_numbers, sums_of
from simdb.core.decoding import all_texts, as_text as decoded_text
from simdb.core.dtypes import F64, I64, U8, U32
from simdb.core.errors import InputError
from simdb.core.options import MULTIPLY_SHIFT, SET, STRATIFIED, AnySketch, Minhash, Simhash
from simdb.core.text_sketch import SPACELESS
from simdb.core.values import dataclass
from simdb.core.vector_form import unpack, unpack_minima

SAMPLED_TEXTS = 2000
TEXT_CHARACTERS = 20_000  # texts are cut here; more characters do not change the advice
# A tag with a name, such as <p> or </div class="x">, but not "a < b".
TAG = re.compile(r"</?[A-Za-z][A-Za-z0-9]*(?:\s[^<>]{0,500})?/?>")
TAGS_LEAST = 2
# Kana, Han and the letters of Thai, Lao, Tibetan, Burmese, Khmer, Tai Le, New Tai Lue, Tai Tham,
# Javanese and Tai Viet, nearly all that the kernel takes as words.
SPACELESS_RANGES = (
    "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"
    "\u0e01-\u0e2e\u0e81-\u0eae\u0f40-\u0f6c\u1000-\u102a\u1050-\u1055\u1780-\u17b3"
    "\u1950-\u1974\u1980-\u19ab\u1a20-\u1a4c\ua984-\ua9b2\uaa80-\uaaaf"
)
SPACELESS_LETTER = re.compile(f"[{SPACELESS_RANGES}]")
SCRIPT_SHARE = 0.5
# Presentation forms of letters and digits: of Arabic, of full and half width, and ligatures.
FORMS = re.compile(
    "[\ufb00-\ufb06\ufb50-\ufdff\ufe70-\ufefc\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\uff66-\uff9f]"
)
# Points of Hebrew and Arabic that writers mostly omit, and the tatweel.
POINTS = re.compile("[\u05b0-\u05bd\u05bf\u05c1\u05c2\u05c7\u0610-\u061a\u0640\u064b-\u0652\u0670]")
# Letters of Turkish and Azerbaijani that no other language has.
TURKIC = re.compile("[\u0130\u0131\u011f\u011e]")
# Words with Latin and Cyrillic letters.
MIXED = re.compile("[A-Za-z][\u0400-\u052f]|[\u0400-\u052f][A-Za-z]")
# The least shares of texts for which an option is advised.  Forms and points are seldom in all
# texts, but then some copies lack them.  I is another letter only in a mostly Turkic collection.
FORMS_LEAST, TURKIC_LEAST = 0.01, 0.5
# A word that differs in one letter from a word with FREQUENT occurrences is misread or mistyped.
WORD = re.compile(r"[^\W\d_]{5,20}")
FREQUENT = 5
NOISE_LEAST = 0.02  # a smaller share of such words is usual in clean texts
# With fewer words, one changed word brings the similarity of 3-shingles below the default
# threshold: of 28 shingles, 25 are left.
SHORT_WORDS = 30
COMMON = 0.5  # a property of at least this share of texts counts for the collection
PAGE_WORDS = 300  # length of the page by which the allowed amount of editing is defined
PAGE_SHINGLE = 3
NUMBERS = np.arange(1, 33)  # numbers of features; documents with more have nearly all levels
SIMULATED = 1000
BINOMIAL_CHANCE = 0.5
MINIMUM_BITS = 32


@dataclass(frozen=True, slots=True)
class WritingSystem:
    """The writing system of some texts.

    `formed`, `pointed`, `turkic`, `mixed`: the shares of texts with such characters.  `noise`: the
    share of words that occur once, and differ in one letter from a frequent word.
    """

    formed: float
    pointed: float
    turkic: float
    mixed: float
    noise: float

    @property
    def options(self) -> dict[str, Any]:
        """The options of a sketch that make different spellings equal."""
        nfkc = {"normalisation": "nfkc"} if self.formed >= FORMS_LEAST else {}
        marks = {"marks": "drop"} if self.pointed >= FORMS_LEAST else {}
        alike = {"normalisation": "lenient", "marks": "drop"} if self.mixed >= FORMS_LEAST else {}
        return nfkc | marks | alike | ({"turkic_case": True} if self.turkic >= TURKIC_LEAST else {})

    @property
    def is_noisy(self) -> bool:
        """Whether the texts look as if a machine had read them from paper."""
        return self.noise >= NOISE_LEAST


@dataclass(frozen=True, slots=True)
class TextSample:
    """A sample of texts of a collection of `total` documents.

    `words`: their median number of words, without tags.  `spaceless`: the share of texts mostly in
    scripts without spaces, such as Chinese or Thai.  `marked`: the share of texts with mark-up.
    `writing`: their writing system.
    """

    texts: list[str]
    total: int
    words: float
    spaceless: float
    marked: float
    writing: WritingSystem

    @property
    def is_marked(self) -> bool:
        """Whether most texts have mark-up."""
        return self.marked >= COMMON

    @property
    def is_short(self) -> bool:
        """Whether the texts are too short for 3-shingles of words."""
        return self.words < SHORT_WORDS


def as_texts(texts: Any) -> tuple[Sequence[Any], dict[Any, int] | None]:
    """Return texts as a sequence, and the position of each id if they were given by id."""
    if isinstance(texts, Mapping):
        every = all_texts(texts.values(), errors="replace")
        return every, {id: at for at, id in enumerate(texts)}
    check_many(texts, "texts")
    return all_texts(texts, errors="replace"), None


def as_text(text: Any, name: str) -> str:
    """Return one text as a str, cut if it is very long; an InputError names it as `name`."""
    text = decoded_text(text, errors="replace")
    if not isinstance(text, str):
        raise InputError(f"{name} is {describe(text)}; tune needs texts, as str or bytes")
    # A lone surrogate is not valid text, but does not spoil the rest.
    return text[:TEXT_CHARACTERS].encode("utf-8", "replace").decode()


def drawn(texts: Sequence[Any], total: int, generator: "np.random.Generator") -> TextSample:
    """Return a sample of texts that represent `total` documents."""
    count = min(len(texts), SAMPLED_TEXTS)
    places = np.sort(generator.choice(len(texts), count, replace=False)).tolist()
    chosen = [as_text(texts[at], f"text {at}") for at in places]
    words = count_words([TAG.sub(" ", text) for text in chosen])
    is_known = words > 0
    if not is_known.any():
        raise InputError(f"none of the {count} texts contains a word; tune needs texts with words")
    kept = [text for text, known in zip(chosen, is_known, strict=True) if known]
    return TextSample(
        kept,
        total,
        float(np.median(words[is_known])),
        _share(kept, SPACELESS_LETTER),
        sum(len(TAG.findall(text)) >= TAGS_LEAST for text in kept) / len(kept),
        writing_of(kept),
    )


class DrawnTexts:
    """Texts drawn at random from all that are added, each with the same chance."""

    def __init__(self, most: int, seed: int) -> None:
        """Draw at most `most` texts."""
        self.texts: list[str] = []
        self._most, self._seen, self._generator = most, 0, random_numbers(seed)

    def add(self, ids: Sequence[Any], texts: Sequence[Any]) -> None:
        """Add texts; messages name a text by its id."""
        # The text at position n takes the place of an earlier one with probability k / (n + 1)
        # (Vitter 1985, algorithm R).
        places = self._generator.integers(0, np.arange(len(texts)) + self._seen + 1).tolist()
        for id, text, place in zip(ids, texts, places, strict=True):
            if self._seen < self._most:
                self.texts.append(as_text(text, str(id)))
            elif place < self._most:
                self.texts[place] = as_text(text, str(id))
            self._seen += 1


def writing_of(texts: Sequence[str]) -> WritingSystem:
    """Return the writing system of some texts."""
    formed, pointed, turkic, mixed = (
        sum(bool(kind.search(text)) for text in texts) / len(texts)
        for kind in (FORMS, POINTS, TURKIC, MIXED)
    )
    return WritingSystem(formed, pointed, turkic, mixed, _noise(texts))


def _share(texts: list[str], letter: re.Pattern[str]) -> float:
    """Return the share of texts in which at least half of the letters match `letter`."""
    return sum(
        len(letter.findall(text)) >= SCRIPT_SHARE * sum(map(str.isalpha, text)) > 0
        for text in texts
    ) / len(texts)


def _noise(texts: Sequence[str]) -> float:
    """Return the share of words that occur once and are one letter off a frequent word."""
    counts = Counter(word for text in texts for word in WORD.findall(text.lower()))
    frequent = {
        masked for word, count in counts.items() if count >= FREQUENT for masked in _masked(word)
    }
    misread = sum(
        count == 1 and not frequent.isdisjoint(_masked(word)) for word, count in counts.items()
    )
    return misread / max(counts.total(), 1)


def _masked(word: str) -> list[str]:
    """Return the word with each of its letters replaced by a dot in turn."""
    return [f"{word[:at]}.{word[at + 1 :]}" for at in range(len(word))]


def count_words(texts: Sequence[str]) -> I64:
    """Return the number of words of each text, as the kernel cuts them: int64[n]."""
    offsets, _, counts = kernel.count_texts(
        texts, unit=SPACELESS, lowercase=False, shingle=1, seed=0, vocabulary=None, replace=True,
        start=0,
    )  # fmt: skip
    return sums_of(counts, offsets)


def changed_words(words: int, similarity: float) -> float:
    """Return the number of changed words that a near-duplicate of `words` words may have.

    `similarity`: the threshold for a page of 300 words, which decides the number of words that may
    change there.  A longer text may change the same share of its words.  In a short text, the same
    share would be less than one word, and the same number would be all words.  So it may change the
    geometric mean of the two.
    """
    share = float(1 - similarity ** (1 / PAGE_SHINGLE))
    if words >= PAGE_WORDS:
        return share * words
    return min(share * math.sqrt(words * PAGE_WORDS), words)


def is_telling(sketch: AnySketch) -> bool:
    """Return whether stored vectors reveal the number of features, and so the number of words."""
    if sketch.tokeniser or sketch.stop_words or sketch.unit not in ("words", "whitespace"):
        return False
    if isinstance(sketch, Minhash):
        is_whole = sketch.stored_bits == MINIMUM_BITS
        is_even = sketch.family in (STRATIFIED, MULTIPLY_SHIFT)
        return is_whole and is_even and sketch.weighting == SET
    return isinstance(sketch, Simhash) and sketch.weighting == "binary" and sketch.store_volatility


def median_features(sketch: AnySketch, vectors: U8) -> float | None:
    """Estimate the median number of features of documents; None for more than about 30.

    `vectors` uint8[n, w]: as stored by a database with this sketch.  The sketch must be telling.
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


def features_by_minima(minima: U32) -> float:
    """Estimate the median number of features from minima of 32 bits, uint32[n, permutations]."""
    means = (minima.astype(np.float64) + 0.5).mean(axis=1) / 2.0**MINIMUM_BITS
    return float(np.median(1 / means - 1))


@cache
def _level_curve(dimensions: int) -> F64:
    """Return the mean number of levels for each of `NUMBERS`, by simulation."""
    generator = random_numbers(0)
    means = []
    for number in NUMBERS:
        sums = generator.binomial(number, BINOMIAL_CHANCE, (SIMULATED, dimensions))
        _, vectors = kernel.quantise((2 * sums - number).astype(np.float32))
        means.append(_middle_mean(_level_counts(vectors)))
    return np.maximum.accumulate(means)


def _level_counts(vectors: U8) -> I64:
    """Return the number of levels in each vector: int64[n]."""
    weights = np.sort(unpack(vectors), axis=1)
    return np.asarray((weights[:, 1:] != weights[:, :-1]).sum(axis=1) + 1, np.int64)


def _middle_mean(values: I64) -> float:
    """Return the mean of the middle half of some values: like a median, but rarely whole."""
    ordered = np.sort(values)
    quarter = len(ordered) // 4
    return float(ordered[quarter : len(ordered) - quarter].mean())
