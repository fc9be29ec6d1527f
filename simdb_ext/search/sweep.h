/* Pairs of near keys with equal leading bits in one sorted table.

   Pairs come in the order of their positions i < j.  A pair that agrees on the leading bits of an
   earlier table is left to that table. */
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
    uint64_t i, j; /* the first pair to look at; afterwards, the first without room */
};

/* Write up to `capacity` pairs, the smaller ordinal to the left, and return how many; `i` is
   `count` once there are no more. */
size_t search_sweep(struct search_sweep *sweep, uint32_t *left, uint32_t *right,
                    uint8_t *distances, size_t capacity);

#endif
