# C declarations of `search/`, for `_search.pyx`.

from libc.stddef cimport size_t
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t


cdef extern from "kernel.h" nogil:
    enum:
        SEARCH_THETA_MAX
        SEARCH_CAP_MAX

    struct search_flips:
        const uint8_t *costs
        int32_t theta
        size_t cap

    struct search_kernel_type "search_kernel":
        const char *name
        void (*permute)(const uint64_t *fingerprints, size_t count, uint64_t mask,
                        uint64_t *keys) noexcept nogil
        void (*level_floats)(const float *weights, size_t count, size_t dimensions,
                             uint8_t *levels) noexcept nogil
        void (*level_wholes)(const int32_t *weights, size_t count, size_t dimensions,
                             uint8_t *levels) noexcept nogil
        void (*level_packed)(const uint8_t *vectors, size_t count, size_t width,
                             uint8_t *levels) noexcept nogil

    size_t search_sets_room(size_t cap)
    const search_kernel_type *search_kernel
    const search_kernel_type *variant_at "search_variant"(size_t index)
    const search_kernel_type *in_use "search_kernel"


cdef extern from "found.h" nogil:
    struct search_found:
        uint32_t *queries
        uint64_t *ranks
        size_t capacity
        size_t count

    struct search_filter:
        const uint8_t *bits
        uint64_t bytes
        const uint64_t *codes
        uint64_t coded
        const uint64_t *wanted
        size_t width

    void search_sort(uint64_t *ranks, uint64_t *spare, size_t count)
    void search_group(search_found *found, uint64_t *out, size_t count, int64_t *offsets)
    void search_ordinals(const uint64_t *ranks, size_t count, uint32_t *ordinals)
    void search_nearness(const uint64_t *ranks, size_t count, size_t size, void *nearness)
    float search_similarity_of(uint32_t far)
    size_t search_room(const search_found *found, size_t count)
    size_t search_group_size(const search_found *found, size_t count, size_t count_max)


cdef extern from "found.h" nogil:
    struct search_best:
        uint64_t *ranks
        size_t most
        size_t count


cdef extern from "lookup.h" nogil:
    struct search_column:
        const uint64_t *keys
        const uint16_t *tags
        const uint32_t *ordinals
        const uint32_t *directory
        uint64_t count
        const uint64_t *const *segments
        uint32_t segment_bits
        uint64_t first
        uint64_t stored
        uint32_t table
        bint is_alone

    struct search_tables:
        const uint64_t *masks
        const uint8_t *orders
        size_t table_count
        const search_column *columns
        size_t run_count
        search_column delta
        search_filter filter

    struct search_request:
        const uint64_t *queries
        size_t count
        const uint32_t *after
        unsigned distance
        const uint64_t *counted
        const uint8_t *most
        const int8_t *flips
        uint8_t enough

    struct search_scratch:
        uint64_t *keys
        uint64_t *sorted
        uint32_t *numbers
        uint32_t *places
        uint8_t *done

    void search_prepare_order(uint8_t *order, uint64_t mask)
    void search_prepare_column(search_column *column, uint64_t mask, uint64_t directory_length)
    void search_prepare_window(search_column *column, uint64_t start, uint64_t stop,
                               uint64_t directory_length)
    void search_lookup(const search_tables *tables, const search_request *request,
                       const search_scratch *scratch, search_found *found)
    void search_scan(const search_tables *tables, const search_request *request,
                     const search_scratch *scratch, search_found *found)

    void search_nearest(const search_tables *tables, const uint64_t *queries, size_t count,
                        uint64_t *keys, search_best *best)


cdef extern from "bands.h" nogil:
    void search_bands(const search_tables **bands, const uint64_t *keys, size_t count,
                      const search_filter *filter, search_found *found)
    size_t search_distinct(search_found *found, uint64_t *spare, uint32_t *ordinals)


cdef extern from "probing.h" nogil:
    enum:
        GATHERED_MAX
        PARTITION_BITS


cdef extern from "vosh.h" nogil:
    enum:
        SEARCH_VOSH_RANKS

    struct search_flip_set:
        int64_t price
        uint64_t ranks

    struct search_vosh_type "search_vosh":
        const int64_t *prices
        unsigned count
        search_flip_set *heap
        size_t size

    int64_t search_vosh_price(int64_t cost)
    size_t search_vosh_children(uint64_t parent, unsigned count, uint64_t *children)
    void search_vosh_begin(search_vosh_type *vosh, const int64_t *prices, unsigned count,
                           unsigned distance, search_flip_set *heap)
    bint search_vosh_next(search_vosh_type *vosh, search_flip_set *set)


cdef extern from "probe.h" nogil:
    struct search_volatility:
        const uint8_t *levels
        search_flips flips
        size_t table_count
        unsigned width
        bint is_ordered

    struct search_probe_scratch:
        uint64_t *keys
        uint64_t *sets
        size_t sets_room
        int16_t *limits
        uint64_t *headers
        uint8_t *done
        uint64_t *gathered

    void search_probe(const search_tables *tables, const search_request *request,
                      const search_volatility *volatility, const search_probe_scratch *scratch,
                      search_found *found)
    void search_count_probes(const search_tables *tables, const search_volatility *volatility,
                             size_t count, uint64_t *sets, int64_t *counts)


