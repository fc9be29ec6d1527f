/* Weights to fingerprints and packed volatility vectors. */

#ifndef SIMDB_QUANTISE_H
#define SIMDB_QUANTISE_H

#include <stdint.h>

/* Bit j of the fingerprint is set where weight j >= 0.  Byte i of a vector holds dimension i in
   its low and dimension i + dimensions / 2 in its high half: min(15, max(0, floor(w scale) + 8)),
   scale = 1 / (0.335 sqrt(s / dimensions)) or 0 where s = 0, s the sum of squares in order.

   Weights are int32, or float where `is_float`, [count][dimensions], dimensions 64 or 128.
   Returns the first row whose s is not finite, or -1; rows from there on are not written. */
typedef int64_t sketch_quantise_function(const void *weights, int is_float, int64_t count,
                                         int dimensions, uint64_t *fingerprints,
                                         uint8_t *vectors);

#endif
