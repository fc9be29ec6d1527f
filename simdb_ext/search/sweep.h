/* Pairs among the keys of one sorted table that lead alike and are near.

   Positions i < j of a pair come in order; a pair that agrees on an earlier table's leading bits
   is left to that table. */
#ifndef SIMDB_SEARCH_SWEEP_H
#define SIMDB_SEARCH_SWEEP_H

#include <stddef.h>
#include <stdint.h>

struct search_sweep {
    const uint64_t *keys;
    const uint32_t *ordinals;
    uint64_t count;
    const uint64_t *masks;
    size_t table;
    unsigned distance;
    uint64_t i, j; /* the first pair to look at; afterwards, the first that had no room */
};

/* Write up to `capacity` pairs, the smaller ordinal to the left.  Returns how many; `i` is `count`
   when there are no more. */
size_t search_sweep(struct search_sweep *sweep, uint32_t *left, uint32_t *right,
                    uint8_t *distances, size_t capacity);

#endif
