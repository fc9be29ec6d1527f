"""Text to features to weights to fingerprints and packed volatility vectors, in numpy.

The same functions with the same answers as `simdb_ext._sketch`, whose stub says what each does;
for machines without a compiled kernel, and the readable definition of it.  Texts are arrays of
code points; their properties come from a table of our own, so that a fingerprint does not change
with the Unicode version of the running Python.
"""

from collections.abc import Iterable, Sequence
from functools import cache

import mmh3
import numpy as np
import numpy.typing as npt

from simdb.errors import InputError
from simdb.fallback.unicode_table import CLASS_RANGES, LOWER_RANGES

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]

DIMENSIONS = 128
SHINGLE_MAX = 1024
FEATURES_MAX = 2**31 - 1  # or a weight could overflow
WORD, CJK, SPACE = 1, 2, 3  # classes of characters

# Consecutive tokens of a shingle are told apart by rotating their hashes; 23 is coprime to 64.
ROTATION = 23

# The second word of a ready feature's hash is made from its first by way of this constant.
SECOND_WORD = 0x9E3779B97F4A7C15

# Standard deviations of a weight per step of its quantised value (Max 1960, 16 levels).
QUANTISATION_STEP = 0.335

_HASH_BATCH = 1 << 14  # features whose bits are unpacked at once


def variants() -> list[str]:
    """Names of the variants there are: numpy has but one."""
    return ["numpy"]


def select(variant: str) -> str:
    """Use `variant` from now on; returns the name of the one in use before."""
    if variant != "numpy":
        raise ValueError(f"no variant {variant!r}; there are: numpy")
    return "numpy"


def murmur(content: bytes, seed: int) -> tuple[int, int]:
    """Both words of MurmurHash3_x64_128."""
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
) -> tuple[I32, I64]:
    """Weights int32[n, 128] and the number of features int64[n] of each text."""
    if unit not in ("words", "characters"):
        raise ValueError(f"unit is {unit!r}, not 'words' or 'characters'")
    _check_shingle(shingle)
    _check_seed(seed)
    cut = _words if unit == "words" else _characters
    projections = []
    for position, text in enumerate(texts, start):
        codes = _code_points(text, position, "replace" if replace else "strict")
        tokens = cut(codes, _lower_case(codes) if lowercase else codes)
        projections.append(_project(_hash_tokens(tokens, seed), shingle, position))
    return _stacked(projections)


def project_tokens(
    documents: Sequence[Sequence[str | bytes]],
    *,
    shingle: int,
    seed: int,
    replace: bool,
    start: int,
) -> tuple[I32, I64]:
    """The same for documents whose tokens are given; each token is hashed as it is."""
    _check_shingle(shingle)
    _check_seed(seed)
    projections = []
    for position, tokens in enumerate(documents, start):
        contents = _contents(tokens, position, "replace" if replace else "strict")
        projections.append(_project(_hash_tokens(contents, seed), shingle, position))
    return _stacked(projections)


def project_features(offsets: I64, hashes: U64, weights: F32 | None) -> F32:
    """Weights float32[n, 128] of documents given as features with weights (1 where None)."""
    _check_features(offsets, hashes, weights)
    if weights is None:
        weights = np.ones(len(hashes), np.float32)
    projected = np.empty((len(offsets) - 1, DIMENSIONS), np.float32)
    for document in range(len(projected)):
        total = np.zeros(DIMENSIONS)
        for first in range(offsets[document], offsets[document + 1], _HASH_BATCH):
            batch = slice(first, min(first + _HASH_BATCH, offsets[document + 1]))
            words = np.stack([hashes[batch], _fmix64(hashes[batch] ^ np.uint64(SECOND_WORD))], 1)
            signs = np.where(_bits(words) == 1, 1.0, -1.0)
            signed = signs * weights[batch, None]
            # A cumulative sum adds one row after the other, as the contract asks; a sum may not.
            total = np.cumsum(np.concatenate([total[None], signed]), axis=0)[-1]
        with np.errstate(over="ignore"):
            projected[document] = total
    return projected


