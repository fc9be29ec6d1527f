"""Weighing: the features of a document with their text, and their weights by counts and IDF table.

Weights are whole numbers of 1/1024, so that sums do not depend on the order.  The kernel weighs in
the same way, but does not keep the text of features.  This module serves exact similarities, and
explanations, which make the features of one document again from its tokens.
"""

from collections.abc import Sequence
from functools import cache
from itertools import compress
from typing import Any

import mmh3
import numpy as np

from simdb.core import kernel
from simdb.core.bits import FINGERPRINT_BITS, fmix64, rotated
from simdb.core.documents import Features, NamedFeatures
from simdb.core.dtypes import I64, U32, U64
from simdb.core.text_sketch import WEIGHT_UNIT, IdfTable, TextSketch, TokenHash

UNITS = round(1 / WEIGHT_UNIT)
TURN = 23  # bits by which a hash is rotated for each later token of its shingle
COUNT_MAX = 65535  # for "log-tf", the largest number of occurrences that counts


def name_features(
    tokens: Sequence[bytes], options: TextSketch, vocabulary: Any, hash: TokenHash | None = None
) -> NamedFeatures:
    """Return the features of a document cut into `tokens`, in order of first occurrence.

    `hash`: a hash function for tokens that replaces the kernel's.
    """
    known = _hashes_of_tokens(tokens, options, vocabulary, hash)
    used = [token for token in tokens if token in known]
    length = max(1, min(options.shingle, len(used)))
    shingles = [tuple(used[at : at + length]) for at in range(len(used) - length + 1)]
    places = dict.fromkeys(shingles, 0)
    for shingle in shingles:
        places[shingle] += 1
    hashes = _hashes([[known[token] for token in shingle] for shingle in places], length)
    # Shingles whose words have the same stems are one feature.
    unique, first, which = np.unique(hashes, return_index=True, return_inverse=True)
    counts = np.bincount(which, np.array(list(places.values()), np.int64), len(unique))
    order = np.argsort(first)
    joint = b"" if options.unit == "characters" else b" "
    texts = [joint.join(shingle).decode("utf-8", "backslashreplace") for shingle in places]
    return NamedFeatures(
        [texts[first[at]] for at in order],
        unique[order],
        _weights(unique, counts.astype(np.int64), options)[order],
    )


def name_windows(codes: U32, window: int) -> NamedFeatures:
    """Return the features of `Simhash.moz`: for each token, the `window` tokens that end with it.

    Every feature adds 2 to a weight or subtracts 2.  The sketch makes a sum of 0 the weight -1, so
    sums of features can differ from weights by 1.
    """
    tokens = _letters(codes)
    hashes = _cyclic(_hashes_of_moz(tokens), window)
    # The most significant bit of these hashes is bit 0 of the fingerprint.
    turned = np.packbits(np.unpackbits(hashes.astype(">u8").view(np.uint8)), bitorder="little")
    unique, first, counts = np.unique(
        turned.view("<u8").astype(np.uint64), return_index=True, return_counts=True
    )
    shingles = [tokens[max(0, at + 1 - window) : at + 1] for at in first.tolist()]
    return NamedFeatures(
        [b" ".join(shingle).decode("ascii") for shingle in shingles],
        unique,
        np.asarray(2.0 * counts, np.float64),
    )


def name_hashes(features: Features) -> NamedFeatures:
    """Return `Features`, which have no text, named by their hexadecimal hashes."""
    unique, which = np.unique(features.hashes, return_inverse=True)
    weights = np.bincount(which, features.weights, len(unique)).astype(np.float64)
    return NamedFeatures([f"0x{each:016x}" for each in unique.tolist()], unique, weights)


def weigh(hashes: U64, counts: I64, counting: str, idf: IdfTable | None) -> I64:
    """Return the weights, in units, of distinct features that occur `counts` times."""
    if counting == "tf":
        weights = counts * UNITS
    elif counting == "binary":
        weights = np.full(len(counts), UNITS, np.int64)
    else:
        weights = _log_units()[np.minimum(counts, COUNT_MAX)]
    if idf is None:
        return weights
    idf_units = (idf.weights(hashes) * UNITS).astype(np.int64)
    return np.asarray((weights * idf_units + UNITS // 2) // UNITS, np.int64)


def _letters(codes: U32) -> list[bytes]:
    """Return the sequences of ASCII letters up to the first NUL."""
    ends = np.flatnonzero(codes == 0)
    codes = codes[: ends[0]] if len(ends) else codes
    is_letter = (codes < 0x80) & ((codes | 0x20) >= ord("a")) & ((codes | 0x20) <= ord("z"))
    return np.where(is_letter, codes, ord(" ")).astype(np.uint8).tobytes().split()


def _hashes_of_moz(tokens: list[bytes]) -> U64:
    """Return the hash of each token: the signs of the weights of that token alone, uint64[n]."""
    distinct = list(dict.fromkeys(tokens))
    weights, _ = kernel.project_moz(distinct, window=1, replace=False, start=0)
    bits = np.packbits(weights[:, :FINGERPRINT_BITS] > 0, axis=1)
    hashes = dict(zip(distinct, bits.view(">u8").ravel().tolist(), strict=True))
    return np.array([hashes[token] for token in tokens], np.uint64)


def _cyclic(hashes: U64, window: int) -> U64:
    """Return feature i for each token i: the xor of the last `window` hashes up to i.

    The hash of token i - k is rotated to the left by k.
    """
    features = np.zeros(len(hashes), np.uint64)
    for age in range(min(window, len(hashes))):
        features[age:] ^= rotated(hashes[: len(hashes) - age], age)
    return features


def _hashes_of_tokens(
    tokens: Sequence[bytes], options: TextSketch, vocabulary: Any, hash: TokenHash | None
) -> dict[bytes, int]:
    """Return the hash of each distinct token, or of its stem, unless the vocabulary drops it."""
    distinct = list(dict.fromkeys(tokens))
    if vocabulary is None:
        own = hash or (lambda token: mmh3.hash64(token, options.seed, signed=False)[0])
        return {token: own(token) for token in distinct}
    offsets, hashes, _ = kernel.count_tokens(
        [[token] for token in distinct],
        shingle=1, seed=options.seed, replace=False, start=0, vocabulary=vocabulary,
    )  # fmt: skip
    return dict(zip(compress(distinct, np.diff(offsets)), hashes.tolist(), strict=True))


def _hashes(shingles: list[list[int]], length: int) -> U64:
    """Return the hash of each shingle of `length` tokens, given by their hashes: uint64[n]."""
    words = np.array(shingles, np.uint64).reshape(-1, length)
    if length == 1:
        return words[:, 0]
    ages = enumerate(words.T[::-1])
    turned = [rotated(each, TURN * age % FINGERPRINT_BITS) for age, each in ages]
    return fmix64(np.bitwise_xor.reduce(turned))


def _weights(hashes: Any, counts: Any, options: TextSketch) -> Any:
    """Return the weights of distinct features as the kernel sums them: float64[n]."""
    return weigh(hashes, counts, options.counting, options.idf) / UNITS


@cache
def _log_units() -> I64:
    """Return 1 + ln n in units, for n from 1 to COUNT_MAX; entry 0 is not used."""
    counts = np.maximum(np.arange(COUNT_MAX + 1), 1)
    return np.floor(UNITS * (1 + np.log(counts)) + 0.5).astype(np.int64)
