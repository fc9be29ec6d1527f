"""Operations that search fingerprints, volatility vectors, hashes and cross-polytope keys.

The contract is in `_search.pyi`.  This file checks arguments and calls the C functions of
`search/` without the GIL.
"""

from cpython.buffer cimport (
    PyBUF_C_CONTIGUOUS,
    PyBUF_FORMAT,
    PyBUF_SIMPLE,
    PyBUF_WRITABLE,
    PyBuffer_Release,
    PyObject_GetBuffer,
)
from libc.stddef cimport size_t
from libc.stdint cimport (
    int8_t,
    int16_t,
    int32_t,
    int64_t,
    uint8_t,
    uint16_t,
    uint32_t,
    uint64_t,
    uintptr_t,
)
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, strchr, strcmp

import numpy as np

from simdb.core.errors import CorruptError

cdef extern from "Python.h":
    Py_ssize_t PY_SSIZE_T_MAX

cdef enum:
    LOOKUP_QUERIES_MAX = 1 << 17
    SCAN_QUERIES_MAX = 1024
    ROOM_MIN = 4096
    ONE_ROOM = 64
    ONE_CAP = 256
    ONE_SETS = 8 * ONE_CAP + 256  # at least search_sets_room(ONE_CAP)
    ONE_COLUMNS = 64
    ONE_TABLES = 64
    BLOCK_SETS = 4096
    GATHERED_QUERIES_MIN = 1024  # fewer queries rarely share a header
    LIMITS_MAX = 1 << 24
    BEST_ROOM = 1 << 22  # matches for which a group of several queries has room
    PROBES_HELD = 64
    WIDTH_MAX = 65536

cdef const char *UINT8 = b"B"
cdef const char *UINT16 = b"H"
cdef const char *UINT32 = b"IL"
cdef const char *UINT64 = b"LQ"
cdef const char *INT64 = b"lq"
cdef const char *FLOAT32 = b"f"
cdef const char *WEIGHTS = b"fil"
cdef const char *BOOLEAN = b"?"


include "choice.pxi"
search_polytope_prepare()


include "search/memory.pxi"


include "search/tables.pxi"


include "search/vosh.pxi"


def levels(weights):
    """Return the levels of the first 64 weights of each row: uint8[n, 64]."""
    cdef Views views = Views(2)
    cdef Py_buffer *view = views.take(weights, WEIGHTS, 4, 2)
    cdef size_t count = view.shape[0], dimensions = view.shape[1]
    if dimensions < 64:
        raise ValueError(f"weights have {dimensions} dimensions; they need 64 or more")
    result = np.empty((count, 64), np.uint8)
    cdef uint8_t *found = <uint8_t *> views.take(result, UINT8, 1, 2, True).buf
    with nogil:
        if view.format[0] == c"f":
            search_kernel.level_floats(<const float *> view.buf, count, dimensions, found)
        else:
            search_kernel.level_wholes(<const int32_t *> view.buf, count, dimensions, found)
    return result


def levels_of_vectors(vectors):
    """Return the levels of the first 64 weights of packed volatility vectors: uint8[n, 64]."""
    cdef Views views = Views(2)
    cdef Py_buffer *view = views.take(vectors, UINT8, 1, 2)
    cdef size_t count = view.shape[0], width = view.shape[1]
    if not 32 <= width <= WIDTH_MAX:
        raise ValueError(f"vectors have {width} bytes, not 32 to {WIDTH_MAX}")
    result = np.empty((count, 64), np.uint8)
    cdef uint8_t *found = <uint8_t *> views.take(result, UINT8, 1, 2, True).buf
    with nogil:
        search_kernel.level_packed(<const uint8_t *> view.buf, count, width, found)
    return result