def quantise(weights: I32 | F32) -> tuple[U64, U8]:
    """Fingerprints uint64[n] and packed vectors uint8[n, d / 2] of weights [n, d], d 64 or 128."""
    if weights.dtype not in (np.int32, np.float32):
        raise TypeError(f"weights are {weights.dtype}, not int32 or float32")
    if weights.ndim != 2 or weights.shape[1] not in (64, DIMENSIONS):
        raise ValueError(f"weights have shape {weights.shape}, not (n, 64) or (n, 128)")
    count, dimensions = weights.shape
    values = weights.astype(np.float64)
    squares = np.zeros(count)
    for dimension in range(dimensions):
        squares += values[:, dimension] * values[:, dimension]
    if not np.isfinite(squares).all():
        raise ValueError(f"weights of row {np.argmin(np.isfinite(squares))} are not finite")
    spread = QUANTISATION_STEP * np.sqrt(squares / dimensions)
    scale = np.divide(1.0, spread, out=np.zeros(count), where=squares > 0)
    halves = np.clip(np.floor(values * scale[:, None]) + 8, 0, 15).astype(np.uint8)
    signs = np.ascontiguousarray(weights[:, :64] >= 0)
    fingerprints = np.packbits(signs, axis=1, bitorder="little").view("<u8").reshape(count)
    width = dimensions // 2
    return fingerprints, halves[:, :width] | halves[:, width:] << 4


def _code_points(text: str | bytes, position: int, errors: str) -> U32:
    """The characters of document number `position`, checked."""
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8", errors)
        if isinstance(text, str):
            return np.frombuffer(text.encode("utf-32-le", errors), "<u4")
    except UnicodeDecodeError as error:
        raise InputError(f"document {position} is not valid UTF-8: {error}") from error
    except UnicodeEncodeError as error:
        raise InputError(f"document {position} has a lone surrogate: {error}") from error
    raise InputError(f"document {position} is {type(text).__name__}, not str or bytes")


def _contents(tokens: Sequence[str | bytes], position: int, errors: str) -> list[bytes]:
    """The UTF-8 of each token of document number `position`."""
    if isinstance(tokens, (str, bytes)) or not isinstance(tokens, Iterable):
        raise InputError(f"document {position} is {type(tokens).__name__}, not a list of tokens")
    contents = []
    for number, token in enumerate(tokens):
        if isinstance(token, bytes):
            contents.append(token)
        elif isinstance(token, str):
            try:
                contents.append(token.encode("utf-8", errors))
            except UnicodeEncodeError as error:
                message = f"document {position} has a lone surrogate in token {number}: {error}"
                raise InputError(message) from error
        else:
            what = f"a {type(token).__name__} as token {number}, not str or bytes"
            raise InputError(f"document {position} has {what}")
    return contents


def _words(codes: U32, shown: U32) -> list[bytes]:
    """The words of a text, cut by the classes of `codes`, spelled as in `shown`."""
    classes = _properties()[0][codes]
    is_word = classes == WORD
    is_single = classes == CJK
    starts = is_single | (is_word & ~np.concatenate([[False], is_word[:-1]]))
    stops = is_single | (is_word & ~np.concatenate([is_word[1:], [False]]))
    return _spell(shown, np.flatnonzero(starts), np.flatnonzero(stops) + 1)


def _characters(codes: U32, shown: U32) -> list[bytes]:
    """The characters of a text, white space folded to one space and cut off at both ends."""
    is_space = _properties()[0][codes] == SPACE
    follows_space = np.concatenate([[True], is_space[:-1]])
    kept = np.where(is_space, np.uint32(ord(" ")), shown)[~(is_space & follows_space)]
    if is_space.size and is_space[-1]:
        kept = kept[:-1]
    return _spell(kept, np.arange(len(kept)), np.arange(1, len(kept) + 1))


