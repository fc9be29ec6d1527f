# What pairs of documents have in common: checks, and the C function of `overlap/`.


def overlaps(offsets, hashes, weights, left, right, *, is_least=False):
    """Return the sum over the common features of each pair of documents: float64[k]."""
    check_overlap(offsets, hashes, weights, left, right)
    sums = np.empty(len(left), np.float64)
    if len(left) == 0 or len(hashes) == 0:
        sums[:] = 0
        return sums
    slots = np.empty(overlap_slots(np.diff(offsets)[left].max()), np.uint32)
    cdef const int64_t[::1] bounds = offsets
    cdef const uint64_t[::1] all_hashes = hashes
    cdef const float[::1] all_weights = weights
    cdef const int64_t[::1] lefts = left
    cdef const int64_t[::1] rights = right
    cdef uint32_t[::1] room = slots
    cdef double[::1] out = sums
    cdef overlap_documents documents
    cdef int least = is_least
    documents.offsets = &bounds[0]
    documents.hashes = &all_hashes[0]
    documents.weights = NULL if weights is None else &all_weights[0]
    with nogil:
        overlap_sums(
            &documents, least, &lefts[0], &rights[0], lefts.shape[0], &room[0], &out[0]
        )
    return sums


cdef int check_overlap(offsets, hashes, weights, left, right) except -1:
    """Raise unless the arrays of `overlaps` fit together."""
    check_features(offsets, len(hashes), weights)
    if len(left) != len(right):
        raise ValueError(f"there are {len(left)} documents on the left and {len(right)} others")
    for side in (left, right):
        if len(side) and not 0 <= side.min() <= side.max() < len(offsets) - 1:
            raise ValueError(f"positions do not lie within the {len(offsets) - 1} documents")
    return 0
