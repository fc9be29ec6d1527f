"""Sketch: turns texts into features, weights, fingerprints, vectors and minima, in numpy.

The functions give the same answers as those of `simdb_ext._sketch`; its stub has the contracts.
They serve machines without a compiled kernel and are its readable definition.
"""

from collections.abc import Iterator, Sequence

import mmh3
import numpy as np
import numpy.typing as npt

from reference_kernel import bags, minima, moz, overlap
from reference_kernel.mix import bits_of, word_of
from reference_kernel.vocabulary import Vocabulary
from simdb.errors import InputError
from simdb.mix import fmix64
from simdb.sketch import weighing
from simdb.sketch.cutting import CUTS, code_points, contents_of, cut
from simdb.sketch.permutations import Family
from simdb.sketch.weighing import Idf
from simdb.vector_form import fingerprints_of, pack

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]

# How many weights can be made of a document, and how many can be quantised.
PROJECTED = (128, 256)
QUANTISED = (64, *PROJECTED)
SHINGLE_MAX = 1024
FEATURES_MAX = 2**31 - 1  # with more features, a weight could overflow

# The hashes of a shingle's tokens are rotated by multiples of this, so that order counts; 23 is
# coprime to 64.
ROTATION = 23

# Standard deviations of a weight per step of its quantised value (Max 1960, 16 levels).
QUANTISATION_STEP = 0.335

_HASH_BATCH = 1 << 14  # features whose bits are unpacked at once

agreements = minima.agreements
band_keys = minima.band_keys
overlaps = overlap.overlaps
project_moz = moz.project_moz
sign_features = minima.sign_features
sign_weighted = minima.sign_weighted


def variants() -> list[str]:
    """Return the names of all variants: numpy is the only one."""
    return ["numpy"]


def select(variant: str) -> str:
    """Use `variant` from now on; return the name of the variant used before."""
    if variant != "numpy":
        raise ValueError(f"no variant {variant!r}; there are: numpy")
    return "numpy"


def is_utf8(content: bytes) -> bool:
    """Return whether bytes are valid UTF-8."""
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def murmur(content: bytes, seed: int) -> tuple[int, int]:
    """Return both words of MurmurHash3_x64_128."""
    _check_seed(seed)
    first, second = mmh3.hash64(content, seed, signed=False)
    return first, second


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
    vocabulary: Vocabulary | None = None,
    idf: Idf | None = None,
    dimensions: int = 128,
) -> tuple[I32 | F32, I64]:
    """Return the weights [n, dimensions] and the numbers of features int64[n] of texts."""
    _check_counting(counting, idf)
    features = _features_of_texts(texts, unit, shingle, lowercase, seed, replace, start, vocabulary)
    return _projected(features, counting, idf, start, dimensions)


def project_tokens(
    documents: Sequence[Sequence[str | bytes]],
    *,
    shingle: int,
    seed: int,
    replace: bool,
    start: int,
    counting: str = "tf",
    vocabulary: Vocabulary | None = None,
    idf: Idf | None = None,
    dimensions: int = 128,
) -> tuple[I32 | F32, I64]:
    """Do `project_texts` for documents whose tokens are given; tokens are hashed as they are."""
    _check_counting(counting, idf)
    features = _features_of_tokens(documents, shingle, seed, replace, start, vocabulary)
    return _projected(features, counting, idf, start, dimensions)


def count_texts(
    texts: Sequence[str | bytes],
    *,
    unit: str,
    shingle: int,
    lowercase: bool,
    seed: int,
    replace: bool,
    start: int,
    vocabulary: Vocabulary | None = None,
) -> tuple[I64, U64, U32]:
    """Return offsets, hashes and counts of texts' distinct features, in order of first use."""
    return _counted(
        _features_of_texts(texts, unit, shingle, lowercase, seed, replace, start, vocabulary)
    )


def count_tokens(
    documents: Sequence[Sequence[str | bytes]],
    *,
    shingle: int,
    seed: int,
    replace: bool,
    start: int,
    vocabulary: Vocabulary | None = None,
) -> tuple[I64, U64, U32]:
    """Do `count_texts` for documents whose tokens are given."""
    return _counted(_features_of_tokens(documents, shingle, seed, replace, start, vocabulary))


def project_features(
    offsets: I64, hashes: U64, weights: F32 | None, *, dimensions: int = 128
) -> F32:
    """Return the weights float32[n, dimensions] of documents given as features with weights."""
    _check_features(offsets, hashes, weights)
    _check_dimensions(dimensions)
    if weights is None:
        weights = np.ones(len(hashes), np.float32)
    projected = np.empty((len(offsets) - 1, dimensions), np.float32)
    for document in range(len(projected)):
        total = np.zeros(dimensions)
        for first in range(offsets[document], offsets[document + 1], _HASH_BATCH):
            batch = slice(first, min(first + _HASH_BATCH, offsets[document + 1]))
            both = np.stack([hashes[batch], word_of(hashes[batch], 1)], 1)
            signs = np.where(bits_of(both, dimensions) == 1, 1.0, -1.0)
            terms = signs * weights[batch, None]
            # The contract asks to add row after row; a cumulative sum does, a sum need not.
            total = np.cumsum(np.concatenate([total[None], terms]), axis=0)[-1]
        with np.errstate(over="ignore"):
            projected[document] = total
    return projected


