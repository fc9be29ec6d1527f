# Words of texts by hash, n-grams of them in a table, and passages that texts share; for
# `_sketch.pyx`.

HIT = np.dtype([("document", np.int32), ("position", np.int32), ("entry", np.uint32)])

# The initial room is one hit per WORDS_EACH_HIT words.
cdef enum:
    WORDS_EACH_HIT = 4


def hash_words(
    texts, *, unit, lowercase, seed, replace, start, compose=None, cleaning=0, marked=False
):
    """Return the words of each text, in order: offsets int64[n + 1] and first words of hashes."""
    cdef Working call = Working(
        unit, 1, lowercase, seed, replace, "tf", None, None, SKETCH_DIMENSIONS, compose, cleaning
    )
    all_texts = texts if isinstance(texts, TextColumn) else tuple(texts)
    call.settings.counting = SKETCH_SEQUENCE
    call.settings.is_marked = bool(marked)
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
    """Return the n-grams of documents of words: offsets int64[d + 1] and hashes uint64[k]."""
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
        if len(hashes) > 1 and not (hashes[1:] > hashes[: len(hashes) - 1]).all():
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
        """Return the n-grams of documents that are in the table: an array of `HIT`."""
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


cdef class Postings:
    """The items in which the entries of a table of n-grams occur; see `_sketch.pyi`."""

    cdef seed_postings postings
    cdef object owners

    def __cinit__(
        self, const int64_t[::1] bounds not None, const int64_t[::1] owners not None,
        const int64_t[::1] starts not None, is_first not None, int64_t items
    ):
        check_features(np.asarray(bounds), len(owners), None)
        cdef const uint8_t[::1] marks = is_first.view(np.uint8)
        if not len(owners) == len(starts) == len(marks) < 2**32:
            raise ValueError("owners, starts and their marks are of different numbers, or too many")
        for name, numbers, limit in (("item", owners, items), ("start", starts, 2**31)):
            numbers = np.asarray(numbers)
            if len(numbers) and not 0 <= numbers.min() <= numbers.max() < limit:
                raise ValueError(f"an {name} is not from 0 to {limit - 1}")
        ends, room = np.asarray(bounds).astype(np.uint32), np.empty((len(owners) + 1, 2), np.uint32)
        cdef const uint32_t[::1] all_ends = ends
        cdef uint32_t[:, ::1] content = room
        cdef seed_posting *all_postings = <seed_posting *>&content[0, 0]
        cdef Py_ssize_t at
        for at in range(len(owners)):
            all_postings[at].item = owners[at]
            all_postings[at].start = starts[at]
            all_postings[at].is_first = marks[at]
        self.owners = (ends, room)
        self.postings.bounds = &all_ends[0]
        self.postings.all = all_postings
        self.postings.entries = len(bounds) - 1
        self.postings.items = items

    def screen(self, hits, int64_t documents, least, spans):
        """Return which documents may contain an item, and the distinct entries of each document."""
        cdef const uint8_t[::1] content = self.checked(hits, documents)
        cdef seed_rule rule
        self.take_rule(&rule, least, spans)
        has_any, seen = np.zeros(documents, np.bool_), np.empty(len(hits), np.uint32)
        if not len(hits):
            return has_any, seen
        cdef uint8_t[::1] marks = has_any.view(np.uint8)
        cdef uint32_t[::1] out = seen
        cdef int64_t written, count = len(hits)
        with nogil:
            written = seeds_screen(
                &self.postings, &rule, <const ngram_hit *>&content[0], count, &marks[0], &out[0]
            )
        if written < 0:
            raise MemoryError()
        return has_any, seen[:written]

    def seeds(self, hits, int length, least, spans, is_counted not None, is_whole not None):
        """Return the pairs of a document and an item that it may contain, and their seeds."""
        cdef const uint8_t[::1] content = self.checked(hits, 2**31)
        cdef const uint8_t[::1] counted = is_counted.view(np.uint8), whole = is_whole.view(np.uint8)
        cdef seed_rule rule
        cdef seed_found found
        cdef bint has_memory
        cdef int64_t count = len(hits)
        self.take_rule(&rule, least, spans)
        if len(counted) != self.postings.entries or len(whole) != self.postings.items:
            raise ValueError("there is not one mark for each entry and each item")
        if not count:
            empty = np.empty((0, 2), np.int64), np.zeros(1, np.int64), np.empty(0, np.uint32)
            return *empty, np.empty((0, 3), np.int64)
        rule.is_counted, rule.is_whole = &counted[0], &whole[0]
        memset(&found, 0, sizeof(seed_found))
        try:
            with nogil:
                has_memory = seeds_find(
                    &self.postings, &rule, <const ngram_hit *>&content[0], count, length, &found
                )
            if not has_memory:
                raise MemoryError()
            return (
                copied(found.pairs, (found.pair_count, 2), np.int64),
                copied(found.bounds, (found.pair_count + 1,), np.int64),
                copied(found.entries, (found.run_count,), np.uint32),
                copied(found.runs, (found.run_count, 3), np.int64),
            )
        finally:
            seeds_free(&found)

    cdef object checked(self, hits, int64_t documents):
        """Return hits as bytes; raise ValueError unless their entries and documents exist."""
        if hits.dtype != HIT:
            raise ValueError(f"hits are {hits.dtype}, not {HIT}")
        if len(hits) and hits["entry"].max() >= self.postings.entries:
            raise ValueError("a hit is of an entry that is not there")
        if len(hits) and not 0 <= hits["document"].min() <= hits["document"].max() < documents:
            raise ValueError("a hit is of a document that is not there")
        return np.ascontiguousarray(hits).view(np.uint8)

    cdef int take_rule(self, seed_rule *rule, least, spans) except -1:
        cdef const int32_t[::1] leasts = least
        cdef const int64_t[::1] all_spans = spans
        if not len(leasts) == len(all_spans) == self.postings.items:
            raise ValueError("there is not one least number and one span for each item")
        memset(rule, 0, sizeof(seed_rule))
        if len(leasts):
            if not 0 < np.min(least) <= np.max(least) <= SEEDS_LEAST_MOST:
                raise ValueError(f"the least numbers are not from 1 to {SEEDS_LEAST_MOST}")
            rule.least, rule.spans = &leasts[0], &all_spans[0]
        return 0


