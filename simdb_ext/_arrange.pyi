"""Operations on columns of tables, connected components, and ids of documents.

A table is two columns, `keys` uint64[n] and `ordinals` uint32[n].  Outputs that a caller passes
must have exactly the length that is stated, or else ValueError is raised.  The scalar variant of
each C function defines its result, and all variants return the same.
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
    """Return the names of the variants this processor can run, from "scalar" to the fastest."""

def select(variant: str) -> str:
    """Switch to `variant`; return the name of the variant used before.

    Raises ValueError for a variant that this processor cannot run.
    """

def permute(fingerprints: U64, mask: int, out: U64) -> None:
    """Turn fingerprints into keys of a table: write them to `out` uint64[n], with bits moved.

    `mask`: the bits that move to the front, where a key begins.  The bits of each group, inside and
    outside the mask, keep their order.  `out` may be `fingerprints`.
    """

def restore(keys: U64, mask: int, out: U64) -> None:
    """Undo `permute` with the same `mask`: write the fingerprints of `keys` to `out` uint64[n]."""

def deal(hashes: U8, order: U16, sizes: Sequence[int]) -> U64:
    """Cut hashes of many bits into parts of 1 to 64 bits; return uint64[parts, n].

    `hashes`: uint8[n, width]; bit 0 is the highest bit of the first byte.
    `order`: uint16[8 * width], a permutation of the numbers of the bits.
    `sizes`: the bits of each part, which add up to 8 * width.

    Part p takes the next `sizes[p]` bits of `order`.  They become the highest bits of its word, and
    its lower bits are 0.
    """

def sort(keys: U64, ordinals: U32 | None = None) -> None:
    """Sort both columns of a table in place by key; entries with equal keys keep their order.

    `ordinals`: None sorts the keys alone.
    """

def count_bins(words: U64, mask: int, low: int, shift: int, counts: I64) -> None:
    """Permute words to keys, and add the number of keys in each bin to `counts` int64[bins].

    `mask`: see `permute`; all bits of 64 set mean that the words are keys already.
    `low`, `shift`: key k is in bin (k - low) >> shift.  Keys below `low` are in the first bin, and
    keys above the last bin are in the last one.
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
    """Permute words to keys, and write each key and its ordinal at the next position of its bin.

    `mask`, `low`, `shift`: see `count_bins`.
    `positions`: int64[bins], the position of the first entry of each bin.  On return each is the
    position after the last entry that was written.
    `keys_out`, `ordinals_out`: at least n long.

    Raises ValueError if a position is beyond the output; entries may have been written by then.
    """

def sort_bins(keys: U64, ordinals: U32, bounds: I64) -> None:
    """Sort the entries of each bin, bounds[i] to bounds[i + 1], in place by key; stable.

    Scratch memory is needed for the largest bin only.  Several threads may sort different bins of
    the same arrays.
    """

def merge(
    left_keys: U64,
    left_ordinals: U32,
    right_keys: U64,
    right_ordinals: U32,
    keys: U64,
    ordinals: U32,
) -> None:
    """Merge two sorted tables into `keys` and `ordinals`; of equal keys, the left one precedes.

    The output has the length of both inputs together and overlaps neither.
    """

def keep(keys: U64, ordinals: U32, dead: U8, keys_out: U64, ordinals_out: U32) -> int:
    """Copy the entries of documents that are not deleted, in order; return how many were copied.

    `dead`: bitmap of deleted ordinals; ordinal o is bit `o & 7` of byte `o >> 3`.
    `keys_out`, `ordinals_out`: at least n long; they may be the input itself.

    Raises CorruptError for an ordinal beyond the bitmap.
    """

def directory(keys: U64, header_bits: int, out: U32) -> None:
    """Write the directory of sorted keys: the position of the first key at or above each header.

    `header_bits`: 0 to 32; the header of a key is its top `header_bits` bits.
    `out`: uint32[2**header_bits + 1].
    """

def tags(keys: U64, header_bits: int, out: U16) -> None:
    """Write tags to `out` uint16[n]: the 16 bits of each key after its first `header_bits` bits.

    `header_bits`: 0 to 32.
    """

def gather(ordinals: U32, start: int, segments: Sequence[U64], out: U64) -> None:
    """Write the fingerprint of each ordinal to `out` uint64[n].

    `start`: the ordinal of the first fingerprint in `segments`.
    `segments`: all arrays but the last have s fingerprints, a power of two.  The fingerprint of
    ordinal `start + i` is segments[i // s][i % s].

    Raises CorruptError if an ordinal has no fingerprint.
    """

def first_descent(keys: U64) -> int:
    """Return the position of the first key smaller than the key before it; -1 if keys ascend."""

