"""Looking up, scanning and sweeping sorted fingerprints; measuring volatility vectors.

The contract is in `_search.pyi`.  This file checks arguments and hands memory to the C functions
of `search/`, without the GIL.
"""

from cpython.buffer cimport (
    PyBUF_C_CONTIGUOUS,
    PyBUF_FORMAT,
    PyBUF_WRITABLE,
    PyBuffer_Release,
    PyObject_GetBuffer,
)
from libc.stddef cimport size_t
from libc.stdint cimport int8_t, int64_t, uint8_t, uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport strchr

import numpy as np

cdef enum:
    LOOKUP_QUERIES_MAX = 1 << 17
    SCAN_QUERIES_MAX = 1024
    ROOM_MIN = 4096
    ONE_ROOM = 64
    PROBES_HELD = 64
    WIDTH_MAX = 65536

cdef const char *UINT8 = b"B"
cdef const char *UINT32 = b"IL"
cdef const char *UINT64 = b"LQ"
cdef const char *INT64 = b"lq"
cdef const char *FLOAT32 = b"f"


def variants():
    """Names of the variants this processor can run, the slowest ("scalar") first."""
    names = []
    while search_variant(len(names)) != NULL:
        names.append(search_variant(len(names)).name.decode())
    return names


def select(str variant not None):
    """Use `variant` from now on; returns the name of the one in use before."""
    global search_kernel
    names = variants()
    if variant not in names:
        raise ValueError(f"no variant {variant!r}; there are {names}")
    before = search_kernel.name.decode()
    search_kernel = search_variant(names.index(variant))
    return before


select(variants().pop())


include "search/memory.pxi"


cdef unsigned checked_distance(object distance, str name) except? 0:
    """A number of bits."""
    if not 0 <= distance <= 64:
        raise ValueError(f"{name} is 0 to 64, not {distance}")
    return distance


