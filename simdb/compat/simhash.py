"""simhash-py: its functions, with the same names and results.

    from simdb.compat import simhash        # was: import simhash

Where the result of simhash-py is undefined, these functions raise an error: InputError for numbers
that do not fit in 64 bits, and OptionError for a number of blocks that does not fit the distance.
"""

import hashlib
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from simdb import database
from simdb.core.bits import FINGERPRINT_BITS
from simdb.core.errors import OptionError
from simdb.database import as_bits, distinct

Token = TypeVar("Token")

COUNTED_HASHES = 1 << 16


def compute(hashes: Any) -> int:
    """Return the simhash of 64-bit hashes: each bit that is set in more than half of them.

    The simhash of no hashes is 0.
    """
    bits = as_bits(hashes)
    counts = np.zeros(FINGERPRINT_BITS, np.int64)
    for start in range(0, len(bits), COUNTED_HASHES):
        octets = bits[start : start + COUNTED_HASHES].astype("<u8").view(np.uint8)
        flags = np.unpackbits(octets.reshape(-1, FINGERPRINT_BITS // 8), axis=1, bitorder="little")
        counts += flags.sum(axis=0, dtype=np.int64)
    return sum(1 << place for place in np.flatnonzero(2 * counts > len(bits)).tolist())


def num_differing_bits(a: int, b: int) -> int:
    """Return the number of bits in which two 64-bit hashes differ."""
    return database.distance(a, b)


def find_all(hashes: Any, number_of_blocks: int, different_bits: int) -> list[tuple[int, int]]:
    """Return all pairs of hashes that differ in 1 to `different_bits` bits, the smaller hash first.

    Repeated hashes count once.  The pairs are sorted; in simhash-py their order is arbitrary.
    """
    values = distinct(as_bits(hashes))
    pairs = database.find_all(values, number_of_blocks, different_bits)
    return sorted(zip(values[pairs.left].tolist(), values[pairs.right].tolist(), strict=True))


def shingle(tokens: Iterable[Token], window: int = 4) -> Iterator[list[Token]]:
    """Yield each list of `window` consecutive tokens; nothing for fewer tokens."""
    if window <= 0:
        raise OptionError(
            f"window, the number of tokens in a shingle, must be 1 or more, got {window}"
        )
    source = iter(tokens)
    shown = deque(islice(source, window - 1), maxlen=window)
    for token in source:
        shown.append(token)
        yield list(shown)


def unsigned_hash(obj: bytes) -> int:
    """Return a 64-bit hash of bytes: the first eight bytes of their MD5 digest, big-endian."""
    return int.from_bytes(hashlib.md5(obj, usedforsecurity=False).digest()[:8], "big")
