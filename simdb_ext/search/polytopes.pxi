# Searching tables of cross-polytope keys, for `_search.pyx`.

cdef class Floats:
    """The numbers of an array of float32, held as long as this object lives."""

    cdef Py_buffer view
    cdef const float *start
    cdef size_t count

    def __cinit__(self, object values):
        PyObject_GetBuffer(values, &self.view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)
        if self.view.ndim != 1 or strcmp(self.view.format, FLOAT32) != 0:
            raise ValueError("thresholds must be a vector of float32")
        self.start, self.count = <const float *> self.view.buf, self.view.shape[0]

    def __dealloc__(self):
        PyBuffer_Release(&self.view)


cdef extern from *:
    """
    /* The scratch memory of the last search.  Allocating it takes longer than a short search.
       Searches in several threads exchange it atomically. */
    static void *spare_scratch = NULL;

    static void *exchange_scratch(void *memory)
    {
        return __atomic_exchange_n(&spare_scratch, memory, __ATOMIC_ACQ_REL);
    }
    """
    void *exchange_scratch(void *memory)


cdef class Scratch:
    """Scratch memory that no other search uses while this object lives."""

    cdef void *memory
    cdef void *start

    def __cinit__(self):
        self.memory = exchange_scratch(NULL)
        if self.memory == NULL:
            self.memory = calloc(search_polytopes_scratch() + 64, 1)
        if self.memory == NULL:
            raise MemoryError()
        self.start = aligned(self.memory)

    def __dealloc__(self):
        free(exchange_scratch(self.memory))


cdef const uint32_t *take_members(Views views, object members, object parents, size_t count,
                                  polytope_request *request) except? NULL:
    """Fill in members and parents, either of which may be None; return the members, or NULL."""
    cdef Py_buffer *given
    cdef const uint32_t *own
    cdef size_t i
    request.parents, request.parent_count = NULL, 0
    if members is None:
        return NULL
    if <size_t> views.uint32(members, &own) != count:
        raise ValueError(f"there must be one member for each of {count} queries")
    if parents is None:
        return own
    given = views.take(parents, UINT32, 4, 1, True)
    for i in range(count):
        if own[i] >= <size_t> given.shape[0]:
            raise ValueError(f"number {own[i]} is not among {given.shape[0]}")
    request.parents, request.parent_count = <uint32_t *> given.buf, given.shape[0]
    return own