cdef object copied(const void *content, shape, dtype):
    """Copy memory into a new array."""
    array = np.empty(shape, dtype)
    cdef uint8_t[::1] out
    if array.size:
        out = array.reshape(-1).view(np.uint8)
        memcpy(&out[0], content, len(out))
    return array


PASSAGE = np.dtype([
    (name, np.int64)
    for name in ("pair", "document_start", "document_stop", "item_start", "item_stop")
])


def align(documents, items, pairs, const int64_t[::1] bounds not None, runs):
    """Return the passages that documents and items share."""
    check_runs(documents, items, pairs, np.asarray(bounds), runs)
    found = np.empty(len(runs), PASSAGE)
    if not len(runs):
        return found
    cdef Sides sides = Sides(documents, items, pairs, runs)
    cdef uint8_t[::1] out = found.view(np.uint8)
    cdef align_passage *passages = <align_passage *>&out[0]
    cdef int64_t i, count = 0
    with nogil:
        for i in range(sides.count):
            if bounds[i + 1] > bounds[i]:
                count += align_grow(
                    sides.document(i), sides.item(i), sides.runs + bounds[i],
                    bounds[i + 1] - bounds[i], i, passages + count
                )
    return found[:count]


VERDICT = np.dtype([(name, np.int64) for name in ("covered", "equal", "same", "other")])
LEAK_PASSAGE = np.dtype(PASSAGE.descr + [("first_run", np.int64), ("runs", np.int64)])


def judge_leaks(
    documents, items, pairs, const int64_t[::1] bounds not None, seeds, weights, least
):
    """Return verdicts on pairs, passages, and runs of equal words."""
    check_runs(documents, items, pairs, np.asarray(bounds), seeds)
    verdicts = np.zeros(len(pairs), VERDICT)
    if len(weights) != len(items[1]) or len(least) != len(pairs):
        raise ValueError("there is not one weight for each word, and a least one for each pair")
    if not len(seeds):
        return verdicts, np.empty(0, LEAK_PASSAGE), np.empty((0, 3), np.int64)
    cdef Sides sides = Sides(documents, items, pairs, seeds)
    cdef const int64_t[::1] all_weights = weights, enough = least
    cdef uint8_t[::1] out = verdicts.view(np.uint8)
    cdef leak_verdict *verdict = <leak_verdict *>&out[0]
    cdef leak_work work
    cdef int64_t i
    cdef bint has_memory = True
    memset(&work, 0, sizeof(leak_work))
    try:
        with nogil:
            for i in range(sides.count):
                if bounds[i + 1] == bounds[i]:
                    continue
                has_memory = leaks_judge(
                    &work, sides.document(i), sides.item(i), &all_weights[sides.first(i)],
                    sides.runs + bounds[i], bounds[i + 1] - bounds[i], enough[i], i, verdict + i
                )
                if not has_memory:
                    break
        if not has_memory:
            raise MemoryError()
        places = copied(work.passages, (work.passage_count,), LEAK_PASSAGE)
        return verdicts, places, copied(work.runs, (work.run_count, 3), np.int64)
    finally:
        leaks_free(&work)


