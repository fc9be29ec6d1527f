"""C declarations of `arrange/`, and parts of Python's C interface that Cython does not declare."""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t


cdef extern from "Python.h":
    """
    #if PY_VERSION_HEX < 0x030C0000
    #define make_ready(text) PyUnicode_READY(text)
    #else
    #define make_ready(text) 0
    #endif
    """
    int make_ready(object text) except -1
    bint PyUnicode_IS_ASCII(object text)
    const void *PyUnicode_DATA(object text)
    Py_ssize_t PyUnicode_GET_LENGTH(object text)
    object PyUnicode_AsUTF8String(object text)
    object PyUnicode_DecodeUTF8(const char *content, Py_ssize_t size, const char *errors)
    const char *PyBytes_AS_STRING(object content)
    Py_ssize_t PyBytes_GET_SIZE(object content)
    object PyErr_SetFromErrno(object kind)
    object PyBytes_FromStringAndSize(const char *content, Py_ssize_t size)
    long long PyLong_AsLongLongAndOverflow(object number, int *overflow) except? -1
    object PyLong_FromLongLong(long long number)
    object PyLong_FromUnsignedLongLong(unsigned long long number)

cdef extern from "lines.h" nogil:
    enum:
        ARRANGE_GAP

    int64_t arrange_count_feeds(const uint8_t *content, int64_t size)
    void arrange_first_bytes(
        const uint64_t *addresses, const int64_t *lengths, int64_t count, uint8_t *firsts
    )
    int64_t arrange_read_ranges(
        int descriptor, const int64_t *starts, const int64_t *stops, int64_t count, uint8_t *out,
        uint8_t *gap
    )

cdef extern from "objects.h" nogil:
    enum:
        JSON_PATHS
        JSON_SLACK
        JSON_STRING
        JSON_WHOLE_NUMBER

    struct json_path:
        int64_t length
        const uint8_t **names
        const int64_t *sizes
        int is_text

    void arrange_scan_objects(
        const uint8_t *content, int64_t size, int64_t count, const json_path *paths,
        int64_t path_count, int64_t *sizes, uint8_t *lines, uint64_t *addresses, int64_t *lengths,
        uint8_t *kinds, uint8_t *spare
    )

cdef extern from "sort.h" nogil:
    enum:
        ARRANGE_HEADER_BITS_MAX

    size_t arrange_sort_scratch(int64_t count)
    void arrange_sort(uint64_t *keys, uint32_t *ordinals, int64_t count, void *scratch)
    void arrange_directory(const uint64_t *keys, int64_t count, int header_bits, uint32_t *out)

    struct arrange_sorted:
        const uint64_t *keys
        const uint32_t *ordinals
        int64_t start
        int64_t stop

    void arrange_merge(
        arrange_sorted left, arrange_sorted right, uint64_t *keys, uint32_t *ordinals
    )

cdef extern from "tags.h" nogil:
    void arrange_tags(const uint64_t *keys, int64_t count, int header_bits, uint16_t *out)
    int64_t arrange_fingerprints(
        const uint32_t *ordinals, int64_t count, uint64_t start, const uint64_t *const *segments,
        int segment_bits, uint64_t stored, uint64_t *out
    )

cdef extern from "bins.h" nogil:
    struct arrange_bins:
        uint64_t low
        int shift
        int64_t count

    void arrange_count_bins(
        const uint64_t *words, int64_t count, const arrange_rotations *rotations,
        arrange_bins bins, int64_t *counts
    )
    int arrange_to_bins(
        const uint64_t *words, const uint32_t *ordinals, int64_t count,
        const arrange_rotations *rotations, arrange_bins bins, int64_t *positions,
        uint64_t *keys, uint32_t *ordinals_out, int64_t room
    )

cdef extern from "forest.h" nogil:
    void arrange_plant(uint32_t *parents, int64_t count)
    int64_t arrange_join(
        uint32_t *parents, int64_t count, const uint32_t *left, const uint32_t *right,
        int64_t pairs
    )
    void arrange_label(uint32_t *parents, int64_t count, uint32_t *labels)

