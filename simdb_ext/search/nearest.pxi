# Gathering the best matches of many queries, for `_search.pyx`.

cdef class Best:
    """The best matches of all queries, gathered group by group."""

    cdef search_best *best
    cdef Memory memory
    cdef uint64_t *spare
    cdef size_t group  # the queries that are searched together
    cdef object offsets
    cdef list ordinals
    cdef list nearness
    cdef bint is_similarity

    def __cinit__(self, size_t count, size_t most, size_t group_max, bint is_similarity):
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
        self.ordinals, self.nearness, self.is_similarity = [], [], is_similarity

    cdef int keep(self, size_t start, size_t count) except -1:
        """Keep the matches of queries `start` .. `start` + `count`, and begin again."""
        cdef Views views = Views(3)
        cdef int64_t *ends = <int64_t *> views.output(self.offsets, INT64, 8) + start
        cdef int64_t at = ends[0], total = 0
        cdef size_t i
        cdef uint32_t *ordinals
        cdef float *similarities = NULL
        cdef uint8_t *distances = NULL
        for i in range(count):
            ends[i + 1] = ends[i] + <int64_t> self.best[i].count
        total = ends[count] - at
        ordinals_kept = np.empty(total, np.uint32)
        nearness_kept = np.empty(total, np.float32 if self.is_similarity else np.uint8)
        ordinals = <uint32_t *> views.output(ordinals_kept, UINT32, 4)
        if self.is_similarity:
            similarities = <float *> views.output(nearness_kept, FLOAT32, 4)
        else:
            distances = <uint8_t *> views.output(nearness_kept, UINT8, 1)
        with nogil:
            for i in range(count):
                search_sort(self.best[i].ranks, self.spare, self.best[i].count)
                search_ordinals(self.best[i].ranks, self.best[i].count, ordinals + ends[i] - at)
                if similarities != NULL:
                    search_similarities(self.best[i].ranks, self.best[i].count,
                                        similarities + ends[i] - at)
                else:
                    search_distances(self.best[i].ranks, self.best[i].count,
                                     distances + ends[i] - at)
                self.best[i].count = 0
        self.ordinals.append(ordinals_kept)
        self.nearness.append(nearness_kept)
        return 0

    cdef tuple result(self):
        """Return offsets, ordinals, and distances or similarities."""
        kind = np.float32 if self.is_similarity else np.uint8
        return (
            self.offsets,
            np.concatenate([np.empty(0, np.uint32), *self.ordinals]),
            np.concatenate([np.empty(0, kind), *self.nearness]),
        )


cdef size_t most_of(object k, object stored) except? 0:
    """Return how many of the `stored` documents are the best `k`."""
    if k < 1:
        raise ValueError(f"k is {k}, below 1")
    return min(k, stored)