cdef class Tables:
    """The runs of all block permutations of one collection, prepared for lookup."""

    cdef Views views
    cdef Memory memory
    cdef search_tables tables
    cdef bint is_small

    def __cinit__(self, masks, runs, loose, dead):
        cdef size_t table_count = len(masks), run_count = len(runs), i = 0, table
        cdef uint64_t *own_masks
        cdef search_column *columns
        if table_count == 0:
            raise ValueError("there is no table")
        self.memory = Memory(table_count * (8 + run_count * sizeof(search_column)))
        self.views = Views(3 * run_count * table_count + 3)
        columns = <search_column *> self.memory.start
        own_masks = <uint64_t *> (columns + run_count * table_count)
        for table in range(table_count):
            own_masks[table] = masks[table]
            if own_masks[table] == 0:
                raise ValueError(f"the mask of table {table} is empty")
        for run in runs:
            if <size_t> len(run) != table_count:
                raise ValueError(f"a run of {len(run)} tables; wanted {table_count}")
            table = 0
            for keys, ordinals, directory in run:
                columns[i].table = <uint32_t> table
                self.take_column(keys, ordinals, directory, &columns[i], own_masks[table])
                table += 1
                i += 1
        self.tables.masks = own_masks
        self.tables.table_count = table_count
        self.tables.columns = columns
        self.tables.run_count = run_count
        self.take_loose(loose[0], loose[1])
        self.tables.dead_bytes = self.views.bits(dead, &self.tables.dead)
        self.is_small = run_count * table_count <= PROBES_HELD and self.tables.loose.count < 8192

    cdef int take_column(self, object keys, object ordinals, object directory,
                         search_column *column, uint64_t mask) except -1:
        cdef uint64_t length
        column.count = self.views.uint64(keys, &column.keys)
        if <uint64_t> self.views.uint32(ordinals, &column.ordinals) != column.count:
            raise ValueError(f"{len(keys)} keys but {len(ordinals)} ordinals")
        length = self.views.uint32(directory, &column.directory)
        if length < 2 or (length - 1) & (length - 2) != 0 or length - 1 > <uint64_t> 1 << 32:
            raise ValueError(f"a directory of {length} entries; wanted a power of two and one")
        search_prepare_column(column, mask, length)
        return 0

    cdef int take_loose(self, object fingerprints, object ordinals) except -1:
        cdef search_column *column = &self.tables.loose
        column.count = self.views.uint64(fingerprints, &column.keys)
        if <uint64_t> self.views.uint32(ordinals, &column.ordinals) != column.count:
            raise ValueError(f"{len(fingerprints)} loose fingerprints, {len(ordinals)} ordinals")
        return 0

    def lookup(self, queries, *, distance, flips, bint first, after):
        """Stored fingerprints within `distance` whose header is reached in some table."""
        return self.run(queries, distance, flips, first, after, False)

    def scan(self, queries, *, distance, bint first, after):
        """Every stored fingerprint within `distance`, by comparing with all of them."""
        return self.run(queries, distance, 0, first, after, True)

    cdef tuple run(self, queries, distance, flips, bint first, after, bint is_scan):
        cdef Views views = Views(2)
        cdef search_request request
        cdef search_scratch scratch
        cdef const uint64_t *all_queries
        cdef const uint32_t *all_after
        cdef size_t total, start = 0, size, group
        request.distance = checked_distance(distance, "distance")
        request.flips = checked_distance(flips, "flips")
        request.first = first
        total = views.uint64(queries, &all_queries)
        views.after(after, total, &all_after)
        group = min(total, <size_t> (SCAN_QUERIES_MAX if is_scan else LOOKUP_QUERIES_MAX))
        memory = Memory(group * 21 + (<size_t> 4 << PARTITION_BITS))
        matches = Matches(total, group, False)
        scratch.keys = <uint64_t *> memory.start
        scratch.sorted = scratch.keys + group
        scratch.numbers = <uint32_t *> (scratch.sorted + group)
        scratch.places = scratch.numbers + group
        scratch.done = NULL
        if first:
            scratch.done = <uint8_t *> (scratch.places + (<size_t> 1 << PARTITION_BITS))
        size = group
        while start < total:
            request.queries = all_queries + start
            request.after = all_after + start if all_after != NULL else NULL
            request.count = min(size, total - start)
            with nogil:
                if is_scan:
                    search_scan(&self.tables, &request, &scratch, &matches.found)
                else:
                    search_lookup(&self.tables, &request, &scratch, &matches.found)
            start += matches.keep(start, request.count)
            size = search_group_size(&matches.found, request.count, group)
        return matches.result()

    def lookup_one(self, uint64_t query, unsigned distance, unsigned flips, bint first):
        """(ordinal, distance) of the matches of one query, in the same order.  Fast to call."""
        cdef uint64_t key
        cdef uint8_t done
        cdef uint64_t ranks[ONE_ROOM * 2]
        cdef uint32_t numbers[ONE_ROOM]
        cdef search_found found
        cdef search_request request
        cdef search_scratch scratch
        cdef Memory memory
        cdef size_t i
        if distance > 64 or flips > 64:
            raise ValueError(f"distance {distance} or flips {flips} is not 0 to 64")
        request.queries, request.count, request.after = &query, 1, NULL
        request.distance, request.flips, request.first = distance, flips, first
        found.queries, found.ranks, found.capacity = numbers, ranks, ONE_ROOM
        scratch.keys = &key
        scratch.done = &done if first else NULL
        if self.is_small and flips == 0:
            # Giving up the GIL would take as long as the lookup.
            search_lookup(&self.tables, &request, &scratch, &found)
        else:
            with nogil:
                search_lookup(&self.tables, &request, &scratch, &found)
        if found.count > found.capacity:
            memory = Memory(found.count * 20)
            found.ranks = <uint64_t *> memory.start
            found.queries = <uint32_t *> (found.ranks + 2 * found.count)
            found.capacity = found.count
            with nogil:
                search_lookup(&self.tables, &request, &scratch, &found)
        search_sort(found.ranks, found.ranks + found.capacity, found.count)
        return [
            (<uint32_t> found.ranks[i], <uint32_t> (found.ranks[i] >> 32))
            for i in range(found.count)
        ]


def sweep(keys, ordinals, masks, size_t table, distance, cursor, left, right, distances):
    """Pairs within `distance` whose bits masks[table] are equal, among one sorted table."""
    cdef Views views = Views(5)
    cdef Memory memory = Memory(8 * len(masks))
    cdef uint64_t *own_masks = <uint64_t *> memory.start
    cdef search_sweep_type state
    cdef uint32_t *lefts
    cdef uint32_t *rights
    cdef uint8_t *measured
    cdef size_t capacity = len(left), written, i
    for i in range(<size_t> len(masks)):
        own_masks[i] = masks[i]
    if table >= <size_t> len(masks):
        raise ValueError(f"there is no table {table}")
    state.count = views.uint64(keys, &state.keys)
    if <uint64_t> views.uint32(ordinals, &state.ordinals) != state.count:
        raise ValueError(f"{len(keys)} keys but {len(ordinals)} ordinals")
    if state.count > <uint64_t> 1 << 32:
        raise ValueError("more keys than there are ordinals")
    state.masks, state.table = own_masks, table
    state.distance = checked_distance(distance, "distance")
    state.i, state.j = cursor
    if state.i >= state.j:
        raise ValueError(f"no cursor {cursor}: wanted (i, j), 0 <= i < j")
    lefts = <uint32_t *> views.output(left, UINT32, 4)
    rights = <uint32_t *> views.output(right, UINT32, 4)
    measured = <uint8_t *> views.output(distances, UINT8, 1)
    if capacity == 0 or <size_t> len(right) != capacity or <size_t> len(distances) != capacity:
        raise ValueError("the three outputs need one length, at least 1")
    with nogil:
        written = search_sweep(&state, lefts, rights, measured, capacity)
    return written, state.i, state.j


