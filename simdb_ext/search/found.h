/* Matches of a group of queries: collected in any order, returned query by query, the best first.

   The rank of a match orders the matches of one query: its upper 32 bits say how far the match is,
   its lower 32 bits are the ordinal.  "How far" is a distance or an inverted similarity. */
#ifndef SIMDB_SEARCH_FOUND_H
#define SIMDB_SEARCH_FOUND_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct search_found {
    uint32_t *queries; /* for each match, the number of its query in the group, from 0 */
    uint64_t *ranks;
    size_t capacity;
    size_t count; /* all matches, including those without room */
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

/* Convert a similarity (never -0.0) to a number that falls as the similarity rises; and back. */
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

/* The documents that a search omits: the marked ones, and all without the wanted code in each
   field. */
struct search_filter {
    const uint8_t *bits; /* the marks: one bit for each ordinal, the lowest of a byte first */
    uint64_t bytes;
    const uint64_t *codes; /* `width` codes for each ordinal; NULL: codes are ignored */
    uint64_t coded;        /* ordinals that have codes; all later ones are omitted */
    const uint64_t *wanted; /* one code for each field; UINT64_MAX: any code */
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

/* Request the memory that says whether a document is omitted. */
static inline void search_fetch_filter(const struct search_filter *filter, uint32_t ordinal)
{
    if (filter->codes != NULL)
        __builtin_prefetch(filter->codes + ordinal * filter->width);
    if (filter->bits != NULL)
        __builtin_prefetch(filter->bits + ordinal / 8);
}

/* Sort ranks in ascending order; `spare` has room for `count` ranks. */
void search_sort(uint64_t *ranks, uint64_t *spare, size_t count);

/* Order the matches by query and rank, and write their ranks to `sorted`.  All matches had room.
   For each of `count` queries, set offsets[i + 1] to the end of its matches, counted from
   offsets[0]. */
void search_group(struct search_found *found, uint64_t *sorted, size_t count, int64_t *offsets);

/* Extract the ordinals from `count` ranks. */
void search_ordinals(const uint64_t *ranks, size_t count, uint32_t *ordinals);

/* Extract distances, of `size` 1 or 2 bytes, or similarities, of 4 bytes. */
void search_nearness(const uint64_t *ranks, size_t count, size_t size, void *nearness);

/* Return the number of matches to make room for before `count` queries, whose matches had no room,
   run again. */
size_t search_room(const struct search_found *found, size_t count);

/* Return the number of queries, 1 to `count_max`, of the next group, so that its matches probably
   have room.  `found` has the matches of the last `count` queries. */
size_t search_group_size(const struct search_found *found, size_t count, size_t count_max);

/* The best matches of one query that is compared with all documents: a heap of ranks, the worst
   first. */
struct search_best {
    uint64_t *ranks; /* room for `most` */
    size_t most;
    size_t count;
};

/* Return the largest "how far" with which a match can be among the best. */
static inline uint32_t search_reach(const struct search_best *best)
{
    return best->count < best->most ? UINT32_MAX : (uint32_t)(best->ranks[0] >> 32);
}

/* Add a match, and drop the worst if there are more than `most`, which is 1 or more. */
void search_offer(struct search_best *best, uint64_t rank);

#endif
