/* The candidates: sets of ranks that may be among the first sets in the order of VOSH (vosh.h),
   whatever the bits cost.

   Ranks are in the order of cost.  So a set comes after those that are made from it by leaving
   ranks out and by exchanging ranks for lower ones; if there are `cap` of these, it is not among
   the first `cap`.  Few sets are left: with `cap` 20, of at most 3 bits, 45. */
#ifndef SIMDB_SEARCH_CANDIDATES_H
#define SIMDB_SEARCH_CANDIDATES_H

#include <stddef.h>
#include <stdint.h>

enum {
    CANDIDATE_CAP_MAX = 31,      /* then candidates have at most */
    CANDIDATE_SIZE_MAX = 4,      /* so many bits, and those of several bits */
    CANDIDATE_RANKS = 16,        /* only these first ranks */
    CANDIDATE_SINGLES = 32,      /* candidates of one bit: all ranks of a header */
    CANDIDATE_OTHERS = 64,       /* candidates of several bits, at most */
    CANDIDATE_NO_RANK = 0xB0 /* vectors look up 0 for it */
};

/* The candidates: first those of one bit, by rank, then the others in the order of VOSH without
   costs: the smaller set first, then the one whose first differing rank is the lower. */
struct search_candidates {
    size_t others;     /* candidates of several bits */
    size_t wanted;     /* sets that are chosen beside the empty one; 0: there are no candidates */
    unsigned distance; /* most bits of a set */
    /* The ranks of the others, or CANDIDATE_NO_RANK. */
    _Alignas(64) uint8_t ranks[CANDIDATE_SIZE_MAX][CANDIDATE_OTHERS];
};

/* Find the candidates for the first `cap` sets, the empty set among them, of at most `distance`
   bits; none if `cap` is 0, or too large. */
void search_find_candidates(struct search_candidates *candidates, size_t cap, unsigned distance);

#endif
