# JSON lines, and the values of some of their fields.


cdef class Paths:
    """Paths of fields for C; their names belong to `held`."""

    cdef list held
    cdef uint64_t[::1] memory
    cdef json_path *start
    cdef int64_t count

    def __cinit__(self, texts, others):
        cdef int64_t at, level, names
        cdef const uint8_t **name
        cdef int64_t *size
        every = [*texts, *others]
        if not every or len(every) > JSON_PATHS or not all(every):
            raise ValueError(f"there are {len(every)} paths, of 1 to {JSON_PATHS}, or an empty one")
        self.held = [
            # No name in valid UTF-8 is a lone surrogate.
            [each.encode("utf-8", "surrogatepass") for each in path] for path in every
        ]
        self.count = len(every)
        names = sum(map(len, every))
        self.memory = np.zeros(
            (self.count * sizeof(json_path) + 16 * names) // 8 + 1, np.uint64
        )
        self.start = <json_path *> &self.memory[0]
        name = <const uint8_t **> (self.start + self.count)
        size = <int64_t *> (name + names)
        for at in range(self.count):
            self.start[at] = json_path(len(self.held[at]), name, size, at < <int64_t> len(texts))
            for level in range(self.start[at].length):
                name[level] = <const uint8_t *> <const char *> <bytes> self.held[at][level]
                size[level] = len(self.held[at][level])
            name += self.start[at].length
            size += self.start[at].length


def count_lines(bytes content not None):
    """Return the number of line feeds."""
    cdef const uint8_t[::1] given = content
    cdef int64_t count = 0
    if given.shape[0]:
        with nogil:
            count = arrange_count_feeds(&given[0], given.shape[0])
    return count


def scan_objects(bytes content not None, texts, others):
    """Find values of given fields in JSON lines; each line holds one object."""
    cdef Paths paths = Paths(texts, others)
    cdef const uint8_t[::1] given = content
    cdef int64_t count = 0
    if not given.shape[0] or given[given.shape[0] - 1] != 10:
        raise ValueError("the content does not end with a line feed")
    with nogil:
        count = arrange_count_feeds(&given[0], given.shape[0])
    shape = paths.count, count
    sizes, lines = np.empty(count, np.int64), np.empty(count, np.uint8)
    addresses, lengths = np.empty(shape, np.uint64), np.empty(shape, np.int64)
    kinds, spare = np.empty(shape, np.uint8), np.empty(len(content) + JSON_SLACK, np.uint8)
    cdef int64_t[::1] sizes_out = sizes
    cdef int64_t[::1] lengths_out = lengths.reshape(-1)
    cdef uint64_t[::1] addresses_out = addresses.reshape(-1)
    cdef uint8_t[::1] lines_out = lines
    cdef uint8_t[::1] kinds_out = kinds.reshape(-1)
    cdef uint8_t[::1] spare_out = spare
    with nogil:
        arrange_scan_objects(
            &given[0], given.shape[0], count, paths.start, paths.count, &sizes_out[0],
            &lines_out[0], &addresses_out[0], &lengths_out[0], &kinds_out[0], &spare_out[0]
        )
    return sizes, lines, addresses, lengths, kinds, spare


def values_at(
    const uint64_t[::1] addresses not None,
    const int64_t[::1] lengths not None,
    const uint8_t[::1] kinds not None,
):
    """Return the values at one path, as `scan_objects` describes them."""
    cdef Py_ssize_t i, count = addresses.shape[0]
    cdef list values = [None] * count
    cdef const char *start
    if lengths.shape[0] != count or kinds.shape[0] != count:
        raise ValueError("addresses, lengths and kinds differ in number")
    for i in range(count):
        start = <const char *> <uintptr_t> addresses[i]
        if kinds[i] == JSON_STRING:
            values[i] = PyUnicode_DecodeUTF8(start, lengths[i], NULL)
        elif kinds[i] == JSON_WHOLE_NUMBER:
            values[i] = int(start[:lengths[i]])
    return values


def bytes_at(const uint64_t[::1] addresses not None, const int64_t[::1] lengths not None):
    """Return the bytes at some addresses, back to back: uint8; a negative length counts as 0."""
    cdef Py_ssize_t i, count = addresses.shape[0]
    cdef int64_t at = 0
    if lengths.shape[0] != count:
        raise ValueError("addresses and lengths differ in number")
    found = np.empty(np.maximum(lengths, 0).sum(), np.uint8)
    cdef uint8_t[::1] out = found
    with nogil:
        for i in range(count):
            if lengths[i] > 0:
                memcpy(&out[at], <const void *> <uintptr_t> addresses[i], lengths[i])
                at += lengths[i]
    return found
