"""Features in plain loops over Python integers: tokens, hashes of shingles, weights, IDF tables."""

import math
import unicodedata
from collections import Counter

import mmh3
import numpy as np

from simdb.core.text_sketch import IdfTable, directory_bits

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
UNITS = 1024
DEFAULT = 5000  # what a feature weighs, in units, that a table does not know


def tokens_of(text, unit, lowercase):
    """Cut `text` character by character, by the properties of the running Python."""
    if unit == "characters":
        white = [" " if is_white(character) else character for character in text]
        folded = " ".join("".join(white).split(" ")).strip(" ")
        while "  " in folded:
            folded = folded.replace("  ", " ")
        return [lower(character) if lowercase else character for character in folded]
    tokens, word = [], ""
    for character in text + " ":
        category = unicodedata.category(character)
        is_word = category[0] in "LMN" or category == "Pc"
        if is_word and not is_cjk(character):
            word += lower(character) if lowercase else character
            continue
        tokens += [word] if word else []
        tokens += [character] if is_word else []
        word = ""
    return tokens


def lower(character):
    return "i" if character == "\u0130" else character.lower()


def is_white(character):
    return character.isspace() and character not in "\x1c\x1d\x1e\x1f"


def is_cjk(character):
    ranges = "\u3040\u30ff\u3400\u4dbf\u4e00\u9fff\uac00\ud7af\uf900\ufaff\U00020000\U0003ffff"
    return any(a <= character <= b for a, b in zip(ranges[::2], ranges[1::2], strict=True))


def fmix64(word):
    word = ((word ^ word >> 33) * 0xFF51AFD7ED558CCD) & MASK
    word = ((word ^ word >> 33) * 0xC4CEB9FE1A85EC53) & MASK
    return word ^ word >> 33


def features_of(tokens, shingle, seed=0):
    """Return both words of the hash of every shingle of tokens, which are bytes."""
    pairs = [mmh3.hash64(token, seed, signed=False) for token in tokens]
    length = min(shingle, len(pairs))
    if length <= 1:
        return pairs
    windows = [pairs[at : at + length] for at in range(len(pairs) - length + 1)]
    return [tuple(mixed(window, word) for word in (0, 1)) for window in windows]


def mixed(window, word):
    total = 0
    for hashes in window:
        total = (total << 23 | total >> 41) & MASK ^ hashes[word]
    return fmix64(total)


def further_words(first):
    """Return the third and the fourth word of a feature."""
    return [fmix64(first ^ k * GOLDEN & MASK) for k in (2, 3)]


def sums_of(weighted, dimensions=128):
    """Compute Algorithm 1 of (feature, whole weight) pairs, one bit at a time."""
    sums = [0] * dimensions
    for feature, weight in weighted:
        words = [*feature, *further_words(feature[0])]
        for j in range(dimensions):
            sums[j] += weight if words[j // 64] >> j % 64 & 1 else -weight
    return sums


def weights_of(features, counting, idf=None, dimensions=128):
    """Return the weights of features under a way to count and the units of highest 48 bits."""
    weighted = []
    for feature, count in Counter(features).items():
        units = factor(count, counting)
        if idf is not None:
            units = (units * idf.get(feature[0] >> 16, DEFAULT) + UNITS // 2) // UNITS
        weighted.append((feature, units))
    return [float(np.float32(total / UNITS)) for total in sums_of(weighted, dimensions)]


def factor(count, counting):
    logarithm = math.floor(UNITS * (1 + math.log(count)) + 0.5)
    return {"binary": UNITS, "log-tf": logarithm, "tf": UNITS * count}[counting]


def table_of(idf, settings=None):
    """Make an IDF table of these units, by the highest 48 bits of first words."""
    entries = np.array(sorted(tag << 16 | units for tag, units in idf.items()), np.uint64)
    bits = directory_bits(len(entries))
    slots = (entries >> np.uint64(64 - bits) if bits else entries * 0).astype(np.int64)
    directory = np.searchsorted(slots, np.arange((1 << bits) + 1)).astype(np.uint32)
    return IdfTable(entries, directory, DEFAULT, 100, settings or {})
