# The vocabulary: tokens that are omitted or replaced, for `_sketch.pyx`.

# Places of the table.  It is mostly empty, because a step beyond the first place is mispredicted.
cdef enum:
    PLACES_LEAST = 64
    PLACES_FOR_EACH = 4
    PLACES_FOR_STOP_WORD = 16


cdef class Vocabulary:
    """The tokens that are omitted (stop words) or replaced (by stems) before shingles."""

    cdef sketch_vocabulary table
    cdef uint32_t hash_seed
    cdef uint64_t used
    cdef uint64_t limit
    cdef list stop_words
    cdef readonly object stem
    cdef readonly object lock

    def __cinit__(self, seed, stop_words, stem, *, limit=1 << 20):
        self.hash_seed = checked_seed(seed)
        self.stop_words = [word.encode("utf-8") for word in stop_words]
        self.stem = stem
        self.limit = limit
        self.lock = RLock()
        self.table.is_complete = stem is None
        self.forget()

    def __dealloc__(self):
        free(self.table.keys)
        free(self.table.meanings)

    @property
    def seed(self):
        """The seed of the hashes of tokens."""
        return self.hash_seed

    cdef int forget(self) except -1:
        """Forget everything except the stop words."""
        self.make_table(PLACES_LEAST)
        for word in self.stop_words:
            self.put(word, b"")
        return 0

    cdef int forget_much(self) except -1:
        """Forget all stems if more than `limit` are remembered."""
        if self.used > self.limit + len(self.stop_words):
            self.forget()
        return 0

    cdef int learn(self, list tokens) except -1:
        """Ask for the stems of some tokens and remember them."""
        cdef dict words = {}
        for token in tokens:
            try:
                words[token] = token.decode("utf-8")
            except UnicodeDecodeError:
                self.put(token, token)
        stems = self.stem(list(words.values()))
        if len(stems) != len(words):
            raise ValueError(f"stem returned {len(stems)} stems for {len(words)} tokens")
        for token, word in zip(words, stems):
            self.put(token, word.encode("utf-8"))
        return 0

    cdef int put(self, bytes token, bytes replacement) except -1:
        """Remember that `replacement` replaces `token`; an empty one omits the token."""
        cdef mix_stream key
        cdef mix_stream value
        if len(token) > VOCABULARY_TOKEN_MAX:
            return 0
        places = PLACES_FOR_STOP_WORD if self.table.is_complete else PLACES_FOR_EACH
        if places * (self.used + 1) > self.table.mask:
            self.widen()
        key = hash_bytes(token, self.hash_seed)
        value.first = 0
        value.second = 0
        if replacement:
            value = hash_bytes(replacement, self.hash_seed)
        place = sketch_vocabulary_place(&self.table, key.first)
        self.used += self.table.keys[place] == 0
        self.table.keys[place] = key.first
        self.table.meanings[place] = sketch_meaning(value.first, value.second)
        return 0

    cdef int make_table(self, uint64_t places) except -1:
        keys = <uint64_t *>calloc(places, sizeof(uint64_t))
        meanings = <sketch_meaning *>calloc(places, sizeof(sketch_meaning))
        if keys == NULL or meanings == NULL:
            free(keys)
            free(meanings)
            raise MemoryError()
        free(self.table.keys)
        free(self.table.meanings)
        self.table.keys = keys
        self.table.meanings = meanings
        self.table.mask = places - 1
        self.used = 0
        return 0

    cdef int widen(self) except -1:
        """Double the number of places."""
        cdef sketch_vocabulary old = self.table
        cdef uint64_t i
        cdef uint64_t used = self.used
        self.table.keys = NULL
        self.table.meanings = NULL
        try:
            self.make_table(2 * (old.mask + 1))
        except MemoryError:
            self.table = old
            raise
        for i in range(old.mask + 1):
            if old.keys[i] != 0:
                place = sketch_vocabulary_place(&self.table, old.keys[i])
                self.table.keys[place] = old.keys[i]
                self.table.meanings[place] = old.meanings[i]
        self.used = used
        free(old.keys)
        free(old.meanings)
        return 0


cdef mix_stream hash_bytes(bytes content, uint32_t seed) noexcept:
    """Return the MurmurHash3_x64_128 of some bytes."""
    return mix_whole(
        <const uint8_t *>PyBytes_AS_STRING(content), PyBytes_GET_SIZE(content), seed
    )
