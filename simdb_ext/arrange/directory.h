/* Where the keys of each header begin. */

#ifndef SIMDB_DIRECTORY_H
#define SIMDB_DIRECTORY_H

#include <stdint.h>

#define ARRANGE_HEADER_BITS_MAX 32

/* out[h] = position of the first of the sorted keys whose top `header_bits` bits are at least h,
   h = 0 .. 1 << header_bits.  There are fewer than 1 << 32 keys. */
void arrange_directory(const uint64_t *keys, int64_t count, int header_bits, uint32_t *out);

#endif