def firm_signs(vectors):
    """Return a mask of the firm signs among the first 64 of packed volatility vectors:
    uint64[n]."""
    cdef Views views = Views(2)
    cdef Py_buffer *view = views.take(vectors, UINT8, 1, 2)
    cdef size_t count = view.shape[0], width = view.shape[1], i
    cdef const uint8_t *start = <const uint8_t *> view.buf
    result = np.empty(count, np.uint64)
    cdef uint64_t *found = <uint64_t *> views.output(result, UINT64, 8)
    with nogil:
        for i in range(count):
            found[i] = polytope_firm(start + i * width, width)
    return result


def sweep(keys, ordinals, masks, size_t table, distance, cursor, left, right, distances,
          flips=0, uint64_t flipped=0, width=None, stop=None, judging=None):
    """Write the pairs within `distance` whose headers differ in `flipped`, from one table."""
    cdef Views views = Views(7)
    cdef Memory memory = Memory(9 * len(masks))
    cdef uint64_t *own_masks = <uint64_t *> memory.start
    cdef int8_t *own_flips = <int8_t *> (own_masks + len(masks))
    cdef search_sweep_type state
    cdef uint32_t *lefts
    cdef uint32_t *rights
    cdef uint8_t *measured
    cdef size_t capacity = len(left), written, i
    for i in range(<size_t> len(masks)):
        own_masks[i] = masks[i]
    if table >= <size_t> len(masks):
        raise ValueError(f"table is {table}, but there are {len(masks)} masks")
    take_flips_of_tables(flips, own_flips, len(masks))
    state.width = <unsigned> bin(masks[table]).count("1")
    if width is not None:
        state.width = checked_distance(width, "width")
    search_kernel.permute(&flipped, 1, own_masks[table], &state.flipped)
    if state.width < 64 and state.flipped << state.width != 0:
        raise ValueError(f"flipped is {flipped:#x}, not in the first {state.width} bits of a key")
    state.count = views.uint64(keys, &state.keys)
    if <uint64_t> views.uint32(ordinals, &state.ordinals) != state.count:
        raise ValueError(f"there are {len(keys)} keys but {len(ordinals)} ordinals")
    views.judging(judging, state.count, &state.counted, &state.most)
    if state.count > <uint64_t> 1 << 32:
        raise ValueError(f"there are {len(keys)} keys, over 2**32")
    state.masks, state.flips, state.table = own_masks, own_flips, table
    state.distance = checked_distance(distance, "distance")
    state.i, state.j = cursor
    if state.i >= state.j:
        raise ValueError(f"cursor is {cursor}, not (i, j) with 0 <= i < j")
    state.stop = state.count
    if stop is not None:
        if not 0 <= stop <= state.count:
            raise ValueError(f"stop is {stop}, not from 0 to {state.count}")
        state.stop = stop
    lefts = <uint32_t *> views.output(left, UINT32, 4)
    rights = <uint32_t *> views.output(right, UINT32, 4)
    measured = <uint8_t *> views.output(distances, UINT8, 1)
    if capacity == 0 or <size_t> len(right) != capacity or <size_t> len(distances) != capacity:
        raise ValueError("left, right and distances must have the same length, at least 1")
    with nogil:
        written = search_sweep(&state, lefts, rights, measured, capacity)
    return written, state.i, state.j


def nearness_of(row):
    """Return the sort key of (ordinal, distance, similarity): the most similar first."""
    return -row[2], row[0]


def disagreement_of(row):
    """Return the sort key of (ordinal, number of equal minima): the largest number first."""
    return -row[1]


