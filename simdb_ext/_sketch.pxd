# C declarations of `sketch/`, and parts of Python's C interface that Cython does not declare.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t


cdef extern from "Python.h":
    """
    #if PY_VERSION_HEX < 0x030C0000
    #define make_ready(text) PyUnicode_READY(text)
    #else
    #define make_ready(text) 0
    #endif

    /* If an item of a tuple is an ASCII str, write the address and length of its characters and
       return 1; else return 0. */
    static inline int find_ascii(PyObject *items, Py_ssize_t at, const uint8_t **characters,
                                 int64_t *length)
    {
        PyObject *item = PyTuple_GET_ITEM(items, at);

        if (!PyUnicode_CheckExact(item) || !PyUnicode_IS_COMPACT_ASCII(item))
            return 0;
        *characters = (const uint8_t *)((PyASCIIObject *)item + 1);
        *length = PyUnicode_GET_LENGTH(item);
        return 1;
    }
    """
    bint find_ascii(
        object items, Py_ssize_t at, const uint8_t **characters, int64_t *length
    )
    int make_ready(object text) except -1
    bint PyUnicode_IS_ASCII(object text)
    int PyUnicode_KIND(object text)
    const void *PyUnicode_DATA(object text)
    Py_ssize_t PyUnicode_GET_LENGTH(object text)
    object PyUnicode_FromKindAndData(int kind, const void *characters, Py_ssize_t length)
    object PyBytes_FromStringAndSize(const char *content, Py_ssize_t size)
    char *PyBytes_AS_STRING(object content)
    Py_ssize_t PyBytes_GET_SIZE(object content)


cdef extern from "mix.h" nogil:
    struct mix_stream:
        uint64_t first
        uint64_t second

    mix_stream mix_whole(const uint8_t *content, int64_t length, uint32_t seed)


cdef extern from "text/unicode.h" nogil:
    void unicode_unfold()


cdef extern from "text/text.h" nogil:
    struct sketch_text:
        const void *characters
        int64_t length
        int width
        int is_ascii
        int is_clean

    bint sketch_is_ascii(const uint8_t *content, int64_t length)


cdef extern from "text/markup.h" nogil:
    int markup_is_any(const sketch_text *text)
    int64_t markup_strip(const sketch_text *text, void *room, uint8_t *is_dropped)


cdef extern from "text/utf8.h" nogil:
    enum:
        UTF8_WIDTH

    int utf8_measure(const uint8_t *content, int64_t length, int64_t *count)
    int64_t utf8_accept(sketch_text *texts, int64_t start, int64_t stop, int64_t *size)
    void utf8_decode(sketch_text *texts, int64_t count, uint8_t *room)


cdef extern from "text/clean.h" nogil:
    enum sketch_cleaning:
        SKETCH_UNCLEANED
        SKETCH_CLEANED
        SKETCH_TURKIC
        SKETCH_STRAYS

    enum:
        CLEAN_REWRITE
        CLEAN_COMPOSE
        CLEAN_GROWTH

    struct clean_settings:
        int cleaning
        int lowercase

    void clean_unfold()
    void clean_write(sketch_text *text, clean_settings settings, void *room)


cdef extern from "weights/distinct.h" nogil:
    struct sketch_bag:
        uint64_t *first
        uint64_t *second
        uint32_t *counts
        uint32_t *slots
        int64_t room
        int64_t count

    enum:
        SET_PLACES

    struct sketch_set:
        uint64_t *places
        uint64_t *members
        int64_t room


cdef extern from "weights/weights.h" nogil:
    struct sketch_idf:
        const uint64_t *entries
        int64_t count
        const uint32_t *directory
        int bits
        uint32_t absent


cdef extern from "hash/vocabulary.h" nogil:
    enum:
        VOCABULARY_TOKEN_MAX

    struct sketch_meaning:
        uint64_t first
        uint64_t second

    struct sketch_vocabulary:
        uint64_t *keys
        sketch_meaning *meanings
        uint64_t mask
        int is_complete

    struct sketch_unknown:
        const uint8_t *content
        int64_t size

    uint64_t sketch_vocabulary_place(const sketch_vocabulary *vocabulary, uint64_t first)


