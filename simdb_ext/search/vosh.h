/* VOSH, volatility ordered set heap (Sood & Loguinov 2011, Algorithm 2): the sets of bits to flip,
   the cheapest set first.

   Bits are ranked by the cost of flipping them, the cheapest first.  A set of ranks is a word in
   which rank r is bit 63 - r.  The sets of one size form a tree.  Its root has the first ranks.  A
   child has one rank of its parent moved to the next rank, so it costs no less.  A heap holds the
   root of each tree and the children of every set that was removed.

   Of sets with equal costs the smaller one precedes, then the one whose first differing rank is
   lower.  So the order depends on the costs alone. */
#ifndef SIMDB_SEARCH_VOSH_H
#define SIMDB_SEARCH_VOSH_H

#include <stddef.h>
#include <stdint.h>

enum {
    SEARCH_VOSH_RANKS = 64,
    SEARCH_VOSH_UNIT = 128 /* price of a cost of 1 */
};

/* Return the price of a bit.  The prices of a set add up to its cost and, in the low bits, its
   size. */
static inline int64_t search_vosh_price(int64_t cost) { return cost * SEARCH_VOSH_UNIT + 1; }

struct search_flip_set {
    int64_t price;
    uint64_t ranks;
};

struct search_vosh {
    const int64_t *prices; /* of each rank, ascending */
    unsigned count;       /* ranks, at most 64 */
    struct search_flip_set *heap;
    size_t size; /* sets in the heap */
};

/* Write the children of a set of ranks, at least one, below `count`; return their number, at most
   2. */
size_t search_vosh_children(uint64_t parent, unsigned count, uint64_t *children);

/* Begin before the sets of 1 to `distance` ranks; the empty set is not among them.  `heap` has room
   for `count` sets, and for one more before each call of `search_vosh_next`. */
void search_vosh_begin(struct search_vosh *vosh, const int64_t *prices, unsigned count,
                       unsigned distance, struct search_flip_set *heap);

/* Remove the next set from the heap and write it to `set`; return 0 if there is none. */
int search_vosh_next(struct search_vosh *vosh, struct search_flip_set *set);

#endif
