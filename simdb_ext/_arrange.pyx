"""Columns, connected components and ids of documents; the contract is in `_arrange.pyi`.

This file checks arguments and calls the C functions of `arrange/` without the GIL.
"""

from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

import operator

import numpy as np

ORDINAL_COUNT_MAX = 2**32  # ordinals are uint32

cdef uint8_t NOTHING = 0


include "choice.pxi"


def permute(const uint64_t[::1] fingerprints not None, mask, uint64_t[::1] out not None):
    """Turn fingerprints into keys of a table: the bits in `mask` move to the front."""
    cdef arrange_rotations rotations = arrange_leading(checked_mask(mask))
    check_room(out.shape[0], fingerprints.shape[0], "words")
    if fingerprints.shape[0]:
        with nogil:
            arrange_operations.permute(
                &fingerprints[0], fingerprints.shape[0], &rotations, &out[0]
            )


def restore(const uint64_t[::1] keys not None, mask, uint64_t[::1] out not None):
    """Undo `permute`: write the fingerprints of `keys` to `out`."""
    cdef arrange_rotations rotations = arrange_trailing(checked_mask(mask))
    check_room(out.shape[0], keys.shape[0], "words")
    if keys.shape[0]:
        with nogil:
            arrange_operations.permute(&keys[0], keys.shape[0], &rotations, &out[0])


def deal(const uint8_t[:, ::1] hashes not None, const uint16_t[::1] order not None, sizes):
    """Cut hashes of many bits into parts of 1 to 64 bits; return uint64[parts, n]."""
    cdef int64_t bits = 8 * hashes.shape[1], i
    cdef const uint8_t[::1] places = checked_sizes(sizes, bits)
    cdef arrange_deal how
    cdef uint8_t[::1] scratch
    cdef uint64_t[:, ::1] out
    if order.shape[0] != bits:
        raise ValueError(f"order has {order.shape[0]} bits; hashes have {bits}")
    for i in range(bits):
        if order[i] >= bits:
            raise ValueError(f"order has bit {order[i]}, but hashes have {bits} bits")
    words = np.empty((places.shape[0], hashes.shape[0]), np.uint64)
    if words.size:
        out = words
        scratch = np.empty(arrange_deal_scratch(hashes.shape[1]), np.uint8)
        how = arrange_deal(hashes.shape[1], places.shape[0], &order[0], &places[0])
        with nogil:
            arrange_operations.deal(
                &hashes[0, 0], hashes.shape[0], &how, &scratch[0], &out[0, 0]
            )
    return words


def sort(uint64_t[::1] keys not None, uint32_t[::1] ordinals=None):
    """Sort both columns of a table in place by key; entries with equal keys keep their order."""
    cdef uint8_t[::1] scratch
    if ordinals is None:
        ordinals = np.empty(keys.shape[0], np.uint32)
    check_table(keys.shape[0], ordinals.shape[0])
    if keys.shape[0] < 2:
        return
    # numpy requests huge pages for its memory; touching small pages takes a third of the time.
    scratch = np.empty(arrange_sort_scratch(keys.shape[0]), np.uint8)
    with nogil:
        arrange_sort(&keys[0], &ordinals[0], keys.shape[0], &scratch[0])


def count_bins(
    const uint64_t[::1] words not None, mask, low, shift, int64_t[::1] counts not None
):
    """Permute words to keys, and add the number of keys in each bin to `counts`."""
    cdef arrange_rotations rotations = arrange_leading(checked_mask(mask))
    cdef arrange_bins bins = checked_bins(low, shift, counts.shape[0])
    if words.shape[0]:
        with nogil:
            arrange_count_bins(&words[0], words.shape[0], &rotations, bins, &counts[0])