cdef extern from "sweep.h" nogil:
    struct search_sweep_type "search_sweep":
        const uint64_t *keys
        const uint32_t *ordinals
        const uint64_t *counted
        const uint8_t *most
        uint64_t count
        const uint64_t *masks
        const int8_t *flips
        size_t table
        unsigned width
        uint64_t flipped
        unsigned distance
        uint64_t i
        uint64_t j
        uint64_t stop

    size_t search_sweep(search_sweep_type *sweep, uint32_t *left, uint32_t *right,
                        uint8_t *distances, size_t capacity)


cdef extern from "vectors.h" nogil:
    enum:
        SEARCH_SCAN_MAX

    struct search_segment:
        uint64_t first
        uint64_t stop
        const uint8_t *vectors

    struct search_vectors:
        size_t width
        const search_segment *segments
        size_t segment_count

    struct search_vector_request:
        const uint8_t *queries
        size_t count
        float similarity
        search_filter filter
        const uint32_t *after

    size_t search_weights_size(size_t width)
    bint search_offsets_divide(const int64_t *offsets, size_t count, size_t total)
    size_t search_similarity(const search_vectors *vectors, const uint8_t *queries,
                             size_t query_count, const int64_t *offsets,
                             const uint32_t *ordinals, int8_t *scratch, float *similarities)
    size_t search_between(const search_vectors *vectors, const uint32_t *left,
                          const uint32_t *right, size_t count, int8_t *scratch,
                          float *similarities)
    size_t search_agreements(const search_vectors *vectors, const uint8_t *query, int bits,
                             const uint32_t *ordinals, size_t count, uint32_t *agreeing)
    size_t search_gather(const search_vectors *vectors, const uint32_t *ordinals, size_t count,
                         uint8_t *copies)
    void search_scan_vectors(const search_vectors *vectors, const search_vector_request *request,
                             int8_t *scratch, search_found *found)
    void search_nearest_vectors(const search_vectors *vectors,
                                const search_vector_request *request, int8_t *scratch,
                                search_best *best)


cdef extern from "hashes.h" nogil:
    enum:
        SEARCH_HASH_MAX

    struct search_hash_pairs:
        const uint8_t *queries
        const int64_t *offsets
        const uint32_t *left
        const uint32_t *right
        size_t count

    size_t search_differing(const search_vectors *vectors, const search_hash_pairs *pairs,
                            uint16_t *distances)

    struct search_hash_request:
        const uint8_t *queries
        size_t count
        uint32_t distance
        size_t enough
        search_filter filter
        const uint32_t *after

    void search_within(const search_vectors *vectors, const search_hash_request *request,
                       search_found *found)
    void search_closest(const search_vectors *vectors, const search_hash_request *request,
                        search_best *best)


cdef extern from "polytope.h" nogil:
    enum:
        POLYTOPE_WIDTH_MAX
        POLYTOPE_TABLES_MAX
        POLYTOPE_CODE_BITS

    struct polytope_reach:
        size_t table
        float cost
        uint32_t own
        uint32_t probed

    void search_polytope_prepare "polytope_prepare"()
    uint64_t polytope_firm(const uint8_t *vector, size_t width)
    unsigned polytope_slice_count(unsigned width)
    void search_polytope_keys "polytope_keys"(const uint8_t *vectors, size_t count,
                                              size_t vector_width, size_t first_table,
                                              size_t table_count,
                                              uint64_t *keys)
    void search_polytope_costs "polytope_costs"(const uint8_t *left, const uint8_t *right,
                                                size_t count, size_t vector_width, unsigned width,
                                                size_t table_count, float *costs)
    polytope_reach polytope_reached(const uint8_t *left, const uint8_t *right,
                                    size_t vector_width, unsigned width, size_t table_count,
                                    double threshold)
    void search_polytope_headers "polytope_headers"(const uint8_t *vectors, size_t count,
                                                    size_t vector_width, unsigned width,
                                                    double threshold, size_t table_count,
                                                    int64_t *counts, uint32_t *headers)


cdef extern from "polytopes.h" nogil:
    struct polytope_column:
        const uint64_t *keys
        const uint32_t *ordinals
        const uint32_t *directory
        uint64_t count

    struct polytope_run:
        unsigned width
        uint64_t start
        uint64_t length

    struct search_polytopes_type "search_polytopes":
        const polytope_column *columns
        const polytope_run *runs
        size_t table_count
        size_t run_count
        size_t first_table
        unsigned skipped
        search_filter filter
        search_vectors vectors

    struct polytope_limits:
        unsigned distance
        unsigned delta_distance
        float flipped

    struct polytope_request:
        const uint8_t *queries
        size_t count
        const uint32_t *after
        uint32_t *parents
        size_t parent_count
        const uint32_t *members
        const float *thresholds
        float similarity
        polytope_limits all
        polytope_limits firm
        uint8_t enough
        search_best *best

    size_t search_polytopes_scratch()
    bint search_polytopes(const search_polytopes_type *tables, const polytope_request *request,
                          void *scratch, search_found *found, uint32_t *missing)
    size_t search_drop_repeated(uint64_t *ranks, size_t count, int64_t *offsets, bint first)
    void search_vector_distances(const search_vectors *vectors, const uint8_t *queries,
                                 size_t count, const int64_t *offsets, const uint32_t *ordinals,
                                 uint8_t *distances)
