/* Sums of weighted features. */

#ifndef SIMDB_WEIGH_H
#define SIMDB_WEIGH_H

#include <stdint.h>

/* Write to projected[j], j = 0 .. 63, the sum over i of weights[i] (1 if NULL), negative if bit j
   of hashes[i] is not set; from j = 64 on by the bits of fmix64(hashes[i] ^ 0x9E3779B97F4A7C15).
    Sums are formed in double precision from 0 in the order of i, then rounded. */
typedef void sketch_weigh_function(const uint64_t *hashes, const float *weights, int64_t count,
                                   float *projected);

#endif