def entry_sum(keys: U64, ordinals: U32) -> int:
    """Return a 64-bit checksum of the entries of a table, which does not depend on their order.

    The checksum of two tables together is the sum of both, modulo 2**64.  It changes when a key
    gets another ordinal.  `simdb_ext/arrange/variants.h` has the definition.
    """

class Forest:
    """A union-find over the numbers 0 .. count - 1, at most 2**32 of them."""

    def __init__(self, count: int) -> None: ...
    @property
    def parents(self) -> U32:
        """The parent of each number, uint32[count]: a smaller member of its component.

        The smallest member is its own parent.  Searches may read the array between calls of `join`,
        and may set the parent of a number to a smaller member of its component.
        """

    def join(self, left: U32, right: U32) -> None:
        """Join the components of left[i] and right[i], for every i.

        Raises ValueError for a number that is not below `count`; the pairs before it are joined.
        """
    def labels(self) -> U32:
        """Return the smallest member of the component of each number: uint32[count]."""

def encode_ids(ids: Sequence[Any], key: bytes = b"") -> tuple[I64, U8, U64]:
    """Return the stored form of ids: offsets int64[n + 1], content uint8, hashes uint64[n].

    Form i is content[offsets[i]:offsets[i + 1]], one tag byte and the content of the id:

    `s` and UTF-8 for str.
    `b` and the bytes for bytes.
    `i` and 8 bytes, little-endian two's complement, for an int in -2**63 .. 2**63 - 1.
    `u` and 8 bytes, little-endian, for an int in 2**63 .. 2**64 - 1.

    numpy integers count as int; bool does not.

    `key`: 16 bytes; the hash of a form is SipHash-1-3 under this key.  Without a key, the hash is
    the first word of MurmurHash3_x64_128 with seed 0, for which anyone can construct collisions.

    Raises InputError, with the position and the reason, for a wrong type or an int out of range.
    Also for an empty str or bytes, a lone surrogate, or more than 1,023 bytes of content.
    """

def hash_ids(offsets: I64, content: U8, key: bytes = b"") -> U64:
    """Return the hashes of stored forms, uint64[n]; arguments and hash as in `encode_ids`."""

def decode_ids(offsets: I64, content: U8) -> list[Any]:
    """Return the ids of stored forms as Python objects; arguments as `encode_ids` returns them.

    Raises CorruptError for a form that `encode_ids` does not write.
    """

def describe_ids(offsets: U32, content: U8) -> tuple[int, ...] | None:
    """Return the row that stored ints form, () if they form none, None if not all are ints.

    A row is an arithmetic progression: (tag, first number, step), where form i has the number
    first + i * step, modulo 2**64.  All ids of a row differ.
    """

def row_at(row: tuple[int, ...], place: int) -> tuple[int, ...]:
    """Return the row that begins at entry `place` of `row`."""

def join_rows(
    left: tuple[int, ...] | None, count: int, right: tuple[int, ...] | None, length: int
) -> tuple[int, ...] | None:
    """Return what `describe_ids` would return for `count` forms and then `length` further forms.

    `left`, `right`: what `describe_ids` returned for each of the two.
    """

class PackedIds:
    """Ids that are ints, packed: `count` ids in the bytes `packed`; see `arrange/identifiers.h`."""

    packed: U8
    count: int

    def __init__(self, packed: U8, count: int) -> None:
        """Keep the array, not a copy; raise ValueError unless it can hold `count` packed ids."""
    @property
    def forms(self) -> U8:
        """The stored forms of the ids, back to back."""

def pack_ids(offsets: U32, content: U8) -> PackedIds | None:
    """Return stored forms packed, or None unless they are ints with one tag.

    They take 24 bytes and, unless they are a row, 1 to 8 bytes per id.
    """

def row_ids(row: tuple[int, ...], count: int) -> PackedIds:
    """Return the first `count` ids of a row, packed."""

def find_in_rows(rows: U64, offsets: I64, content: U8, dead: U8 | None, found: I64) -> None:
    """Write to `found` int64[n] the ordinal of each id that lies in a row.

    `rows`: uint64[r, 5]: first ordinal, number of ids, tag, first number and step of each row.
    `offsets`, `content`: the stored forms of the ids that are looked up, see `encode_ids`.
    `dead`: bitmap of ordinals that are skipped, or None.
    `found`: only negative entries are replaced.
    """

