# The settings of one call and its working memory, for `_sketch.pyx`.

cdef dict UNITS = {
    "words": SKETCH_WORDS, "characters": SKETCH_CHARACTERS, "whitespace": SKETCH_WHITESPACE,
    "spaceless": SKETCH_SPACELESS,
}
cdef dict COUNTINGS = {
    "tf": SKETCH_TF, "binary": SKETCH_BINARY, "log-tf": SKETCH_LOG_TF, "": SKETCH_COLLECT
}


cdef enum:
    COLLECTED_FIRST = 1 << 12  # features for which there is room at first


cdef class Working:
    """The settings and the working memory of one call, and the objects that own them."""

    cdef sketch_settings settings
    cdef sketch_scratch *scratch
    cdef sketch_idf idf
    cdef Vocabulary vocabulary
    cdef Cleaning cleaning
    cdef object owners

    def __cinit__(
        self, unit, shingle, lowercase, seed, replace, counting, vocabulary, idf,
        dimensions=SKETCH_DIMENSIONS, compose=None, cleaning=0
    ):
        self.settings.unit = <sketch_unit><int>checked_name("unit", unit, UNITS)
        self.settings.shingle = checked_shingle(shingle)
        self.settings.seed = checked_seed(seed)
        self.settings.is_lowercase = bool(lowercase)
        self.settings.is_replaced = bool(replace)
        self.settings.counting = <sketch_counting><int>checked_name(
            "counting", counting, COUNTINGS
        )
        self.settings.dimensions = checked_dimensions(dimensions)
        self.scratch = <sketch_scratch *>malloc(sizeof(sketch_scratch))
        if self.scratch == NULL:
            raise MemoryError()
        memset(&self.scratch.bag, 0, sizeof(sketch_bag))
        memset(&self.scratch.set, 0, sizeof(sketch_set))
        memset(&self.scratch.sequence, 0, sizeof(sketch_sequence))
        sketch_tokens_begin(self.scratch, &self.settings)
        if self.settings.counting != SKETCH_TF:
            self.widen()
        if compose is not None:
            self.cleaning = Cleaning(compose, lowercase, cleaning)
            self.settings.clean = self.cleaning.settings
        if vocabulary is not None:
            self.take_vocabulary(vocabulary)
        if idf is not None:
            self.take_idf(idf[0], idf[1], idf[2])

    def __dealloc__(self):
        if self.scratch != NULL:
            free_bag(&self.scratch.bag)
            free_set(&self.scratch.set)
            free(self.scratch.sequence.words)
        free(self.scratch)

    cdef int take_vocabulary(self, Vocabulary vocabulary) except -1:
        if vocabulary.hash_seed != self.settings.seed:
            raise ValueError(
                f"the vocabulary has seed {vocabulary.seed}, not {self.settings.seed}"
            )
        if self.settings.unit == SKETCH_CHARACTERS:
            raise ValueError("unit 'characters' takes no vocabulary")
        self.vocabulary = vocabulary
        self.settings.vocabulary = &vocabulary.table
        return 0

    cdef int take_idf(self, entries, directory, default) except -1:
        check_idf(entries, directory, default)
        cdef const uint64_t[::1] all_entries = entries
        cdef const uint32_t[::1] slots = directory
        self.owners = (entries, directory)
        self.idf.entries = &all_entries[0] if len(all_entries) else NULL
        self.idf.count = len(all_entries)
        self.idf.directory = &slots[0]
        self.idf.bits = (len(slots) - 1).bit_length() - 1
        self.idf.absent = default
        self.settings.idf = &self.idf
        return 0

    cdef int enter(self) except -1:
        """Lock the vocabulary against changes by other threads."""
        if self.vocabulary is not None and not self.vocabulary.table.is_complete:
            self.vocabulary.lock.acquire()
        return 0

    cdef int leave(self) except -1:
        if self.vocabulary is not None and not self.vocabulary.table.is_complete:
            self.vocabulary.lock.release()
        return 0

    cdef int begin_chunk(self) except -1:
        if self.vocabulary is not None:
            self.vocabulary.forget_much()
        return 0

    cdef bint learn(self) except -1:
        """Learn the stems of the unknown tokens; return False if there were none."""
        cdef const uint8_t *content = self.scratch.unknown.content
        cdef int64_t place = 0
        cdef list tokens = []
        while place < self.scratch.unknown.size:
            length = content[place]
            tokens.append((<const char *>content)[place + 1:place + 1 + length])
            place += 1 + length
        if tokens:
            self.vocabulary.learn(tokens)
        return len(tokens) > 0

    cdef int widen(self) except -1:
        """Enlarge the bag or the set, whose content is lost, or the sequence."""
        if self.settings.counting == SKETCH_SEQUENCE:
            return self.widen_sequence()
        return self.widen_set() if self.settings.counting == SKETCH_BINARY else self.widen_bag()

    cdef int widen_sequence(self) except -1:
        cdef int64_t room = max(SEQUENCE_FIRST, 2 * self.scratch.sequence.room)
        words = <uint64_t *>realloc(self.scratch.sequence.words, room * sizeof(uint64_t))
        if words == NULL:
            raise MemoryError()
        self.scratch.sequence.words = words
        self.scratch.sequence.room = room
        return 0

    cdef int widen_set(self) except -1:
        cdef sketch_set wider
        memset(&wider, 0, sizeof(sketch_set))
        wider.room = max(BAG_FIRST, 4 * self.scratch.set.room)
        wider.places = <uint64_t *>calloc(SET_PLACES * wider.room, sizeof(uint64_t))
        wider.members = <uint64_t *>malloc(SET_PLACES * wider.room * sizeof(uint64_t))
        if wider.places == NULL or wider.members == NULL:
            free_set(&wider)
            raise MemoryError()
        free_set(&self.scratch.set)
        self.scratch.set = wider
        return 0

    cdef int widen_bag(self) except -1:
        cdef sketch_bag wider
        memset(&wider, 0, sizeof(sketch_bag))
        wider.room = max(BAG_FIRST, 4 * self.scratch.bag.room)
        wider.first = <uint64_t *>malloc(wider.room * sizeof(uint64_t))
        wider.second = <uint64_t *>malloc(wider.room * sizeof(uint64_t))
        wider.counts = <uint32_t *>malloc(wider.room * sizeof(uint32_t))
        wider.slots = <uint32_t *>malloc(4 * wider.room * sizeof(uint32_t))
        if (
            wider.first == NULL or wider.second == NULL or wider.counts == NULL
            or wider.slots == NULL
        ):
            free_bag(&wider)
            raise MemoryError()
        free_bag(&self.scratch.bag)
        self.scratch.bag = wider
        return 0