def sign_texts(
    texts: Sequence[str | bytes],
    *,
    unit: str,
    shingle: int,
    lowercase: bool,
    seed: int,
    replace: bool,
    start: int,
    family: Family,
    feature_bits: int,
    vocabulary: Vocabulary | None = None,
) -> tuple[U32, I64]:
    """Return the signatures uint32[n, p] and the numbers of features int64[n] of texts."""
    return _minima(
        _features_of_texts(texts, unit, shingle, lowercase, seed, replace, start, vocabulary),
        family,
        feature_bits,
    )


def sign_tokens(
    documents: Sequence[Sequence[str | bytes]],
    *,
    shingle: int,
    seed: int,
    replace: bool,
    start: int,
    family: Family,
    feature_bits: int,
    vocabulary: Vocabulary | None = None,
) -> tuple[U32, I64]:
    """Do `sign_texts` for documents whose tokens are given; tokens are hashed as they are."""
    features = _features_of_tokens(documents, shingle, seed, replace, start, vocabulary)
    return _minima(features, family, feature_bits)


def quantise(weights: I32 | F32) -> tuple[U64, U8]:
    """Return fingerprints uint64[n] and packed vectors uint8[n, d / 2] of weights [n, d].

    d is 64, 128 or 256.
    """
    if weights.dtype not in (np.int32, np.float32):
        raise TypeError(f"weights are {weights.dtype}, not int32 or float32")
    if weights.ndim != 2 or weights.shape[1] not in QUANTISED:
        raise ValueError(f"weights have shape {weights.shape}, not (n, 64), (n, 128) or (n, 256)")
    count, dimensions = weights.shape
    values = weights.astype(np.float64)
    squares = np.zeros(count)
    for dimension in range(dimensions):
        squares += values[:, dimension] * values[:, dimension]
    if not np.isfinite(squares).all():
        raise ValueError(f"weights of row {np.argmin(np.isfinite(squares))} are not finite")
    spread = QUANTISATION_STEP * np.sqrt(squares / dimensions)
    scale = np.divide(1.0, spread, out=np.zeros(count), where=squares > 0)
    # A step is rounded down, so its weight is the odd number in its middle, in half steps.
    steps = np.clip(np.floor(values * scale[:, None]), -8, 7).astype(np.int8)
    return fingerprints_of(weights), pack(2 * steps + np.int8(1))


def _hash_tokens(tokens: list[bytes], seed: int, vocabulary: Vocabulary | None) -> U64:
    """Return both words of the hash of each token that is not a stop word: uint64[n, 2]."""
    if vocabulary is not None:
        tokens = vocabulary.translate(tokens)
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


def _features_of_texts(
    texts: Sequence[str | bytes],
    unit: str,
    shingle: int,
    lowercase: bool,
    seed: int,
    replace: bool,
    start: int,
    vocabulary: Vocabulary | None,
) -> Iterator[U64]:
    """Yield, for each text, both words of the hash of every occurrence of a feature."""
    _check_unit(unit)
    _check_shingle(shingle)
    _check_seed(seed, vocabulary)
    if unit == "characters" and vocabulary is not None:
        raise ValueError("unit 'characters' takes no vocabulary")
    for position, text in enumerate(texts, start):
        codes = code_points(text, position, "replace" if replace else "strict")
        tokens = cut(codes, unit, lowercase)
        yield _features(_hash_tokens(tokens, seed, vocabulary), shingle)


def _features_of_tokens(
    documents: Sequence[Sequence[str | bytes]],
    shingle: int,
    seed: int,
    replace: bool,
    start: int,
    vocabulary: Vocabulary | None,
) -> Iterator[U64]:
    """Do `_features_of_texts` for documents whose tokens are given."""
    _check_shingle(shingle)
    _check_seed(seed, vocabulary)
    for position, tokens in enumerate(documents, start):
        contents = contents_of(tokens, position, "replace" if replace else "strict")
        yield _features(_hash_tokens(contents, seed, vocabulary), shingle)


