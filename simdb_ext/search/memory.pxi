# Owners of memory and of buffers, and collectors of results, for `_search.pyx`.

cdef class Memory:
    """Memory that is freed with this object."""

    cdef char *start

    def __cinit__(self, size_t size):
        self.start = <char *> malloc(size if size > 0 else 1)
        if self.start == NULL:
            raise MemoryError()

    def __dealloc__(self):
        free(self.start)


cdef class Views:
    """Buffers of arrays, held as long as this object lives."""

    cdef Py_buffer *views
    cdef size_t count
    cdef size_t capacity

    def __cinit__(self, size_t capacity):
        self.capacity = capacity
        self.views = <Py_buffer *> calloc(capacity + 1, sizeof(Py_buffer))
        if self.views == NULL:
            raise MemoryError()

    def __dealloc__(self):
        cdef size_t i
        for i in range(self.count):
            PyBuffer_Release(&self.views[i])
        free(self.views)

    cdef Py_buffer *take(self, object values, const char *codes, Py_ssize_t size, int dimensions=1,
                         bint writable=False) except NULL:
        """Return the buffer of an array whose items are of a type in `codes`, with `size` bytes."""
        cdef Py_buffer *view = &self.views[self.count]
        assert self.count < self.capacity
        PyObject_GetBuffer(
            values, view,
            PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (PyBUF_WRITABLE if writable else 0),
        )
        self.count += 1
        if view.ndim != dimensions:
            raise ValueError(f"an array has {view.ndim} dimensions; it needs {dimensions}")
        if view.itemsize != size or view.format[0] == 0 or view.format[1] != 0 \
                or strchr(codes, view.format[0]) == NULL:
            raise ValueError(
                f"an array is of type {view.format.decode()!r}; it needs one of {codes.decode()!r}"
                f" with {size} bytes"
            )
        if <uintptr_t> view.buf % <uintptr_t> size != 0:
            raise ValueError("an array is not aligned to its type; copy it")
        return view

    cdef Py_ssize_t uint64(self, object values, const uint64_t **data) except -1:
        """Return the length of a vector of uint64, and write its start to `data`."""
        cdef Py_buffer *view = self.take(values, UINT64, 8)
        data[0] = <const uint64_t *> view.buf
        return view.shape[0]

    cdef Py_ssize_t uint16(self, object values, const uint16_t **data) except -1:
        """Return the length of a vector of uint16, and write its start to `data`."""
        cdef Py_buffer *view = self.take(values, UINT16, 2)
        data[0] = <const uint16_t *> view.buf
        return view.shape[0]

    cdef Py_ssize_t uint32(self, object values, const uint32_t **data) except -1:
        """Return the length of a vector of uint32, and write its start to `data`."""
        cdef Py_buffer *view = self.take(values, UINT32, 4)
        data[0] = <const uint32_t *> view.buf
        return view.shape[0]

    cdef Py_ssize_t after(self, object values, size_t count, const uint32_t **data) except -1:
        """Write to `data` the start of one ordinal for each of `count` queries; NULL for None."""
        data[0] = NULL
        if values is not None and self.uint32(values, data) != <Py_ssize_t> count:
            raise ValueError(f"after must have one ordinal for each of {count} queries")
        return 0

    cdef Py_ssize_t judging(self, object values, size_t count, const uint64_t **counted,
                            const uint8_t **most) except -1:
        """Write the starts of both columns of a `Judging`, of length `count`; NULL for None."""
        cdef Py_buffer *view
        counted[0], most[0] = NULL, NULL
        if values is None:
            return 0
        view = self.take(values[1], UINT8, 1)
        most[0] = <const uint8_t *> view.buf
        if self.uint64(values[0], counted) != <Py_ssize_t> count \
                or view.shape[0] != <Py_ssize_t> count:
            raise ValueError(f"judging must have 64 bits and a number for each of {count} keys")
        return 0

    cdef Py_ssize_t bits(self, object values, const uint8_t **data) except -1:
        """Return the bytes of a bitmap by ordinal, and write its start to `data`; 0 for None."""
        cdef Py_buffer *view
        data[0] = NULL
        if values is None:
            return 0
        view = self.take(values, UINT8, 1)
        data[0] = <const uint8_t *> view.buf
        return view.shape[0]

    cdef int filter(self, object left_out, search_filter *own) except -1:
        """Fill in the documents that a search omits, given as `LeftOut`."""
        cdef Py_buffer *view
        own.codes, own.wanted, own.coded, own.width = NULL, NULL, 0, 0
        if isinstance(left_out, tuple):
            left_out, codes, wanted = left_out
            view = self.take(codes, UINT64, 8, 2)
            own.codes, own.coded, own.width = <const uint64_t *> view.buf, view.shape[0], \
                view.shape[1]
            if <size_t> self.uint64(wanted, &own.wanted) != own.width:
                raise ValueError(f"{len(wanted)} codes are wanted, but documents have {own.width}")
        own.bytes = self.bits(left_out, &own.bits)
        return 0

    cdef const uint8_t *table(self, object values) except NULL:
        """Return the start of a table of costs, one for each level."""
        cdef Py_buffer *view = self.take(values, UINT8, 1)
        if view.shape[0] != 256:
            raise ValueError(f"costs has {view.shape[0]} levels; it needs 256")
        return <const uint8_t *> view.buf

    cdef Py_buffer *vectors(self, object values, size_t width) except NULL:
        """Return the buffer of an array uint8[n, width]."""
        cdef Py_buffer *view = self.take(values, UINT8, 1, 2)
        if <size_t> view.shape[1] != width:
            raise ValueError(f"vectors have {view.shape[1]} bytes; they need {width}")
        return view

    cdef const int64_t *offsets(self, object values, size_t count, size_t total) except NULL:
        """Return the start of offsets that divide `total` entries among `count` queries."""
        cdef Py_buffer *view = self.take(values, INT64, 8)
        if <size_t> view.shape[0] != count + 1 \
                or not search_offsets_divide(<const int64_t *> view.buf, count, total):
            raise ValueError(f"offsets must ascend from 0 to {total}, one more than queries")
        return <const int64_t *> view.buf

    cdef void *output(self, object values, const char *codes, Py_ssize_t size) except? NULL:
        """Return the start of a writable vector."""
        return self.take(values, codes, size, 1, True).buf