def _spell(codes: U32, starts: npt.NDArray[np.intp], stops: npt.NDArray[np.intp]) -> list[bytes]:
    """The UTF-8 of codes[starts[i]:stops[i]] for every i."""
    lengths = np.full(len(codes), 1) + (codes >= 0x80) + (codes >= 0x800) + (codes >= 0x10000)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    content = codes.astype("<u4").tobytes().decode("utf-32-le").encode("utf-8")
    bounds = zip(offsets[starts].tolist(), offsets[stops].tolist(), strict=True)
    return [content[start:stop] for start, stop in bounds]


def _lower_case(codes: U32) -> U32:
    """The one-to-one lower-case mapping of every character."""
    return (codes + _properties()[1][codes]).astype(np.uint32)


@cache
def _properties() -> tuple[U8, I32]:
    """Class of, and what to add for the lower case of, every code point."""
    classes = np.zeros(0x110000, np.uint8)
    code = 0
    for skipped, count, kind in np.fromstring(CLASS_RANGES, np.int32, sep=" ").reshape(-1, 3):
        code += skipped
        classes[code : code + count] = kind
        code += count
    deltas = np.zeros(0x110000, np.int32)
    for first, count, step, delta in np.fromstring(LOWER_RANGES, np.int32, sep=" ").reshape(-1, 4):
        deltas[first : first + count * step : step] = delta
    return classes, deltas


def _hash_tokens(tokens: list[bytes], seed: int) -> U64:
    """Both words of the hash of every token: uint64[n, 2]."""
    hashes = [mmh3.hash64(token, seed, signed=False) for token in tokens]
    return np.array(hashes, np.uint64).reshape(-1, 2)


def _project(tokens: U64, shingle: int, position: int) -> tuple[I32, int]:
    """Weights and number of the features of one document."""
    features = _features(tokens, shingle)
    if len(features) > FEATURES_MAX:
        raise InputError(f"document {position} has {len(features)} features, over {FEATURES_MAX}")
    counts = np.zeros(DIMENSIONS, np.int64)
    for first in range(0, len(features), _HASH_BATCH):
        counts += _bits(features[first : first + _HASH_BATCH]).sum(axis=0, dtype=np.int64)
    return (2 * counts - len(features)).astype(np.int32), len(features)


def _features(tokens: U64, shingle: int) -> U64:
    """Both words of the hash of every `shingle` consecutive tokens."""
    length = min(shingle, len(tokens))
    if length <= 1:
        return tokens
    features = np.zeros((len(tokens) - length + 1, 2), np.uint64)
    for place in range(length):
        turn = ROTATION * (length - 1 - place) % 64
        words = tokens[place : place + len(features)]
        features ^= words << np.uint64(turn) | words >> np.uint64(-turn % 64)
    return _fmix64(features)


def _fmix64(words: U64) -> U64:
    """The finaliser of MurmurHash3_x64_128."""
    words = (words ^ words >> np.uint64(33)) * np.uint64(0xFF51AFD7ED558CCD)
    words = (words ^ words >> np.uint64(33)) * np.uint64(0xC4CEB9FE1A85EC53)
    return words ^ words >> np.uint64(33)


def _bits(words: U64) -> U8:
    """The bits of uint64[n, 2], least significant first: uint8[n, 128]."""
    content = np.ascontiguousarray(words, "<u8").view(np.uint8)
    return np.unpackbits(content, axis=1, bitorder="little")


def _stacked(projections: list[tuple[I32, int]]) -> tuple[I32, I64]:
    weights = np.zeros((len(projections), DIMENSIONS), np.int32)
    for row, (projection, _) in zip(weights, projections, strict=True):
        row[:] = projection
    return weights, np.array([count for _, count in projections], np.int64)


def _check_seed(seed: int) -> None:
    if not 0 <= seed < 2**32:
        raise ValueError(f"seed is {seed}, not from 0 to 2**32 - 1")


def _check_shingle(shingle: int) -> None:
    if not 1 <= shingle <= SHINGLE_MAX:
        raise ValueError(f"shingle is {shingle}, not from 1 to {SHINGLE_MAX}")


def _check_features(offsets: I64, hashes: U64, weights: F32 | None) -> None:
    """Raise unless the three arrays of `project_features` fit together."""
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