cdef extern from "minhash/minima.h" nogil:
    enum:
        MINIMA_MOST
        MINIMA_STEP

    enum minima_kind:
        MINIMA_STRATIFIED
        MINIMA_MULTIPLY_SHIFT
        MINIMA_MERSENNE
        MINIMA_ONE_PERMUTATION

    struct minima_family:
        minima_kind kind
        int count
        int is_narrow
        const uint64_t *multipliers
        const uint64_t *increments

    struct minima_functions:
        pass

    void minima_narrow(
        const uint32_t *minima, const minima_family *family, int bits, uint8_t *packed
    )
    void minima_pack(const uint32_t *minima, const minima_family *family, uint8_t *packed)
    int64_t minima_of_features(
        const minima_functions *functions, const minima_family *family, const uint64_t *hashes,
        const uint32_t *counts, int64_t count, uint32_t *row
    )


cdef extern from "ngrams/ngrams.h" nogil:
    enum:
        NGRAMS_MOST

    struct ngram_table:
        const uint64_t *hashes
        const uint32_t *directory
        const uint64_t *filter
        uint64_t last_word
        int shift

    struct ngram_hit:
        pass

    int64_t ngrams_hash(const uint64_t *words, int64_t count, int n, uint64_t *hashes)
    void ngrams_filter(
        const uint64_t *hashes, int64_t count, uint64_t *filter, uint64_t last_word
    )
    int64_t ngrams_find(
        const ngram_table *table, const uint64_t *words, const int64_t *offsets,
        int64_t documents, const int32_t *lengths, int length_count, ngram_hit *hits, int64_t room
    )


cdef extern from "ngrams/align.h" nogil:
    struct align_run:
        pass

    struct align_passage:
        pass

    struct align_words:
        const uint64_t *words
        int64_t count

    int64_t align_grow(
        align_words document, align_words item, const align_run *runs, int64_t count, int64_t pair,
        align_passage *found
    )


cdef extern from "ngrams/leaks.h" nogil:
    struct leak_verdict:
        pass

    struct leak_passage:
        pass

    struct leak_work:
        leak_passage *passages
        int64_t passage_count
        align_run *runs
        int64_t run_count

    bint leaks_judge(
        leak_work *work, align_words document, align_words item, const int64_t *weights,
        const align_run *seeds, int64_t count, int64_t least, int64_t number,
        leak_verdict *verdict
    )
    void leaks_free(leak_work *work)


cdef extern from "ngrams/seeds.h" nogil:
    enum:
        SEEDS_LEAST_MOST

    struct seed_posting:
        uint32_t item
        uint32_t start
        uint32_t is_first

    struct seed_postings:
        const uint32_t *bounds
        const seed_posting *all
        int64_t entries
        int64_t items

    struct seed_rule:
        const int32_t *least
        const int64_t *spans
        const uint8_t *is_counted
        const uint8_t *is_whole

    struct seed_pair:
        pass

    struct seed_found:
        seed_pair *pairs
        int64_t *bounds
        int64_t pair_count
        align_run *runs
        uint32_t *entries
        int64_t run_count

    int64_t seeds_screen(
        const seed_postings *postings, const seed_rule *rule, const ngram_hit *hits,
        int64_t count, uint8_t *has_any, uint32_t *seen
    )
    bint seeds_find(
        const seed_postings *postings, const seed_rule *rule, const ngram_hit *hits,
        int64_t count, int64_t length, seed_found *found
    )
    void seeds_free(seed_found *found)


cdef extern from "ngrams/parts.h" nogil:
    enum part_unit:
        PART_PARAGRAPH
        PART_LINE
        PART_SENTENCE

    struct part:
        pass

    struct part_place:
        int64_t text
        int64_t position

    void parts_unfold()
    int64_t parts_find(
        const sketch_text *text, part_unit unit, int64_t *position, part *found, int64_t room
    )
    int64_t parts_rest(
        const sketch_text *text, part_unit unit, const uint8_t *is_dropped, int64_t count,
        void *rest
    )
    int64_t parts_take(
        const sketch_text *texts, int64_t count, part_unit unit, part_place *place,
        sketch_text *parts, int64_t *owners, int64_t *counts, int64_t room
    )
    void parts_keys(
        const uint64_t *words, const int64_t *counts, int64_t parts, uint64_t *keys
    )


cdef extern from "variants.h" nogil:
    ctypedef void agree_function(
        const void *left, int is_one, const void *right, int64_t count, int width,
        uint16_t *agreeing
    )


cdef extern from "minhash/minima.h" nogil:
    void bands_keys(
        const void *minima, int bits, int64_t count, int width, int bands, int rows,
        uint64_t *keys
    )


