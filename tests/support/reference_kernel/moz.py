"""Moz: makes the fingerprints of simhash-cpp, in Python.

`simdb_ext/_sketch.pyi` has the contract.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from simdb.errors import InputError
from simdb.sketch.cutting import code_points

U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]

BITS = 64
WINDOW_MAX = 64
TOKENS_MAX = (2**31 - 1) // 2  # with more tokens, a weight could overflow
WORD = 0xFFFFFFFF
# Rotations of lookup3: in the six steps that mix a block, and in the seven final steps.
MIX_TURNS = (4, 6, 8, 16, 19, 4)
END_TURNS = (14, 11, 25, 16, 4, 14, 24)

_HASH_BATCH = 1 << 14  # features whose bits are unpacked at once


def project_moz(
    texts: Sequence[str | bytes], *, window: int, replace: bool, start: int
) -> tuple[I32, I64]:
    """Return weights int32[n, 128], the second half 0, and numbers of tokens int64[n] of texts."""
    if not 1 <= window <= WINDOW_MAX:
        raise ValueError(f"window is {window}, not from 1 to {WINDOW_MAX}")
    weights = np.zeros((len(texts), 2 * BITS), np.int32)
    counts = np.zeros(len(texts), np.int64)
    for at, text in enumerate(texts):
        codes = code_points(text, start + at, "replace" if replace else "strict")
        features = cyclic(token_hashes(tokens_of(codes)), window)
        counts[at] = len(features)
        if counts[at] > TOKENS_MAX:
            raise InputError(f"document {start + at} has {counts[at]} features, over {TOKENS_MAX}")
        weights[at, :BITS] = _weights(features)
    return weights, counts


def lookup3(content: bytes) -> int:
    """Return both words of hashlittle2 (Jenkins 2006) with seeds 0, the first in the high half.

    `content` is not empty.
    """
    state = [(0xDEADBEEF + len(content)) & WORD] * 3
    for place in range(0, len(content), 12):
        block = content[place : place + 12].ljust(12, b"\0")
        words = (int.from_bytes(block[at : at + 4], "little") for at in (0, 4, 8))
        state = [(old + word) & WORD for old, word in zip(state, words, strict=True)]
        if place + 12 < len(content):
            _mix(state)
    return _end(state)


def tokens_of(codes: U32) -> list[bytes]:
    """Return the stretches of ASCII letters up to the first NUL."""
    ends = np.flatnonzero(codes == 0)
    codes = codes[: ends[0]] if len(ends) else codes
    is_letter = (codes < 0x80) & ((codes | 0x20) >= ord("a")) & ((codes | 0x20) <= ord("z"))
    return np.where(is_letter, codes, ord(" ")).astype(np.uint8).tobytes().split()


def token_hashes(tokens: list[bytes]) -> U64:
    """Return the hash of each token: uint64[n]."""
    known = {token: lookup3(token) for token in set(tokens)}
    return np.array([known[token] for token in tokens], np.uint64)


def cyclic(hashes: U64, window: int) -> U64:
    """Return feature i for each token i: the xor of the last `window` hashes up to i.

    The hash of token i - k is rotated to the left by k.
    """
    features = np.zeros(len(hashes), np.uint64)
    for age in range(min(window, len(hashes))):
        words = hashes[: len(hashes) - age]
        features[age:] ^= words << np.uint64(age) | words >> np.uint64(-age % BITS)
    return features


def _mix(state: list[int]) -> None:
    """Mix a block: a -= c; a ^= rot(c, 4); c += b; and so on round the three words."""
    for step, turn in enumerate(MIX_TURNS):
        here, before, after = step % 3, (step + 2) % 3, (step + 1) % 3
        state[here] = (state[here] - state[before] & WORD) ^ _turned(state[before], turn)
        state[before] = state[before] + state[after] & WORD


def _end(state: list[int]) -> int:
    """Mix the end: c ^= b; c -= rot(b, 14); and so on round the three words; return the hash."""
    for step, turn in enumerate(END_TURNS):
        here, before = (step + 2) % 3, (step + 1) % 3
        state[here] = (state[here] ^ state[before]) - _turned(state[before], turn) & WORD
    return state[2] << 32 | state[1]


def _turned(word: int, turn: int) -> int:
    """Rotate a word of 32 bits to the left."""
    return (word << turn | word >> 32 - turn) & WORD


def _weights(features: U64) -> I64:
    """Return twice the sum of the signs of each bit, the most significant first; -1 for a tie."""
    ones = np.zeros(BITS, np.int64)
    for first in range(0, len(features), _HASH_BATCH):
        content = features[first : first + _HASH_BATCH].astype(">u8").view(np.uint8)
        ones += np.unpackbits(content).reshape(-1, BITS).sum(axis=0, dtype=np.int64)
    sums = 2 * ones - len(features)
    return np.where((sums == 0) & (len(features) > 0), -1, 2 * sums)