def _projected(
    documents: Iterator[U64], counting: str, idf: Idf | None, start: int, dimensions: int
) -> tuple[I32 | F32, I64]:
    """Return the weights and the numbers of features of documents given by their features."""
    _check_dimensions(dimensions)
    rows, counts = [], []
    for position, features in enumerate(documents, start):
        if len(features) > FEATURES_MAX:
            raise InputError(
                f"document {position} has {len(features)} features, over {FEATURES_MAX}"
            )
        features, weights = bags.units(features, counting, idf)
        rows.append(_sum(features, weights, dimensions))
        counts.append(len(features))
    sums = np.array(rows, np.int64).reshape(-1, dimensions)
    if bags.is_whole(counting, idf):
        return sums.astype(np.int32), np.array(counts, np.int64)
    return (sums / weighing.UNITS).astype(np.float32), np.array(counts, np.int64)


def _sum(features: U64, weights: I64, dimensions: int) -> I64:
    """Return the sums of features' weights, int64[d]: plus where a bit is set, else minus."""
    ones = np.zeros(dimensions, np.int64)
    for first in range(0, len(features), _HASH_BATCH):
        batch = slice(first, first + _HASH_BATCH)
        ones += weights[batch] @ bits_of(features[batch], dimensions).astype(np.int64)
    return np.asarray(2 * ones - weights.sum(), np.int64)


def _counted(documents: Iterator[U64]) -> tuple[I64, U64, U32]:
    """Return offsets, hashes and counts of the distinct features of documents."""
    hashes, counts, lengths = [np.empty(0, np.uint64)], [np.empty(0, np.int64)], [0]
    for features in documents:
        rows, numbers = bags.distinct(features)
        hashes.append(rows[:, 0])
        counts.append(numbers)
        lengths.append(len(rows))
    return (
        np.cumsum(lengths).astype(np.int64),
        np.concatenate(hashes),
        np.concatenate(counts).astype(np.uint32),
    )


def _minima(documents: Iterator[U64], family: Family, feature_bits: int) -> tuple[U32, I64]:
    """Return the signatures and the numbers of features of documents given by their features."""
    minima.check_family(family, feature_bits)
    rows, counts = [], []
    for features in documents:
        rows.append(minima.minima_of(features[:, 0], family, feature_bits))
        counts.append(len(features))
    return np.array(rows, np.uint32).reshape(-1, len(family[1])), np.array(counts, np.int64)


def _check_unit(unit: str) -> None:
    """Raise ValueError for an unknown unit of text."""
    if unit not in CUTS:
        raise ValueError(f"unit is {unit!r}, not one of {', '.join(map(repr, CUTS))}")


def _check_counting(counting: str, idf: Idf | None) -> None:
    """Raise ValueError for an unknown way of counting or an IDF table that does not fit."""
    if counting not in bags.COUNTINGS:
        known = ", ".join(map(repr, bags.COUNTINGS))
        raise ValueError(f"counting is {counting!r}, not one of {known}")
    if idf is not None:
        bags.check_idf(idf)


def _check_dimensions(dimensions: int) -> None:
    """Raise ValueError for a number of weights that cannot be made."""
    if dimensions not in PROJECTED:
        raise ValueError(f"dimensions is {dimensions}, not 128 or 256")


def _check_seed(seed: int, vocabulary: Vocabulary | None = None) -> None:
    """Raise ValueError for a seed out of range, or one that is not the vocabulary's."""
    if not 0 <= seed < 2**32:
        raise ValueError(f"seed is {seed}, not from 0 to 2**32 - 1")
    if vocabulary is not None and vocabulary.seed != seed:
        raise ValueError(f"the vocabulary has seed {vocabulary.seed}, not {seed}")


def _check_shingle(shingle: int) -> None:
    """Raise ValueError for a shingle length out of range."""
    if not 1 <= shingle <= SHINGLE_MAX:
        raise ValueError(f"shingle is {shingle}, not from 1 to {SHINGLE_MAX}")


def _check_features(offsets: I64, hashes: U64, weights: F32 | None) -> None:
    """Raise ValueError unless the three arrays of `project_features` fit together."""
    for name, array, dtype in (
        ("offsets", offsets, np.dtype(np.int64)),
        ("hashes", hashes, np.dtype(np.uint64)),
        ("weights", weights, np.dtype(np.float32)),
    ):
        if array is not None and (array.dtype != dtype or array.ndim != 1):
            raise ValueError(f"{name} are {array.dtype}[{array.ndim} axes], not {dtype}[1 axis]")
    if len(offsets) == 0 or offsets.min() < 0 or offsets.max() > len(hashes):
        raise ValueError(f"offsets do not lie within the {len(hashes)} hashes")
    if (np.diff(offsets) < 0).any():
        raise ValueError("offsets descend")
    if weights is not None and len(weights) != len(hashes):
        raise ValueError(f"{len(weights)} weights for {len(hashes)} hashes")
    if weights is not None and not np.isfinite(weights).all():
        raise ValueError(f"weight {np.argmin(np.isfinite(weights))} is not finite")
