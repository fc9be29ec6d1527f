"""The functions of simhash-py, by its names and with its answers.

    from simdb.compat import simhash        # was: import simhash

What it leaves undefined is refused with an error here: numbers that are no 64 bits raise
InputError, a number of blocks that cannot serve the distance raises OptionError.
"""

import hashlib
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from simdb import functions
from simdb.bits import FINGERPRINT_BITS
from simdb.engine.clusters.arrays import as_bits, distinct
from simdb.errors import OptionError

Token = TypeVar("Token")

COUNTED_HASHES = 1 << 16


def compute(hashes: Any) -> int:
    """The simhash of 64-bit hashes: each bit that is set in more than half of them; 0 of none."""
    bits = as_bits(hashes)
    counts = np.zeros(FINGERPRINT_BITS, np.int64)
    for start in range(0, len(bits), COUNTED_HASHES):
        octets = bits[start : start + COUNTED_HASHES].astype("<u8").view(np.uint8)
        flags = np.unpackbits(octets.reshape(-1, FINGERPRINT_BITS // 8), axis=1, bitorder="little")
        counts += flags.sum(axis=0, dtype=np.int64)
    return sum(1 << place for place in np.flatnonzero(2 * counts > len(bits)).tolist())


def num_differing_bits(a: int, b: int) -> int:
    """In how many of their 64 bits two hashes differ."""
    return functions.distance(a, b)


def find_all(hashes: Any, number_of_blocks: int, different_bits: int) -> list[tuple[int, int]]:
    """Every two different hashes that differ in at most `different_bits`, the smaller one first.

    Each value counts once, however often it is given.  Sorted; there the order is arbitrary.
    """
    values = distinct(as_bits(hashes))
    pairs = functions.find_all(values, number_of_blocks, different_bits)
    return sorted(zip(values[pairs.left].tolist(), values[pairs.right].tolist(), strict=True))


def shingle(tokens: Iterable[Token], window: int = 4) -> Iterator[list[Token]]:
    """Every `window` consecutive tokens, as lists; none where there are fewer."""
    if window <= 0:
        raise OptionError(f"window is the number of tokens in a shingle, 1 or more, not {window}")
    source = iter(tokens)
    shown = deque(islice(source, window - 1), maxlen=window)
    for token in source:
        shown.append(token)
        yield list(shown)


def unsigned_hash(obj: bytes) -> int:
    """A 64-bit hash of bytes: the first eight of their MD5 digest, most significant first."""
    return int.from_bytes(hashlib.md5(obj, usedforsecurity=False).digest()[:8], "big")
