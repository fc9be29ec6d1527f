"""The weights of texts by a readable definition in numpy, for comparing with the kernel.

The functions give the same answers as those of `simdb_ext._sketch`; its stub has the contracts.
They take for granted that the arguments are right.  Tokens and the weights of counts are defined in
`simdb/sketch/cutting.py` and `simdb/sketch/weighing.py`.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import mmh3
import numpy as np
import numpy.typing as npt

from simdb.core.bits import SECOND_WORD, fmix64
from simdb.core.text_sketch import IdfTable
from simdb.sketch.cutting import code_points, contents_of, cut
from simdb.sketch.pipeline import Idf
from simdb.sketch.weighing import UNITS, weigh

U8 = npt.NDArray[np.uint8]
U64 = npt.NDArray[np.uint64]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
F32 = npt.NDArray[np.float32]

# The hashes of a shingle's tokens are rotated by multiples of this, so that order counts; 23 is
# coprime to 64.
ROTATION = 23

_HASH_BATCH = 1 << 14  # features whose bits are unpacked at once


def project_texts(
    texts: Sequence[str | bytes],
    *,
    unit: str,
    shingle: int,
    lowercase: bool,
    seed: int,
    replace: bool,
    start: int,
    counting: str = "tf",
    idf: Idf | None = None,
    dimensions: int = 128,
) -> tuple[I32 | F32, I64]:
    """Return the weights [n, dimensions] and the numbers of features int64[n] of texts.

    `start` is for the messages of the kernel.
    """
    features = _features_of_texts(texts, unit, shingle, lowercase, seed, replace)
    return _projected(features, counting, idf, dimensions)


def project_tokens(
    documents: Sequence[Sequence[str | bytes]],
    *,
    shingle: int,
    seed: int,
    replace: bool,
    start: int,
    counting: str = "tf",
    idf: Idf | None = None,
    dimensions: int = 128,
) -> tuple[I32 | F32, I64]:
    """Do `project_texts` for documents whose tokens are given; tokens are hashed as they are."""
    features = _features_of_tokens(documents, shingle, seed, replace)
    return _projected(features, counting, idf, dimensions)


def remembered(
    project: Callable[..., Any], documents: Sequence[Any], **options: Any
) -> tuple[I32 | F32, I64]:
    """Return `project(documents, **options)` from a cache: variants are tested on the same data."""
    known = tuple(each if isinstance(each, str | bytes) else tuple(each) for each in documents)
    answer: tuple[I32 | F32, I64] = _remembered(project, known, tuple(sorted(options.items())))
    return answer


@lru_cache(maxsize=200)
def _remembered(
    project: Callable[..., Any], documents: tuple[Any, ...], options: tuple[tuple[str, Any], ...]
) -> Any:
    weights, counts = project(documents, **dict(options))
    weights.flags.writeable = counts.flags.writeable = False
    return weights, counts


def _features_of_texts(
    texts: Sequence[str | bytes],
    unit: str,
    shingle: int,
    lowercase: bool,
    seed: int,
    replace: bool,
) -> Iterator[U64]:
    """Yield, for each text, both words of the hash of every occurrence of a feature."""
    for text in texts:
        codes = code_points(text, "replace" if replace else "strict")
        tokens = cut(codes, unit, lowercase)
        yield _features(_hash_tokens(tokens, seed), shingle)


def _features_of_tokens(
    documents: Sequence[Sequence[str | bytes]],
    shingle: int,
    seed: int,
    replace: bool,
) -> Iterator[U64]:
    """Do `_features_of_texts` for documents whose tokens are given."""
    for tokens in documents:
        contents = contents_of(tokens, "replace" if replace else "strict")
        yield _features(_hash_tokens(contents, seed), shingle)


def _hash_tokens(tokens: list[bytes], seed: int) -> U64:
    """Return both words of the hash of each token: uint64[n, 2]."""
    hashes = [mmh3.hash64(token, seed, signed=False) for token in tokens]
    return np.array(hashes, np.uint64).reshape(-1, 2)


def _features(tokens: U64, shingle: int) -> U64:
    """Return both words of the hash of every `shingle` consecutive tokens."""
    length = min(shingle, len(tokens))
    if length <= 1:
        return tokens
    features = np.zeros((len(tokens) - length + 1, 2), np.uint64)
    for place in range(length):
        turn = ROTATION * (length - 1 - place) % 64
        words = tokens[place : place + len(features)]
        features ^= words << np.uint64(turn) | words >> np.uint64(-turn % 64)
    return fmix64(features)


def _projected(
    documents: Iterator[U64], counting: str, idf: Idf | None, dimensions: int
) -> tuple[I32 | F32, I64]:
    """Return the weights and the numbers of features of documents given by their features."""
    rows, counts = [], []
    for features in documents:
        features, weights = units(features, counting, idf)
        rows.append(_sum(features, weights, dimensions))
        counts.append(len(features))
    sums = np.array(rows, np.int64).reshape(-1, dimensions)
    if is_whole(counting, idf):
        return sums.astype(np.int32), np.array(counts, np.int64)
    return (sums / UNITS).astype(np.float32), np.array(counts, np.int64)


def _sum(features: U64, weights: I64, dimensions: int) -> I64:
    """Return the sums of features' weights, int64[d]: plus where a bit is set, else minus."""
    ones = np.zeros(dimensions, np.int64)
    for first in range(0, len(features), _HASH_BATCH):
        batch = slice(first, first + _HASH_BATCH)
        ones += weights[batch] @ bits_of(features[batch], dimensions).astype(np.int64)
    return np.asarray(2 * ones - weights.sum(), np.int64)


def distinct(features: U64) -> tuple[U64, I64]:
    """Return the distinct rows of uint64[n, 2], in order of first occurrence, and their counts."""
    if not len(features):
        return features, np.empty(0, np.int64)
    rows, first, counts = np.unique(features, axis=0, return_index=True, return_counts=True)
    order = np.argsort(first)
    return rows[order], counts[order].astype(np.int64)


def units(features: U64, counting: str, idf: Idf | None) -> tuple[U64, I64]:
    """Return the features to sum up, uint64[n, 2], and the weight of each in units.

    If `is_whole`, every weight is 1 instead.
    """
    if counting == "tf" and idf is None:
        return features, np.ones(len(features), np.int64)
    table = None if idf is None else IdfTable(*idf, document_count=0, settings={})
    if counting == "tf":
        return features, weigh(features[:, 0], np.ones(len(features), np.int64), "tf", table)
    features, counts = distinct(features)
    if counting == "binary" and idf is None:
        return features, np.ones(len(features), np.int64)
    return features, weigh(features[:, 0], counts, counting, table)


def is_whole(counting: str, idf: Idf | None) -> bool:
    """Return whether every feature counts as 1, so that weights need no units."""
    return counting in ("tf", "binary") and idf is None


def word_of(first: U64, number: int) -> U64:
    """Return word `number`, from 1 on, of features given by their first words."""
    return fmix64(first ^ np.uint64(number * int(SECOND_WORD) % 2**64))


def bits_of(both: U64, dimensions: int) -> U8:
    """Return the bits of features, least significant first: uint8[n, dimensions].

    `both` uint64[n, 2]: their first two words; the others are made of the first.
    """
    others = [word_of(both[:, 0], number) for number in range(2, dimensions // 64)]
    words = np.column_stack([both, *others])
    content = np.ascontiguousarray(words, "<u8").view(np.uint8)
    return np.unpackbits(content, axis=1, bitorder="little")
