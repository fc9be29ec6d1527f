/* Matches of a group of queries: collected in any order, returned query by query, the best first.

   A match has a rank, which orders the matches of one query: 32 bits of how far it is, then 32
   bits of ordinal.  How far is a distance or a similarity turned round. */
#ifndef SIMDB_SEARCH_FOUND_H
#define SIMDB_SEARCH_FOUND_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct search_found {
    uint32_t *queries; /* number of the query of each match, from 0 in the group */
    uint64_t *ranks;
    size_t capacity;
    size_t count; /* of all matches, also of those that had no room */
};

static inline void search_add(struct search_found *found, uint32_t query, uint32_t far,
                              uint32_t ordinal)
{
    if (found->count < found->capacity) {
        found->queries[found->count] = query;
        found->ranks[found->count] = (uint64_t)far << 32 | ordinal;
    }
    found->count++;
}

/* A number that is the smaller, the larger the similarity (which is never -0.0); and back. */
static inline uint32_t search_far_of(float similarity)
{
    uint32_t bits;

    memcpy(&bits, &similarity, sizeof bits);
    return bits >> 31 ? bits : ~bits & 0x7fffffff;
}

static inline float search_similarity_of(uint32_t far)
{
    uint32_t bits = far >> 31 ? far : ~far & 0x7fffffff;
    float similarity;

    memcpy(&similarity, &bits, sizeof similarity);
    return similarity;
}

static inline int search_marked(const uint8_t *bits, uint64_t bytes, uint32_t ordinal)
{
    return ordinal >> 3 < bytes && (bits[ordinal >> 3] >> (ordinal & 7) & 1);
}

/* Put ranks in ascending order; `spare` has room for as many. */
void search_sort(uint64_t *ranks, uint64_t *spare, size_t count);

/* Order the matches, which all had room, by query and rank: the ranks to `sorted`.  Adds to
   offsets[i + 1], for each of `count` queries, where its matches end, counted on from
   offsets[0]. */
void search_group(struct search_found *found, uint64_t *sorted, size_t count, int64_t *offsets);

/* The members of `count` ranks. */
void search_ordinals(const uint64_t *ranks, size_t count, uint32_t *ordinals);
void search_distances(const uint64_t *ranks, size_t count, uint8_t *distances);
void search_similarities(const uint64_t *ranks, size_t count, float *similarities);

/* Room for how many matches to make before trying `count` queries again, whose matches had none. */
size_t search_room(const struct search_found *found, size_t count);

/* How many queries the next group may have, so that its matches are likely to have room, when
   `count` queries had so many; at least 1, at most `count_max`. */
size_t search_group_size(const struct search_found *found, size_t count, size_t count_max);

#endif