cdef class Collected:
    """The features of documents, collected one document after another."""

    cdef uint64_t *hashes
    cdef uint32_t *counts
    cdef int64_t *offsets  # documents + 1 offsets
    cdef int64_t documents
    cdef int64_t room

    def __cinit__(self, Py_ssize_t documents):
        self.offsets = <int64_t *>calloc(documents + 1, sizeof(int64_t))
        if self.offsets == NULL or self.widen(COLLECTED_FIRST) < 0:
            raise MemoryError()

    def __dealloc__(self):
        free(self.hashes)
        free(self.counts)
        free(self.offsets)

    cdef int add(self, const sketch_bag *bag) noexcept nogil:
        """Append the features in the bag as the next document; return -1 without memory."""
        cdef int64_t start = self.offsets[self.documents]
        cdef int64_t stop = start + bag.count
        if stop > self.room and self.widen(2 * stop) < 0:
            return -1
        memcpy(self.hashes + start, bag.first, bag.count * sizeof(uint64_t))
        memcpy(self.counts + start, bag.counts, bag.count * sizeof(uint32_t))
        self.documents += 1
        self.offsets[self.documents] = stop
        return 0

    cdef int widen(self, int64_t room) noexcept nogil:
        """Make room for `room` features; return -1 without memory."""
        cdef void *hashes = realloc(self.hashes, room * sizeof(uint64_t))
        if hashes != NULL:
            self.hashes = <uint64_t *>hashes
        cdef void *counts = realloc(self.counts, room * sizeof(uint32_t))
        if counts != NULL:
            self.counts = <uint32_t *>counts
        if hashes == NULL or counts == NULL:
            return -1
        self.room = room
        return 0

    cdef tuple arrays(self):
        """Return (offsets, hashes, counts)."""
        cdef int64_t stop = self.offsets[self.documents]
        offsets = np.empty(self.documents + 1, np.int64)
        hashes, counts = np.empty(stop, np.uint64), np.empty(stop, np.uint32)
        cdef int64_t[::1] offsets_out = offsets
        cdef uint64_t[::1] hashes_out = hashes
        cdef uint32_t[::1] counts_out = counts
        with nogil:
            memcpy(&offsets_out[0], self.offsets, (self.documents + 1) * sizeof(int64_t))
            if stop:
                memcpy(&hashes_out[0], self.hashes, stop * sizeof(uint64_t))
                memcpy(&counts_out[0], self.counts, stop * sizeof(uint32_t))
        return offsets, hashes, counts


cdef void free_bag(sketch_bag *bag):
    free(bag.first)
    free(bag.second)
    free(bag.counts)
    free(bag.slots)


cdef void free_set(sketch_set *members):
    free(members.places)
    free(members.members)


cdef int checked_name(str what, name, dict known) except -1:
    if name not in known:
        names = ", ".join(repr(each) for each in known if each)
        raise ValueError(f"{what} is {name!r}, not one of {names}")
    return known[name]


cdef int check_idf(entries, directory, default) except -1:
    """Raise unless the arrays of an idf table fit together."""
    for name, array, dtype in (
        ("entries", entries, np.uint64), ("directory", directory, np.uint32)
    ):
        if array.dtype != dtype or array.ndim != 1:
            raise ValueError(f"{name} are {array.dtype}[{array.ndim} axes], not {dtype.__name__}")
    slots = len(directory) - 1
    if slots < 1 or slots & (slots - 1) or directory[0] != 0 or directory[slots] != len(entries):
        found = f"{len(directory)} slots, which do not fit {len(entries)} entries"
        raise ValueError(f"directory has {found}")
    if not 0 < default < 1 << 16:
        raise ValueError(f"the default is {default}, not from 1 to 65535")
    return 0