cdef class Polytopes:
    """The runs of cross-polytope keys and the vectors of one collection, prepared for searching."""

    cdef Views views
    cdef Memory memory
    cdef object vectors
    cdef search_polytopes_type tables
    cdef polytope_column *delta
    cdef Polytopes like

    def __cinit__(self, size_t vector_width, segments, runs, delta, dead, windows=None,
                  Polytopes like=None, size_t first_table=0, bint are_whole=False):
        if like is None:
            self.take_runs(vector_width, segments, runs, windows, first_table)
            self.tables.skipped = 0 if are_whole else POLYTOPE_CODE_BITS
        elif segments is None:
            self.like, self.memory, self.vectors = like, like.memory, like.vectors
            self.tables, self.views = like.tables, Views(3)
        else:
            self.take_like(like, segments)
        if delta is not None:
            self.take_column(delta[0], delta[1], self.delta)
        self.views.filter(dead, &self.tables.filter)

    def over(self, delta, dead, vectors):
        """Return the same runs with another delta, other deleted documents and vectors for both."""
        return Polytopes(self.tables.vectors.width, vectors, (), delta, dead,
                         like=self if self.like is None else self.like)

    def leaving(self, dead):
        """Return the same runs, delta and vectors with other deleted documents."""
        return Polytopes(self.tables.vectors.width, None, (), None, dead, like=self)

    cdef int take_like(self, Polytopes like, Vectors vectors) except -1:
        """Share the runs of another object, with other vectors."""
        cdef size_t count = like.tables.table_count * like.tables.run_count
        if vectors.vectors.width != like.tables.vectors.width:
            raise ValueError(
                f"vectors have {vectors.vectors.width} bytes; they need"
                f" {like.tables.vectors.width}"
            )
        self.like, self.vectors, self.tables = like, vectors, like.tables
        self.tables.vectors = vectors.vectors
        self.views = Views(5)
        self.memory = Memory((count + 1) * sizeof(polytope_column))
        memcpy(self.memory.start, like.tables.columns, count * sizeof(polytope_column))
        self.tables.columns = <polytope_column *> self.memory.start
        self.delta = <polytope_column *> self.memory.start + count
        self.delta.directory = NULL
        return 0

    cdef int take_runs(self, size_t vector_width, segments, runs, windows,
                       size_t first_table) except -1:
        """Fill in the runs and their vectors."""
        cdef size_t run_count = len(runs), table_count = len(runs[0]) if len(runs) > 0 else 0
        cdef size_t column_count = run_count * table_count, i = 0
        cdef polytope_column *columns
        cdef polytope_run *own
        if not 1 <= vector_width <= POLYTOPE_WIDTH_MAX:
            raise ValueError(
                f"vector_width is {vector_width}, not from 1 to {POLYTOPE_WIDTH_MAX}"
            )
        polytope_tables(table_count, 0 if run_count == 0 else 1, first_table)
        if windows is not None and <size_t> len(windows) != run_count:
            raise ValueError(f"there are {len(windows)} windows but {run_count} runs")
        self.vectors = Vectors(vector_width, segments)
        self.tables.vectors = (<Vectors> self.vectors).vectors
        self.views = Views(3 * (column_count + 1) + 2)
        self.memory = Memory((column_count + 1) * sizeof(polytope_column)
                             + run_count * sizeof(polytope_run))
        columns = <polytope_column *> self.memory.start
        own = <polytope_run *> (columns + column_count + 1)
        for number, run in enumerate(runs):
            if <size_t> len(run) != table_count:
                raise ValueError(f"run {number} has {len(run)} tables; it needs {table_count}")
            self.take_run(run, None if windows is None else windows[number],
                          columns + i, own + <size_t> number)
            i += table_count
        self.delta = columns + i
        self.delta.directory = NULL
        self.tables.columns, self.tables.runs = columns, own
        self.tables.table_count, self.tables.run_count = table_count, run_count
        self.tables.first_table = first_table
        return 0

    cdef int take_run(self, object run, object window, polytope_column *columns,
                      polytope_run *own) except -1:
        """Fill in the columns of one run."""
        cdef uint64_t length, before = 0
        for keys, ordinals, directory in run:
            self.take_column(keys, ordinals, columns)
            length = self.views.uint32(directory, &columns.directory)
            if length != before and before != 0:
                raise ValueError(f"the directories of a run have {before} and {length} entries")
            before = length
            columns += 1
        own.width = 0
        while own.width < 32 and (<uint64_t> 1 << own.width) + 1 < before:
            own.width += 1
        if before != (<uint64_t> 1 << own.width) + 1 or polytope_slice_count(own.width) == 0:
            raise ValueError(f"a directory has {before} entries, not 2**7, 13, 18 or 22 plus 1")
        own.start, own.length = 0, before - 1
        if window is not None:
            start, stop = window
            if not 0 <= start < stop < before:
                raise ValueError(
                    f"window {start} .. {stop} is not in a directory of {before} entries"
                )
            own.start, own.length = start, stop - start
        return 0

    cdef int take_column(self, object keys, object ordinals, polytope_column *column) except -1:
        """Fill in the keys and ordinals of one run in one table, or of the delta."""
        column.count = self.views.uint64(keys, &column.keys)
        if <uint64_t> self.views.uint32(ordinals, &column.ordinals) != column.count:
            raise ValueError(f"there are {len(keys)} keys but {len(ordinals)} ordinals")
        return 0

    cdef int take_request(self, polytope_request *request, const float *thresholds,
                          size_t threshold_count, float similarity, tuple limits,
                          uint8_t first) except -1:
        """Fill in the arguments that all queries of a search share."""
        cdef size_t i
        if threshold_count != self.tables.run_count:
            raise ValueError(f"{threshold_count} thresholds of {self.tables.run_count} runs")
        for i in range(threshold_count):
            polytope_threshold(thresholds[i])
        every, firm = limits
        self.take_limits(&request.all, every)
        self.take_limits(&request.firm, firm)
        request.thresholds, request.similarity = thresholds, similarity
        request.enough, request.best = first, NULL
        return 0

    cdef int take_limits(self, polytope_limits *limits, tuple given) except -1:
        """Fill in the limits on differing signs."""
        distance, delta_distance, flipped = given
        if not (0 <= distance <= 64 - self.tables.skipped and 0 <= delta_distance <= 64):
            raise ValueError(
                f"distance is {distance}, not from 0 to {64 - self.tables.skipped}, or"
                f" delta_distance is {delta_distance}, not from 0 to 64"
            )
        if not 0 <= flipped <= 1:
            raise ValueError(f"flipped is {flipped}, not from 0 to 1")
        limits.distance, limits.delta_distance, limits.flipped = distance, delta_distance, flipped
        return 0

    def search(self, vectors, *, thresholds, float similarity, tuple limits, uint8_t first, after,
               members=None, parents=None):
        """Return stored vectors at least `similarity` to each query that some table reaches."""
        cdef Views views = Views(6)
        cdef polytope_request request
        cdef size_t width = self.tables.vectors.width, start = 0, size, group
        cdef Py_buffer *query = views.vectors(vectors, width)
        cdef Py_buffer *given = views.take(thresholds, FLOAT32, 4)
        cdef const uint32_t *all_after
        cdef const uint32_t *own
        cdef size_t total = query.shape[0]
        cdef Scratch scratch = Scratch()
        cdef uint32_t missing
        cdef bint is_whole
        self.take_request(&request, <const float *> given.buf, given.shape[0], similarity, limits,
                          first)
        views.after(after, total, &all_after)
        own = take_members(views, members, parents, total, &request)
        group = min(total, <size_t> LOOKUP_QUERIES_MAX)
        matches = Matches(total, group, sizeof(float))
        matches.is_repeating, matches.is_first = True, first == 1
        size = group
        while start < total:
            request.queries = <const uint8_t *> query.buf + start * width
            request.after = all_after + start if all_after != NULL else NULL
            request.members = own + start if own != NULL else NULL
            request.count = min(size, total - start)
            with nogil:
                is_whole = search_polytopes(&self.tables, &request, scratch.start,
                                            &matches.found, &missing)
            if not is_whole:
                raise CorruptError(f"ordinal {missing} has no vector")
            start += matches.keep(start, request.count)
            size = search_group_size(&matches.found, request.count, group)
        offsets, ordinals, similarities = matches.result()
        return offsets, ordinals, self.distances(vectors, offsets, ordinals), similarities

    cdef object distances(self, object vectors, object offsets, object ordinals):
        """Return the distances between the fingerprints of queries and their matches."""
        cdef Views views = Views(4)
        cdef Py_buffer *query = views.vectors(vectors, self.tables.vectors.width)
        cdef const int64_t *divisions = <const int64_t *> views.take(offsets, INT64, 8).buf
        cdef const uint32_t *numbers
        views.uint32(ordinals, &numbers)
        result = np.empty(len(ordinals), np.uint8)
        cdef uint8_t *found = <uint8_t *> views.output(result, UINT8, 1)
        with nogil:
            search_vector_distances(&self.tables.vectors, <const uint8_t *> query.buf,
                                    query.shape[0], divisions, numbers, found)
        return result

    def search_one(self, vector, thresholds, float similarity, tuple limits, uint8_t first,
                   Py_ssize_t room, size_t most=0):
        """Return (ordinal, distance, similarity) of each match of one query, or None."""
        cdef uint64_t ranks[ONE_ROOM * 2]
        cdef uint32_t numbers[ONE_ROOM]
        cdef search_found found
        cdef search_best best
        cdef polytope_request request
        cdef Bytes query = Bytes(vector, self.tables.vectors.width, "vector")
        cdef Floats given = Floats(thresholds)
        cdef Scratch scratch = Scratch()
        cdef Memory memory = None
        cdef uint32_t missing
        cdef bint is_whole
        cdef size_t repeats = max(self.tables.table_count, <size_t> 1)
        cdef int64_t offsets[2]
        self.take_request(&request, given.start, given.count, similarity, limits, first)
        request.queries, request.count, request.after = query.start, 1, NULL
        request.parents, request.members = NULL, NULL
        found.queries, found.ranks, found.capacity = numbers, ranks, ONE_ROOM
        best.ranks, best.most, best.count = ranks, most, 0
        if 0 < most <= ONE_ROOM:
            request.best = &best
        while True:
            with nogil:
                is_whole = search_polytopes(&self.tables, &request, scratch.start,
                                            &found, &missing)
            if not is_whole:
                raise CorruptError(f"ordinal {missing} has no vector")
            if found.count <= found.capacity:
                break
            # Each table finds a match at most once.
            if not first and found.count // repeats > <size_t> max(room, 0):
                return None
            memory = Memory(found.count * 20)
            grow(&found, memory.start)
        found.count += best.count
        search_sort(found.ranks, found.ranks + found.capacity, found.count)
        offsets[0], offsets[1] = 0, found.count
        search_drop_repeated(found.ranks, 1, offsets, first == 1)
        if offsets[1] > room:
            return None
        return self.rows(query.start, &found, offsets)

    cdef list rows(self, const uint8_t *query, search_found *found, const int64_t *offsets):
        """Return (ordinal, distance, similarity) of the sorted matches of one query."""
        cdef size_t i, count = offsets[1]
        cdef uint32_t ordinal
        cdef uint8_t distance
        cdef int64_t one[2]
        one[0], one[1] = 0, 1
        result = []
        for i in range(count):
            ordinal = <uint32_t> found.ranks[i]
            search_vector_distances(&self.tables.vectors, query, 1, one, &ordinal, &distance)
            result.append((ordinal, distance,
                           search_similarity_of(<uint32_t> (found.ranks[i] >> 32))))
        return result


cdef inline void *aligned(void *start) noexcept nogil:
    """Return the next address that is a multiple of 64."""
    return <void *> ((<uintptr_t> start + 63) // 64 * 64)
