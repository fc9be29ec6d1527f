/* Leaving out the entries of dead documents. */

#ifndef SIMDB_KEEP_H
#define SIMDB_KEEP_H

#include <stdint.h>

/* Copy the entries whose ordinal has no bit in dead[dead_size], in order; returns how many, or
   -1 where an ordinal lies beyond the bits, and then the output holds anything.

   The output has room for `count` entries and may be the input itself. */
typedef int64_t arrange_keep_function(const uint64_t *keys, const uint32_t *ordinals,
                                      int64_t count, const uint8_t *dead, int64_t dead_size,
                                      uint64_t *keys_out, uint32_t *ordinals_out);

#endif
