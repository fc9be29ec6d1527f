# Hashes of the words of texts, in order, and which n-grams of them are in a table; for
# `_sketch.pyx`.

HIT = np.dtype([("document", np.int32), ("position", np.int32), ("entry", np.uint32)])

# Hits for which there is room at first, by words.
cdef enum:
    WORDS_EACH_HIT = 64


def hash_words(texts, *, unit, lowercase, seed, replace, start, compose=None, turkic=False):
    """Return the offsets int64[n + 1] of the words of each text, and their hashes uint64[k]."""
    cdef Working call = Working(
        unit, 1, lowercase, seed, replace, "tf", None, None, SKETCH_DIMENSIONS, compose, turkic
    )
    all_texts = texts if isinstance(texts, TextColumn) else tuple(texts)
    call.settings.counting = SKETCH_SEQUENCE
    counts = np.full(len(all_texts), -1, np.int64)
    project_all_texts(call, all_texts, start, np.empty((len(all_texts), 1), np.uint8), counts, None)
    offsets = np.zeros(len(all_texts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    words = np.empty(call.scratch.sequence.count, np.uint64)
    cdef uint64_t[::1] out = words
    if len(words):
        memcpy(&out[0], call.scratch.sequence.words, len(words) * sizeof(uint64_t))
    return offsets, words


def ngrams(const int64_t[::1] offsets not None, const uint64_t[::1] words not None, int n):
    """Return the offsets int64[k + 1] of the n-grams of each document, and their hashes."""
    check_features(np.asarray(offsets), len(words), None)
    check_ngram(n)
    counts = np.maximum(np.diff(offsets) - n + 1, 0)
    own = np.zeros(len(offsets), np.int64)
    np.cumsum(counts, out=own[1:])
    hashes = np.empty(own[len(own) - 1], np.uint64)
    cdef const int64_t[::1] starts = own
    cdef uint64_t[::1] out = hashes
    cdef Py_ssize_t i
    with nogil:
        for i in range(offsets.shape[0] - 1):
            if starts[i + 1] > starts[i]:
                ngrams_hash(&words[offsets[i]], offsets[i + 1] - offsets[i], n, &out[starts[i]])
    return own, hashes


cdef class Ngrams:
    """A table of n-grams, by their hashes; see `_sketch.pyi`."""

    cdef ngram_table table
    cdef object owners

    def __cinit__(self, hashes):
        if hashes.dtype != np.uint64 or hashes.ndim != 1 or len(hashes) >= 2**32:
            raise ValueError(f"hashes are {hashes.dtype}[{hashes.ndim} axes], not uint64[n]")
        if len(hashes) > 1 and not (hashes[1:] > hashes[:-1]).all():
            raise ValueError("the hashes do not ascend")
        cdef int bits = max(len(hashes) // 2, 1).bit_length() - 1
        slots = np.zeros(1, np.uint64)
        if bits:
            slots = np.arange(2**bits, dtype=np.uint64) << np.uint64(64 - bits)
        directory = np.append(np.searchsorted(hashes, slots), len(hashes)).astype(np.uint32)
        filled = np.zeros(1 << max(len(hashes) // 4, 1).bit_length(), np.uint64)
        self.owners = (hashes, directory, filled)
        cdef const uint64_t[::1] all_hashes = hashes
        cdef const uint32_t[::1] all_slots = directory
        cdef uint64_t[::1] words = filled
        self.table.hashes = &all_hashes[0] if len(hashes) else NULL
        self.table.directory = &all_slots[0]
        self.table.filter = &words[0]
        self.table.last_word = len(filled) - 1
        self.table.shift = 64 - bits
        ngrams_filter(self.table.hashes, len(hashes), &words[0], self.table.last_word)

    def find(
        self, const int64_t[::1] offsets not None, const uint64_t[::1] words not None, lengths
    ):
        """Return which n-grams of documents are in the table: an array of `HIT`."""
        check_features(np.asarray(offsets), len(words), None)
        for n in lengths:
            check_ngram(n)
        cdef const int32_t[::1] sizes = np.array(lengths, np.int32)
        cdef int count = len(lengths)
        cdef const uint64_t *all_words = &words[0] if len(words) else NULL
        cdef int64_t room = 64 + len(words) // WORDS_EACH_HIT
        cdef int64_t found = 0
        cdef uint8_t[::1] out
        while count > 0:
            hits = np.empty(room, HIT)
            out = hits.view(np.uint8)
            with nogil:
                found = ngrams_find(
                    &self.table, all_words, &offsets[0], offsets.shape[0] - 1, &sizes[0], count,
                    <ngram_hit *>&out[0], room
                )
            if found <= room:
                return hits[:found]
            room = found
        return np.empty(0, HIT)


cdef int check_ngram(int n) except -1:
    if not 0 < n <= NGRAMS_MOST:
        raise ValueError(f"n is {n}, not from 1 to {NGRAMS_MOST}")
    return 0
