/* The third and fourth word of features, for fingerprints with more than 128 weights. */

#ifndef SIMDB_FURTHER_H
#define SIMDB_FURTHER_H

#include <stdint.h>

/* Write third[i] = fmix64(first[i] ^ MIX_THIRD_WORD) and fourth[i] = fmix64(first[i] ^
   MIX_FOURTH_WORD), i = 0 .. count - 1. */
typedef void sketch_further_function(const uint64_t *first, int64_t count, uint64_t *third,
                                     uint64_t *fourth);

#endif
