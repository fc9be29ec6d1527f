/* Weights of features. */

#ifndef SIMDB_WEIGHTS_H
#define SIMDB_WEIGHTS_H

#include <stdint.h>

/* The number of weights that two words of a feature make, and that all four make. */
#define SKETCH_DIMENSIONS 128
#define SKETCH_DIMENSIONS_MAX (2 * SKETCH_DIMENSIONS)

#define UNITS_BITS 20 /* bits of one weight */

/* The number of weights whose sum fits 32 bits. */
#define UNITS_BATCH ((int64_t)1 << (32 - UNITS_BITS))

/* A table of inverse document frequencies.  `entries` ascend: the highest 48 bits of a hash, then
   16 bits of weight.  Entries whose highest `bits` bits are v begin at directory[v].  Nothing
   outside both arrays is read, for any content. */
struct sketch_idf {
    const uint64_t *entries;
    int64_t count;
    const uint32_t *directory;
    int bits;
    uint32_t absent; /* weight of a feature that is not in the table */
};

#endif