cdef class Vectors:
    """Packed volatility vectors by ordinal, over segments of consecutive ordinals."""

    cdef Views views
    cdef Memory memory
    cdef search_vectors vectors

    def __cinit__(self, size_t width, segments):
        cdef size_t i = 0, count = len(segments)
        cdef uint64_t before = 0
        cdef search_segment *own
        cdef Py_buffer *view
        if not 0 < width <= WIDTH_MAX:
            raise ValueError(f"a packed vector has 1 to {WIDTH_MAX} bytes, not {width}")
        self.views = Views(count)
        self.memory = Memory(count * sizeof(search_segment))
        own = <search_segment *> self.memory.start
        for first, values in segments:
            view = self.views.vectors(values, width)
            own[i].first = first
            own[i].stop = own[i].first + <uint64_t> view.shape[0]
            own[i].vectors = <const uint8_t *> view.buf
            if own[i].first < before or not own[i].first <= own[i].stop <= <uint64_t> 1 << 32:
                raise ValueError("segments are not sorted, disjoint and of 32-bit ordinals")
            before = own[i].stop
            i += 1
        self.vectors.width = width
        self.vectors.segments = own
        self.vectors.segment_count = count

    cdef int check_found(self, size_t found, const uint32_t *ordinals, size_t count) except -1:
        if found < count:
            raise ValueError(f"ordinal {ordinals[found]} has no vector")
        return 0

    def similarity(self, queries, offsets, ordinals):
        """Of queries[i] (uint8[m, width]) with each of ordinals[offsets[i]:offsets[i + 1]]."""
        cdef Views views = Views(4)
        cdef Memory memory = Memory(search_weights_size(self.vectors.width))
        cdef Py_buffer *query = views.vectors(queries, self.vectors.width)
        cdef Py_buffer *division = views.take(offsets, INT64, 8)
        cdef const int64_t *starts = <const int64_t *> division.buf
        cdef const uint32_t *numbers
        cdef size_t count = query.shape[0], total = views.uint32(ordinals, &numbers), found
        if <size_t> division.shape[0] != count + 1 \
                or not search_offsets_divide(starts, count, total):
            raise ValueError("offsets do not divide the ordinals among the queries")
        result = np.empty(total, np.float32)
        cdef float *similarities = <float *> views.output(result, FLOAT32, 4)
        with nogil:
            found = search_similarity(&self.vectors, <const uint8_t *> query.buf, count, starts,
                                      numbers, <int8_t *> memory.start, similarities)
        self.check_found(found, numbers, total)
        return result

    def between(self, left, right):
        """Of the stored vectors left[i] and right[i]."""
        cdef Views views = Views(3)
        cdef Memory memory = Memory(search_weights_size(self.vectors.width))
        cdef const uint32_t *lefts
        cdef const uint32_t *rights
        cdef size_t count = views.uint32(left, &lefts), found
        if <size_t> views.uint32(right, &rights) != count:
            raise ValueError("left and right differ in length")
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
        """Every stored vector at least that similar to each query, by comparing with all."""
        cdef Views views = Views(3)
        cdef search_vector_request request
        cdef size_t width = self.vectors.width
        cdef Py_buffer *query = views.vectors(queries, width)
        cdef const uint32_t *all_after
        cdef size_t total = query.shape[0], start = 0, size
        views.after(after, total, &all_after)
        request.skip_bytes = views.bits(skip, &request.skip)
        request.similarity = similarity
        cdef size_t group = min(total, <size_t> SEARCH_SCAN_MAX)
        memory = Memory(group * search_weights_size(width))
        matches = Matches(total, group, True)
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

    def gather(self, ordinals):
        """Copies: uint8[len(ordinals), width]."""
        cdef Views views = Views(2)
        cdef const uint32_t *numbers
        cdef size_t count = views.uint32(ordinals, &numbers), found
        result = np.empty((count, self.vectors.width), np.uint8)
        cdef uint8_t *copies = <uint8_t *> views.take(result, UINT8, 1, 2, True).buf
        with nogil:
            found = search_gather(&self.vectors, numbers, count, copies)
        self.check_found(found, numbers, count)
        return result
