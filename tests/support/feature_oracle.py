"""Feature oracle: computes tokens, features, weights and IDF tables in plain numpy.

`project_texts` and `project_tokens` return the same as the functions of `simdb_ext._sketch`, whose
stub has the contracts.  They do not check their arguments.
"""

import math
from functools import lru_cache

import mmh3
import numpy as np
from script_oracle import words_of

from simdb.core.text_sketch import IdfTable, directory_bits
from simdb.sketch.cutting import code_points, contents_of, cut

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
UNITS = 1024
DEFAULT = 5000  # weight, in units, of a feature that a table lacks


def tokens_of(text, unit, lowercase):
    """Cut `text` character by character, by the properties of the running Python."""
    if unit == "characters":
        white = [" " if is_white(character) else character for character in text]
        folded = " ".join("".join(white).split(" ")).strip(" ")
        while "  " in folded:
            folded = folded.replace("  ", " ")
        tokens = list(folded)
    else:
        tokens = text.split() if unit == "whitespace" else words_of(text, "cjk")
    return ["".join(map(lower, token)) for token in tokens] if lowercase else tokens


def lower(character):
    return "i" if character == "\u0130" else character.lower()


def is_white(character):
    return character.isspace() and character not in "\x1c\x1d\x1e\x1f"


def fmix64(words):
    """Return the finaliser of MurmurHash3_x64_128 of a whole number or an array of them."""
    words = ((words ^ words >> 33) * 0xFF51AFD7ED558CCD) & MASK
    words = ((words ^ words >> 33) * 0xC4CEB9FE1A85EC53) & MASK
    return words ^ words >> 33


def features_of(tokens, shingle, seed=0):
    """Return both words of the hash of every shingle of tokens, which are bytes: uint64[n, 2]."""
    hashes = [mmh3.hash64(token, seed, signed=False) for token in tokens]
    words = np.array(hashes, np.uint64).reshape(-1, 2)
    length = min(shingle, len(words))
    if length <= 1:
        return words
    features = np.zeros((len(words) - length + 1, 2), np.uint64)
    for place in range(length):
        turned = features << np.uint64(23) | features >> np.uint64(41)
        features = turned ^ words[place : place + len(features)]
    return fmix64(features)


def further_words(first):
    """Return the third and the fourth word of features given by their first words."""
    return [fmix64(first ^ k * GOLDEN & MASK) for k in (2, 3)]


def sums_of(features, weights, dimensions):
    """Compute Algorithm 1: the sum of weights, plus where a bit is set and minus elsewhere."""
    words = np.column_stack([features, *further_words(features[:, 0])])[:, : dimensions // 64]
    content = np.ascontiguousarray(words, "<u8").view(np.uint8)
    bits = np.unpackbits(content, axis=1, bitorder="little").astype(np.int64)
    return weights @ (2 * bits - 1)


def weights_of(features, counting="tf", idf=None, dimensions=128):
    """Return the weights of a document with these features, and how many features count.

    `idf`: the units of features by the highest 48 bits of their first words.
    """
    if counting == "tf" and idf is None:
        ones = np.ones(len(features), np.int64)
        return sums_of(features, ones, dimensions).astype(np.int32), len(features)
    distinct = {}
    for feature in map(tuple, features.tolist()):
        distinct[feature] = distinct.get(feature, 0) + 1
    counts = [units_of(feature[0], number, counting, idf) for feature, number in distinct.items()]
    rows = np.array([*distinct], np.uint64).reshape(-1, 2)
    sums = sums_of(rows, np.array(counts, np.int64), dimensions)
    number = len(features) if counting == "tf" else len(distinct)
    if counting != "log-tf" and idf is None:
        return (sums // UNITS).astype(np.int32), number
    return (sums / UNITS).astype(np.float32), number


def units_of(first, count, counting, idf):
    logarithm = math.floor(UNITS * (1 + math.log(count)) + 0.5)
    units = {"binary": UNITS, "log-tf": logarithm, "tf": UNITS * count}[counting]
    if idf is None:
        return units
    return (units * idf.get(first >> 16, DEFAULT) + UNITS // 2) // UNITS


def project_texts(texts, *, unit, lowercase, replace, **options):
    errors = "replace" if replace else "strict"
    return projected([cut(code_points(each, errors), unit, lowercase) for each in texts], **options)


def project_tokens(documents, *, replace, **options):
    errors = "replace" if replace else "strict"
    return projected([contents_of(each, errors) for each in documents], **options)


def projected(documents, *, shingle, seed, start, counting="tf", idf=None, dimensions=128):
    features = [features_of(tokens, shingle, seed) for tokens in documents]
    rows = [weights_of(each, counting, idf, dimensions) for each in features]
    weights = np.array([row for row, _ in rows]).reshape(-1, dimensions)
    return weights, np.array([number for _, number in rows], np.int64)


def remembered(project, documents, **options):
    """Return `project(documents, **options)` from a cache: variants are tested on the same data."""
    known = tuple(each if isinstance(each, str | bytes) else tuple(each) for each in documents)
    return _remembered(project, known, tuple(sorted(options.items())))


@lru_cache(maxsize=200)
def _remembered(project, documents, options):
    return project(documents, **dict(options))


def table_of(idf, settings=None):
    """Make an IDF table of the given units."""
    entries = np.array(sorted(tag << 16 | units for tag, units in idf.items()), np.uint64)
    bits = directory_bits(len(entries))
    slots = (entries >> np.uint64(64 - bits) if bits else entries * 0).astype(np.int64)
    directory = np.searchsorted(slots, np.arange((1 << bits) + 1)).astype(np.uint32)
    return IdfTable(entries, directory, DEFAULT, 100, settings or {})


def arguments_of(idf):
    """Return the table of the given units in the form that the kernel takes."""
    table = table_of(idf)
    return table.entries, table.directory, table.default
