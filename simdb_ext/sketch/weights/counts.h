/* How many of many hashes have each bit set. */

#ifndef SIMDB_COUNTS_H
#define SIMDB_COUNTS_H

#include <stdint.h>

/* The weights of the two words of a feature, and of all four. */
#define SKETCH_DIMENSIONS 128
#define SKETCH_DIMENSIONS_MAX (2 * SKETCH_DIMENSIONS)

/* Add 1 to ones[j] for every i with bit j of first[i] set, and to ones[64 + j] for every i with bit
   j of second[i] set. */
typedef void sketch_counts_function(const uint64_t *first, const uint64_t *second, int64_t count,
                                    uint32_t *ones);

#endif
