/* The best matches of one query while all documents are compared with it.

   They are a heap of ranks (see found.h) whose first rank is the worst. */
#ifndef SIMDB_SEARCH_BEST_H
#define SIMDB_SEARCH_BEST_H

#include <stddef.h>
#include <stdint.h>

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
