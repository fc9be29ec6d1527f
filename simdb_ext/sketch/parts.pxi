# The parts of texts: where they lie, and keys for their words; for `_sketch.pyx`.

cdef dict PART_UNITS = {
    "paragraph": PART_PARAGRAPH, "line": PART_LINE, "sentence": PART_SENTENCE
}

# Parts that are hashed together; their words stay in the cache.
cdef enum:
    PARTS_TOGETHER = 1024


cdef class Parts:
    """Some parts of texts, each as a text, and the number of the text that each is from."""

    cdef sketch_text *parts
    cdef int64_t *owners
    cdef int64_t count
    cdef part_unit unit

    def __cinit__(self, unit):
        self.unit = <part_unit><int>checked_name("parts", unit, PART_UNITS)
        self.parts = <sketch_text *>malloc(PARTS_TOGETHER * sizeof(sketch_text))
        self.owners = <int64_t *>malloc(PARTS_TOGETHER * sizeof(int64_t))
        if self.parts == NULL or self.owners == NULL:
            raise MemoryError()

    def __dealloc__(self):
        free(self.parts)
        free(self.owners)

    cdef tuple hash(self, Working call, documents, start, Py_ssize_t first):
        """Return the keys and the numbers of words of these parts."""
        words = np.full(self.count, -1, np.int64)
        keys = np.empty(self.count, np.uint64)
        cdef int64_t[::1] counts = words
        cdef uint64_t[::1] out = keys
        cdef sketch_outcome outcome
        cdef int64_t done = 0
        cdef list owners = []
        call.scratch.sequence.done = 0
        while True:
            with nogil:
                outcome = sketch_project_texts(
                    self.parts, self.count, &call.settings, call.scratch, NULL, &counts[0], &done
                )
            if outcome == SKETCH_SURROGATE:
                position = first + self.owners[done]
                raise_surrogate(documents[position], start + position)
            elif outcome == SKETCH_UNCLEAN:
                owners.append(clean_text(&self.parts[done], call.cleaning))
            elif outcome == SKETCH_FULL:
                call.widen()
            else:
                break
        with nogil:
            parts_keys(call.scratch.sequence.words, &counts[0], self.count, &out[0])
        return keys, words


def hash_parts(
    texts, *, parts, unit, lowercase, seed, replace, start, compose=None, cleaning=0
):
    """Return the number of parts of each text, and the key and number of words of each part."""
    cdef Working call = Working(
        unit, 1, lowercase, seed, replace, "tf", None, None, SKETCH_DIMENSIONS, compose, cleaning
    )
    call.settings.counting = SKETCH_SEQUENCE
    call.widen()
    all_texts = texts if isinstance(texts, TextColumn) else tuple(texts)
    counts = np.zeros(len(all_texts), np.int64)
    keys, words = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
    cdef int64_t[::1] counts_out = counts
    cdef Texts chunk = Texts("replace" if replace else "strict", start)
    cdef Parts some = Parts(parts)
    cdef part_place place
    cdef Py_ssize_t first = 0
    while first < len(all_texts):
        chunk.collect(all_texts, first)
        place.text = place.position = 0
        while place.text < chunk.count:
            with nogil:
                some.count = parts_take(
                    chunk.texts, chunk.count, some.unit, &place, some.parts, some.owners,
                    &counts_out[first], PARTS_TOGETHER
                )
            if some.count > 0:
                own_keys, own_words = some.hash(call, all_texts, start, first)
                keys.append(own_keys)
                words.append(own_words)
        if chunk.error is not None:
            raise chunk.error
        first += chunk.count
    return counts, np.concatenate(keys), np.concatenate(words)


def part_keys(const int64_t[::1] offsets not None, const uint64_t[::1] words not None):
    """Return the key of each part, given the words of all parts: uint64[k]."""
    check_features(np.asarray(offsets), len(words), None)
    cdef const int64_t[::1] counts = np.diff(offsets)
    keys = np.empty(len(counts), np.uint64)
    cdef uint64_t[::1] out = keys
    if len(counts):
        with nogil:
            parts_keys(
                &words[offsets[0]] if words.shape[0] else NULL, &counts[0], counts.shape[0],
                &out[0]
            )
    return keys


def part_bounds(str text not None, parts):
    """Return the bounds of the parts of a text: int64[k, 3]."""
    cdef sketch_text taken
    cdef part_unit unit = <part_unit><int>checked_name("parts", parts, PART_UNITS)
    cdef int64_t position = 0, count = 0
    cdef list found = []
    cdef int64_t[:, ::1] out
    take_str(text, &taken)
    while position < taken.length:
        bounds = np.empty((min(PARTS_TOGETHER, taken.length - position), 3), np.int64)
        out = bounds
        with nogil:
            count = parts_find(&taken, unit, &position, <part *>&out[0, 0], out.shape[0])
        found.append(bounds[:count])
    return np.concatenate(found) if found else np.empty((0, 3), np.int64)


def part_rest(str text not None, parts, is_dropped):
    """Return a text without some of its parts; None if it does not have this number of parts."""
    cdef sketch_text taken
    cdef part_unit unit = <part_unit><int>checked_name("parts", parts, PART_UNITS)
    cdef const uint8_t[::1] flags = is_dropped.view(np.uint8)
    cdef int64_t size
    take_str(text, &taken)
    cdef void *rest = malloc(max(taken.length * taken.width, 1))
    if rest == NULL:
        raise MemoryError()
    try:
        with nogil:
            size = parts_rest(
                &taken, unit, &flags[0] if flags.shape[0] else NULL, flags.shape[0], rest
            )
        return None if size < 0 else PyUnicode_FromKindAndData(taken.width, rest, size)
    finally:
        free(rest)
