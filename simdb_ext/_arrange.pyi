"""Permuting, sorting, merging and indexing columns; connected components; document ids.

Every function has a scalar definition in C and answers like `simdb.fallback.arrange`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]

def variants() -> list[str]:
    """Names of the variants this processor can run, the slowest ("scalar") first."""

def select(variant: str) -> str:
    """Use `variant` from now on; returns the name of the one in use before."""

def permute(fingerprints: U64, mask: int, out: U64) -> None:
    """Keys of a table: the bits in `mask` moved to the front, each group in its old order."""

def restore(keys: U64, mask: int, out: U64) -> None:
    """The opposite of `permute`."""

def sort(keys: U64, ordinals: U32) -> None:
    """Sort both columns in place by key; entries with equal keys keep their order (stable)."""

def merge(
    left_keys: U64,
    left_ordinals: U32,
    right_keys: U64,
    right_ordinals: U32,
    keys: U64,
    ordinals: U32,
) -> None:
    """Merge two sorted columns into `keys` and `ordinals`; on equal keys the left comes first."""

def keep(keys: U64, ordinals: U32, dead: U8, keys_out: U64, ordinals_out: U32) -> int:
    """Copy the entries whose ordinal's bit is not set in `dead`; returns how many.

    `dead` has bit `ordinal & 7` of byte `ordinal >> 3` for each ordinal.  The output has room for
    all entries and may be the input itself.
    """

def directory(keys: U64, header_bits: int, out: U32) -> None:
    """Position of the first key at or above each header: uint32[2**header_bits + 1].

    `header_bits` is 0 to 32; the header of a key is its top `header_bits` bits.
    """

def first_descent(keys: U64) -> int:
    """Position of the first key that is smaller than the one before it, or -1."""

class Forest:
    """Union-find over 0 .. count - 1."""

    def __init__(self, count: int) -> None: ...
    def join(self, left: U32, right: U32) -> None:
        """Put left[i] and right[i] into one component, for every i."""
    def labels(self) -> U32:
        """The smallest member of each number's component: uint32[count]."""

def encode_ids(ids: Sequence[Any]) -> tuple[I64, U8, U64]:
    """Stored form of user ids: offsets int64[n + 1] into the bytes, the bytes, hashes uint64[n].

    An id is one tag byte and its content: `s` and UTF-8 for str, `b` and the bytes for bytes,
    `i` and 8 bytes little-endian two's complement for an int of -2**63 .. 2**63 - 1, `u` and 8
    bytes little-endian for 2**63 .. 2**64 - 1.  Numpy integers count as int, bool does not.  The
    hash is the first word of MurmurHash3_x64_128 with seed 0 over tag and content.

    Raises InputError naming the position and the reason: wrong type, int out of range, a str with
    a lone surrogate, an empty str or bytes, more than 1,023 bytes of content.
    """

def decode_ids(offsets: I64, content: U8) -> list[Any]:
    """The ids, as Python objects, of consecutive stored forms.

    Raises CorruptError for a form that `encode_ids` does not write.
    """

class Identifiers:
    """Stored ids by ordinal, over segments of consecutive ordinals."""

    def __init__(self, segments: Sequence[tuple[int, U32, U8]]) -> None:
        """Each segment: its first ordinal, offsets uint32[k + 1] and the bytes.  Sorted, disjoint.

        The arrays are kept, not copied, and not looked at until an id is asked for; offsets that
        do not lie within the bytes, or an absent ordinal, then raise CorruptError.
        """
    def gather(self, ordinals: U32) -> tuple[I64, U8]:
        """Copies of the stored forms of `ordinals` (which are all present), one after the other."""
    def decode(self, ordinals: U32) -> list[Any]:
        """The ids themselves."""
    def decode_one(self, ordinal: int) -> Any:
        """One id, fast."""
    def equal(self, ordinals: U32, offsets: I64, content: U8) -> U8:
        """1 where the stored form of ordinals[i] is content[offsets[i]:offsets[i + 1]], else 0."""
