# VOSH, for `_search.pyx`.

cdef class FlipSets:
    """An iterator over sets of up to `distance` ranks, the cheapest set first (VOSH)."""

    cdef search_vosh_type vosh
    cdef Memory prices
    cdef Memory heap
    cdef size_t room

    def __cinit__(self, costs, unsigned distance):
        cdef Views views = Views(1)
        cdef Py_buffer *view = views.take(costs, INT64, 8)
        cdef const int64_t *given = <const int64_t *> view.buf
        cdef int64_t *prices
        cdef Py_ssize_t count = view.shape[0], rank
        if count > SEARCH_VOSH_RANKS:
            raise ValueError(f"there are {count} costs, more than {SEARCH_VOSH_RANKS}")
        if (np.diff(costs) < 0).any():
            raise ValueError("the costs of ranks fall")
        self.prices = Memory(8 * count)
        prices = <int64_t *> self.prices.start
        for rank in range(count):
            prices[rank] = search_vosh_price(given[rank])
        self.room = 2 * SEARCH_VOSH_RANKS
        self.heap = Memory(self.room * sizeof(search_flip_set))
        search_vosh_begin(&self.vosh, prices, <unsigned> count, distance,
                          <search_flip_set *> self.heap.start)

    def __iter__(self):
        return self

    def __next__(self):
        cdef search_flip_set found
        cdef Memory wider
        if self.vosh.size == self.room:
            wider = Memory(2 * self.room * sizeof(search_flip_set))
            memcpy(wider.start, self.heap.start, self.room * sizeof(search_flip_set))
            self.heap, self.room = wider, 2 * self.room
            self.vosh.heap = <search_flip_set *> wider.start
        if not search_vosh_next(&self.vosh, &found):
            raise StopIteration
        return ranks_of(found.ranks)

    @property
    def held(self):
        """Return the number of sets in the heap."""
        return self.vosh.size


def flip_set_children(parent, unsigned count):
    """Return the children of a set of ranks, below `count`, in the tree of VOSH."""
    cdef uint64_t children[2]
    cdef uint64_t ranks = 0
    cdef size_t found, i
    if not 0 < count <= SEARCH_VOSH_RANKS:
        raise ValueError(f"count is {count}, not from 1 to {SEARCH_VOSH_RANKS}")
    for rank in parent:
        if not 0 <= rank < count:
            raise ValueError(f"rank {rank} is not below {count}")
        ranks |= <uint64_t> 1 << <unsigned> (63 - rank)
    if ranks == 0:
        raise ValueError("the empty set has no children")
    found = search_vosh_children(ranks, count, children)
    return [ranks_of(children[i]) for i in range(found)]


cdef tuple ranks_of(uint64_t ranks):
    """Return the ranks of a set, ascending."""
    return tuple([rank for rank in range(64) if ranks >> (63 - rank) & 1])
