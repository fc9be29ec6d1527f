/* The directory of a table: where the keys of each header begin. */

#ifndef SIMDB_DIRECTORY_H
#define SIMDB_DIRECTORY_H

#include <stdint.h>

#define ARRANGE_HEADER_BITS_MAX 32

/* The header of a key is its top `header_bits` bits.  Write to out[h] the position of the first of
   the sorted keys whose header is at least h, h = 0 .. 1 << header_bits.  `count` is below 1 <<
   32. */
void arrange_directory(const uint64_t *keys, int64_t count, int header_bits, uint32_t *out);

#endif
