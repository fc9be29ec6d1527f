"""Lines of files, for `_arrange.pyx`."""


def object_sizes(bytes content not None):
    """Return the size of each line with its line feed; None unless each line holds an object."""
    cdef const uint8_t[::1] given = content
    cdef int64_t count = content.count(b"\n")
    cdef int is_whole = 0
    if not count or given[given.shape[0] - 1] != 10:
        return None
    sizes = np.empty(count, np.int64)
    cdef int64_t[::1] out = sizes
    with nogil:
        is_whole = arrange_objects(&given[0], given.shape[0], count, &out[0])
    return sizes if is_whole else None


def read_ranges(
    int descriptor, const int64_t[::1] starts not None, const int64_t[::1] stops not None
):
    """Return the bytes of ascending ranges of an open file, fewer if it ends in one of them."""
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