def to_bins(
    const uint64_t[::1] words not None,
    const uint32_t[::1] ordinals not None,
    mask,
    low,
    shift,
    int64_t[::1] positions not None,
    uint64_t[::1] keys_out not None,
    uint32_t[::1] ordinals_out not None,
):
    """Permute words to keys, and write each key and its ordinal at the next position of its bin."""
    cdef arrange_rotations rotations = arrange_leading(checked_mask(mask))
    cdef arrange_bins bins = checked_bins(low, shift, positions.shape[0])
    cdef int outcome
    check_table(words.shape[0], ordinals.shape[0])
    check_table(keys_out.shape[0], ordinals_out.shape[0])
    if words.shape[0] == 0:
        return
    if keys_out.shape[0] < words.shape[0]:
        check_room(keys_out.shape[0], words.shape[0], "entries")
    with nogil:
        outcome = arrange_to_bins(
            &words[0], &ordinals[0], words.shape[0], &rotations, bins, &positions[0],
            &keys_out[0], &ordinals_out[0], keys_out.shape[0]
        )
    if outcome < 0:
        raise ValueError(
            "a bin has more entries than were counted; change no array while it is searched"
        )


def sort_bins(
    uint64_t[::1] keys not None, uint32_t[::1] ordinals not None,
    const int64_t[::1] bounds not None
):
    """Sort the entries of each bin, bounds[i] to bounds[i + 1], in place by key; stable."""
    cdef uint8_t[::1] scratch
    cdef int64_t most = 0, i
    check_table(keys.shape[0], ordinals.shape[0])
    for i in range(bounds.shape[0] - 1):
        if not 0 <= bounds[i] <= bounds[i + 1] <= keys.shape[0]:
            raise ValueError(f"bin {i} is not within the {keys.shape[0]} entries")
        most = max(most, bounds[i + 1] - bounds[i])
    if most < 2:
        return
    scratch = np.empty(arrange_sort_scratch(most), np.uint8)
    with nogil:
        for i in range(bounds.shape[0] - 1):
            if bounds[i] < bounds[i + 1]:
                arrange_sort(
                    &keys[bounds[i]], &ordinals[bounds[i]], bounds[i + 1] - bounds[i], &scratch[0]
                )


def merge(
    const uint64_t[::1] left_keys not None,
    const uint32_t[::1] left_ordinals not None,
    const uint64_t[::1] right_keys not None,
    const uint32_t[::1] right_ordinals not None,
    uint64_t[::1] keys not None,
    uint32_t[::1] ordinals not None,
):
    """Merge two sorted tables into `keys` and `ordinals`; of equal keys, the left one precedes."""
    cdef arrange_sorted left = arrange_sorted(NULL, NULL, 0, left_keys.shape[0])
    cdef arrange_sorted right = arrange_sorted(NULL, NULL, 0, right_keys.shape[0])
    check_table(left_keys.shape[0], left_ordinals.shape[0])
    check_table(right_keys.shape[0], right_ordinals.shape[0])
    check_table(keys.shape[0], ordinals.shape[0])
    check_room(keys.shape[0], left.stop + right.stop, "entries")
    if keys.shape[0] == 0:
        return
    if left.stop:
        left.keys, left.ordinals = &left_keys[0], &left_ordinals[0]
    if right.stop:
        right.keys, right.ordinals = &right_keys[0], &right_ordinals[0]
    with nogil:
        arrange_merge(left, right, &keys[0], &ordinals[0])


def keep(
    const uint64_t[::1] keys not None,
    const uint32_t[::1] ordinals not None,
    const uint8_t[::1] dead not None,
    uint64_t[::1] keys_out not None,
    uint32_t[::1] ordinals_out not None,
):
    """Copy the entries of documents that are not deleted, in order; return how many were copied."""
    cdef int64_t kept
    check_table(keys.shape[0], ordinals.shape[0])
    check_table(keys_out.shape[0], ordinals_out.shape[0])
    if keys_out.shape[0] < keys.shape[0]:
        check_room(keys_out.shape[0], keys.shape[0], "entries")
    if keys.shape[0] == 0:
        return 0
    with nogil:
        kept = arrange_operations.keep(
            &keys[0], &ordinals[0], keys.shape[0], bytes_of(dead), dead.shape[0], &keys_out[0],
            &ordinals_out[0]
        )
    if kept < 0:
        raise CorruptError(f"an ordinal has no bit in dead, which has {dead.shape[0]} bytes")
    return kept


