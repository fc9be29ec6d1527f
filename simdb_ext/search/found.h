/* Matches of a group of queries: collected in any order, returned query by query, the best first.

   The rank of a match orders the matches of one query.  Its upper 32 bits say how far the match is,
   its lower 32 bits are the ordinal.  "How far" is a distance, or a similarity turned round. */
#ifndef SIMDB_SEARCH_FOUND_H
#define SIMDB_SEARCH_FOUND_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct search_found {
    uint32_t *queries; /* of each match, the number of its query in the group, from 0 */
    uint64_t *ranks;
    size_t capacity;
    size_t count; /* all matches, also those that had no room */
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

/* Turn a similarity (never -0.0) into a number that is smaller for a larger similarity; and
   back. */
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

/* Which documents a search leaves out: those that are marked, and those that have other codes in
   their fields than are wanted. */
struct search_filter {
    const uint8_t *bits; /* one for each ordinal, the lowest of a byte first */
    uint64_t bytes;
    const uint64_t *codes; /* `width` for each ordinal; NULL: any are wanted */
    uint64_t coded;        /* ordinals that have codes; a later one is left out */
    const uint64_t *wanted; /* UINT64_MAX: any code of that field */
    size_t width;
};

static inline int search_is_left_out(const struct search_filter *filter, uint32_t ordinal)
{
    if (filter->codes != NULL) {
        if (ordinal >= filter->coded)
            return 1;
        const uint64_t *own = filter->codes + ordinal * filter->width;
        for (size_t i = 0; i < filter->width; i++)
            if (own[i] != filter->wanted[i] && filter->wanted[i] != UINT64_MAX)
                return 1;
    }
    return search_marked(filter->bits, filter->bytes, ordinal);
}

/* Request the memory that says whether a document is left out. */
static inline void search_fetch_filter(const struct search_filter *filter, uint32_t ordinal)
{
    if (filter->codes != NULL)
        __builtin_prefetch(filter->codes + ordinal * filter->width);
    if (filter->bits != NULL)
        __builtin_prefetch(filter->bits + ordinal / 8);
}

/* Sort ranks in ascending order; `spare` has room for as many. */
void search_sort(uint64_t *ranks, uint64_t *spare, size_t count);

/* Order the matches by query and rank, and write their ranks to `sorted`.  All matches had room.
    For each of `count` queries set offsets[i + 1] to where its matches end, counted on from
   offsets[0]. */
void search_group(struct search_found *found, uint64_t *sorted, size_t count, int64_t *offsets);

/* Extract the ordinals from `count` ranks. */
void search_ordinals(const uint64_t *ranks, size_t count, uint32_t *ordinals);

/* Extract distances of `size` bytes, 1 or 2, or similarities, which have 4. */
void search_nearness(const uint64_t *ranks, size_t count, size_t size, void *nearness);

/* Return for how many matches to make room before `count` queries, whose matches had no room, are
   tried again. */
size_t search_room(const struct search_found *found, size_t count);

/* Return how many queries the next group may have so that its matches probably have room, given the
   matches of the last `count` queries; from 1 to `count_max`. */
size_t search_group_size(const struct search_found *found, size_t count, size_t count_max);

/* The best matches of one query while all documents are compared with it: a heap of ranks whose
   first rank is the worst. */
struct search_best {
    uint64_t *ranks; /* room for `most` */
    size_t most;
    size_t count;
};

/* Return how far a match may be at most to be one of the best. */
static inline uint32_t search_reach(const struct search_best *best)
{
    return best->count < best->most ? UINT32_MAX : (uint32_t)(best->ranks[0] >> 32);
}

/* Take a match in, and drop the worst if there are too many.  `most` is 1 or more. */
void search_offer(struct search_best *best, uint64_t rank);

#endif
