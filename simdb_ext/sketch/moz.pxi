# The fingerprint of simhash-cpp, for `_sketch.pyx`.


def project_moz(texts, *, window, replace, start):
    """Return weights int32[n, 128], second half 0, and the number of tokens int64[n] of texts."""
    if not 1 <= window <= MOZ_WINDOW_MAX:
        raise ValueError(f"window is {window}, not from 1 to {MOZ_WINDOW_MAX}")
    cdef int width = window
    cdef bint is_replaced = replace
    documents = texts if isinstance(texts, TextColumn) else tuple(texts)
    cdef Texts chunk = Texts("replace" if replace else "strict", start)
    weights = np.empty((len(documents), SKETCH_DIMENSIONS), np.int32)
    features = np.zeros(len(documents), np.int64)
    cdef int32_t[:, ::1] weights_out = weights
    cdef int64_t[::1] features_out = features
    cdef Py_ssize_t first = 0
    cdef int64_t done
    cdef sketch_outcome outcome
    while first < len(documents):
        chunk.collect(documents, first)
        if chunk.count > 0:
            with nogil:
                outcome = sketch_moz_texts(
                    chunk.texts, chunk.count, width, is_replaced, &weights_out[first, 0],
                    &features_out[first], &done
                )
            if outcome == SKETCH_SURROGATE:
                raise_surrogate(documents[first + done], start + first + done)
            if outcome == SKETCH_TOO_MANY:
                raise_too_many(features[first + done], start + first + done, MOZ_TOKENS_MAX)
        if chunk.error is not None:
            raise chunk.error
        first += chunk.count
    return weights, features