def directory(const uint64_t[::1] keys not None, header_bits, uint32_t[::1] out not None):
    """Write the directory of sorted keys: the position of the first key at or above each header."""
    cdef const uint64_t *first = &keys[0] if keys.shape[0] else NULL
    cdef int bits
    if not 0 <= header_bits <= ARRANGE_HEADER_BITS_MAX:
        limit = ARRANGE_HEADER_BITS_MAX
        raise ValueError(f"header_bits is {header_bits}, not from 0 to {limit}")
    bits = operator.index(header_bits)
    check_room(out.shape[0], 2**header_bits + 1, "positions")
    if keys.shape[0] >= ORDINAL_COUNT_MAX:
        raise ValueError(f"there are {keys.shape[0]} keys, over {ORDINAL_COUNT_MAX - 1}")
    with nogil:
        arrange_directory(first, keys.shape[0], bits, &out[0])


def tags(const uint64_t[::1] keys not None, header_bits, uint16_t[::1] out not None):
    """Write tags: the 16 bits of each key after its first `header_bits` bits."""
    if not 0 <= header_bits <= ARRANGE_HEADER_BITS_MAX:
        limit = ARRANGE_HEADER_BITS_MAX
        raise ValueError(f"header_bits is {header_bits}, not from 0 to {limit}")
    cdef int bits = operator.index(header_bits)
    check_room(out.shape[0], keys.shape[0], "tags")
    if keys.shape[0]:
        with nogil:
            arrange_tags(&keys[0], keys.shape[0], bits, &out[0])


def gather(
    const uint32_t[::1] ordinals not None, uint64_t start, segments,
    uint64_t[::1] out not None
):
    """Write the fingerprint of each ordinal."""
    cdef const uint64_t[::1] segment
    cdef uint64_t stored = 0
    cdef int64_t wrong
    cdef Py_ssize_t i = 0
    arrays = list(segments)
    cdef uint64_t whole = len(arrays[0]) if len(arrays) > 1 else 1 << 32
    cdef int bits = whole.bit_length() - 1
    if whole == 0 or whole & (whole - 1) != 0:
        raise ValueError(f"segments have {whole} fingerprints, not a power of two")
    places = np.zeros(len(arrays) + 1, np.uintp)
    cdef size_t[::1] addresses = places
    check_room(out.shape[0], ordinals.shape[0], "fingerprints")
    for i in range(len(arrays)):
        segment = arrays[i]
        if stored != i * whole or <uint64_t> segment.shape[0] > whole:
            raise ValueError(f"segments but the last must have {whole} fingerprints each")
        stored += <uint64_t> segment.shape[0]
        if segment.shape[0]:
            addresses[i] = <size_t> &segment[0]
    if ordinals.shape[0] == 0:
        return
    with nogil:
        wrong = arrange_fingerprints(
            &ordinals[0], ordinals.shape[0], start, <const uint64_t *const *> &addresses[0], bits,
            stored, &out[0]
        )
    if wrong >= 0:
        raise CorruptError(f"ordinal {ordinals[wrong]} has no fingerprint")


def first_descent(const uint64_t[::1] keys not None):
    """Return the position of the first key smaller than the key before it; -1 if keys ascend."""
    cdef int64_t position = -1
    if keys.shape[0]:
        with nogil:
            position = arrange_operations.descent(&keys[0], keys.shape[0])
    return position


def entry_sum(const uint64_t[::1] keys not None, const uint32_t[::1] ordinals not None):
    """Return a 64-bit checksum of the entries of a table, which does not depend on their order."""
    cdef uint64_t total = 0
    check_table(keys.shape[0], ordinals.shape[0])
    if keys.shape[0]:
        with nogil:
            total = arrange_operations.entry_sum(&keys[0], &ordinals[0], keys.shape[0])
    return total


