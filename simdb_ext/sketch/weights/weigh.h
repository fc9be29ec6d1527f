/* Sums of weighted features. */

#ifndef SIMDB_WEIGH_H
#define SIMDB_WEIGH_H

#include <stdint.h>

/* Write to projected[64 k + j], k = 0 .. words - 1, the sum over i of weights[i] (1 if NULL),
   negative if bit j of word k of hashes[i] is not set.  Word 0 is the hash itself, word k > 0 is
   fmix64(hash ^ k * 0x9E3779B97F4A7C15).  Sums are formed in double precision from 0 in the order
   of i, then rounded. */
typedef void sketch_weigh_function(const uint64_t *hashes, const float *weights, int64_t count,
                                   int words, float *projected);

#endif
