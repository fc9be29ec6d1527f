/* Distances of whole hashes, which are found by ordinal, like vectors.  The width of a hash is a
   multiple of 4 bytes, at most SEARCH_HASH_MAX. */
#ifndef SIMDB_SEARCH_HASHES_H
#define SIMDB_SEARCH_HASHES_H

#include "vectors.h"

enum { SEARCH_HASH_MAX = 64 };

/* Pairs of hashes: a query or a stored hash on the left, a stored hash on the right. */
struct search_hash_pairs {
    const uint8_t *queries; /* query i is the left side of pairs offsets[i] .. offsets[i + 1] */
    const int64_t *offsets;
    const uint32_t *left; /* ordinals of the left sides, if `queries` is NULL */
    const uint32_t *right;
    size_t count;
};

/* Write the number of differing bits of each pair.  Return the number of pairs; if an ordinal has
   no hash, stop there and return the position of its pair. */
size_t search_differing(const struct search_vectors *vectors,
                        const struct search_hash_pairs *pairs, uint16_t *distances);

struct search_hash_request {
    const uint8_t *queries;
    size_t count; /* at most SEARCH_SCAN_MAX */
    uint32_t distance;
    size_t enough; /* matches after which the search of a query ends; 0: never */
    struct search_filter filter;
    const uint32_t *after; /* NULL: any ordinal */
};

/* Find the hashes within the distance of each query; with `enough`, only the lowest ordinals. */
void search_within(const struct search_vectors *vectors,
                   const struct search_hash_request *request, struct search_found *found);

/* Offer all hashes to the best of each query; of the request, only `queries`, `count` and `filter`
   are used. */
void search_closest(const struct search_vectors *vectors,
                    const struct search_hash_request *request, struct search_best *best);

#endif
