/* From weights to fingerprints and packed volatility vectors. */

#ifndef SIMDB_QUANTISE_H
#define SIMDB_QUANTISE_H

#include <stdint.h>

/* Bit j of the fingerprint is set if weight j >= 0.  Byte i of a vector holds dimension i in its
   low half and dimension i + dimensions / 2 in its high half.  A half is min(15, max(0, floor(w
   scale) + 8)) with scale = 1 / (0.335 sqrt(s / dimensions)), or 0 if s = 0; s is the sum of
   squares, added in order.

   Weights are int32, or float if `is_float`, [count][dimensions]; dimensions is 64, 128 or 256.
   Return the first row whose s is not finite, or -1; that row and the rows after it are not
   written. */
typedef int64_t sketch_quantise_function(const void *weights, int is_float, int64_t count,
                                         int dimensions, uint64_t *fingerprints,
                                         uint8_t *vectors);

#endif