cdef class Forest:
    """A union-find over the numbers 0 .. count - 1."""

    cdef readonly object parents  # uint32[count]
    cdef uint32_t *start
    cdef int64_t count

    def __cinit__(self, count):
        if not 0 <= count <= ORDINAL_COUNT_MAX:
            raise ValueError(f"count is {count}, not from 0 to {ORDINAL_COUNT_MAX}")
        self.count = operator.index(count)
        room = np.empty(max(self.count, 1), np.uint32)
        cdef uint32_t[::1] whole = room
        self.parents, self.start = room[: self.count], &whole[0]
        with nogil:
            arrange_plant(self.start, self.count)

    def join(self, const uint32_t[::1] left not None, const uint32_t[::1] right not None):
        """Join the components of left[i] and right[i], for every i."""
        cdef int64_t wrong = -1
        if left.shape[0] != right.shape[0]:
            raise ValueError(f"there are {left.shape[0]} left but {right.shape[0]} right ends")
        if left.shape[0]:
            with nogil:
                wrong = arrange_join(
                    self.start, self.count, &left[0], &right[0], left.shape[0]
                )
        if wrong >= 0:
            number = max(left[wrong], right[wrong])
            raise ValueError(f"number {number} is not among the {self.count} of the forest")

    def labels(self):
        """Return the smallest member of the component of each number: uint32[count]."""
        labels = np.empty(self.count, np.uint32)
        cdef uint32_t[::1] out = labels
        if self.count:
            with nogil:
                arrange_label(self.start, self.count, &out[0])
        return labels


include "arrange/objects.pxi"


def first_bytes(const uint64_t[::1] addresses not None, const int64_t[::1] lengths not None):
    """Return the first byte of each text, uint8[n]; 0 where the length is not positive."""
    cdef Py_ssize_t count = addresses.shape[0]
    if lengths.shape[0] != count:
        raise ValueError(f"there are {count} addresses but {lengths.shape[0]} lengths")
    firsts = np.empty(count, np.uint8)
    cdef uint8_t[::1] out = firsts
    if count:
        with nogil:
            arrange_first_bytes(&addresses[0], &lengths[0], count, &out[0])
    return firsts


def read_ranges(
    int descriptor, const int64_t[::1] starts not None, const int64_t[::1] stops not None
):
    """Return the bytes from starts[i] to stops[i] of an open file, back to back."""
    cdef int64_t total = 0, got = 0
    cdef uint8_t *gap = NULL
    cdef uint8_t *out = NULL
    if starts.shape[0] != stops.shape[0]:
        raise ValueError(f"there are {starts.shape[0]} starts but {stops.shape[0]} stops")
    for i in range(starts.shape[0]):
        if not (0 <= starts[i] < stops[i]) or (i and starts[i] < stops[i - 1]):
            raise ValueError(f"range {i} is empty, or begins before the one before it ends")
        total += stops[i] - starts[i]
    found = PyBytes_FromStringAndSize(NULL, total)
    if not total:
        return found
    gap = <uint8_t *>malloc(ARRANGE_GAP)
    if gap == NULL:
        raise MemoryError
    out = <uint8_t *>PyBytes_AS_STRING(found)
    with nogil:
        got = arrange_read_ranges(
            descriptor, &starts[0], &stops[0], starts.shape[0], out, gap
        )
        free(gap)
    if got < 0:
        PyErr_SetFromErrno(OSError)
    return found if got == total else found[:got]


cdef const uint8_t *bytes_of(const uint8_t[::1] content) noexcept nogil:
    """Return the address of the bytes, or some valid address if there are none."""
    return &content[0] if content.shape[0] else &NOTHING


cdef uint64_t checked_mask(mask) except? 0:
    if not 0 <= mask < 2**64:
        raise ValueError(f"mask is {mask}, not from 0 to 2**64 - 1")
    return operator.index(mask)


cdef arrange_bins checked_bins(low, shift, int64_t count) except *:
    if not (0 <= low < 2**64 and 0 <= shift < 64 and count):
        raise ValueError(f"there are no {count} bins of 2**{shift} keys from {low} on")
    return arrange_bins(operator.index(low), operator.index(shift), count)


cdef object checked_sizes(sizes, int64_t bits):
    if not all(1 <= size <= 64 for size in sizes) or sum(sizes) != bits:
        raise ValueError(f"sizes must be from 1 to 64 and add up to {bits}, got {[*sizes]}")
    return np.array(sizes, np.uint8)


cdef int check_table(Py_ssize_t keys, Py_ssize_t ordinals) except -1:
    if keys != ordinals:
        raise ValueError(f"there are {keys} keys but {ordinals} ordinals")
    return 0


cdef int check_room(Py_ssize_t room, Py_ssize_t wanted, str what) except -1:
    if room != wanted:
        raise ValueError(f"the output has room for {room} {what}; it needs {wanted}")
    return 0


include "arrange/identifiers.pxi"
