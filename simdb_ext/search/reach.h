/* What a table reaches: the fingerprints that differ from a query in few of its leading bits. */
#ifndef SIMDB_SEARCH_REACH_H
#define SIMDB_SEARCH_REACH_H

#include <stdint.h>

/* Return whether at most `flips` of the bits of `mask` are set in `difference`; with flips below 0
   nothing is reached. */
static inline int search_is_reached(uint64_t difference, uint64_t mask, int flips)
{
    for (uint64_t word = difference & mask; word != 0 && flips >= 0; word &= word - 1)
        flips--;
    return flips >= 0;
}

#endif
