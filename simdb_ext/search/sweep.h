/* Pairs of near keys in one sorted table whose headers are equal, or differ in given bits.

   Pairs are in ascending order of their positions (i, j), i < j.  A pair belongs to the first table
   that reaches it, and the other tables omit it. */
#ifndef SIMDB_SEARCH_SWEEP_H
#define SIMDB_SEARCH_SWEEP_H

#include <stddef.h>
#include <stdint.h>

struct search_sweep {
    const uint64_t *keys;
    const uint32_t *ordinals;
    const uint64_t *counted; /* for each key, the bits that are compared in later keys, */
    const uint8_t *most;     /* and how many may differ; NULL: `distance` of all bits */
    uint64_t count;
    const uint64_t *masks;
    const int8_t *flips; /* leading bits in which pairs of each table may differ; -1: no pairs */
    size_t table;
    unsigned width;   /* bits of a header */
    uint64_t flipped; /* bits of the header in which pairs differ, as bits of a key */
    unsigned distance;
    uint64_t i, j; /* the first pair to look at; afterwards, the first without room */
    uint64_t stop; /* pairs whose `i` is this or more are omitted; at most `count` */
};

/* Write up to `capacity` pairs, the smaller ordinal on the left, and return their number.  When no
   pairs are left, `i` is `stop` or more. */
size_t search_sweep(struct search_sweep *sweep, uint32_t *left, uint32_t *right,
                    uint8_t *distances, size_t capacity);

#endif