cdef class Vectors:
    """The packed volatility vectors of documents by ordinal, in segments of ordinals."""

    cdef Views views
    cdef Memory memory
    cdef search_vectors vectors
    cdef Vectors earlier

    def __cinit__(self, size_t width, segments, Vectors earlier=None):
        cdef size_t i = 0, count = len(segments)
        cdef uint64_t before = 0
        cdef search_segment *own
        cdef Py_buffer *view
        if not 0 < width <= WIDTH_MAX:
            raise ValueError(f"width is {width}, not from 1 to {WIDTH_MAX}")
        if earlier is not None:
            i = earlier.vectors.segment_count
            count += i
        self.views = Views(count - i)
        self.memory = Memory(count * sizeof(search_segment))
        own = <search_segment *> self.memory.start
        if i > 0:
            memcpy(own, earlier.vectors.segments, i * sizeof(search_segment))
            before = own[i - 1].stop
            self.earlier = earlier
        for first, values in segments:
            view = self.views.vectors(values, width)
            own[i].first = first
            own[i].stop = own[i].first + <uint64_t> view.shape[0]
            own[i].vectors = <const uint8_t *> view.buf
            if own[i].first < before or not own[i].first <= own[i].stop <= <uint64_t> 1 << 32:
                raise ValueError("segments must be sorted and disjoint, with ordinals below 2**32")
            before = own[i].stop
            i += 1
        self.vectors.width = width
        self.vectors.segments = own
        self.vectors.segment_count = count

    def followed_by(self, first, vectors):
        """Return these segments and one more, whose first ordinal is `first`."""
        return Vectors(self.vectors.width, [(first, vectors)], earlier=self)

    cdef int check_found(self, size_t found, const uint32_t *ordinals, size_t count) except -1:
        if found < count:
            raise CorruptError(f"ordinal {ordinals[found]} has no vector")
        return 0

    cdef uint64_t stored(self) noexcept:
        """Return the number of all vectors."""
        cdef uint64_t total = 0
        cdef size_t i
        for i in range(self.vectors.segment_count):
            total += self.vectors.segments[i].stop - self.vectors.segments[i].first
        return total

    def similarity(self, queries, offsets, ordinals):
        """Return the similarities of queries to given documents: float32[len(ordinals)]."""
        cdef Views views = Views(4)
        cdef Memory memory = Memory(search_weights_size(self.vectors.width))
        cdef Py_buffer *query = views.vectors(queries, self.vectors.width)
        cdef const uint32_t *numbers
        cdef size_t count = query.shape[0], total = views.uint32(ordinals, &numbers), found
        cdef const int64_t *starts = views.offsets(offsets, count, total)
        result = np.empty(total, np.float32)
        cdef float *similarities = <float *> views.output(result, FLOAT32, 4)
        with nogil:
            found = search_similarity(&self.vectors, <const uint8_t *> query.buf, count, starts,
                                      numbers, <int8_t *> memory.start, similarities)
        self.check_found(found, numbers, total)
        return result

    def measure_one(self, query, list found, float similarity):
        """Return (ordinal, distance, similarity) of documents at least `similarity` to a query."""
        cdef Bytes query_bytes = Bytes(query, self.vectors.width, "the query")
        cdef size_t count = len(found), i
        cdef Memory memory = Memory(8 * count + search_weights_size(self.vectors.width))
        cdef float *similarities = <float *> memory.start
        cdef uint32_t *ordinals = <uint32_t *> (similarities + count)
        cdef int64_t offsets[2]
        cdef list rows = []
        for i in range(count):
            ordinals[i] = found[i][0]
        offsets[0], offsets[1] = 0, count
        self.check_found(
            search_similarity(&self.vectors, query_bytes.start, 1, offsets, ordinals,
                              <int8_t *> (ordinals + count), similarities),
            ordinals, count
        )
        for i in range(count):
            if similarities[i] >= similarity:
                rows.append((*found[i], similarities[i]))
        if len(rows) > 1:
            rows.sort(key=nearness_of)
        return rows

    def agree_one(self, query, ordinals, int bits, size_t least):
        """Return (ordinal, number of equal minima) of documents with `least` or more."""
        cdef Views views = Views(1)
        cdef Bytes query_bytes = Bytes(query, self.vectors.width, "the query")
        cdef const uint32_t *numbers
        cdef size_t count = views.uint32(ordinals, &numbers), i
        cdef Memory memory = Memory(4 * count)
        cdef uint32_t *agreeing = <uint32_t *> memory.start
        if bits not in (1, 2, 8, 32):
            raise ValueError(f"bits is {bits}, not 1, 2, 8 or 32")
        self.check_found(
            search_agreements(&self.vectors, query_bytes.start, bits, numbers, count, agreeing),
            numbers, count
        )
        rows = [(numbers[i], agreeing[i]) for i in range(count) if agreeing[i] >= least]
        if len(rows) > 1:
            rows.sort(key=disagreement_of)
        return rows

    def between(self, left, right):
        """Return the similarities of the stored vectors left[i] and right[i]: float32[n]."""
        cdef Views views = Views(3)
        cdef Memory memory = Memory(search_weights_size(self.vectors.width))
        cdef const uint32_t *lefts
        cdef const uint32_t *rights
        cdef size_t count = views.uint32(left, &lefts), found
        if <size_t> views.uint32(right, &rights) != count:
            raise ValueError("left and right must have the same length")
        result = np.empty(count, np.float32)
        cdef float *similarities = <float *> views.output(result, FLOAT32, 4)
        with nogil:
            found = search_between(&self.vectors, lefts, rights, count, <int8_t *> memory.start,
                                   similarities)
        if found < count:
            self.gather(left[found:found + 1])
            self.gather(right[found:found + 1])
        return result

    def scan(self, queries, *, float similarity, skip, after):
        """Return every stored vector at least `similarity` to each query; all are compared."""
        cdef Views views = Views(5)
        cdef search_vector_request request
        cdef size_t width = self.vectors.width
        cdef Py_buffer *query = views.vectors(queries, width)
        cdef const uint32_t *all_after
        cdef size_t total = query.shape[0], start = 0, size
        views.after(after, total, &all_after)
        views.filter(skip, &request.filter)
        request.similarity = similarity
        cdef size_t group = min(total, <size_t> SEARCH_SCAN_MAX)
        memory = Memory(group * search_weights_size(width))
        matches = Matches(total, group, sizeof(float))
        size = group
        while start < total:
            request.queries = <const uint8_t *> query.buf + start * width
            request.after = all_after + start if all_after != NULL else NULL
            request.count = min(size, total - start)
            with nogil:
                search_scan_vectors(&self.vectors, &request, <int8_t *> memory.start,
                                    &matches.found)
            start += matches.keep(start, request.count)
            size = search_group_size(&matches.found, request.count, group)
        return matches.result()

    def nearest(self, queries, k, skip):
        """Return the `k` most similar stored vectors of each query; all are compared."""
        cdef Views views = Views(4)
        cdef search_vector_request request
        cdef size_t width = self.vectors.width, start = 0
        cdef Py_buffer *query = views.vectors(queries, width)
        cdef size_t total = query.shape[0]
        views.filter(skip, &request.filter)
        request.after = NULL
        best = Best(total, most_of(k, self.stored()), SEARCH_SCAN_MAX, sizeof(float))
        memory = Memory(best.group * search_weights_size(width))
        while start < total:
            request.queries = <const uint8_t *> query.buf + start * width
            request.count = min(best.group, total - start)
            with nogil:
                search_nearest_vectors(&self.vectors, &request, <int8_t *> memory.start, best.best)
            best.keep(start, request.count)
            start += request.count
        return best.result()

    cdef int check_hashes(self) except -1:
        if self.vectors.width % 4 != 0 or self.vectors.width > SEARCH_HASH_MAX:
            raise ValueError(f"hashes have {self.vectors.width} bytes, not a multiple of 4 up to"
                             f" {SEARCH_HASH_MAX}")
        return 0

    def differing(self, queries, offsets, ordinals):
        """Return the number of bits in which queries and given hashes differ: uint16[k]."""
        cdef Views views = Views(3)
        cdef search_hash_pairs pairs
        cdef Py_buffer *query = views.vectors(queries, self.vectors.width)
        pairs.queries, pairs.left = <const uint8_t *> query.buf, NULL
        pairs.count = views.uint32(ordinals, &pairs.right)
        pairs.offsets = views.offsets(offsets, query.shape[0], pairs.count)
        return self.differences(&pairs)

    def differing_between(self, left, right):
        """Return the number of bits in which the stored hashes left[i] and right[i] differ."""
        cdef Views views = Views(2)
        cdef search_hash_pairs pairs
        pairs.queries, pairs.offsets = NULL, NULL
        pairs.count = views.uint32(left, &pairs.left)
        if <size_t> views.uint32(right, &pairs.right) != pairs.count:
            raise ValueError("left and right must have the same length")
        return self.differences(&pairs)

    cdef object differences(self, const search_hash_pairs *pairs):
        cdef Views views = Views(1)
        cdef uint16_t *distances
        cdef size_t found
        self.check_hashes()
        result = np.empty(pairs.count, np.uint16)
        distances = <uint16_t *> views.output(result, UINT16, 2)
        with nogil:
            found = search_differing(&self.vectors, pairs, distances)
        if found < pairs.count and pairs.left != NULL:
            self.gather(np.array([pairs.left[found]], np.uint32))
        self.check_found(found, pairs.right, pairs.count)
        return result

    def within(self, queries, *, uint32_t distance, skip, after, size_t first=0):
        """Return every stored hash within `distance` of each query; all are compared."""
        cdef Views views = Views(5)
        cdef search_hash_request request
        cdef size_t width = self.vectors.width
        cdef Py_buffer *query = views.vectors(queries, width)
        cdef const uint32_t *all_after
        cdef size_t total = query.shape[0], start = 0, size
        self.check_hashes()
        views.after(after, total, &all_after)
        views.filter(skip, &request.filter)
        request.distance, request.enough = distance, first
        cdef size_t group = min(total, <size_t> SEARCH_SCAN_MAX)
        matches = Matches(total, group, sizeof(uint16_t))
        size = group
        while start < total:
            request.queries = <const uint8_t *> query.buf + start * width
            request.after = all_after + start if all_after != NULL else NULL
            request.count = min(size, total - start)
            with nogil:
                search_within(&self.vectors, &request, &matches.found)
            start += matches.keep(start, request.count)
            size = search_group_size(&matches.found, request.count, group)
        return matches.result()

    def closest(self, queries, k, skip):
        """Return the `k` nearest stored hashes of each query; all are compared."""
        cdef Views views = Views(4)
        cdef search_hash_request request
        cdef Py_buffer *query = views.vectors(queries, self.vectors.width)
        cdef size_t total = query.shape[0], start = 0
        self.check_hashes()
        views.filter(skip, &request.filter)
        best = Best(total, most_of(k, self.stored()), SEARCH_SCAN_MAX, sizeof(uint16_t))
        while start < total:
            request.queries = <const uint8_t *> query.buf + start * self.vectors.width
            request.count = min(best.group, total - start)
            with nogil:
                search_closest(&self.vectors, &request, best.best)
            best.keep(start, request.count)
            start += request.count
        return best.result()

    def gather(self, ordinals):
        """Return copies of vectors: uint8[len(ordinals), width]."""
        cdef Views views = Views(2)
        cdef const uint32_t *numbers
        cdef size_t count = views.uint32(ordinals, &numbers), found
        result = np.empty((count, self.vectors.width), np.uint8)
        cdef uint8_t *copies = <uint8_t *> views.take(result, UINT8, 1, 2, True).buf
        with nogil:
            found = search_gather(&self.vectors, numbers, count, copies)
        self.check_found(found, numbers, count)
        return result


include "search/polytope.pxi"
include "search/polytopes.pxi"
