/* Sums of weighted features. */

#ifndef SIMDB_WEIGH_H
#define SIMDB_WEIGH_H

#include <stdint.h>

/* projected[j] = sum over i of weights[i] (1 where NULL), negative where bit j of hashes[i] is
   not set, j = 0 .. 63; from 64 on by the bits of fmix64(hashes[i] ^ 0x9E3779B97F4A7C15).  Summed
   in double precision from 0 in the order of i, then rounded. */
typedef void sketch_weigh_function(const uint64_t *hashes, const float *weights, int64_t count,
                                   float *projected);

#endif
