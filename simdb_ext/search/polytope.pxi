# Cross-polytope keys, for `_search.pyx`.

cdef Py_buffer *polytope_vectors(Views views, object vectors) except NULL:
    """Return the buffer of packed vectors that can be rotated."""
    cdef Py_buffer *view = views.take(vectors, UINT8, 1, 2)
    if not 1 <= view.shape[1] <= POLYTOPE_WIDTH_MAX:
        raise ValueError(f"vectors have {view.shape[1]} bytes, not 1 to {POLYTOPE_WIDTH_MAX}")
    return view


cdef size_t polytope_tables(object table_count, size_t least, size_t first_table=0) except? 0:
    """Return `table_count`; raise ValueError if it is below `least` or beyond the last table."""
    cdef Py_ssize_t most = <Py_ssize_t> POLYTOPE_TABLES_MAX - <Py_ssize_t> first_table
    if not <Py_ssize_t> least <= table_count <= most:
        raise ValueError(f"table_count is {table_count}, not from {least} to {most}")
    return table_count


cdef unsigned polytope_width(object width) except 0:
    """Return the bits of a header; raise ValueError unless they are whole vertices."""
    if not 0 <= width <= POLYTOPE_CODE_BITS or polytope_slice_count(width) == 0:
        raise ValueError(f"a header has {width} bits, not one of 7, 13, 18, 22")
    return width


cdef float polytope_threshold(float threshold) except? -1:
    """Return a threshold as a float32, as a search takes it; raise ValueError if it is negative."""
    if not threshold >= 0:
        raise ValueError(f"a threshold must be at least 0, got {threshold}")
    return threshold


cdef size_t polytope_pairs(Views views, object left, object right, const uint8_t **lefts,
                           const uint8_t **rights, size_t *width) except? 0:
    """Return the number of pairs of packed vectors, and write their starts and width."""
    cdef Py_buffer *one = polytope_vectors(views, left)
    cdef Py_buffer *other = polytope_vectors(views, right)
    if one.shape[0] != other.shape[0] or one.shape[1] != other.shape[1]:
        raise ValueError(
            f"left is {one.shape[0]} x {one.shape[1]}, but right {other.shape[0]} x"
            f" {other.shape[1]}"
        )
    lefts[0], rights[0] = <const uint8_t *> one.buf, <const uint8_t *> other.buf
    width[0] = one.shape[1]
    return one.shape[0]


def polytope_keys(vectors, table_count, size_t first_table=0):
    """Return the cross-polytope keys of packed vectors in each table: uint64[table_count, n]."""
    cdef Views views = Views(2)
    cdef Py_buffer *view = polytope_vectors(views, vectors)
    cdef size_t tables = polytope_tables(table_count, 0, first_table)
    result = np.empty((tables, view.shape[0]), np.uint64)
    cdef uint64_t *keys = <uint64_t *> views.take(result, UINT64, 8, 2, True).buf
    with nogil:
        search_polytope_keys(<const uint8_t *> view.buf, view.shape[0], view.shape[1],
                             first_table, tables, keys)
    return result


def polytope_costs(left, right, width, table_count):
    """Return the least cost, over all tables, of the header of right[i] seen from left[i]."""
    cdef Views views = Views(3)
    cdef const uint8_t *lefts
    cdef const uint8_t *rights
    cdef size_t vector_width
    cdef size_t count = polytope_pairs(views, left, right, &lefts, &rights, &vector_width)
    cdef size_t tables = polytope_tables(table_count, 1)
    cdef unsigned bits = polytope_width(width)
    result = np.empty(count, np.float32)
    cdef float *costs = <float *> views.output(result, FLOAT32, 4)
    with nogil:
        search_polytope_costs(lefts, rights, count, vector_width, bits, tables, costs)
    return result


def polytope_reaches(left, right, thresholds, widths, table_count):
    """Return whether a search from left[i] looks up the header of right[i] in some table."""
    cdef Views views = Views(5)
    cdef const uint8_t *lefts
    cdef const uint8_t *rights
    cdef const float *given
    cdef const uint8_t *bits
    cdef size_t vector_width, i
    cdef size_t count = polytope_pairs(views, left, right, &lefts, &rights, &vector_width)
    cdef size_t tables = polytope_tables(table_count, 1)
    if np.ndim(thresholds) == 0:
        thresholds = np.full(count, thresholds, np.float32)
    if np.ndim(widths) == 0:
        widths = np.full(count, polytope_width(widths), np.uint8)
    given = <const float *> views.take(thresholds, FLOAT32, 4).buf
    bits = <const uint8_t *> views.take(widths, UINT8, 1).buf
    if <size_t> len(thresholds) != count or <size_t> len(widths) != count:
        raise ValueError(f"thresholds and widths must be numbers or have one for each of {count}")
    for i in range(count):
        polytope_threshold(given[i])
        polytope_width(bits[i])
    result = np.empty(count, np.bool_)
    cdef uint8_t *reached = <uint8_t *> views.take(result, BOOLEAN, 1, 1, True).buf
    with nogil:
        for i in range(count):
            reached[i] = polytope_reached(
                lefts + i * vector_width, rights + i * vector_width, vector_width, bits[i],
                tables, given[i],
            ).table < tables
    return result


def polytope_probe(query, stored, width, table_count, threshold):
    """Return how a search from `query` reaches `stored`: table, cost and both headers, or None."""
    cdef Views views = Views(2)
    cdef const uint8_t *one
    cdef const uint8_t *other
    cdef size_t vector_width
    cdef size_t tables = polytope_tables(table_count, 1)
    cdef unsigned bits = polytope_width(width)
    cdef float most = polytope_threshold(threshold)
    cdef polytope_reach reach
    polytope_pairs(views, query.reshape(1, -1), stored.reshape(1, -1), &one, &other,
                   &vector_width)
    reach = polytope_reached(one, other, vector_width, bits, tables, most)
    if reach.table == tables:
        return None
    return reach.table, reach.cost, reach.own, reach.probed


def polytope_headers(vectors, width, threshold, table_count):
    """Return the headers that each vector looks up in each table: offsets and headers."""
    cdef Views views = Views(3)
    cdef Py_buffer *view = polytope_vectors(views, vectors)
    cdef size_t tables = polytope_tables(table_count, 0)
    cdef unsigned bits = polytope_width(width)
    cdef float most = polytope_threshold(threshold)
    counted = np.zeros(view.shape[0] * tables, np.int64)
    cdef int64_t *counts = <int64_t *> views.output(counted, INT64, 8)
    with nogil:
        search_polytope_headers(<const uint8_t *> view.buf, view.shape[0], view.shape[1], bits,
                                most, tables, counts, NULL)
    result = np.empty(counted.sum(), np.uint32)
    cdef uint32_t *headers = <uint32_t *> views.output(result, UINT32, 4)
    with nogil:
        search_polytope_headers(<const uint8_t *> view.buf, view.shape[0], view.shape[1], bits,
                                most, tables, counts, headers)
    return np.concatenate([[0], np.cumsum(counted)]), result