cdef extern from "scratch.h" nogil:
    enum:
        SKETCH_SHINGLE_MAX
        SKETCH_DIMENSIONS
        SKETCH_DIMENSIONS_MAX

    enum sketch_unit:
        SKETCH_WORDS
        SKETCH_CHARACTERS
        SKETCH_WHITESPACE
        SKETCH_SPACELESS

    enum sketch_counting:
        SKETCH_TF
        SKETCH_BINARY
        SKETCH_LOG_TF
        SKETCH_COLLECT
        SKETCH_MINHASH
        SKETCH_SEQUENCE

    struct sketch_sequence:
        uint64_t *words
        int64_t room
        int64_t count
        int64_t done

    struct sketch_settings:
        int shingle
        uint32_t seed
        sketch_unit unit
        int is_lowercase
        clean_settings clean
        int is_replaced
        sketch_counting counting
        int is_marked
        int dimensions
        const sketch_vocabulary *vocabulary
        const sketch_idf *idf
        const minima_family *family

    struct sketch_scratch:
        sketch_bag bag
        sketch_set set
        sketch_sequence sequence
        sketch_unknown unknown
        uint32_t *signatures


cdef extern from "project.h" nogil:
    enum:
        SKETCH_FEATURES_MAX
        MOZ_WINDOW_MAX
        MOZ_TOKENS_MAX

    int64_t sketch_place_words(const sketch_text *text, sketch_unit unit, int64_t *places)

    struct sketch_token:
        const uint8_t *content
        int64_t length

    enum sketch_outcome:
        SKETCH_DONE
        SKETCH_SURROGATE
        SKETCH_UNCLEAN
        SKETCH_TOO_MANY
        SKETCH_FULL

    void sketch_project_begin()
    void sketch_tokens_begin(sketch_scratch *scratch, const sketch_settings *settings)
    sketch_outcome sketch_project_texts(
        const sketch_text *texts, int64_t count, const sketch_settings *settings,
        sketch_scratch *scratch, void *weights, int64_t *features, int64_t *done
    )
    sketch_outcome sketch_project_tokens(
        const sketch_token *tokens, const int64_t *offsets, int64_t count,
        const sketch_settings *settings, sketch_scratch *scratch, void *weights,
        int64_t *features, int64_t *done
    )
    sketch_outcome sketch_moz_texts(
        const sketch_text *texts, int64_t count, int window, int is_replaced, int32_t *weights,
        int64_t *features, int64_t *done
    )


cdef extern from "weights/ready.h" nogil:
    int64_t widen_row(const float *given, size_t count, int dimensions, float *wide)
    bint pack_row(const float *weights, int dimensions, uint8_t *vector, int64_t *features)

cdef extern from "level_scalar.h" nogil:
    void level_floats_scalar(
        const float *weights, size_t count, size_t dimensions, uint8_t *levels
    )
    void level_wholes_scalar(
        const int32_t *weights, size_t count, size_t dimensions, uint8_t *levels
    )


cdef extern from "overlap/overlap.h" nogil:
    struct overlap_documents:
        const int64_t *offsets
        const uint64_t *hashes
        const float *weights

    int64_t overlap_slots(int64_t count)
    void overlap_sums(
        const overlap_documents *documents, int is_least, int64_t missing_most,
        const int64_t *left, const int64_t *right, int64_t pairs, uint32_t *slots, double *sums
    )


cdef extern from "variants.h" nogil:
    struct sketch_operations_type "sketch_operations":
        const char *name
        int (*clean)(const sketch_text *text, clean_settings settings) noexcept nogil
        void (*weigh)(const uint64_t *hashes, const float *weights, int64_t count, int words,
                      float *projected) noexcept nogil
        int64_t (*quantise)(const void *weights, int is_float, int64_t count, int dimensions,
                            uint64_t *fingerprints, uint8_t *vectors) noexcept nogil
        minima_functions minima
        int64_t (*consistent)(const uint64_t *keys, int permutations, const uint64_t *hashes,
                              const float *weights, int64_t count, uint32_t *row) noexcept nogil
        agree_function *agree_narrow
        agree_function *agree_wide
        agree_function *agree_one_bit
        agree_function *agree_two_bits

    const sketch_operations_type *sketch_operations
    const sketch_operations_type *variant_at "sketch_variant"(size_t index)
    const sketch_operations_type *in_use "sketch_operations"
