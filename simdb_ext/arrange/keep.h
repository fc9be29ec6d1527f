/* Copying a table without the entries of deleted documents. */

#ifndef SIMDB_KEEP_H
#define SIMDB_KEEP_H

#include <stdint.h>

/* Copy, in order, the entries whose ordinal has its bit clear in `dead`: bit ordinal & 7 of byte
   ordinal >> 3.  Return how many were copied; or -1 if an ordinal lies beyond dead[dead_size], and
   then the output holds anything.

   The output has room for `count` entries and may be the input itself. */
typedef int64_t arrange_keep_function(const uint64_t *keys, const uint32_t *ordinals,
                                      int64_t count, const uint8_t *dead, int64_t dead_size,
                                      uint64_t *keys_out, uint32_t *ordinals_out);

#endif