def word_places(str text not None, *, unit):
    """Return where each word begins and ends in the text, in characters: int64[n, 2]."""
    cdef sketch_text taken
    cdef sketch_unit cutting = <sketch_unit><int>checked_name("unit", unit, UNITS)
    cdef int64_t count
    take_str(text, &taken)
    places = np.empty((taken.length + 1, 2), np.int64)
    cdef int64_t[:, ::1] out = places
    with nogil:
        count = sketch_place_words(&taken, cutting, &out[0, 0])
    return places[:count]


def without_markup(str text not None):
    """Return a text with spaces in place of its markup, and which characters were omitted."""
    cdef sketch_text taken
    take_str(text, &taken)
    dropped = np.zeros(taken.length, np.bool_)
    if not markup_is_any(&taken):
        return text, dropped
    cdef uint8_t[::1] out = dropped.view(np.uint8)
    owner = strip_text(&taken, &out[0])
    return PyUnicode_FromKindAndData(taken.width, taken.characters, taken.length), dropped


cdef class Sides:
    """Pairs of a document and an item, and their runs; `check_runs` has checked both."""

    cdef const int64_t[::1] starts, item_starts
    cdef const uint64_t[::1] words, item_words
    cdef const int64_t[:, ::1] pairs
    cdef const uint8_t[::1] content
    cdef const align_run *runs
    cdef int64_t count

    def __cinit__(self, documents, items, pairs, runs):
        self.starts, self.words = documents
        self.item_starts, self.item_words = items
        self.pairs = pairs
        self.content = np.ascontiguousarray(runs).view(np.uint8).reshape(-1)
        self.runs = <const align_run *>&self.content[0]
        self.count = len(pairs)

    cdef int64_t first(self, int64_t pair) noexcept nogil:
        return self.item_starts[self.pairs[pair, 1]]

    cdef align_words document(self, int64_t pair) noexcept nogil:
        cdef int64_t start = self.starts[self.pairs[pair, 0]]
        cdef align_words side
        side.words = &self.words[start]
        side.count = self.starts[self.pairs[pair, 0] + 1] - start
        return side

    cdef align_words item(self, int64_t pair) noexcept nogil:
        cdef int64_t start = self.first(pair)
        cdef align_words side
        side.words = &self.item_words[start]
        side.count = self.item_starts[self.pairs[pair, 1] + 1] - start
        return side


cdef int check_runs(documents, items, pairs, bounds, runs) except -1:
    """Raise ValueError unless each run lies in the document and the item of its pair."""
    check_features(np.asarray(documents[0]), len(documents[1]), None)
    check_features(np.asarray(items[0]), len(items[1]), None)
    for name, array, width in (("pairs", pairs, 2), ("runs", runs, 3)):
        if array.dtype != np.int64 or array.ndim != 2 or array.shape[1] != width:
            raise ValueError(f"{name} are {array.dtype}{list(array.shape)}, not int64[n, {width}]")
    counts = np.diff(bounds)
    is_whole = len(bounds) == len(pairs) + 1 and counts.sum() == len(runs) and bounds[0] == 0
    if not is_whole or (counts < 0).any():
        raise ValueError("the bounds of runs do not ascend from 0 to their number")
    for at, (offsets, _) in enumerate((documents, items)):
        numbers = pairs[:, at]
        if len(pairs) and not 0 <= numbers.min() <= numbers.max() < len(offsets) - 1:
            raise ValueError("a pair names a document or an item that is not there")
        sizes = np.repeat(np.diff(offsets)[numbers], counts)
        starts = runs[:, at]
        if (starts < 0).any() or (runs[:, 2] < 1).any() or (starts + runs[:, 2] > sizes).any():
            raise ValueError("a run is not inside the document or the item of its pair")
    return 0
