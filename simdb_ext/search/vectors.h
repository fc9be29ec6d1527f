/* Similarities and copies of packed volatility vectors, which are found by ordinal. */
#ifndef SIMDB_SEARCH_VECTORS_H
#define SIMDB_SEARCH_VECTORS_H

#include <stddef.h>
#include <stdint.h>

#include "found.h"
#include "kernel.h"

/* The vectors of consecutive ordinals. */
struct search_segment {
    uint64_t first;
    uint64_t stop;
    const uint8_t *vectors;
};

struct search_vectors {
    size_t width; /* bytes of a vector */
    const struct search_segment *segments; /* sorted and disjoint */
    size_t segment_count;
};

/* Return the bytes of scratch memory that one query of this width needs. */
size_t search_weights_size(size_t width);

/* Unpack a vector into scratch memory. */
struct search_weights search_unpack(const uint8_t *vector, size_t width, int8_t *scratch);

/* Return the address of the vector of an ordinal, or NULL.  `near` is the segment to look at first,
   and becomes the segment found. */
const uint8_t *search_vector_at(const struct search_vectors *vectors, uint32_t ordinal,
                                size_t *near);

/* Find and prefetch some vectors; return the number found before the first missing one. */
size_t search_find_all(const struct search_vectors *vectors, const uint32_t *ordinals,
                       size_t count, size_t *near, const uint8_t **places);

/* Return whether `count` + 1 offsets ascend from 0 to `total`. */
int search_offsets_divide(const int64_t *offsets, size_t count, size_t total);

/* The functions below that take ordinals return their number.  If an ordinal has no vector, they
   stop there and return its position. */

/* Compare query i of `query_count` with ordinals[offsets[i]] .. ordinals[offsets[i + 1] - 1]. */
size_t search_similarity(const struct search_vectors *vectors, const uint8_t *queries,
                         size_t query_count, const int64_t *offsets, const uint32_t *ordinals,
                         int8_t *scratch, float *similarities);

/* Compare pairs of stored vectors. */
size_t search_between(const struct search_vectors *vectors, const uint32_t *left,
                      const uint32_t *right, size_t count, int8_t *scratch, float *similarities);

size_t search_gather(const struct search_vectors *vectors, const uint32_t *ordinals, size_t count,
                     uint8_t *copies);

/* Write the number of minima of `bits` bits (1, 2, 8 or 32) in which each vector agrees with the
   query. */
size_t search_agreements(const struct search_vectors *vectors, const uint8_t *query, int bits,
                         const uint32_t *ordinals, size_t count, uint32_t *agreeing);

struct search_vector_request {
    const uint8_t *queries;
    size_t count;
    float similarity;
    struct search_filter filter;
    const uint32_t *after; /* NULL: any ordinal */
};

enum { SEARCH_SCAN_MAX = 256 }; /* queries of one scan, at most */

/* Find all vectors that are at least `similarity` to each query.  Needs scratch memory for each
   query. */
void search_scan_vectors(const struct search_vectors *vectors,
                         const struct search_vector_request *request, int8_t *scratch,
                         struct search_found *found);

/* Offer all vectors to the best matches of each query; `similarity` and `after` are ignored. */
void search_nearest_vectors(const struct search_vectors *vectors,
                            const struct search_vector_request *request, int8_t *scratch,
                            struct search_best *best);

#endif
