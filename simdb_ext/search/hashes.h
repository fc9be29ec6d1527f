/* Distances of whole hashes, which are found by ordinal as vectors are.  The width of a hash is a
   multiple of 4 bytes, at most SEARCH_HASH_MAX. */
#ifndef SIMDB_SEARCH_HASHES_H
#define SIMDB_SEARCH_HASHES_H

#include "vectors.h"

enum { SEARCH_HASH_MAX = 64 };

/* Hashes on the left, each to be compared with one on the right. */
struct search_hash_pairs {
    const uint8_t *queries; /* on the left, query i at the places offsets[i] .. offsets[i + 1] */
    const int64_t *offsets;
    const uint32_t *left; /* ordinals of the left, if `queries` is NULL */
    const uint32_t *right;
    size_t count;
};

/* Write in how many bits the hashes of each pair differ.  Return the number of pairs; if an ordinal
   has no hash, stop there and return the position of its pair. */
size_t search_differing(const struct search_vectors *vectors,
                        const struct search_hash_pairs *pairs, uint16_t *distances);

struct search_hash_request {
    const uint8_t *queries;
    size_t count; /* at most SEARCH_SCAN_MAX */
    uint32_t distance;
    size_t enough; /* matches of a query after which no more are looked for; 0 for all */
    struct search_filter filter;
    const uint32_t *after; /* NULL: any ordinal */
};

/* Find the hashes within the distance of each query; the lowest ordinals, if so many are enough. */
void search_within(const struct search_vectors *vectors,
                   const struct search_hash_request *request, struct search_found *found);

/* Offer all hashes to the best of each query; only `queries`, `count` and `filter` matter. */
void search_closest(const struct search_vectors *vectors,
                    const struct search_hash_request *request, struct search_best *best);

#endif