cdef class Bytes:
    """The bytes of an object that has exactly `size` bytes, held as long as this object lives."""

    cdef Py_buffer view
    cdef const uint8_t *start

    def __cinit__(self, object values, Py_ssize_t size, str name):
        PyObject_GetBuffer(values, &self.view, PyBUF_SIMPLE)
        if self.view.len != size or self.view.itemsize != 1:
            raise ValueError(f"{name} has {self.view.len} bytes; it needs {size}")
        self.start = <const uint8_t *> self.view.buf

    def __dealloc__(self):
        PyBuffer_Release(&self.view)


# Types of the nearness of matches, by size: distances, distances of whole hashes, similarities.
NEARNESS = {1: np.uint8, 2: np.uint16, 4: np.float32}


cdef class Matches:
    """The matches of all queries, collected group by group."""

    cdef search_found found
    cdef Memory memory
    cdef uint64_t *ranks
    cdef object offsets
    cdef int64_t *ends
    cdef Views views
    cdef list ordinals
    cdef list nearness
    cdef size_t size  # bytes of a nearness
    cdef bint is_repeating  # whether a match may be found twice
    cdef bint is_first      # whether one match of each query is kept; only if `is_repeating`

    def __cinit__(self, size_t count, size_t group, size_t size):
        self.views = Views(1)
        self.offsets = np.zeros(count + 1, np.int64)
        self.ends = <int64_t *> self.views.output(self.offsets, INT64, 8)
        self.ordinals, self.nearness, self.size = [], [], size
        # Memory that is never written costs nothing; queries whose matches have no room run again.
        self.make_room(8 * max(group, <size_t> ROOM_MIN))

    cdef int make_room(self, size_t capacity) except -1:
        self.memory = Memory(capacity * 20)
        self.found.capacity = capacity
        self.found.ranks = <uint64_t *> self.memory.start
        self.ranks = self.found.ranks + capacity
        self.found.queries = <uint32_t *> (self.ranks + capacity)
        return 0

    cdef size_t keep(self, size_t start, size_t count) except? 0:
        """Keep the matches of queries `start` .. `start + count` if all had room; else make room.

        Returns the number of queries whose matches were kept.
        """
        cdef size_t room = search_room(&self.found, count)
        cdef size_t matches = self.found.count
        cdef Views views = Views(2)
        cdef uint32_t *ordinals
        cdef void *nearness
        if matches > self.found.capacity:
            if room > self.found.capacity:
                self.make_room(room)
            return 0
        with nogil:
            search_group(&self.found, self.ranks, count, self.ends + start)
            if self.is_repeating:
                matches = search_drop_repeated(self.ranks, count, self.ends + start, self.is_first)
        ordinals_kept = np.empty(matches, np.uint32)
        nearness_kept = np.empty(matches, NEARNESS[self.size])
        self.ordinals.append(ordinals_kept)
        self.nearness.append(nearness_kept)
        ordinals = <uint32_t *> views.output(ordinals_kept, UINT32, 4)
        nearness = views.output(nearness_kept, b"BHf", self.size)
        with nogil:
            search_ordinals(self.ranks, matches, ordinals)
            search_nearness(self.ranks, matches, self.size, nearness)
        return count

    cdef tuple result(self):
        """Return offsets, ordinals, and distances or similarities."""
        if len(self.ordinals) == 1:
            return self.offsets, self.ordinals[0], self.nearness[0]
        ordinals = np.concatenate([np.empty(0, np.uint32), *self.ordinals])
        self.ordinals.clear()
        kind = NEARNESS[self.size]
        return self.offsets, ordinals, np.concatenate([np.empty(0, kind), *self.nearness])