cdef extern from "identifiers.h" nogil:
    enum:
        ARRANGE_ID_BYTES_MAX
        ARRANGE_INT_BYTES
        ARRANGE_FORM_BYTES
        ARRANGE_HEAD_BYTES
        ARRANGE_KEY_BYTES

    struct arrange_segment:
        int64_t first
        int64_t count
        const uint32_t *offsets
        const uint8_t *content
        int64_t size

    struct arrange_form:
        const uint8_t *stored
        uint64_t number
        uint8_t tag

    struct arrange_integers:
        uint64_t first
        uint64_t step
        uint8_t tag
        uint8_t width

    struct arrange_row:
        uint64_t start

    struct arrange_bare_table:
        const uint32_t *ordinals
        int64_t size
        const uint32_t *directory
        int header_bits

    enum arrange_outcome:
        ARRANGE_FOUND
        ARRANGE_MISSING
        ARRANGE_TORN

    arrange_outcome arrange_locate_one(
        const arrange_segment *segments, int64_t segment_count, int64_t ordinal,
        arrange_form *form, int64_t *length
    )
    int64_t arrange_locate(
        const arrange_segment *segments, int64_t segment_count, const uint32_t *ordinals,
        int64_t count, arrange_form *forms, int64_t *offsets, arrange_outcome *outcome
    )
    void arrange_gather(
        const arrange_form *forms, const int64_t *offsets, int64_t count, uint8_t *content
    )
    int64_t arrange_find(
        const arrange_segment *segments, int64_t segment_count, const uint32_t *ordinals,
        const int64_t *starts, int64_t count, const int64_t *given_offsets, const uint8_t *given,
        int64_t *found, arrange_outcome *outcome
    )
    bint arrange_are_integers(const uint8_t *content, int64_t count, arrange_integers *out)
    bint arrange_are_ints(const uint8_t *content, int64_t count)
    void arrange_pack(
        const uint8_t *content, int64_t count, arrange_integers how, uint8_t *out
    )
    arrange_integers arrange_head(const uint8_t *packed)
    void arrange_unpack(const uint8_t *packed, int64_t count, uint8_t *content)
    void arrange_find_in_rows(
        const arrange_row *rows, int64_t row_count, const int64_t *given_offsets,
        const uint8_t *given, int64_t count, const uint8_t *dead, int64_t dead_size,
        int64_t *found
    )
    void arrange_candidates(
        const arrange_bare_table *table, const uint64_t *hashes, int64_t count,
        const uint8_t *dead, int64_t dead_size, int64_t *starts, uint32_t *out
    )
    void arrange_hash(
        const uint8_t *content, const int64_t *offsets, int64_t count, const uint8_t *key,
        uint64_t *hashes
    )
    bint arrange_are_within(const int64_t *offsets, int64_t count, int64_t size)
    int64_t arrange_put(uint8_t *out, char tag, const void *content, int64_t length)
    int64_t arrange_put_int(uint8_t *out, char tag, uint64_t number)
    uint64_t arrange_take_int(const uint8_t *content)

cdef extern from "variants.h" nogil:
    struct arrange_rotations:
        pass

    arrange_rotations arrange_leading(uint64_t mask)
    arrange_rotations arrange_trailing(uint64_t mask)

    struct arrange_deal:
        int64_t width
        int64_t parts
        const uint16_t *order
        const uint8_t *sizes

    size_t arrange_deal_scratch(int64_t width)

    struct arrange_operations_type "arrange_operations":
        const char *name
        void (*permute)(const uint64_t *words, int64_t count,
                        const arrange_rotations *rotations, uint64_t *out) noexcept nogil
        int64_t (*keep)(const uint64_t *keys, const uint32_t *ordinals, int64_t count,
                        const uint8_t *dead, int64_t dead_size, uint64_t *keys_out,
                        uint32_t *ordinals_out) noexcept nogil
        int64_t (*descent)(const uint64_t *keys, int64_t count) noexcept nogil
        uint64_t (*entry_sum)(const uint64_t *keys, const uint32_t *ordinals,
                              int64_t count) noexcept nogil
        void (*deal)(const uint8_t *hashes, int64_t count, const arrange_deal *how, void *scratch,
                     uint64_t *out) noexcept nogil

    const arrange_operations_type *arrange_operations
    const arrange_operations_type *variant_at "arrange_variant"(size_t index)
    const arrange_operations_type *in_use "arrange_operations"
