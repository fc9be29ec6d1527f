"""Permuting, sorting, merging and indexing columns; connected components; ids of documents.

Every function has a scalar definition in C.  All its variants give the same results.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

U8 = npt.NDArray[np.uint8]
U16 = npt.NDArray[np.uint16]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]

def variants() -> list[str]:
    """Return the names of the variants this processor can run, the slowest ("scalar") first."""

def select(variant: str) -> str:
    """Use `variant` from now on; return the name of the variant used before."""

def permute(fingerprints: U64, mask: int, out: U64) -> None:
    """Write keys of a table to `out`: the bits in `mask` move to the front, each group in order."""

def restore(keys: U64, mask: int, out: U64) -> None:
    """Undo `permute`: write the fingerprints of `keys` to `out`."""

def deal(hashes: U8, order: U16, sizes: Sequence[int]) -> U64:
    """Return the words of each part of some hashes, uint8[n, width]: uint64[parts, n].

    Part p has `sizes[p]` bits, 1 to 64, of the hash: the next ones of `order`, a permutation of all
    bits, in which bit 0 is the highest of the first byte.  They are the highest bits of its word,
    and the others are 0.
    """

def sort(keys: U64, ordinals: U32 | None = None) -> None:
    """Sort both columns in place by key; entries with equal keys keep their order (stable).

    `ordinals`: None if nothing goes with the keys.
    """

def count_bins(words: U64, mask: int, low: int, shift: int, counts: I64) -> None:
    """Add to `counts` how many of the words, permuted to keys, are in each bin: int64[bins].

    Key k is in bin (k - low) >> shift; keys below the first bin are in the first, and keys above
    the last bin in the last.  `mask`: see `permute`.
    """

def to_bins(
    words: U64,
    ordinals: U32,
    mask: int,
    low: int,
    shift: int,
    positions: I64,
    keys_out: U64,
    ordinals_out: U32,
) -> None:
    """Write each word, permuted to a key, and its ordinal at the next position of its bin.

    `positions`: int64[bins], where the first entry of each bin goes; afterwards, where the next
    one would go.  Raises ValueError, and may have written entries, if a position is not in the
    output.
    """

def sort_bins(keys: U64, ordinals: U32, bounds: I64) -> None:
    """Sort the entries from bounds[i] to bounds[i + 1] in place by key, for every i; stable.

    Needs scratch memory for the largest bin only.  Calls for different bins of the same arrays can
    run at the same time.
    """

def merge(
    left_keys: U64,
    left_ordinals: U32,
    right_keys: U64,
    right_ordinals: U32,
    keys: U64,
    ordinals: U32,
) -> None:
    """Merge two sorted columns into `keys` and `ordinals`; of equal keys, the left comes first."""

def keep(keys: U64, ordinals: U32, dead: U8, keys_out: U64, ordinals_out: U32) -> int:
    """Copy the entries whose ordinal has its bit clear in `dead`; return how many.

    Each ordinal has bit `ordinal & 7` of byte `ordinal >> 3`.  The output has room for all entries
    and may be the input itself.
    """

def directory(keys: U64, header_bits: int, out: U32) -> None:
    """Write the position of the first key at or above each header: uint32[2**header_bits + 1].

    `header_bits` is 0 to 32; the header of a key is its top `header_bits` bits.
    """

def tags(keys: U64, header_bits: int, out: U16) -> None:
    """Write the 16 bits of each key that follow its first `header_bits` (0 to 32) bits."""

def gather(ordinals: U32, start: int, segments: Sequence[U64], out: U64) -> None:
    """Write the fingerprint of each ordinal.

    The fingerprint of ordinal o is segments[i // s][i % s] with i = o - start; each array but the
    last has s of them, a power of two.  Raises CorruptError if an ordinal has none.
    """

def first_descent(keys: U64) -> int:
    """Return the position of the first key that is smaller than the key before it, or -1."""

def entry_sum(keys: U64, ordinals: U32) -> int:
    """Return a checksum of 64 bits of the entries of a table, which their order does not change.

    The entries of two tables together have the sum of both sums, modulo 2**64; a key with another
    ordinal counts differently.  `simdb_ext/arrange/entry_sum.h` has the definition.
    """

class Forest:
    """A union-find over the numbers 0 .. count - 1."""

    def __init__(self, count: int) -> None: ...
    @property
    def parents(self) -> U32:
        """The parent of each number, uint32[count]: a smaller member of its component.

        The smallest member is its own parent.  Searches read the array between two calls of `join`,
        and may attach a number to a smaller member.
        """

    def join(self, left: U32, right: U32) -> None:
        """Put left[i] and right[i] into one component, for every i."""
    def labels(self) -> U32:
        """Return the smallest member of each number's component: uint32[count]."""

def encode_ids(ids: Sequence[Any], key: bytes = b"") -> tuple[I64, U8, U64]:
    """Return the stored form of ids: offsets int64[n + 1], the bytes uint8, hashes uint64[n].

    A stored id is one tag byte and its content: `s` and UTF-8 for str, `b` and the bytes for bytes,
    `i` and 8 bytes little-endian two's complement for an int of -2**63 .. 2**63 - 1, `u` and 8
    bytes little-endian for 2**63 .. 2**64 - 1.  numpy integers count as int, bool does not.  The
    hash is SipHash-1-3 of tag and content under `key`, 16 bytes.  Without a key it is the first
    word of MurmurHash3_x64_128 with seed 0, for which anybody can make ids of one hash.

    Raises InputError with the position and the reason: a wrong type, an int out of range, a str
    with a lone surrogate, an empty str or bytes, or more than 1,023 bytes of content.
    """

def hash_ids(offsets: I64, content: U8, key: bytes = b"") -> U64:
    """Return the hashes of stored forms that follow each other, as `encode_ids` does: uint64[n]."""

def decode_ids(offsets: I64, content: U8) -> list[Any]:
    """Return the ids, as Python objects, of stored forms that follow each other.

    Raises CorruptError for a form that `encode_ids` does not write.
    """

def describe_ids(offsets: U32, content: U8) -> tuple[int, ...] | None:
    """Return None unless all stored forms are ints, () if they are no row, or else the row.

    A row is the tag, the first number and the step, modulo 2**64: form i has the number first +
    i * step.  No two ids of a row are equal.
    """

def row_at(row: tuple[int, ...], place: int) -> tuple[int, ...]:
    """Return the row that begins at a place of another."""

def join_rows(
    left: tuple[int, ...] | None, count: int, right: tuple[int, ...] | None, length: int
) -> tuple[int, ...] | None:
    """Return what `describe_ids` says of `count` forms and then `length` others.

    `left` and `right`: what it says of each.
    """

class PackedIds:
    """Ids that are ints: `count` of them in the bytes `packed`, see `arrange/identifiers.h`."""

    packed: U8
    count: int

    def __init__(self, packed: U8, count: int) -> None:
        """Raise ValueError unless these can be so many ids; the array is kept, not copied."""
    @property
    def forms(self) -> U8:
        """The stored forms of the ids, one after the other."""

def pack_ids(offsets: U32, content: U8) -> PackedIds | None:
    """Return stored forms packed; None unless they are ints with one tag.

    They take 24 bytes and, unless they are a row, 1 to 8 bytes for each.
    """

def row_ids(row: tuple[int, ...], count: int) -> PackedIds:
    """Return the first `count` ids of a row, packed."""

def find_in_rows(rows: U64, offsets: I64, content: U8, dead: U8 | None, found: I64) -> None:
    """Write to `found` int64[n], where it is negative, the ordinal of each id that is in a row.

    `rows` uint64[r, 5]: the first ordinal, the number of ids, tag, first number and step of each.
    Ordinals whose bits are set in `dead` are passed over.
    """

def candidates(hashes: U64, directory: U32, ordinals: U32, dead: U8 | None) -> tuple[I64, U32]:
    """Return the ordinals of a table under the header of each hash: starts int64[n + 1], uint32.

    They are those that `Identifiers.find` takes: `ordinals` are sorted by hashes that nobody has
    kept, and `directory` uint32[2^t + 1] says where those of each header begin.  Those whose bits
    are set in `dead` are left out.
    """

class Identifiers:
    """The stored ids of documents by ordinal, in segments of consecutive ordinals."""

    def __init__(self, segments: Sequence[tuple[int, U32, U8] | tuple[int, PackedIds]]) -> None:
        """Take segments: first ordinal, offsets uint32[k + 1] and the bytes; sorted and disjoint.

        A segment may have packed ids in place of offsets and bytes.

        The arrays are kept, not copied, and not read until an id is asked for.  Only then do
        offsets that do not lie within the bytes, or an absent ordinal, raise CorruptError.
        """
    def followed_by(self, first: int, offsets: U32, content: U8) -> Identifiers:
        """Return the same segments and one more, from the ordinal `first` on."""

    def gather(self, ordinals: U32) -> tuple[I64, U8]:
        """Return copies of the stored forms of `ordinals` (all present), one after the other."""
    def decode(self, ordinals: U32) -> list[Any]:
        """Return the ids of `ordinals` as Python objects."""
    def decode_one(self, ordinal: int) -> Any:
        """Return the id of one ordinal; faster than `decode`."""
    def find_one(self, ordinal: int) -> Any:
        """Return the same; None if no segment has the ordinal."""
    def find(self, ordinals: U32, starts: I64, offsets: I64, content: U8) -> I64:
        """Return which of its candidates has each id: int64[m], the last of several, -1 for none.

        Id q is content[offsets[q]:offsets[q + 1]]; its candidates are
        ordinals[starts[q]:starts[q + 1]], and starts[0] is 0.  Nothing is copied.
        """

def first_bytes(addresses: U64, lengths: I64) -> U8:
    """Return the first byte of each text: uint8[n]; 0 of a length that is not positive.

    The texts must be in memory at their addresses.  Raises ValueError for other lengths.
    """

def count_lines(content: bytes) -> int:
    """Return how many line feeds there are; faster than `bytes.count`, where lines are long."""

def scan_objects(
    content: bytes, texts: Sequence[tuple[str, ...]], others: Sequence[tuple[str, ...]]
) -> tuple[I64, U8, U64, I64, U8, U8]:
    """Return where the values at some paths are in lines that each hold an object of JSON.

    `content` is valid UTF-8 and ends with a line feed; ValueError otherwise, and for more than 32
    paths, which are tuples of names, and differ.  A value at one of `texts` is a string, at one of
    `others` also a whole number of at most 18 digits.

    Returns the size of each line int64[n]; whether it was taken (0), is blank (1) or refused (2)
    uint8[n]; the address, the length in bytes and the kind of the value at each path uint64[p, n],
    int64[p, n], uint8[p, n], texts first: nothing or null (0, of the length -1), a string (1), a
    whole number as it is written (2); and memory that some addresses lie in, beside `content`.

    A line is refused that is not one valid object, that has another value at a path or a field
    twice, and with a number of more than 512 bytes or 2^17 lists and objects inside each other.
    What is returned of it means nothing.
    """

def values_at(addresses: U64, lengths: I64, kinds: U8) -> list[str | int | None]:
    """Return the values of one path, as `scan_objects` describes them."""

def bytes_at(addresses: U64, lengths: I64) -> U8:
    """Return the bytes at some addresses, one after the other; nothing for a negative length."""

def read_ranges(descriptor: int, starts: I64, stops: I64) -> bytes:
    """Return the bytes from starts[i] to stops[i] of an open file, one range after the other.

    The ranges ascend, and none is empty; ValueError otherwise.  Returns what is before the end of
    the file if it ends in a range.  Raises OSError if it cannot be read.
    """