def candidates(hashes: U64, directory: U32, ordinals: U32, dead: U8 | None) -> tuple[I64, U32]:
    """Return the ordinals that may have the id of each hash: starts int64[n + 1], ordinals uint32.

    The candidates of hash i are ordinals[starts[i]:starts[i + 1]].  `Identifiers.find` takes both
    arrays.

    `ordinals`: uint32, sorted by the hashes of their ids, which are not stored.
    `directory`: uint32[2**t + 1]; header h, the top t bits of a hash, has the ordinals from
    directory[h] to directory[h + 1].
    `dead`: bitmap of ordinals that are omitted, or None.
    """

class Identifiers:
    """The stored ids of documents by ordinal, in segments of consecutive ordinals."""

    def __init__(self, segments: Sequence[tuple[int, U32, U8] | tuple[int, PackedIds]]) -> None:
        """Take sorted, disjoint segments: (first ordinal, offsets uint32[k + 1], content).

        (first ordinal, packed ids) is a segment as well.  The arrays are kept, not copied, and read
        only when an id is looked up.  Then CorruptError is raised if offsets do not lie within the
        content or an ordinal is absent.
        """
    def followed_by(self, first: int, offsets: U32, content: U8) -> Identifiers:
        """Return these segments and one more, whose first ordinal is `first`."""

    def gather(self, ordinals: U32) -> tuple[I64, U8]:
        """Return copies of the stored forms of `ordinals`: offsets int64[n + 1], content uint8.

        Raises CorruptError if an ordinal is absent.
        """
    def decode(self, ordinals: U32) -> list[Any]:
        """Return the ids of `ordinals` as Python objects; raise CorruptError if one is absent."""
    def decode_one(self, ordinal: int) -> Any:
        """Return the id of one ordinal; faster than `decode`, which it otherwise equals."""
    def find_one(self, ordinal: int) -> Any:
        """Return the id of one ordinal, or None if no segment has it."""
    def find(self, ordinals: U32, starts: I64, offsets: I64, content: U8) -> I64:
        """Return the ordinal of each id among its candidates: int64[m], -1 if none has the id.

        The candidates of id q are ordinals[starts[q]:starts[q + 1]], and starts[0] is 0.  If
        several candidates have the id, the last one is returned.

        `offsets`, `content`: the stored forms of the ids, see `encode_ids`.
        """

def first_bytes(addresses: U64, lengths: I64) -> U8:
    """Return the first byte of each text, uint8[n]; 0 where the length is not positive.

    `addresses`, `lengths`: the texts in memory, in bytes, which the caller keeps alive.  Raises
    ValueError if the numbers of addresses and lengths differ.
    """

def count_lines(content: bytes) -> int:
    """Return the number of line feeds; faster than `bytes.count` on long lines."""

def scan_objects(
    content: bytes, texts: Sequence[tuple[str, ...]], others: Sequence[tuple[str, ...]]
) -> tuple[I64, U8, U64, I64, U8, U8]:
    """Find values of given fields in JSON lines; each line holds one object.

    `content`: valid UTF-8 that ends with a line feed.
    `texts`, `others`: paths, tuples of field names; at most 32, all different.  A value at a path
    of `texts` must be a string; at a path of `others` it may also be a whole number of up to 18
    digits.

    Returns six arrays for n lines and p paths, `texts` before `others`:

    `sizes`: int64[n], the bytes of each line.
    `lines`: uint8[n], 0 for a taken line, 1 for a blank and 2 for a refused one.
    `addresses`: uint64[p, n], where each value begins in memory.
    `lengths`: int64[p, n], the bytes of each value, -1 if it is absent or null.
    `kinds`: uint8[p, n], 0 if absent or null, 1 for a string, 2 for digits of a whole number.
    `memory`: uint8, which some addresses point into; others point into `content`.  Keep both alive.

    A line is refused unless it is one valid object whose values at the paths have these types.  A
    line is also refused if a field on a path occurs twice, a number has more than 512 bytes, or
    lists and objects nest more than 2**17 deep.  Its entries in the last four arrays mean nothing.

    Raises ValueError if `content` does not end with a line feed, or for wrong paths.
    """

def values_at(addresses: U64, lengths: I64, kinds: U8) -> list[str | int | None]:
    """Return the values at one path; the arguments are one row of each array of `scan_objects`."""

def bytes_at(addresses: U64, lengths: I64) -> U8:
    """Return the bytes at some addresses, back to back: uint8; a negative length counts as 0."""

def read_ranges(descriptor: int, starts: I64, stops: I64) -> bytes:
    """Return the bytes from starts[i] to stops[i] of an open file, back to back.

    `descriptor`: file descriptor.
    `starts`, `stops`: int64[n], ranges in ascending order that do not overlap and are not empty.

    If the file ends within a range, the result ends there.  Raises ValueError for other ranges, and
    OSError if reading fails.
    """