cdef class Best:
    """The best matches of all queries, collected group by group."""

    cdef search_best *best
    cdef Memory memory
    cdef uint64_t *spare
    cdef size_t group  # queries that are searched together
    cdef object offsets
    cdef list ordinals
    cdef list nearness
    cdef size_t size

    def __cinit__(self, size_t count, size_t most, size_t group_max, size_t size):
        cdef size_t i
        cdef uint64_t *ranks
        self.group = min(count, group_max)
        if self.group * most > BEST_ROOM:
            self.group = max(BEST_ROOM // most, <size_t> 1)
        self.memory = Memory(self.group * sizeof(search_best) + (self.group + 1) * most * 8)
        self.best = <search_best *> self.memory.start
        self.spare = <uint64_t *> (self.best + self.group)
        ranks = self.spare + most
        for i in range(self.group):
            self.best[i].ranks, self.best[i].most, self.best[i].count = ranks + i * most, most, 0
        self.offsets = np.zeros(count + 1, np.int64)
        self.ordinals, self.nearness, self.size = [], [], size

    cdef int keep(self, size_t start, size_t count) except -1:
        """Keep the matches of queries `start` .. `start` + `count`, and empty the heaps."""
        cdef Views views = Views(3)
        cdef int64_t *ends = <int64_t *> views.output(self.offsets, INT64, 8) + start
        cdef int64_t at = ends[0], total = 0
        cdef size_t i
        cdef uint32_t *ordinals
        cdef char *nearness
        for i in range(count):
            ends[i + 1] = ends[i] + <int64_t> self.best[i].count
        total = ends[count] - at
        ordinals_kept = np.empty(total, np.uint32)
        nearness_kept = np.empty(total, NEARNESS[self.size])
        ordinals = <uint32_t *> views.output(ordinals_kept, UINT32, 4)
        nearness = <char *> views.output(nearness_kept, b"BHf", self.size)
        with nogil:
            for i in range(count):
                search_sort(self.best[i].ranks, self.spare, self.best[i].count)
                search_ordinals(self.best[i].ranks, self.best[i].count, ordinals + ends[i] - at)
                search_nearness(self.best[i].ranks, self.best[i].count, self.size,
                                nearness + <size_t> (ends[i] - at) * self.size)
                self.best[i].count = 0
        self.ordinals.append(ordinals_kept)
        self.nearness.append(nearness_kept)
        return 0

    cdef tuple result(self):
        """Return offsets, ordinals, and distances or similarities."""
        kind = NEARNESS[self.size]
        return (
            self.offsets,
            np.concatenate([np.empty(0, np.uint32), *self.ordinals]),
            np.concatenate([np.empty(0, kind), *self.nearness]),
        )


cdef size_t most_of(object k, object stored) except? 0:
    """Return the smaller of `k`, which must be 1 or more, and the number of `stored` documents."""
    if k < 1:
        raise ValueError(f"k is {k}, below 1")
    return min(k, stored)
