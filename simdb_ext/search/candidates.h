/* The candidates: sets of ranks that can be among the first `cap` sets in the order of VOSH
   (vosh.h), whichever costs the bits have.

   Ranks are in the order of cost.  So every set is preceded by the sets made from it by removing
   ranks or by replacing ranks with lower ones.  If there are `cap` of these, the set is not among
   the first `cap`.  Few sets remain: 45 sets of at most 3 bits for a `cap` of 20. */
#ifndef SIMDB_SEARCH_CANDIDATES_H
#define SIMDB_SEARCH_CANDIDATES_H

#include <stddef.h>
#include <stdint.h>

enum {
    CANDIDATE_CAP_MAX = 31,  /* the largest cap; with it, the next three limits suffice */
    CANDIDATE_SIZE_MAX = 4,  /* bits of a candidate */
    CANDIDATE_RANKS = 16,    /* ranks that occur in candidates of several bits */
    CANDIDATE_SINGLES = 32,  /* candidates of one bit: all ranks of a header */
    CANDIDATE_OTHERS = 64,   /* candidates of several bits, at most */
    CANDIDATE_NO_RANK = 0xB0 /* no rank here; a vector shuffle looks up 0 for it */
};

/* The candidates of one bit, by rank, and then of several bits: a smaller set precedes; of equal
   size, the set whose first differing rank is lower. */
struct search_candidates {
    size_t others;     /* candidates of several bits */
    size_t wanted;     /* sets to choose, not counting the empty one; 0: no candidates */
    unsigned distance; /* most bits of a set */
    /* The ranks of candidates of several bits; CANDIDATE_NO_RANK after the last. */
    _Alignas(64) uint8_t ranks[CANDIDATE_SIZE_MAX][CANDIDATE_OTHERS];
};

/* Find the candidates for the first `cap` sets, including the empty one, of at most `distance`
   bits.  There are none if `cap` is 0 or too large. */
void search_find_candidates(struct search_candidates *candidates, size_t cap, unsigned distance);

#endif
