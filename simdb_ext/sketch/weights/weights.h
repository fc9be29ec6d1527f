/* What the weights of features are. */

#ifndef SIMDB_WEIGHTS_H
#define SIMDB_WEIGHTS_H

#include <stdint.h>

/* The weights of the two words of a feature, and of all four. */
#define SKETCH_DIMENSIONS 128
#define SKETCH_DIMENSIONS_MAX (2 * SKETCH_DIMENSIONS)

#define UNITS_BITS 20 /* bits of one weight */

/* The sum of this many weights fits 32 bits. */
#define UNITS_BATCH ((int64_t)1 << (32 - UNITS_BITS))

/* Weights of features from a table of inverse document frequencies. `entries` ascend: the highest
   48 bits of a hash, then 16 bits of weight. directory[v] is where the entries begin whose highest
   `bits` bits are v. Nothing outside both arrays is read, whatever they hold. */
struct sketch_idf {
    const uint64_t *entries;
    int64_t count;
    const uint32_t *directory;
    int bits;
    uint32_t absent; /* weight of a feature that is not in the table */
};

#endif
